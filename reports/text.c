#include "reports/report.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const int64_t MS_NS = 1000000;
enum { PERIOD_MAX = 16, FAULTS_TOLD = 20, JOINED_MAX = 185 };

const char *report_verdict_name(enum report_verdict verdict) {
  switch (verdict) {
    case REPORT_HELD: return "held";
    case REPORT_VIOLATED: return "violated";
    case REPORT_STUCK: return "stuck";
    case REPORT_INCONCLUSIVE: return "inconclusive";
    case REPORT_NONDETERMINISTIC: return "nondeterministic";
    case REPORT_ERROR: return "harness error";
  }
  return "unknown";
}

void report_text_count(uint64_t number, char *out, size_t size) {
  char digits[32];
  int count = snprintf(digits, sizeof digits, "%" PRIu64, number);
  size_t at = 0;
  for (int i = 0; i < count && at + 2 < size; i++) {
    if (i > 0 && (count - i) % 3 == 0) out[at++] = ',';
    out[at++] = digits[i];
  }
  out[at] = '\0';
}

void report_text_finding(FILE *out, const struct report_finding *finding) {
  char failing[32], runs[32];
  report_text_count(finding->failing_runs, failing, sizeof failing);
  report_text_count(finding->runs, runs, sizeof runs);
  fprintf(out, "\n%s: %s\n", finding->scenario, finding->invariant ? finding->invariant : "the run never comes to rest");
  if (finding->must_hold) fprintf(out, "  must hold   %s\n", finding->must_hold);
  if (finding->sentence) fprintf(out, "  happened    %s\n", finding->sentence);
  if (finding->runs > 0)
    fprintf(out, "  how often   %s of %s runs%s\n", failing, runs, finding->violated_count > 1 ? "; other invariants break beside it" : "");
  if (finding->fault_count == 0) fprintf(out, "  because     nothing went wrong at all: the design breaks on the happy path\n");
  else if (finding->faults_before > finding->fault_count)
    fprintf(out, "  because     %zu fault%s, shrunk from %zu\n", finding->fault_count, finding->fault_count == 1 ? "" : "s",
            finding->faults_before);
  else fprintf(out, "  because     %zu fault%s\n", finding->fault_count, finding->fault_count == 1 ? "" : "s");
  size_t told = finding->fault_count <= FAULTS_TOLD ? finding->fault_count : FAULTS_TOLD;
  for (size_t i = 0; i < told; i++) fprintf(out, "    %zu. %s\n       (%s)\n", i + 1, finding->fault[i].words, finding->fault[i].meaning);
  if (told < finding->fault_count) fprintf(out, "    ... and %zu more; the replay file holds them all\n", finding->fault_count - told);
  if (finding->remedy) fprintf(out, "  remedy      %s\n", finding->remedy);
  if (finding->replay_line) fprintf(out, "  replay      %s\n", finding->replay_line);
}

void report_text_summary(FILE *out, const struct report_summary *summary, const char *note) {
  char runs[32], speed[32], failing[32];
  size_t exercised = 0;
  for (size_t i = 0; i < summary->invariant_count; i++) exercised += summary->invariant[i].in_danger > 0;
  report_text_count(summary->runs, runs, sizeof runs);
  report_text_count((uint64_t)summary->runs_per_s, speed, sizeof speed);
  report_text_count(summary->failing_runs, failing, sizeof failing);
  fprintf(out, "%-34s %10s run%s  ", summary->scenario, runs, summary->runs == 1 ? " " : "s");
  if (note != NULL) fprintf(out, "%s", note);
  else if (summary->failing_runs == 0) fprintf(out, "all held");
  else fprintf(out, "%s fail", failing);
  fprintf(out, "; %zu of %zu invariants exercised", exercised, summary->invariant_count);
  if (summary->explored) fprintf(out, "; %s to %d faults", summary->complete ? "complete" : "NOT complete", summary->faults_max);
  fprintf(out, "; %s runs/s", speed);
  if (!summary->explored) fprintf(out, ", %.1f transactions a run", summary->transactions_per_run);
  fprintf(out, "; digest %016" PRIx64 "\n", summary->digest);
  uint64_t orders = 0;
  for (size_t i = 0; i < summary->ending_count; i++) orders += summary->ending[i].count;
  const char *comma = "";
  if (orders > 0) fprintf(out, "  orders end  ");
  for (size_t i = 0; i < summary->ending_count && orders > 0; i++) {
    if (summary->ending[i].count == 0) continue;
    double share = 100.0 * (double)summary->ending[i].count / (double)orders;
    if (share < 0.1) fprintf(out, "%sunder 0.1 %% %s", comma, summary->ending[i].name);
    else fprintf(out, "%s%.1f %% %s", comma, share, summary->ending[i].name);
    comma = ", ";
  }
  if (orders > 0) fputc('\n', out);
}

/* Does `at` stand behind a word whose number only counts (tries, lives, payment ids, numbered keys)? */
static bool counts(const char *start, const char *at) {
  static const char *const word[] = {"try ", "try-", "life ", "payment ", "#"};
  for (size_t i = 0; i < sizeof word / sizeof word[0]; i++) {
    size_t size = strlen(word[i]);
    if ((size_t)(at - start) >= size && strncmp(at - size, word[i], size) == 0) return true;
  }
  return false;
}

static const char *behind_count(const char *start, const char *at) {
  if (strncmp(at, " (try ", 6) == 0) return strchr(at, ')') + 1;
  if (!counts(start, at)) return at;
  while (isdigit((unsigned char)*at)) at++;
  return at;
}

/* Two lines tell the same but for numbers that only count. */
static bool alike(const struct report_story_line *a, const struct report_story_line *b) {
  if (strcmp(a->who, b->who) != 0) return false;
  const char *x = a->text, *y = b->text;
  for (;;) {
    x = behind_count(a->text, x);
    y = behind_count(b->text, y);
    if (*x != *y) return false;
    if (*x == '\0') return true;
    x++;
    y++;
  }
}

/* How often do the `period` lines from `at` repeat right behind themselves? */
static size_t repeats(const struct report_story_line *line, size_t count, size_t at, size_t period) {
  size_t times = 0;
  for (size_t next = at + period; next + period <= count; next += period, times++) {
    for (size_t i = 0; i < period; i++) {
      if (!alike(&line[at + i], &line[next + i])) return times;
    }
  }
  return times;
}

static void print_time(FILE *out, int64_t ns) {
  int64_t ms = ns / MS_NS;
  int64_t days = ms / 86400000;
  if (days > 0) fprintf(out, "%" PRId64 "d ", days);
  fprintf(out, "%02" PRId64 ":%02" PRId64 ":%02" PRId64 ".%03" PRId64, ms / 3600000 % 24, ms / 60000 % 60, ms / 1000 % 60, ms % 1000);
}

static void print_line(FILE *out, const struct report_story_line *line) {
  fprintf(out, "  ");
  print_time(out, line->time_ns);
  fprintf(out, "  %-11s %s\n", line->who, line->text);
}

/* What everybody must see has a line of its own: a fault (told in capitals) and a verdict. */
static bool stands_alone(const struct report_story_line *line) {
  const char *text = line->text;
  return strcmp(line->who, "=>") == 0 || strcmp(line->who, "network") == 0 ||
         (isupper((unsigned char)text[0]) && isupper((unsigned char)text[1]));
}

/* Join what one party does at one moment into one line. The texts are the caller's to free; returns how many lines. */
static size_t join(const struct report_story_line *line, size_t count, struct report_story_line *out) {
  size_t told = 0;
  for (size_t at = 0; at < count;) {
    char text[2 * JOINED_MAX];
    size_t used = (size_t)snprintf(text, sizeof text, "%s", line[at].text);
    size_t next = at + 1;
    while (next < count && !stands_alone(&line[at]) && !stands_alone(&line[next]) && line[next].time_ns == line[at].time_ns &&
           strcmp(line[next].who, line[at].who) == 0 && used + strlen(line[next].text) + 2 <= JOINED_MAX) {
      used += (size_t)snprintf(text + used, sizeof text - used, "; %s", line[next++].text);
    }
    out[told++] = (struct report_story_line){line[at].time_ns, line[at].who, strdup(text)};
    at = next;
  }
  return told;
}

static void print_folded(FILE *out, const struct report_story_line *line, size_t count) {
  for (size_t at = 0; at < count;) {
    size_t best_period = 0, best_times = 0;
    for (size_t period = 1; period <= PERIOD_MAX && at + 2 * period <= count; period++) {
      size_t times = repeats(line, count, at, period);
      if (times * period >= 2 && times * period > best_times * best_period) {
        best_period = period;
        best_times = times;
      }
    }
    if (best_times == 0) {
      print_line(out, &line[at++]);
      continue;
    }
    for (size_t i = 0; i < best_period; i++) print_line(out, &line[at + i]);
    at += best_period * (best_times + 1);
    fprintf(out, "  ...           the same %zu more times, until ", best_times);
    print_time(out, line[at - 1].time_ns);
    fprintf(out, "\n");
  }
}

void report_text_story(FILE *out, const struct report_story_line *line, size_t count) {
  struct report_story_line *joined = calloc(count + 1, sizeof *joined);
  if (joined == NULL) return;
  size_t told = join(line, count, joined);
  print_folded(out, joined, told);
  for (size_t i = 0; i < told; i++) free((void *)(uintptr_t)joined[i].text);
  free(joined);
}

void report_text_matrix_row(FILE *out, const struct report_matrix_row *row) {
  fprintf(out, "%s %s, in %s: ", row->as_stated ? " ok " : "BAD ", row->what, row->scenario[0] != '\0' ? row->scenario : "no world");
  if (row->holds) {
    fprintf(out, "%s%s", row->failing == 0 ? "holds" : row->cannot ? "cannot hold: breaks " : "BREAKS ", row->found);
    if (row->cannot) fprintf(out, "; stated: cannot hold %s", row->stated);
    else if (row->stated[0] != '\0') fprintf(out, "; stated: %s; %" PRIu64 " cases stay undecided", row->stated, row->parked);
    fprintf(out, "\n");
    return;
  }
  fprintf(out, "%" PRIu64 " of %" PRIu64 " seeds fail\n", row->failing, row->seeds);
  fprintf(out, "       stated      %s\n       found       %s\n", row->stated, row->found);
  if (row->alone != NULL) fprintf(out, "       alone       %s\n", row->alone[0] != '\0' ? row->alone : "nothing");
  if (row->masked_by != NULL && row->masked_by[0] != '\0') fprintf(out, "       masked by   %s\n", row->masked_by);
  if (row->faults < 0) fprintf(out, "       smallest    none of up to two faults among those explored\n");
  else
    fprintf(out, "       smallest    %d fault%s, %" PRIu64 " runs%s%s\n", row->faults, row->faults == 1 ? "" : "s", row->runs_needed,
            row->faults > 0 ? ": " : "", row->smallest);
}

void report_text_matrix_end(FILE *out, size_t rows, size_t wrong) {
  if (wrong == 0) fprintf(out, "%zu rows, all as stated\n", rows);
  else fprintf(out, "%zu rows, %zu not as stated\n", rows, wrong);
}
