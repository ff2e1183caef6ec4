#include "runner/results.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "reports/results.h"
#include "runner/commands.h"
#include "runner/find.h"
#include "runner/text.h"

/* Of the command under way. */
static struct {
  struct report_results *open;
  bool begun;          /* the file written aside exists */
  size_t replay_count; /* files of findings written by this command */
  char aside[PATH_MAX];
} results;

static int told(const char *what, const char *error) {
  fprintf(stderr, "oncesim: %s: %s\n", what, error);
  return EXIT_OUTPUT;
}

int runner_results_campaign_begin(const struct runner_options *options) {
  char error[RUNNER_ERROR_SIZE];
  if (options->out == NULL) return EXIT_HELD;
  if (mkdir(options->out, 0777) != 0 && errno != EEXIST) return told("--out", strerror(errno));
  snprintf(results.aside, sizeof results.aside, "%s/results.sqlite.%ld.part", options->out, (long)getpid());
  results.open = report_results_open(results.aside, !results.begun, error, sizeof error);
  if (results.open == NULL) return told("--out", error);
  results.begun = true;
  report_results_build(results.open, "oncesim", ONCESIM_VERSION);
  report_results_build(results.open, "sqlite", sqlite3_sourceid());
  report_results_build(results.open, "compiler", __VERSION__);
  return EXIT_HELD;
}

void runner_results_finding(const struct report_finding *finding) {
  if (results.open == NULL) return;
  report_results_finding(results.open, finding);
  if (finding->replay_file != NULL) results.replay_count++;
}

int runner_results_campaign_end(const struct runner_options *options, const struct runner_scenario *scenario,
                                const struct runner_tally *tally, const struct report_summary *summary, const char *note, bool known_bad) {
  static struct report_move move[MODEL_STATE_COUNT * MODEL_EVENT_COUNT];
  const char *sentence[SIM_INVARIANTS_MAX], *remedy[SIM_INVARIANTS_MAX];
  char error[RUNNER_ERROR_SIZE];
  size_t move_count = 0;
  (void)options;
  if (results.open == NULL) return EXIT_HELD;
  for (int s = 0; s < MODEL_STATE_COUNT; s++) {
    for (int e = 1; e < MODEL_EVENT_COUNT; e++) {
      if (tally->moves[s][e] > 0)
        move[move_count++] =
            (struct report_move){model_state_name((enum model_state)s), model_event_name((enum model_event)e), tally->moves[s][e]};
    }
  }
  for (size_t i = 0; i < summary->invariant_count; i++) {
    sentence[i] = model_invariants[i].sentence;
    remedy[i] = model_invariants[i].remedy;
  }
  const struct report_campaign campaign = {.summary = summary,
                                           .path = scenario->path,
                                           .text = scenario->text,
                                           .hash = scenario->hash,
                                           .note = note,
                                           .known_bad = known_bad,
                                           .move = move,
                                           .move_count = move_count,
                                           .sentence = sentence,
                                           .remedy = remedy};
  bool fine = report_results_close(results.open, &campaign, error, sizeof error);
  results.open = NULL;
  return fine ? EXIT_HELD : told("--out", error);
}

typedef bool write_report(const char *database, FILE *out, char *error_out, size_t error_size);

static int write_one(const char *folder, const char *name, const char *database, write_report *write) {
  char path[PATH_MAX], error[RUNNER_ERROR_SIZE];
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  if (out == NULL) return told("--out", strerror(errno));
  bool fine = write(database, out, error, sizeof error);
  fclose(out);
  snprintf(path, sizeof path, "%s/%s", folder, name);
  if (fine) fine = runner_text_write_file(path, text, size, error, sizeof error);
  free(text);
  return fine ? EXIT_HELD : told(name, error);
}

static int write_reports(const char *folder, const char *database) {
  int code = write_one(folder, "report.txt", database, report_write_text);
  code = runner_exit_worse(code, write_one(folder, "report.json", database, report_write_json));
  return runner_exit_worse(code, write_one(folder, "junit.xml", database, report_write_junit));
}

/* Replay files of earlier runs stay: they may be the only trace of a failure. But nobody should take them for this run's. */
static void tell_old_replays(const char *folder) {
  struct runner_paths paths = {0};
  runner_paths_add_folder(&paths, folder, ".replay");
  size_t old = paths.count > results.replay_count ? paths.count - results.replay_count : 0;
  if (old > 0) fprintf(stderr, "oncesim: %s also holds %zu replay file%s of earlier runs\n", folder, old, old == 1 ? "" : "s");
  runner_paths_free(&paths);
  results.replay_count = 0;
}

int runner_results_end(const struct runner_options *options) {
  char path[PATH_MAX];
  if (options->out == NULL || !results.begun) return EXIT_HELD;
  results.begun = false;
  tell_old_replays(options->out);
  snprintf(path, sizeof path, "%s/results.sqlite", options->out);
  if (rename(results.aside, path) != 0) return told(path, strerror(errno));
  return write_reports(options->out, path);
}

int runner_command_report(const struct runner_options *options) {
  const char *folder = options->argument_count > 0 ? options->argument[0] : ".";
  char path[PATH_MAX], error[RUNNER_ERROR_SIZE];
  snprintf(path, sizeof path, "%s/results.sqlite", folder);
  if (access(path, R_OK) != 0) {
    fprintf(stderr, "oncesim: %s: %s; oncesim run --out %s writes it\n", path, strerror(errno), folder);
    return EXIT_USAGE;
  }
  bool fine = options->json ? report_write_json(path, stdout, error, sizeof error) : report_write_text(path, stdout, error, sizeof error);
  if (!fine) {
    fprintf(stderr, "oncesim: %s\n", error);
    return EXIT_USAGE;
  }
  return write_reports(folder, path);
}
