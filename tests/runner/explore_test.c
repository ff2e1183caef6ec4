/* Explore against a slow enumerator that shares nothing with it but the run itself; its reductions against explorations
   without them; kept database connections against reopened ones.

   Method of the enumerator. Every (address, answer) that any run with at most one fault was asked is tried alone and with
   every other one, in the hope that both are reached. It knows nothing of run order, of levels or of "behind the last
   fault"; it is quadratic in the answers where explore visits only lists that come up. */
#include <stdlib.h>
#include <string.h>

#include "faults/catalogue.h"
#include "runner/explore.h"
#include "tests/runner/sanitized.h"
#include "tests/support.h"

static struct runner_scenario *open_scenario(const char *path) {
  char error[RUNNER_ERROR_SIZE];
  struct runner_scenario *scenario = runner_scenario_read(path, error, sizeof error);
  if (scenario == NULL) print_message("%s\n", error);
  assert_non_null(scenario);
  return scenario;
}

static uint64_t point_bit(const char *name) {
  const struct sim_point *point = sim_catalogue_find(fault_catalogue(), name);
  assert_non_null(point);
  return UINT64_C(1) << point->index;
}

/* ---- sets of runs ---- */

struct run {       /* a run with at most two faults, by its list in a fixed order */
  uint64_t key[2]; /* of each fault, the smaller first; 0: none */
  size_t count;
  uint64_t history, digest;
};

struct runs {
  struct run *run;
  size_t count, room;
};

static uint64_t fault_key(const struct sim_fault *fault) { return sim_finish(sim_mix(fault->address, fault->answer)); }

static void runs_add(struct runs *runs, const struct runner_result *result, const struct sim_fault *list, size_t count) {
  if (runs->count == runs->room) {
    runs->room = runs->room ? 2 * runs->room : 4096;
    runs->run = realloc(runs->run, runs->room * sizeof runs->run[0]);
    assert_non_null(runs->run);
  }
  assert_true(count <= 2);
  struct run run = {.count = count, .history = result->history, .digest = result->digest};
  for (size_t i = 0; i < count; i++) run.key[i] = fault_key(&list[i]);
  if (count == 2 && run.key[0] > run.key[1]) {
    uint64_t other = run.key[0];
    run.key[0] = run.key[1];
    run.key[1] = other;
  }
  runs->run[runs->count++] = run;
}

static void on_run(const struct runner_result *result, const struct sim_fault *list, size_t count, void *context) {
  runs_add(context, result, list, count);
}

static int compare(uint64_t a, uint64_t b) { return a < b ? -1 : a > b; }

static int by_list(const void *left, const void *right) {
  const struct run *a = left, *b = right;
  int order = compare(a->key[0], b->key[0]);
  return order != 0 ? order : compare(a->key[1], b->key[1]);
}

static int by_number(const void *left, const void *right) {
  uint64_t a, b;
  memcpy(&a, left, sizeof a);
  memcpy(&b, right, sizeof b);
  return compare(a, b);
}

static struct runs explored_of(const struct runner_scenario *scenario, uint64_t points, int faults) {
  struct runs runs = {0};
  struct runner_explored *explored = calloc(1, sizeof *explored);
  assert_non_null(explored);
  struct runner_explore_options options = {
      .faults_max = faults, .jobs = 1, .points = points, .go_on = true, .on_run = on_run, .context = &runs};
  runner_explore(scenario, &options, explored);
  assert_true(explored->complete);
  free(explored);
  return runs;
}

/* The distinct histories of a set, sorted; the caller frees them. */
static uint64_t *histories_of(const struct runs *runs, size_t *count_out) {
  uint64_t *history = malloc(runs->count * sizeof *history);
  assert_non_null(history);
  for (size_t i = 0; i < runs->count; i++) history[i] = runs->run[i].history;
  qsort(history, runs->count, sizeof *history, by_number);
  size_t count = 0;
  for (size_t i = 0; i < runs->count; i++) {
    if (i == 0 || history[i] != history[i - 1]) history[count++] = history[i];
  }
  *count_out = count;
  return history;
}

/* How many of `a` are not in `b`; both sorted. */
static size_t missing_from(const uint64_t *a, size_t a_count, const uint64_t *b, size_t b_count) {
  size_t missing = 0;
  for (size_t i = 0; i < a_count; i++) missing += bsearch(&a[i], b, b_count, sizeof b[0], by_number) == NULL;
  return missing;
}

/* ---- the enumerator ---- */

struct choices { /* each (address, answer) that some run was asked */
  struct sim_fault *fault;
  size_t count, room;
};

static void choices_add(struct choices *choices, const struct sim_fault *fault) {
  for (size_t i = 0; i < choices->count; i++) {
    if (choices->fault[i].address == fault->address && choices->fault[i].answer == fault->answer) return;
  }
  if (choices->count == choices->room) {
    choices->room = choices->room ? 2 * choices->room : 256;
    choices->fault = realloc(choices->fault, choices->room * sizeof choices->fault[0]);
    assert_non_null(choices->fault);
  }
  choices->fault[choices->count++] = *fault;
}

static void choices_of_run(struct choices *choices, const struct runner_scenario *scenario, const struct sim_decisions *decisions,
                           uint64_t points) {
  for (uint32_t d = 0; d < decisions->asked_count; d++) {
    const struct sim_asked *asked = &decisions->asked[d];
    if (points != 0 && (points >> asked->point & 1) == 0) continue;
    for (uint8_t answer = 1; answer < SIM_ANSWERS_MAX; answer++) {
      if ((asked->offered & scenario->plan.explored[asked->point] & 1U << answer) == 0) continue;
      choices_add(choices,
                  &(struct sim_fault){.address = asked->address, .family = asked->family, .point = asked->point, .answer = answer});
    }
  }
}

/* Run the list; kept only when the run reached all of it. */
static void try_list(struct runner_world *world, const struct runner_scenario *scenario, const struct sim_fault *first,
                     const struct sim_fault *second, struct runs *out, struct choices *choices, uint64_t points) {
  struct sim_fault list[2];
  size_t count = 0;
  if (first != NULL) list[count++] = *first;
  if (second != NULL) list[count++] = *second;
  struct runner_result result = runner_run_list(world, scenario, list, count, false, choices != NULL);
  bool reached = true;
  for (size_t i = 0; i < count; i++) reached = reached && list[i].reached;
  if (!reached) return;
  runs_add(out, &result, list, count);
  if (choices != NULL) choices_of_run(choices, scenario, sim_world_decisions(world->world), points);
}

static struct runs enumerated(const struct runner_scenario *scenario, uint64_t points, size_t *tried_out) {
  struct runs runs = {0};
  struct choices choices = {0};
  struct runner_world world;
  runner_world_open(&world);
  try_list(&world, scenario, NULL, NULL, &runs, &choices, points);
  for (size_t i = 0; i < choices.count; i++) { /* grows while it is walked */
    struct sim_fault alone = choices.fault[i];
    try_list(&world, scenario, &alone, NULL, &runs, &choices, points);
  }
  *tried_out = 1 + choices.count;
  for (size_t i = 0; i < choices.count; i++) {
    for (size_t j = i + 1; j < choices.count; j++) {
      if (choices.fault[i].address == choices.fault[j].address) continue;
      try_list(&world, scenario, &choices.fault[j], &choices.fault[i], &runs, NULL, points); /* the order must not matter */
      ++*tried_out;
    }
  }
  runner_world_close(&world);
  free(choices.fault);
  return runs;
}

static void assert_explore_is_complete(const char *path, const char *points_words, uint64_t points) {
  struct runner_scenario *scenario = open_scenario(path);
  size_t tried = 0;
  struct runs slow = enumerated(scenario, points, &tried);
  struct runs fast = explored_of(scenario, points, 2);
  print_message("%s, %s: %zu lists tried, %zu of them reached; explore visits %zu\n", scenario->name, points_words, tried, slow.count,
                fast.count);
  qsort(slow.run, slow.count, sizeof slow.run[0], by_list);
  qsort(fast.run, fast.count, sizeof fast.run[0], by_list);
  for (size_t i = 1; i < fast.count; i++) assert_int_not_equal(by_list(&fast.run[i - 1], &fast.run[i]), 0); /* each once */
  for (size_t i = 0; i < slow.count && i < fast.count; i++) {
    assert_int_equal(by_list(&slow.run[i], &fast.run[i]), 0);
    assert_int_equal(slow.run[i].digest, fast.run[i].digest);
    assert_int_equal(slow.run[i].history, fast.run[i].history);
  }
  assert_int_equal(slow.count, fast.count);
  assert_true(fast.count > 100);
  free(slow.run);
  free(fast.run);
  runner_scenario_free(scenario);
}

static void explore_visits_every_list_of_two_faults_once(void **state) {
  (void)state;
  uint64_t calls = point_bit("request") | point_bit("answer") | point_bit("gateway.charge") | point_bit("gateway.look_up");
  assert_explore_is_complete("scenarios/payment-single.yaml", "bus", point_bit("bus"));
  assert_explore_is_complete("scenarios/payment-plain.yaml", "calls and gateway", calls);
  assert_explore_is_complete("scenarios/payment-two-instances.yaml", "routes, transactions, calls",
                             point_bit("route") | point_bit("transaction") | calls);
  if (!RUNNER_SANITIZED) assert_explore_is_complete("scenarios/payment-single.yaml", "all points", 0);
}

/* ---- reductions ---- */

/* A gap asked from both sides is compared at one fault and without pauses. With two faults it answers one place twice
   (freeze, then crash), which no gap asked once can; and a pause tells the two sides apart by what the handler did in
   between: it looked at the clock, or set the timer of a message that it had not sent yet. */
static const struct {
  enum sim_unreduced bit;
  const char *name;
  int faults;
  bool pauses;
} reductions[] = {
    {SIM_ASK_YIELD_ALONE, "yield where nothing else is due", 2, true},
    {SIM_ASK_BEHIND_NOTHING, "behind the next event, where there is none", 2, true},
    {SIM_ASK_LOST_TO_NOBODY, "lost, where the receiver is down", 2, true},
    {SIM_ASK_POWER_WHEN_SYNCED, "power loss with nothing unsynced", 2, true},
    {SIM_ASK_GAPS_TWICE, "gaps asked twice", 1, false},
};

static void explore_no_pauses(struct runner_scenario *scenario) {
  const struct sim_point *gap = sim_catalogue_find(fault_catalogue(), "gap");
  for (int a = 1; a < gap->answer_count; a++) {
    if (strncmp(gap->answer[a].text, "pause", 5) == 0) scenario->plan.explored[gap->index] &= (uint8_t) ~(1U << a);
  }
}

struct comparison {
  size_t more;  /* runs that the reduction saves */
  size_t lost;  /* histories that only the unreduced exploration has */
  size_t added; /* and only the reduced one */
};

static struct comparison compare_histories(const char *path, size_t reduction) {
  struct runner_scenario *scenario = open_scenario(path);
  int faults = RUNNER_SANITIZED ? 1 : reductions[reduction].faults;
  if (!reductions[reduction].pauses) explore_no_pauses(scenario);
  struct runs reduced = explored_of(scenario, 0, faults);
  scenario->setup.unreduced = reductions[reduction].bit;
  struct runs whole = explored_of(scenario, 0, faults);
  size_t reduced_count = 0, whole_count = 0;
  uint64_t *some = histories_of(&reduced, &reduced_count), *all = histories_of(&whole, &whole_count);
  struct comparison result = {whole.count - reduced.count, missing_from(all, whole_count, some, reduced_count),
                              missing_from(some, reduced_count, all, whole_count)};
  print_message("%-24s %-44s %6zu runs -> %6zu, %5zu histories -> %5zu; lost %zu, new %zu\n", scenario->name, reductions[reduction].name,
                whole.count, reduced.count, whole_count, reduced_count, result.lost, result.added);
  free(some);
  free(all);
  free(reduced.run);
  free(whole.run);
  runner_scenario_free(scenario);
  return result;
}

static void no_reduction_loses_a_history(void **state) {
  (void)state;
  static const char *const path[] = {"scenarios/payment-two-instances.yaml", "scenarios/payment-plain.yaml"};
  bool sound = true, asked = true;
  for (size_t r = 0; r < sizeof reductions / sizeof reductions[0]; r++) {
    size_t more = 0;
    for (size_t p = 0; p < (RUNNER_SANITIZED ? 1 : sizeof path / sizeof path[0]); p++) {
      struct comparison result = compare_histories(path[p], r);
      sound = sound && result.lost == 0 && result.added == 0;
      more += result.more;
    }
    asked = asked && more > 0; /* a question that never comes up proves nothing */
  }
  assert_true(sound);
  assert_true(asked || RUNNER_SANITIZED); /* some come up only behind another fault */
}

/* The twin: leaving out an answer that does matter is seen. */
static void an_unsound_reduction_is_seen(void **state) {
  (void)state;
  struct runner_scenario *scenario = open_scenario("scenarios/payment-single.yaml");
  struct runs whole = explored_of(scenario, 0, 2);
  const struct sim_point *bus = sim_catalogue_find(fault_catalogue(), "bus");
  scenario->plan.explored[bus->index] &= (uint8_t) ~(1U << 1); /* behind_next */
  struct runs less = explored_of(scenario, 0, 2);
  size_t whole_count = 0, less_count = 0;
  uint64_t *all = histories_of(&whole, &whole_count), *some = histories_of(&less, &less_count);
  assert_true(missing_from(all, whole_count, some, less_count) > 0);
  assert_int_equal(missing_from(some, less_count, all, whole_count), 0);
  free(all);
  free(some);
  free(whole.run);
  free(less.run);
  runner_scenario_free(scenario);
}

/* ---- kept connections ---- */

static void reopening_at_each_crash_changes_no_history(void **state) {
  (void)state;
  static const struct {
    const char *path;
    int faults;
  } tried[] = {{"scenarios/payment-single.yaml", 2},
               {"scenarios/payment-two-instances.yaml", 2},
               {"scenarios/known-bad/journal.recovery-trust.yaml", 2},
               {"scenarios/known-bad/journal.durability-delete_full.yaml", 1},
               {"scenarios/known-bad/journal.durability-relaxed.yaml", 1}};
  for (size_t t = 0; t < sizeof tried / sizeof tried[0]; t++) {
    struct runner_scenario *scenario = open_scenario(tried[t].path);
    int faults = RUNNER_SANITIZED ? 1 : tried[t].faults;
    struct runs kept = explored_of(scenario, 0, faults);
    scenario->setup.reopen_at_crash = true;
    struct runs reopened = explored_of(scenario, 0, faults);
    size_t differ = 0, differ_in_full = 0;
    assert_int_equal(kept.count, reopened.count);
    for (size_t i = 0; i < kept.count; i++) {
      assert_int_equal(by_list(&kept.run[i], &reopened.run[i]), 0);
      differ += kept.run[i].history != reopened.run[i].history;
      differ_in_full += kept.run[i].digest != reopened.run[i].digest;
    }
    print_message("%-34s %6zu runs: %zu other histories, %zu other digests\n", scenario->name, kept.count, differ, differ_in_full);
    assert_int_equal(differ, 0);
    free(kept.run);
    free(reopened.run);
    runner_scenario_free(scenario);
  }
}

int main(void) {
  const struct CMUnitTest explore[] = {
      cmocka_unit_test(explore_visits_every_list_of_two_faults_once),
      cmocka_unit_test(no_reduction_loses_a_history),
      cmocka_unit_test(an_unsound_reduction_is_seen),
      cmocka_unit_test(reopening_at_each_crash_changes_no_history),
  };
  return cmocka_run_group_tests(explore, NULL, NULL);
}
