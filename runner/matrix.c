/* matrix: every known way of building the protocol wrong, against the invariants: what it is stated to break (by its known-bad
   scenario, which was written first) and what it does break, alone and with its needs, which guard hides it, and the smallest
   run that shows it. Then the variants and the recommended design, which must hold, at every provider.

   A mistake's row comes from the known-bad scenarios named after it. "Alone" is the same world without the further choices of
   that scenario: where a guard is stated to hide the mistake, not all of what is stated may be found then. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reports/report.h"
#include "runner/campaign.h"
#include "runner/commands.h"
#include "runner/explore.h"
#include "runner/find.h"
#include "runner/names.h"
#include "runner/profiles.h"
#include "runner/shrink.h"
#include "sim/check.h"

enum { ALONE_SEEDS = 2000, HOLD_SEEDS = 2000, PROVIDER_SEEDS = 20000, FAULTS_MAX = 2, EXPLORED_MAX = 30000 };

struct matrix {
  const struct runner_options *options;
  struct runner_world world;
  struct runner_campaign campaign;
  struct runner_explored explored;
  size_t rows, wrong;
  bool died;
};

static void campaign(struct matrix *matrix, const struct runner_scenario *scenario, uint64_t seeds) {
  struct runner_campaign_options options = {
      .first_seed = 1, .seeds = seeds, .jobs = matrix->options->jobs, .interrupted = runner_interrupted()};
  runner_campaign_run(scenario, &options, &matrix->campaign);
  matrix->died = matrix->died || matrix->campaign.worker_died;
}

static uint64_t found_mask(const struct runner_tally *tally) {
  uint64_t mask = 0;
  for (size_t i = 0; i < MODEL_INVARIANT_COUNT; i++) mask |= (uint64_t)(tally->violations[i] > 0) << i;
  return mask;
}

static int first_of(uint64_t mask) {
  for (int i = 0; i < MODEL_INVARIANT_COUNT; i++) {
    if ((mask >> i & 1) != 0) return i;
  }
  return -1;
}

/* ---- rows ---- */

static void print(struct matrix *matrix, const struct report_matrix_row *row) {
  matrix->rows++;
  matrix->wrong += !row->as_stated;
  if (matrix->options->json) report_json_matrix_row(stdout, row);
  else report_text_matrix_row(stdout, row);
  fflush(stdout);
}

/* Look for what was stated with at most `faults` faults. Returns the level at which it was found, or -1. */
static int search(struct matrix *matrix, const struct runner_scenario *scenario, uint64_t stated, int faults) {
  struct runner_explore_options options = {
      .faults_max = faults, .jobs = matrix->options->jobs, .go_on = true, .interrupted = runner_interrupted()};
  runner_explore(scenario, &options, &matrix->explored);
  for (int k = 0; k < matrix->explored.levels; k++) {
    if ((matrix->explored.level[k].violated & stated) != 0) return k;
  }
  return -1;
}

/* The smallest run that breaks one of these, by exploring; its faults in words. */
static void smallest(struct matrix *matrix, const struct runner_scenario *scenario, uint64_t stated, struct report_matrix_row *row,
                     char *words, size_t size) {
  int level = -1;
  row->faults = -1;
  words[0] = '\0';
  for (int k = 1; k <= FAULTS_MAX && level < 0; k++) {
    bool too_many = k > 1 && matrix->explored.level[k - 1].answers_left / (uint64_t)k > EXPLORED_MAX;
    if (!too_many) level = search(matrix, scenario, stated, k);
  }
  for (int k = 0; k < matrix->explored.levels; k++) row->runs_needed += matrix->explored.level[k].runs;
  if (level < 0) return;
  int invariant = first_of(matrix->explored.level[level].violated & stated);
  const struct runner_found *first = &matrix->explored.level[level].first[invariant];
  struct runner_shrunk *shrunk = calloc(1, sizeof *shrunk);
  ENSURE(shrunk != NULL);
  runner_shrink(&matrix->world, scenario, invariant, first->fault, first->fault_count, shrunk);
  size_t used = 0;
  for (size_t i = 0; i < shrunk->fault_count && used < size; i++)
    used += (size_t)snprintf(words + used, size - used, "%s%s", i ? "; " : "", shrunk->fault[i].words);
  row->faults = (int)shrunk->fault_count;
  runner_shrunk_free(shrunk);
  free(shrunk);
}

/* The same world with this choice alone. */
static bool alone(struct matrix *matrix, const struct runner_scenario *scenario, int axis, struct report_matrix_row *row, char *text,
                  size_t size) {
  struct runner_scenario copy = *scenario;
  bool further = false;
  for (int a = 0; a < MODEL_AXIS_COUNT; a++) {
    further = further || (a != axis && copy.config.design.choice[a] != 0);
    if (a != axis) copy.config.design.choice[a] = 0;
  }
  if (!further) return true;
  runner_scenario_settle(&copy);
  campaign(matrix, &copy, ALONE_SEEDS);
  uint64_t found = found_mask(&matrix->campaign.tally);
  runner_invariant_names(found, text, size);
  row->alone = text;
  return scenario->masked_by[0] == '\0' || (scenario->expect.violates & ~found) != 0;
}

static void mistake(struct matrix *matrix, int axis, int choice, const struct runner_scenario *scenario) {
  char stated[1000], found[1000], by_itself[1000], words[2000], name[160];
  const struct runner_expect *expect = &scenario->expect;
  uint64_t of_stated = expect->violates | expect->violates_any;
  snprintf(name, sizeof name, "%s=%s", model_axes()[axis].name, model_axes()[axis].choice[choice].name);
  struct report_matrix_row row = {
      .what = name, .scenario = scenario->name, .masked_by = scenario->masked_by, .seeds = (uint64_t)scenario->seeds};
  campaign(matrix, scenario, (uint64_t)scenario->seeds);
  const struct runner_tally *tally = &matrix->campaign.tally;
  uint64_t mask = found_mask(tally);
  bool all = (expect->violates & ~mask) == 0 && (expect->violates_any == 0 || (expect->violates_any & mask) != 0);
  bool none_else = (mask & ~(of_stated | expect->may)) == 0;
  row.failing = tally->failing_runs;
  runner_invariant_names(of_stated, stated, sizeof stated);
  runner_invariant_names(mask, found, sizeof found);
  row.stated = stated;
  row.found = found;
  bool masked = alone(matrix, scenario, axis, &row, by_itself, sizeof by_itself);
  smallest(matrix, scenario, of_stated, &row, words, sizeof words);
  row.smallest = words;
  row.as_stated = all && none_else && masked;
  print(matrix, &row);
}

/* ---- what must hold ---- */

/* What a world must come out as; `outsider` is the one whose undecided cases count, MODEL_OUTSIDERS for none. */
struct must {
  const char *what;
  enum model_outsider outsider;
  enum model_row row;
  const char *lost; /* invariants that cannot hold there, if `row` says so */
  uint64_t seeds;
};

static void must_hold(struct matrix *matrix, const struct must *must, const struct runner_scenario *scenario) {
  char found[1000];
  struct report_matrix_row row = {
      .what = must->what, .scenario = scenario->name, .stated = "", .seeds = must->seeds, .faults = -1, .holds = true};
  campaign(matrix, scenario, must->seeds);
  const struct runner_tally *tally = &matrix->campaign.tally;
  runner_invariant_names(found_mask(tally), found, sizeof found);
  row.found = found;
  row.failing = tally->failing_runs;
  row.as_stated = row.failing == 0;
  if (must->outsider != MODEL_OUTSIDERS) {
    row.stated = runner_row_words(must->row);
    row.parked = tally->undecided[must->outsider];
    row.as_stated = row.as_stated && (row.parked > 0) == (must->row == MODEL_HOLDS_BY_PARKING);
  }
  if (must->row == MODEL_CANNOT_HOLD) { /* others may break beside it */
    row.cannot = true;
    row.stated = must->lost;
    row.as_stated = (found_mask(tally) >> model_invariant_find(must->lost) & 1) != 0;
  }
  print(matrix, &row);
}

static const char *const worlds[] = {"payment", "order", "registration"};

static bool of_this_run(const struct matrix *matrix, const char *what) {
  if (matrix->options->argument_count == 0) return true;
  for (int i = 0; i < matrix->options->argument_count; i++) {
    if (strncmp(what, matrix->options->argument[i], strlen(matrix->options->argument[i])) == 0) return true;
  }
  return false;
}

static int variants(struct matrix *matrix) {
  for (size_t w = 0; w < sizeof worlds / sizeof worlds[0]; w++) {
    for (int a = 0; a < MODEL_AXIS_COUNT; a++) {
      for (size_t c = 0; c < model_axes()[a].choice_count; c++) {
        char what[160];
        struct runner_changes changes = {0};
        if (model_axes()[a].choice[c].mark != MODEL_VARIANT) continue;
        snprintf(what, sizeof what, "%s=%s", model_axes()[a].name, model_axes()[a].choice[c].name);
        if (!of_this_run(matrix, what)) continue;
        changes.set[changes.set_count++] = what;
        struct runner_scenario *scenario = runner_open_scenario(worlds[w], NULL, &changes);
        if (scenario == NULL) return EXIT_USAGE;
        struct must must = {.what = what, .outsider = MODEL_OUTSIDERS, .seeds = HOLD_SEEDS};
        must_hold(matrix, &must, scenario);
        runner_scenario_free(scenario);
      }
    }
  }
  return EXIT_HELD;
}

/* The recommended design in a shipped world, at one provider's profile: what the profile states. */
static int at_provider(struct matrix *matrix, const char *world, size_t provider, const char *profile) {
  char what[160];
  struct runner_changes changes = {0};
  changes.profile[provider] = profile;
  snprintf(what, sizeof what, "recommended, %s %s", runner_provider_name(provider), profile);
  if (!of_this_run(matrix, what)) return EXIT_HELD;
  struct runner_scenario *scenario = runner_open_scenario(world, NULL, &changes);
  if (scenario == NULL) return EXIT_USAGE;
  const struct model_config *config = &scenario->config;
  struct must must = {.what = what, .outsider = MODEL_OUTSIDERS, .row = MODEL_HOLDS, .seeds = PROVIDER_SEEDS};
  if (provider == RUNNER_GATEWAY) {
    must.outsider = MODEL_OF_GATEWAY;
    must.row = config->workflow == MODEL_WORKFLOW_REGISTRATION ? config->gateway.saga : config->gateway.orders;
  } else if (provider == RUNNER_MAIL) {
    must.outsider = MODEL_OF_MAILER;
    must.row = config->mail.orders;
  } else if (provider == RUNNER_ACCOUNTS) {
    must.outsider = MODEL_OF_ACCOUNTS;
    must.row = config->accounts.saga;
  } else {
    must.row = model_broker_find(profile)->saga;
    must.lost = model_broker_find(profile)->lost;
  }
  must_hold(matrix, &must, scenario);
  runner_scenario_free(scenario);
  return EXIT_HELD;
}

static int providers(struct matrix *matrix) {
  static const struct {
    const char *world;
    enum runner_provider provider;
  } rows[] = {{"payment", RUNNER_GATEWAY},    {"order", RUNNER_GATEWAY},         {"order", RUNNER_MAIL},
              {"registration", RUNNER_GATEWAY}, {"registration", RUNNER_ACCOUNTS}, {"registration", RUNNER_BROKER}};
  int code = EXIT_HELD;
  for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
    runner_profiles_of(rows[r].provider);
    size_t count = runner_profile_count();
    for (size_t i = 0; i < count && code == EXIT_HELD && *runner_interrupted() == 0; i++) {
      runner_profiles_of(rows[r].provider);
      code = at_provider(matrix, rows[r].world, rows[r].provider, runner_profile_name(i));
    }
  }
  return code;
}

/* ---- the whole ---- */

/* The known-bad scenarios of a choice: "axis-choice", or that with a further word behind a hyphen. */
static bool is_about(const struct runner_scenario *scenario, int axis, int choice) {
  char name[160];
  snprintf(name, sizeof name, "%s-%s", model_axes()[axis].name, model_axes()[axis].choice[choice].name);
  size_t size = strlen(name);
  return strncmp(scenario->name, name, size) == 0 && (scenario->name[size] == '\0' || scenario->name[size] == '-') &&
         scenario->config.design.choice[axis] == choice;
}

static void mistakes(struct matrix *matrix, struct runner_scenario *const *scenario, size_t count) {
  for (int a = 0; a < MODEL_AXIS_COUNT; a++) {
    for (size_t c = 0; c < model_axes()[a].choice_count; c++) {
      bool any = false;
      char what[160];
      snprintf(what, sizeof what, "%s=%s", model_axes()[a].name, model_axes()[a].choice[c].name);
      if (model_axes()[a].choice[c].mark != MODEL_MISTAKE || !of_this_run(matrix, what)) continue;
      for (size_t s = 0; s < count && *runner_interrupted() == 0; s++) {
        if (!is_about(scenario[s], a, (int)c)) continue;
        mistake(matrix, a, (int)c, scenario[s]);
        any = true;
      }
      if (any || *runner_interrupted() != 0) continue;
      struct report_matrix_row row = {.what = what, .scenario = "", .stated = "", .found = "no known-bad scenario shows it", .faults = -1};
      print(matrix, &row);
    }
  }
}

int runner_command_matrix(const struct runner_options *options) {
  const char *folder = runner_scenarios_folder();
  if (folder == NULL) {
    fprintf(stderr, "oncesim: the shipped scenarios are not to be found\n");
    return EXIT_NOTHING_RAN;
  }
  struct matrix *matrix = calloc(1, sizeof *matrix);
  char known_bad[700];
  struct runner_paths paths = {0};
  ENSURE(matrix != NULL);
  matrix->options = options;
  runner_world_open(&matrix->world);
  snprintf(known_bad, sizeof known_bad, "%s/known-bad", folder);
  runner_paths_add_folder(&paths, known_bad, ".yaml");
  struct runner_scenario **scenario = calloc(paths.count + 1, sizeof(struct runner_scenario *));
  ENSURE(scenario != NULL);
  int code = EXIT_HELD;
  size_t count = 0;
  struct runner_changes none = {0};
  for (size_t i = 0; i < paths.count && code == EXIT_HELD; i++) {
    scenario[count] = runner_open_scenario(paths.path[i], NULL, &none);
    if (scenario[count] == NULL) code = EXIT_USAGE;
    else count++;
  }
  if (code == EXIT_HELD) mistakes(matrix, scenario, count);
  if (code == EXIT_HELD && *runner_interrupted() == 0) code = variants(matrix);
  if (code == EXIT_HELD && *runner_interrupted() == 0) code = providers(matrix);
  if (code == EXIT_HELD && matrix->rows == 0) code = EXIT_NOTHING_RAN;
  if (matrix->wrong > 0) code = runner_exit_worse(code, EXIT_VIOLATED);
  if (matrix->died) code = EXIT_INTERNAL;
  if (*runner_interrupted() != 0) code = 128 + *runner_interrupted();
  if (options->json) report_json_matrix_end(stdout, matrix->rows, matrix->wrong);
  else report_text_matrix_end(stdout, matrix->rows, matrix->wrong);
  for (size_t i = 0; i < count; i++) runner_scenario_free(scenario[i]);
  free(scenario);
  runner_paths_free(&paths);
  runner_world_close(&matrix->world);
  free(matrix);
  return code;
}
