#include "sim/decision.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/check.h"

const struct sim_point *sim_catalogue_find(const struct sim_catalogue *catalogue, const char *name) {
  for (size_t i = 0; i < catalogue->count; i++) {
    if (strcmp(catalogue->point[i].name.text, name) == 0) return &catalogue->point[i];
  }
  return NULL;
}

enum { SEEN_USUAL = 1024 };

struct sim_decisions *sim_decisions_create(const struct sim_catalogue *catalogue) {
  struct sim_decisions *decisions = calloc(1, sizeof *decisions);
  ENSURE(decisions != NULL);
  decisions->catalogue = catalogue;
  decisions->asked = calloc(SIM_DECISIONS_MAX, sizeof *decisions->asked);
  decisions->fault = calloc(SIM_FAULTS_MAX, sizeof *decisions->fault);
  decisions->seen = calloc(SEEN_USUAL, sizeof *decisions->seen);
  decisions->seen_mask = SEEN_USUAL - 1;
  ENSURE(decisions->asked != NULL && decisions->fault != NULL && decisions->seen != NULL);
  return decisions;
}

void sim_decisions_destroy(struct sim_decisions *decisions) {
  free(decisions->asked);
  free(decisions->fault);
  free(decisions->seen);
  free(decisions);
}

static void begin(struct sim_decisions *decisions, const struct sim_plan *plan) {
  decisions->plan = plan;
  decisions->healing = false;
  decisions->asked_count = 0;
  decisions->fault_count = 0;
  decisions->full = NULL;
  decisions->repeated_count = 0;
  decisions->run++;
  decisions->seen_count = 0;
  if (decisions->run == 0) {
    memset(decisions->seen, 0, (decisions->seen_mask + 1) * sizeof decisions->seen[0]);
    memset(decisions->threshold_run, 0, sizeof decisions->threshold_run);
    decisions->run = 1;
  }
}

/* Odds of one answer in 2^32 parts, multiplied by the run's swarm factor (in quarters). Certainty stays certain; what swarm
   raises stays at a third, or what the scenario says if that is more, so that a run can come to an end. */
static uint64_t parts_of(struct sim_odds odds, uint64_t quarters) {
  if (odds.denominator == 0) return 0;
  if (odds.numerator >= odds.denominator) return UINT32_MAX;
  uint64_t parts = ((uint64_t)odds.numerator << 32) / odds.denominator;
  uint64_t most = parts > UINT32_MAX / 3 ? parts : UINT32_MAX / 3;
  uint64_t scaled = parts * quarters / 4;
  return scaled > most ? most : scaled;
}

/* The thresholds of a point in this run, drawn when it is first asked: most scenarios never ask most points. */
static const uint32_t *thresholds_of(struct sim_decisions *decisions, const struct sim_point *point) {
  uint32_t *threshold = decisions->threshold[point->index];
  if (decisions->threshold_run[point->index] == decisions->run) return threshold;
  decisions->threshold_run[point->index] = decisions->run;
  uint64_t quarters = 4;
  if (decisions->plan->swarm && point->class == SIM_POINT_FAULT) {
    static const uint8_t factor[8] = {0, 0, 0, 1, 2, 4, 8, 12};
    uint64_t die = sim_finish(sim_mix(sim_mix(decisions->seed, point->name.hash), UINT64_C(0x5377)));
    quarters = factor[die & 7];
  }
  uint64_t sum = 0;
  for (size_t a = 1; a < point->answer_count; a++) {
    sum += parts_of(decisions->plan->odds[point->index][a], quarters);
    if (sum > UINT32_MAX) sum = UINT32_MAX;
    threshold[a] = (uint32_t)sum;
  }
  return threshold;
}

void sim_decisions_begin_seed(struct sim_decisions *decisions, const struct sim_plan *plan, uint64_t seed) {
  begin(decisions, plan);
  decisions->from_list = false;
  decisions->list = NULL;
  decisions->list_count = 0;
  decisions->seed = seed;
}

void sim_decisions_begin_list(struct sim_decisions *decisions, const struct sim_plan *plan, struct sim_fault *list, size_t count) {
  REQUIRE(count <= SIM_FAULTS_MAX);
  begin(decisions, plan);
  decisions->from_list = true;
  decisions->seed = 0;
  decisions->list = list;
  decisions->list_count = count;
  memset(decisions->list_slot, 0, sizeof decisions->list_slot);
  for (size_t i = 0; i < count; i++) {
    list[i].reached = false;
    size_t at = list[i].address % (2 * SIM_FAULTS_MAX);
    while (decisions->list_slot[at] != 0) at = (at + 1) % (2 * SIM_FAULTS_MAX);
    decisions->list_slot[at] = (uint16_t)(i + 1);
  }
}

static struct sim_fault *listed(const struct sim_decisions *decisions, uint64_t address) {
  size_t at = address % (2 * SIM_FAULTS_MAX);
  while (decisions->list_slot[at] != 0) {
    struct sim_fault *fault = &decisions->list[decisions->list_slot[at] - 1];
    if (fault->address == address) return fault;
    at = (at + 1) % (2 * SIM_FAULTS_MAX);
  }
  return NULL;
}

int sim_decision_draw(struct sim_decisions *decisions, const struct sim_point *point) {
  if (decisions->from_list) {
    if (decisions->list_count == 0) return 0;
    struct sim_fault *fault = listed(decisions, decisions->pending_address);
    if (fault == NULL || (decisions->pending_offered >> fault->answer & 1) == 0) return 0;
    fault->reached = true;
    return fault->answer;
  }
  uint64_t die = sim_finish(sim_mix(decisions->pending_address, decisions->seed));
  uint32_t roll = (uint32_t)(die >> 32);
  const uint32_t *threshold = thresholds_of(decisions, point);
  for (int a = 1; a < point->answer_count; a++) {
    if (roll < threshold[a]) return (decisions->pending_offered >> a & 1) ? a : 0;
  }
  return 0;
}

static void grow_seen(struct sim_decisions *decisions) {
  struct sim_seen *old = decisions->seen;
  uint32_t old_size = decisions->seen_mask + 1;
  decisions->seen_mask = 2 * old_size - 1;
  decisions->seen = calloc(2 * (size_t)old_size, sizeof *decisions->seen);
  ENSURE(decisions->seen != NULL);
  for (uint32_t i = 0; i < old_size; i++) {
    if (old[i].run != decisions->run) continue;
    size_t at = sim_finish(old[i].address) & decisions->seen_mask;
    while (decisions->seen[at].run == decisions->run) at = (at + 1) & decisions->seen_mask;
    decisions->seen[at] = old[i];
  }
  free(old);
}

/* How many times this address was asked in this run, this time included. */
static uint32_t occurrence_of(struct sim_decisions *decisions, uint64_t address) {
  if (2 * decisions->seen_count > decisions->seen_mask) grow_seen(decisions);
  size_t at = sim_finish(address) & decisions->seen_mask;
  while (decisions->seen[at].run == decisions->run) {
    if (decisions->seen[at].address == address) return ++decisions->seen[at].count;
    at = (at + 1) & decisions->seen_mask;
  }
  decisions->seen[at] = (struct sim_seen){address, decisions->run, 1};
  decisions->seen_count++;
  return 1;
}

static uint64_t with_occurrence(uint64_t address, uint32_t occurrence) { return occurrence == 1 ? address : sim_mix(address, occurrence); }

int sim_decide(struct sim_decisions *decisions, const struct sim_point *point, const struct sim_subject *subject, uint8_t offered) {
  bool is_fault = point->class == SIM_POINT_FAULT;
  if (offered == 0 || (is_fault && decisions->healing)) return 0;
  decisions->point_asked[point->index]++;
  decisions->decisions_total++;
  if (decisions->asked_count == SIM_DECISIONS_MAX || decisions->fault_count == SIM_FAULTS_MAX) {
    decisions->full = decisions->fault_count == SIM_FAULTS_MAX ? "SIM_FAULTS_MAX" : "SIM_DECISIONS_MAX";
    return 0;
  }
  uint32_t position = decisions->asked_count++;
  bool armed = decisions->from_list || thresholds_of(decisions, point)[point->answer_count - 1] != 0;
  if (!armed && !decisions->recording) return 0;
  uint64_t base = sim_subject_address(point, subject);
  uint32_t occurrence = occurrence_of(decisions, base);
  if (occurrence != 1) {
    decisions->repeated_count++;
    decisions->repeated_total++;
  }
  decisions->pending_address = with_occurrence(base, occurrence);
  decisions->pending_offered = offered;
  int answer = is_fault && decisions->gate != NULL ? decisions->gate(decisions, point) : sim_decision_draw(decisions, point);
  if (decisions->recording) {
    decisions->asked[position] = (struct sim_asked){decisions->pending_address, sim_subject_family(point, subject), point->index, offered};
  }
  if (answer == 0) return 0;
  decisions->point_fired[point->index]++;
  struct sim_fault *fault = &decisions->fault[decisions->fault_count++];
  *fault = (struct sim_fault){.address = decisions->pending_address,
                              .family = sim_subject_family(point, subject),
                              .point = point->index,
                              .answer = (uint8_t)answer,
                              .reached = true,
                              .position = position};
  if (decisions->telling) {
    char words[320];
    sim_fault_words(words, sizeof words, point, answer, subject, occurrence);
    fault->words = sim_arena_text(decisions->arena, words);
  }
  return answer;
}

static uint64_t hash_or_zero(const char *text) { return text == NULL ? 0 : sim_hash_text(text); }

uint64_t sim_subject_address(const struct sim_point *point, const struct sim_subject *subject) {
  uint64_t hash = sim_mix(point->name.hash, subject->who ? subject->who->hash : 0);
  hash = sim_mix(hash, subject->life);
  hash = sim_mix(hash, subject->what ? subject->what->hash : 0);
  hash = sim_mix(hash, subject->id ? subject->id->hash : 0);
  hash = sim_mix(hash, subject->attempt);
  return sim_mix(hash, hash_or_zero(subject->step));
}

uint64_t sim_subject_family(const struct sim_point *point, const struct sim_subject *subject) {
  uint64_t hash = sim_mix(point->name.hash, subject->what ? subject->what->hash : 0);
  hash = sim_mix(hash, subject->id ? subject->id->hash : 0);
  return sim_mix(hash, hash_or_zero(subject->step));
}

void sim_fault_words(char *out, size_t size, const struct sim_point *point, int answer, const struct sim_subject *subject,
                     uint32_t occurrence) {
  char life[24] = "";
  char attempt[24] = "";
  char repeated[24] = "";
  REQUIRE((subject->step == NULL || strstr(subject->step, ", ") == NULL) &&
          (subject->id == NULL || strpbrk(subject->id->text, ", ") == NULL)); /* fields of a fault line */
  bool has_id = subject->id != NULL && subject->id->hash != 0;
  if (subject->life != 0) snprintf(life, sizeof life, " life %" PRIu32, subject->life);
  if (subject->attempt != 0) snprintf(attempt, sizeof attempt, " try %" PRIu32, subject->attempt);
  if (occurrence != 1) snprintf(repeated, sizeof repeated, ", time %" PRIu32, occurrence);
  snprintf(out, size, "%s: %s, %s%s, %s%s%s%s, %s%s", point->answer[answer].text, point->name.text, subject->who ? subject->who->text : "-",
           life, subject->what ? subject->what->text : "-", has_id ? " " : "", has_id ? subject->id->text : "", attempt,
           subject->step ? subject->step : "-", repeated);
}

/* Cut a trailing " word N" off `field`; returns N, 0 when it is not there. */
static uint32_t cut_number(char *field, const char *word) {
  size_t word_size = strlen(word);
  char *last = strrchr(field, ' ');
  if (last == NULL || last == field) return 0;
  char *end = NULL;
  unsigned long number = strtoul(last + 1, &end, 10);
  if (end == last + 1 || *end != '\0' || number == 0 || number > UINT32_MAX) return 0;
  char *start = last - word_size;
  if (start <= field || strncmp(start, word, word_size) != 0 || start[-1] != ' ') return 0;
  start[-1] = '\0';
  return (uint32_t)number;
}

static uint64_t hash_of_field(const char *field) { return strcmp(field, "-") == 0 ? 0 : sim_hash_text(field); }

const char *sim_fault_parse(const struct sim_catalogue *catalogue, const char *text, struct sim_fault *fault_out) {
  char copy[400];
  char *field[5] = {0};
  size_t field_count = 0;
  if (strlen(text) >= sizeof copy) return "a fault line is at most 399 bytes";
  strcpy(copy, text);
  char *colon = strstr(copy, ": ");
  if (colon == NULL) return "a fault reads \"answer: point, node, message, step\"";
  *colon = '\0';
  char *rest = colon + 2;
  while (rest != NULL) {
    if (field_count == 5) return "too many fields in a fault";
    field[field_count++] = rest;
    rest = strstr(rest, ", ");
    if (rest != NULL) {
      *rest = '\0';
      rest += 2;
    }
  }
  if (field_count < 4) return "a fault needs four fields: point, node, message, step";
  const struct sim_point *point = sim_catalogue_find(catalogue, field[0]);
  if (point == NULL) return "unknown fault point";
  int answer = 0;
  for (int a = 1; a < point->answer_count; a++) {
    if (strcmp(point->answer[a].text, copy) == 0) answer = a;
  }
  if (answer == 0) return "this fault point has no such answer";
  uint32_t occurrence = 1;
  if (field_count == 5) {
    char *end = NULL;
    unsigned long long number =
        strncmp(field[4], "time ", 5) == 0 && field[4][5] >= '0' && field[4][5] <= '9' ? strtoull(field[4] + 5, &end, 10) : 0;
    if (number < 2 || number > UINT32_MAX || *end != '\0') return "the fifth field of a fault is \"time N\" with N of at least 2";
    occurrence = (uint32_t)number;
  }
  uint32_t life = cut_number(field[1], "life");
  uint32_t attempt = cut_number(field[2], "try");
  char *id = strchr(field[2], ' ');
  if (id != NULL) *id++ = '\0';
  uint64_t what_hash = hash_of_field(field[2]);
  uint64_t id_hash = id == NULL ? 0 : sim_hash_text(id);
  uint64_t step_hash = hash_of_field(field[3]);
  uint64_t hash = sim_mix(point->name.hash, hash_of_field(field[1]));
  hash = sim_mix(hash, life);
  hash = sim_mix(hash, what_hash);
  hash = sim_mix(hash, id_hash);
  hash = sim_mix(hash, attempt);
  hash = with_occurrence(sim_mix(hash, step_hash), occurrence);
  uint64_t family = sim_mix(sim_mix(sim_mix(point->name.hash, what_hash), id_hash), step_hash);
  *fault_out = (struct sim_fault){.address = hash, .family = family, .point = point->index, .answer = (uint8_t)answer, .words = text};
  return NULL;
}
