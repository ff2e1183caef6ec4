/* run, explore, replay and shrink. */
#include "runner/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "faults/catalogue.h"
#include "reports/report.h"
#include "runner/campaign.h"
#include "runner/explore.h"
#include "runner/find.h"
#include "runner/finding.h"
#include "runner/names.h"
#include "runner/results.h"
#include "runner/text.h"
#include "sim/check.h"

/* ---- interrupts ---- */

static volatile int *interrupted;

static void on_signal(int signal_number) { *interrupted = signal_number; }

void runner_interrupts_init(void) {
  void *shared = mmap(NULL, sizeof *interrupted, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ENSURE(shared != MAP_FAILED);
  interrupted = shared;
  *interrupted = 0;
  struct sigaction action = {.sa_handler = on_signal};
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

volatile const int *runner_interrupted(void) { return interrupted; }

/* ---- run ---- */

/* Leave those that the workflow is judged by; returns how many. */
static size_t keep_judged(const struct runner_scenario *scenario, struct report_invariant *invariant) {
  size_t count = 0;
  for (int i = 0; i < MODEL_INVARIANT_COUNT; i++) {
    if (model_invariant_judged(scenario->config.workflow, i)) invariant[count++] = invariant[i];
  }
  return count;
}

static void fill_summary(const struct runner_scenario *scenario, const struct runner_campaign *campaign, struct report_summary *summary,
                         struct report_invariant *invariant, struct report_point *point) {
  const struct runner_tally *tally = &campaign->tally;
  const struct sim_catalogue *catalogue = fault_catalogue();
  for (size_t i = 0; i < MODEL_INVARIANT_COUNT; i++)
    invariant[i] = (struct report_invariant){model_invariants[i].name, tally->in_danger[i], tally->violations[i]};
  static struct report_count ending[MODEL_ENDING_COUNT];
  for (int e = 0; e < MODEL_ENDING_COUNT; e++)
    ending[e] = (struct report_count){model_ending_name((enum model_ending)e), tally->endings[e]};
  for (size_t p = 0; p < catalogue->count; p++)
    point[p] = (struct report_point){catalogue->point[p].name.text, tally->asked[p], tally->fired[p]};
  double runs = tally->runs == 0 ? 1 : (double)tally->runs;
  *summary = (struct report_summary){.scenario = scenario->name,
                                     .runs = tally->runs,
                                     .failing_runs = tally->failing_runs,
                                     .stuck_runs = tally->stuck_runs,
                                     .digest = tally->digest,
                                     .invariant = invariant,
                                     .invariant_count = keep_judged(scenario, invariant),
                                     .point = point,
                                     .ending = ending,
                                     .ending_count = MODEL_ENDING_COUNT,
                                     .point_count = catalogue->count,
                                     .transactions_per_run = (double)tally->transactions / runs,
                                     .runs_per_s = campaign->seconds > 0 ? (double)tally->runs / campaign->seconds : 0,
                                     .seconds = campaign->seconds};
}

static uint64_t violated_mask(const struct runner_tally *tally) {
  uint64_t mask = 0;
  for (size_t i = 0; i < SIM_INVARIANTS_MAX; i++) mask |= (uint64_t)(tally->violations[i] > 0) << i;
  return mask;
}

static uint64_t not_exercised(const struct runner_scenario *scenario, const struct runner_tally *tally) {
  uint64_t missing = scenario->has_must_exercise ? scenario->must_exercise : runner_exercisable(scenario);
  for (size_t i = 0; i < SIM_INVARIANTS_MAX; i++) {
    if (tally->in_danger[i] > 0) missing &= ~(UINT64_C(1) << i);
  }
  return missing;
}

/* Does a known-bad campaign come out as its scenario expects? The note says how. */
static bool as_expected(const struct runner_scenario *scenario, const struct runner_tally *tally, char *note, size_t size) {
  const struct runner_expect *expect = &scenario->expect;
  uint64_t found = violated_mask(tally);
  uint64_t missing = expect->violates & ~found;
  uint64_t extra = found & ~(expect->violates | expect->violates_any | expect->may);
  char names[900];
  if (missing != 0) {
    runner_invariant_names(missing, names, sizeof names);
    snprintf(note, size, "NOT found broken as expected: holds %s", names);
    return false;
  }
  if (expect->violates_any != 0 && (expect->violates_any & found) == 0) {
    runner_invariant_names(expect->violates_any, names, sizeof names);
    snprintf(note, size, "NOT found broken as expected: none of %s is violated", names);
    return false;
  }
  if (extra != 0) {
    runner_invariant_names(extra, names, sizeof names);
    snprintf(note, size, "breaks more than expected: %s", names);
    return false;
  }
  runner_invariant_names(found & (expect->violates | expect->violates_any), names, sizeof names);
  if (found == 0) snprintf(note, size, "holds, as expected");
  else snprintf(note, size, "found broken, as expected: %s", names);
  return true;
}

static bool wants_finding(uint64_t found, uint64_t reported, size_t invariant) {
  return (found >> invariant & 1) != 0 && (reported >> invariant & 1) == 0;
}

/* Report the campaign's findings, each shrunk from its lowest seed, at most RUNNER_FINDINGS_MAX of them. */
static int report_findings(const struct runner_scenario *scenario, const struct runner_options *options, const struct runner_tally *tally) {
  struct runner_world world;
  runner_world_open(&world);
  uint64_t found = violated_mask(tally);
  uint64_t reported = 0;
  int code = EXIT_HELD, count = 0;
  for (size_t i = 0; i <= SIM_INVARIANTS_MAX && count < RUNNER_FINDINGS_MAX; i++) {
    bool stuck = i == SIM_INVARIANTS_MAX;
    if (stuck ? tally->stuck_runs == 0 || reported != 0 : !wants_finding(found, reported, i)) continue;
    uint64_t seed = tally->first_seed[i];
    struct runner_result result = runner_run_seed(&world, scenario, seed, false);
    for (size_t f = 0; f < tally->failing_count; f++) {
      if (tally->failing[f].seed != seed || tally->failing[f].digest == result.digest) continue;
      runner_finding_confirm(&world, scenario, seed, tally->failing[f].digest);
      runner_world_close(&world);
      return EXIT_NONDETERMINISTIC;
    }
    if (!runner_finding_confirm(&world, scenario, seed, result.digest)) {
      runner_world_close(&world);
      return EXIT_NONDETERMINISTIC;
    }
    struct sim_fault *list = malloc(SIM_FAULTS_MAX * sizeof *list);
    ENSURE(list != NULL);
    size_t list_count = sim_world_decisions(world.world)->fault_count;
    memcpy(list, sim_world_decisions(world.world)->fault, list_count * sizeof *list);
    struct runner_finding_context context = {scenario, options, &options->changes, stuck ? tally->stuck_runs : tally->violations[i],
                                             tally->runs};
    int written =
        runner_finding_report(&world, &context, stuck ? -1 : (int)i, list, list_count, true, seed, result.digest, result.violated);
    code = runner_exit_worse(code, written);
    reported |= stuck ? 0 : UINT64_C(1) << i;
    free(list);
    count++;
  }
  if (count == RUNNER_FINDINGS_MAX && !options->json) {
    char names[900];
    runner_invariant_names(found & ~reported, names, sizeof names);
    if (names[0] != '\0') fprintf(stdout, "\n%s: broken as well: %s\n", scenario->name, names);
  }
  runner_world_close(&world);
  return code;
}

/* A design with a known mistake held: say that something hides it, so that nobody takes it for sound. */
static void note_hidden_mistakes(const struct runner_scenario *scenario) {
  for (int a = 0; a < MODEL_AXIS_COUNT; a++) {
    const struct model_choice *choice = &model_axes()[a].choice[scenario->config.design.choice[a]];
    if (choice->mark != MODEL_MISTAKE) continue;
    printf("  note: %s=%s is a known mistake that something hides here; it breaks %s\n", model_axes()[a].name, choice->name,
           choice->breaks);
  }
}

static int judge_campaign(const struct runner_scenario *scenario, const struct runner_options *options,
                          const struct runner_campaign *campaign, bool single_seed, bool only_one) {
  const struct runner_tally *tally = &campaign->tally;
  struct report_summary summary;
  static struct report_invariant invariant[SIM_INVARIANTS_MAX];
  static struct report_point point[SIM_POINTS_MAX];
  char note[1000] = "";
  bool known_bad = scenario->expect.known_bad && !single_seed && !runner_options_change(options);
  fill_summary(scenario, campaign, &summary, invariant, point);
  int code = EXIT_HELD;
  int written = runner_results_campaign_begin(options);
  if (known_bad) {
    uint64_t expected = scenario->expect.violates | scenario->expect.violates_any | scenario->expect.may;
    bool enough = tally->runs >= (uint64_t)scenario->seeds || (violated_mask(tally) & ~expected) != 0;
    if (!as_expected(scenario, tally, note, sizeof note)) code = enough ? EXIT_VIOLATED : EXIT_INCONCLUSIVE;
  } else if (tally->failing_runs > 0) {
    code = EXIT_VIOLATED;
  } else if (!single_seed && tally->runs >= (uint64_t)scenario->seeds) {
    uint64_t missing = not_exercised(scenario, tally);
    char names[900];
    runner_invariant_names(missing, names, sizeof names);
    if (missing != 0) {
      snprintf(note, sizeof note, "INCONCLUSIVE, never in danger: %s", names);
      code = EXIT_INCONCLUSIVE;
    }
  }
  if (campaign->worker_died) {
    fprintf(stderr, "oncesim: a worker died at seed %" PRIu64 " of %s; what the others did is kept\n", campaign->died_at_seed,
            scenario->name);
    code = EXIT_INTERNAL;
  }
  summary.verdict = code == EXIT_HELD                                                                                  ? REPORT_HELD
                    : code == EXIT_INCONCLUSIVE                                                                        ? REPORT_INCONCLUSIVE
                    : code == EXIT_INTERNAL                                                                            ? REPORT_ERROR
                    : tally->failing_runs == tally->stuck_runs && tally->failing_runs > 0 && violated_mask(tally) == 0 ? REPORT_STUCK
                                                                                                                       : REPORT_VIOLATED;
  bool tell = tally->failing_runs > 0 && (!known_bad || code == EXIT_VIOLATED || only_one || options->out != NULL);
  if (tell) code = runner_exit_worse(code, report_findings(scenario, options, tally));
  if (code == EXIT_NONDETERMINISTIC) summary.verdict = REPORT_NONDETERMINISTIC;
  written = runner_exit_worse(written, runner_results_campaign_end(options, scenario, tally, &summary, note[0] ? note : NULL, known_bad));
  code = runner_exit_worse(code, written);
  if (options->json) report_json_summary(stdout, &summary);
  else report_text_summary(stdout, &summary, note[0] ? note : NULL);
  if (!options->json && tally->failing_runs == 0 && !known_bad) note_hidden_mistakes(scenario);
  fflush(stdout);
  return code;
}

static int run_scenario(const char *path, const struct runner_options *options, bool only_one) {
  struct runner_scenario *scenario = runner_open_scenario(path, options, &options->changes);
  if (scenario == NULL) return EXIT_USAGE;
  bool single_seed = options->has_seed && !options->has_seeds && !options->has_time;
  struct runner_campaign_options campaign_options = {.first_seed = options->has_seed ? (uint64_t)options->seed : 1,
                                                     .seeds = single_seed          ? 1
                                                              : options->has_time  ? 0
                                                              : options->has_seeds ? (uint64_t)options->seeds
                                                                                   : (uint64_t)scenario->seeds,
                                                     .seconds_max = options->seconds,
                                                     .jobs = options->jobs,
                                                     .interrupted = interrupted,
                                                     .progress = true};
  if (campaign_options.seeds != 0 && campaign_options.seeds < 256) campaign_options.jobs = 1;
  static struct runner_campaign campaign;
  runner_campaign_run(scenario, &campaign_options, &campaign);
  int code = judge_campaign(scenario, options, &campaign, single_seed, only_one);
  runner_scenario_free(scenario);
  return code;
}

/* The JSON of a replay file that was played: its run if it fails, and a summary of that one run where none other follows. */
static void json_of_replay(const char *path, const struct runner_scenario *scenario, const struct runner_replay *replay,
                           const struct runner_result *result, bool alone) {
  static struct report_fault fault[SIM_FAULTS_MAX];
  static struct report_invariant invariant[MODEL_INVARIANT_COUNT];
  const char *names[MODEL_INVARIANT_COUNT];
  size_t name_count = 0;
  for (size_t i = 0; i < MODEL_INVARIANT_COUNT; i++) {
    bool violated = (result->violated >> i & 1) != 0;
    if (violated) names[name_count++] = model_invariants[i].name;
    invariant[i] = (struct report_invariant){model_invariants[i].name, result->in_danger >> i & 1, violated};
  }
  for (size_t i = 0; i < replay->fault_count; i++) fault[i] = (struct report_fault){replay->fault[i].words, ""};
  bool failed = runner_failed(result);
  enum report_verdict verdict = result->violated != 0 ? REPORT_VIOLATED : result->stuck ? REPORT_STUCK : REPORT_HELD;
  struct report_finding finding = {.scenario = scenario->name,
                                   .digest = result->digest,
                                   .verdict = verdict,
                                   .violated = names,
                                   .violated_count = name_count,
                                   .fault = fault,
                                   .fault_count = replay->fault_count,
                                   .faults_before = replay->fault_count,
                                   .replay_file = path};
  struct report_summary summary = {.scenario = scenario->name,
                                   .runs = 1,
                                   .failing_runs = failed,
                                   .stuck_runs = result->stuck,
                                   .digest = result->digest,
                                   .invariant = invariant,
                                   .invariant_count = keep_judged(scenario, invariant),
                                   .verdict = verdict};
  if (failed) report_json_finding(stdout, &finding);
  if (alone) report_json_summary(stdout, &summary);
}

/* Play a committed or given replay file; quiet when it no longer fails. */
static int run_replay(const char *path, const struct runner_options *options, bool alone, bool *ran) {
  char error[RUNNER_ERROR_SIZE];
  struct runner_replay *replay = runner_replay_read(path, error, sizeof error);
  if (replay == NULL) {
    fprintf(stderr, "oncesim: %s\n", error);
    return EXIT_USAGE;
  }
  char place[PATH_MAX];
  const char *where = replay->file != NULL && runner_find(replay->file, place, sizeof place) ? replay->file : replay->scenario;
  struct runner_scenario *scenario = runner_open_scenario(where, NULL, &replay->changes);
  int code = EXIT_USAGE;
  if (scenario != NULL) {
    struct runner_world world;
    runner_world_open(&world);
    struct runner_result result = runner_run_list(&world, scenario, replay->fault, replay->fault_count, false, false);
    *ran = true;
    code = runner_failed(&result) ? EXIT_VIOLATED : EXIT_HELD;
    if (options->json) json_of_replay(path, scenario, replay, &result, alone);
    else if (code != EXIT_HELD) printf("%s: fails again; see it with: oncesim replay %s\n", path, path);
    runner_world_close(&world);
    runner_scenario_free(scenario);
  }
  runner_replay_free(replay);
  return code;
}

/* What the arguments name, then the committed replay files; returns how many replay files the arguments named. */
static size_t collect(const struct runner_options *options, struct runner_paths *scenarios, struct runner_paths *replays) {
  const char *shipped = runner_scenarios_folder();
  for (int i = 0; i < options->argument_count; i++) {
    const char *argument = options->argument[i];
    struct stat about;
    if (runner_is_replay_path(argument)) runner_paths_add(replays, argument);
    else if (stat(argument, &about) == 0 && S_ISDIR(about.st_mode)) {
      runner_paths_add_folder(scenarios, argument, ".yaml");
      runner_paths_add_folder(replays, argument, ".replay");
    } else runner_paths_add(scenarios, argument);
  }
  size_t named = replays->count;
  if (shipped == NULL) return named;
  if (options->argument_count == 0) runner_paths_add_folder(scenarios, shipped, ".yaml");
  char regressions[PATH_MAX];
  snprintf(regressions, sizeof regressions, "%s/regressions", shipped);
  runner_paths_add_folder(replays, regressions, ".replay");
  return named;
}

int runner_command_run(const struct runner_options *options) {
  struct runner_paths scenarios = {0}, replays = {0};
  size_t named = collect(options, &scenarios, &replays);
  size_t played_count = 0;
  int code = EXIT_HELD;
  bool ran = false;
  /* What cannot be read is told before anything runs; the others run all the same. */
  size_t kept = 0;
  for (size_t i = 0; i < scenarios.count; i++) {
    struct runner_scenario *scenario = runner_open_scenario(scenarios.path[i], options, &options->changes);
    if (scenario != NULL) scenarios.path[kept++] = scenarios.path[i];
    else {
      free(scenarios.path[i]);
      code = EXIT_USAGE;
    }
    runner_scenario_free(scenario);
  }
  bool nothing_left = kept == 0 && scenarios.count > 0;
  scenarios.count = kept;
  if (nothing_left && named == 0) replays.count = 0;
  for (size_t k = 0; k < replays.count && !*interrupted; k++) {
    size_t i = (named + k) % replays.count; /* the committed ones first */
    bool played = false;
    bool alone = scenarios.count == 0 && i + 1 == named;
    code = runner_exit_worse(code, run_replay(replays.path[i], options, alone, &played));
    ran = ran || (played && i < named); /* committed replay files are no campaign */
    played_count += played;
  }
  if (played_count > 0 && code == EXIT_HELD && !options->json)
    printf("%zu replay file%s played, none fails any more\n", played_count, played_count == 1 ? "" : "s");
  for (size_t i = 0; i < scenarios.count && !*interrupted; i++) {
    int one = run_scenario(scenarios.path[i], options, scenarios.count == 1);
    if (one != EXIT_USAGE) ran = true;
    code = runner_exit_worse(code, one);
  }
  code = runner_exit_worse(code, runner_results_end(options));
  if (!ran && code == EXIT_HELD) {
    fprintf(stderr, "oncesim: nothing ran: there is no scenario here\n");
    code = EXIT_NOTHING_RAN;
  }
  runner_paths_free(&scenarios);
  runner_paths_free(&replays);
  return code;
}

/* ---- explore ---- */

struct telling {
  const struct runner_options *options;
};

static void on_level(const struct runner_explored *explored, int level, void *context) {
  const struct telling *telling = context;
  const struct runner_level *at = &explored->level[level];
  char runs[32], forecast[32];
  FILE *out = telling->options->json ? stderr : stdout;
  report_text_count(at->runs, runs, sizeof runs);
  if (level == 0) {
    double n = (double)explored->answers;
    double k = telling->options->faults;
    double estimate = k <= 1 ? n : k == 2 ? 0.54 * n * n : 0.21 * n * n * n * (k > 3 ? pow(n / 3, k - 3) : 1);
    report_text_count((uint64_t)estimate, forecast, sizeof forecast);
    fprintf(out, "happy path: %" PRIu64 " non-dull answers; about %s runs to come\n", explored->answers, forecast);
    return;
  }
  fprintf(out, "%d fault%s: %s runs in %.2f s, %s", level, level == 1 ? "" : "s", runs, at->seconds,
          at->complete ? "complete" : "NOT complete");
  if (at->failing > 0) fprintf(out, ", %" PRIu64 " fail", at->failing);
  else fprintf(out, ", all held");
  report_text_count(at->answers_left / (uint64_t)(level + 1 > 1 ? 1 : 1), forecast, sizeof forecast);
  fprintf(out, "; with %d faults: %s runs, about %.0f s\n", level + 1, forecast,
          at->runs ? at->seconds * (double)at->answers_left / (double)at->runs : 0);
  fflush(out);
}

static int report_explored(const struct runner_scenario *scenario, const struct runner_options *options,
                           const struct runner_explored *explored) {
  int code = EXIT_HELD, count = 0;
  struct runner_world world;
  runner_world_open(&world);
  uint64_t seen = 0;
  for (int k = 0; k < explored->levels && count < RUNNER_FINDINGS_MAX; k++) {
    const struct runner_level *level = &explored->level[k];
    for (size_t i = 0; i <= SIM_INVARIANTS_MAX && count < RUNNER_FINDINGS_MAX; i++) {
      const struct runner_found *found = &level->first[i];
      bool stuck = i == SIM_INVARIANTS_MAX;
      if (!found->any || (!stuck && (seen >> i & 1) != 0) || (stuck && found->violated != 0)) continue;
      if (!stuck) seen |= UINT64_C(1) << i;
      struct runner_finding_context context = {scenario, options, &options->changes, stuck ? level->failing : level->violations[i],
                                               level->runs};
      struct sim_fault list[RUNNER_FAULTS_EXPLORED_MAX];
      memcpy(list, found->fault, sizeof list);
      struct runner_result result = runner_run_list(&world, scenario, list, found->fault_count, false, false);
      code = runner_exit_worse(code, runner_finding_report(&world, &context, stuck ? -1 : (int)i, list, found->fault_count, false, 0,
                                                           result.digest, result.violated));
      count++;
    }
  }
  runner_world_close(&world);
  return code;
}

static void explored_summary(const struct runner_scenario *scenario, const struct runner_explored *explored, struct report_summary *summary,
                             struct report_invariant *invariant) {
  *summary = (struct report_summary){.scenario = scenario->name,
                                     .invariant = invariant,
                                     .explored = true,
                                     .complete = explored->complete,
                                     .faults_max = explored->levels - 1,
                                     .answers = explored->answers};
  for (size_t i = 0; i < MODEL_INVARIANT_COUNT; i++) invariant[i] = (struct report_invariant){.name = model_invariants[i].name};
  for (int k = 0; k < explored->levels; k++) {
    const struct runner_level *level = &explored->level[k];
    summary->runs += level->runs;
    summary->failing_runs += level->failing;
    summary->digest += level->digest;
    summary->seconds += level->seconds;
    for (size_t i = 0; i < MODEL_INVARIANT_COUNT; i++) {
      invariant[i].violated += level->violations[i];
      invariant[i].in_danger += level->in_danger >> i & 1; /* levels in which it was exercised */
    }
  }
  summary->invariant_count = keep_judged(scenario, invariant);
  summary->runs_per_s = summary->seconds > 0 ? (double)summary->runs / summary->seconds : 0;
}

int runner_command_explore(const struct runner_options *options) {
  struct runner_scenario *scenario = runner_open_scenario(options->argument[0], options, &options->changes);
  if (scenario == NULL) return EXIT_USAGE;
  struct telling telling = {options};
  struct runner_explore_options explore = {.faults_max = options->faults,
                                           .jobs = options->jobs,
                                           .points = options->sites,
                                           .go_on = options->go_on,
                                           .interrupted = interrupted,
                                           .on_level = on_level,
                                           .context = &telling};
  static struct runner_explored explored;
  runner_explore(scenario, &explore, &explored);
  struct report_summary summary;
  struct report_invariant invariant[MODEL_INVARIANT_COUNT];
  explored_summary(scenario, &explored, &summary, invariant);
  int code = summary.failing_runs > 0 ? EXIT_VIOLATED : EXIT_HELD;
  if (!explored.complete && !*interrupted) code = EXIT_INTERNAL;
  summary.verdict = code == EXIT_HELD ? REPORT_HELD : code == EXIT_INTERNAL ? REPORT_ERROR : REPORT_VIOLATED;
  if (summary.failing_runs > 0) code = runner_exit_worse(code, report_explored(scenario, options, &explored));
  if (options->json) report_json_summary(stdout, &summary);
  else report_text_summary(stdout, &summary, NULL);
  runner_scenario_free(scenario);
  return code;
}

/* ---- replay and shrink ---- */

/* What replay and shrink start from: a scenario and a fault list. */
struct told {
  struct runner_replay *replay; /* NULL for a seed */
  struct runner_scenario *scenario;
  struct sim_fault fault[SIM_FAULTS_MAX];
  size_t fault_count;
  uint64_t seed;
};

static bool open_told(const struct runner_options *options, struct runner_world *world, struct told *told) {
  const char *argument = options->argument[0];
  char error[RUNNER_ERROR_SIZE];
  if (!runner_is_replay_path(argument)) {
    told->scenario = runner_open_scenario(argument, options, &options->changes);
    if (told->scenario == NULL) return false;
    told->seed = (uint64_t)options->seed;
    runner_run_seed(world, told->scenario, told->seed, false);
    const struct sim_decisions *decisions = sim_world_decisions(world->world);
    told->fault_count = decisions->fault_count;
    memcpy(told->fault, decisions->fault, told->fault_count * sizeof told->fault[0]);
    return true;
  }
  told->replay = runner_replay_read(argument, error, sizeof error);
  if (told->replay == NULL) {
    fprintf(stderr, "oncesim: %s\n", error);
    return false;
  }
  char place[PATH_MAX];
  bool there = told->replay->file != NULL && runner_find(told->replay->file, place, sizeof place);
  told->scenario = runner_open_scenario(there ? told->replay->file : told->replay->scenario, NULL, &told->replay->changes);
  told->fault_count = told->replay->fault_count;
  memcpy(told->fault, told->replay->fault, told->fault_count * sizeof told->fault[0]);
  return told->scenario != NULL;
}

static void close_told(struct told *told) {
  runner_scenario_free(told->scenario);
  runner_replay_free(told->replay);
  free(told);
}

static void print_ledgers(const struct runner_world *world) {
  const struct model_shop *shop = world->shop;
  bool whole = shop->config->workflow == MODEL_WORKFLOW_ORDER;
  const char *comma = whole ? "  the ledgers say: " : "  the gateway's ledger says: ";
  for (size_t i = 0; i < shop->gateway.charge_count; i++) {
    char amount[40];
    const struct model_charge *charge = &shop->gateway.ledger[i];
    model_amount_words(shop->config, charge->amount_minor, amount, sizeof amount);
    printf("%spayment %" PRId64 ", %s for purchase %" PRId64, comma, charge->id, amount, charge->purchase);
    comma = "; ";
  }
  for (size_t i = 0; i < shop->gateway.refund_count; i++) {
    char amount[40];
    const struct model_refund *refund = &shop->gateway.refund[i];
    model_amount_words(shop->config, refund->amount_minor, amount, sizeof amount);
    printf("%srefund %zu, %s of payment %" PRId64, comma, i + 1, amount, refund->charge);
    comma = "; ";
  }
  for (size_t i = 0; i < shop->mailer.sent_count; i++) {
    const struct model_mail_sent *sent = &shop->mailer.ledger[i];
    printf("%s%s of order:%" PRId64, comma, model_step_name((enum model_step)sent->step), sent->order);
    comma = "; ";
  }
  for (size_t i = 0; i < shop->carrier.parcel_count; i++) {
    printf("%sparcel of order:%" PRId64, comma, shop->carrier.ledger[i].order);
    comma = "; ";
  }
  bool empty = shop->gateway.charge_count + shop->mailer.sent_count + shop->carrier.parcel_count == 0;
  printf("%s\n", !empty ? "" : whole ? "  the ledgers are empty" : "  the gateway's ledger is empty");
}

/* The story up to the sentence of `invariant` (-1: all of it); of what comes after it, the ledger and the other verdicts. */
static void print_story(const struct runner_world *world, int invariant) {
  const struct sim_trace *trace = sim_world_trace(world->world);
  const char *sentence = invariant >= 0 ? sim_world_judgement(world->world)->sentence[invariant] : NULL;
  struct report_story_line *line = calloc(trace->line_count + 2, sizeof *line);
  ENSURE(line != NULL);
  size_t count = 0, left_out = 0;
  bool over = false;
  for (size_t i = 0; i < trace->line_count; i++) {
    const struct report_story_line each = {trace->line[i].time_ns, trace->line[i].who, trace->line[i].text};
    bool verdict = strcmp(each.who, "=>") == 0;
    if (!over || verdict || strncmp(each.text, "LEDGER", 6) == 0) line[count++] = each;
    else left_out++;
    over = over || (sentence != NULL && verdict && strcmp(each.text, sentence) == 0);
  }
  report_text_story(stdout, line, count);
  if (left_out > 0) printf("  ...           %zu steps after the failure are left out; --full tells them\n", left_out);
  free(line);
}

/* The invariant that the story is about: the wanted one, else the first broken one; -1 for none. */
static int invariant_told(const struct runner_result *result, int wanted) {
  if (wanted >= 0 && (result->violated >> wanted & 1) != 0) return wanted;
  return result->violated != 0 ? __builtin_ctzll(result->violated) : -1;
}

/* What is broken, the wanted invariant first (-1: the first there is), and the remedy. */
static void print_verdict(const struct runner_result *result, int wanted) {
  char names[900];
  if (result->violated != 0) {
    int first = invariant_told(result, wanted);
    printf("  broken: %s. %s\n", model_invariants[first].name, model_invariants[first].sentence);
    printf("  remedy: %s\n", model_invariants[first].remedy);
    runner_invariant_names(result->violated & ~(UINT64_C(1) << first), names, sizeof names);
    if (names[0] != '\0') printf("  broken as well: %s\n", names);
  }
  if (result->stuck) printf("  the run never came to rest\n");
}

/* 1 fails the same way, 0 no longer fails, 2 differently or not reached; for --bisect everything else is 125. */
static int replay_code(const struct runner_options *options, const struct told *told, const struct runner_result *result,
                       bool all_reached) {
  if (told->replay == NULL) return runner_failed(result) ? EXIT_VIOLATED : EXIT_HELD;
  int code = runner_breaks(result, told->replay->invariant) ? EXIT_VIOLATED
             : runner_failed(result)                        ? EXIT_INCONCLUSIVE
             : all_reached                                  ? EXIT_HELD
                                                            : EXIT_INCONCLUSIVE;
  return options->bisect && code == EXIT_INCONCLUSIVE ? EXIT_BISECT_SKIP : code;
}

int runner_command_replay(const struct runner_options *options) {
  struct runner_world world;
  runner_world_open(&world);
  struct told *told = calloc(1, sizeof *told);
  ENSURE(told != NULL);
  if (!open_told(options, &world, told)) {
    close_told(told);
    runner_world_close(&world);
    return options->bisect ? EXIT_BISECT_SKIP : EXIT_USAGE;
  }
  struct runner_result result = told->replay == NULL ? runner_run_seed(&world, told->scenario, told->seed, true)
                                                     : runner_run_list(&world, told->scenario, told->fault, told->fault_count, true, false);
  const struct sim_decisions *decisions = sim_world_decisions(world.world);
  if (told->replay == NULL)
    printf("%s, seed %" PRIu64 ", %zu fault%s\n", told->scenario->name, told->seed, decisions->fault_count,
           decisions->fault_count == 1 ? "" : "s");
  else printf("%s, %zu fault%s\n", told->scenario->name, told->fault_count, told->fault_count == 1 ? "" : "s");
  for (size_t i = 0; i < decisions->fault_count; i++) printf("  %zu. %s\n", i + 1, decisions->fault[i].words);
  bool all_reached = true;
  for (size_t i = 0; told->replay != NULL && i < told->fault_count; i++) {
    if (told->fault[i].reached) continue;
    all_reached = false;
    printf("  not reached: %s\n", told->fault[i].words);
  }
  int wanted = told->replay != NULL ? told->replay->invariant : -1;
  print_story(&world, options->full ? -1 : invariant_told(&result, wanted));
  print_ledgers(&world);
  print_verdict(&result, wanted);
  if (told->replay != NULL && told->replay->scenario_hash != told->scenario->hash)
    printf("  (the scenario file has changed since this replay was written)\n");
  int code = replay_code(options, told, &result, all_reached);
  const char *verdict = code == EXIT_VIOLATED ? (told->replay ? "fails the same way" : "fails")
                        : code == EXIT_HELD   ? (told->replay ? "no longer fails" : "holds")
                                              : "fails differently, or its faults are not reached";
  bool same = told->replay != NULL && told->replay->digest == result.digest;
  printf("%s; digest %016" PRIx64 "%s\n", verdict, result.digest,
         told->replay == NULL ? ""
         : same               ? ", as recorded"
                              : ", another than recorded (other sources, SQLite or scenario)");
  close_told(told);
  runner_world_close(&world);
  return code;
}

int runner_command_shrink(const struct runner_options *options) {
  struct runner_world world;
  runner_world_open(&world);
  struct told *told = calloc(1, sizeof *told);
  ENSURE(told != NULL);
  int code = EXIT_USAGE;
  if (open_told(options, &world, told)) {
    struct runner_result result = runner_run_list(&world, told->scenario, told->fault, told->fault_count, false, false);
    int wanted = told->replay != NULL ? told->replay->invariant : result.violated != 0 ? __builtin_ctzll(result.violated) : -1;
    if (!runner_breaks(&result, wanted)) {
      if (options->json) fprintf(stderr, "oncesim: this run does not fail, so there is nothing to shrink\n");
      else printf("this run does not fail%s, so there is nothing to shrink\n", told->replay ? " the recorded way" : "");
      code = EXIT_HELD;
    } else {
      struct runner_changes none = {0};
      struct runner_finding_context context = {told->scenario, options, told->replay ? &told->replay->changes : &options->changes, 0, 0};
      if (context.changes == NULL) context.changes = &none;
      code = runner_exit_worse(EXIT_VIOLATED, runner_finding_report(&world, &context, wanted, told->fault, told->fault_count,
                                                                    told->replay == NULL, told->seed, result.digest, result.violated));
    }
  }
  close_told(told);
  runner_world_close(&world);
  return code;
}
