/* A run is a pure function of scenario and faults: whatever ran before, in whatever order, in however many workers, by
   seed or by the list of faults that the seed came to. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults/catalogue.h"
#include "runner/campaign.h"
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

static void *take(size_t count, size_t size) {
  void *memory = calloc(count, size);
  assert_non_null(memory);
  return memory;
}

static void assert_same(const struct runner_result *a, const struct runner_result *b, const char *name, uint64_t seed) {
  if (a->digest != b->digest) print_message("%s: seed %llu differs\n", name, (unsigned long long)seed);
  assert_int_equal(a->digest, b->digest);
  assert_int_equal(a->history, b->history);
  assert_int_equal(a->violated, b->violated);
  assert_int_equal(a->in_danger, b->in_danger);
  assert_int_equal(a->stuck, b->stuck);
}

static size_t copy_faults(struct runner_world *world, struct sim_fault *out) {
  const struct sim_decisions *decisions = sim_world_decisions(world->world);
  memcpy(out, decisions->fault, decisions->fault_count * sizeof out[0]);
  return decisions->fault_count;
}

/* ---- the fault list is the run ---- */

static void replay_seeds(const char *path, uint64_t seeds) {
  struct runner_scenario *scenario = open_scenario(path);
  struct runner_world world;
  runner_world_open(&world);
  struct sim_fault *list = take(SIM_FAULTS_MAX, sizeof *list);
  uint64_t faults = 0;
  for (uint64_t seed = 1; seed <= seeds; seed++) {
    struct runner_result by_seed = runner_run_seed(&world, scenario, seed, false);
    size_t count = copy_faults(&world, list);
    struct runner_result by_list = runner_run_list(&world, scenario, list, count, false, false);
    assert_same(&by_seed, &by_list, scenario->name, seed);
    for (size_t i = 0; i < count; i++) assert_true(list[i].reached);
    faults += count;
  }
  assert_true(faults > seeds); /* else nothing was tested */
  free(list);
  runner_world_close(&world);
  runner_scenario_free(scenario);
}

static void the_fault_list_of_a_seed_is_the_seed(void **state) {
  (void)state;
  replay_seeds("scenarios/payment.yaml", RUNNER_SANITIZED ? 300 : 5000);
  replay_seeds("scenarios/payment-two-instances.yaml", RUNNER_SANITIZED ? 300 : 1500);
  replay_seeds("scenarios/payment-plain.yaml", RUNNER_SANITIZED ? 50 : 500);
  replay_seeds("scenarios/order.yaml", RUNNER_SANITIZED ? 50 : 1500);
  replay_seeds("scenarios/order-two-instances.yaml", RUNNER_SANITIZED ? 50 : 1000);
  replay_seeds("scenarios/order-webhooks-mute.yaml", RUNNER_SANITIZED ? 50 : 1000);
  replay_seeds("scenarios/order-restored.yaml", RUNNER_SANITIZED ? 50 : 1000);
  replay_seeds("scenarios/registration.yaml", RUNNER_SANITIZED ? 50 : 1500);
  replay_seeds("scenarios/known-bad/journal.on_commit_error-continue.yaml", RUNNER_SANITIZED ? 50 : 500);
  replay_seeds("scenarios/known-bad/payment.key_age-ignored.yaml", RUNNER_SANITIZED ? 50 : 500);
}

/* The twin: a list that lacks one fault of the world is another run. */
static void a_list_without_its_last_fault_is_another_run(void **state) {
  (void)state;
  struct runner_scenario *scenario = open_scenario("scenarios/payment.yaml");
  struct runner_world world;
  runner_world_open(&world);
  struct sim_fault *list = take(SIM_FAULTS_MAX, sizeof *list);
  uint64_t compared = 0, differ = 0;
  for (uint64_t seed = 1; seed <= 300; seed++) {
    struct runner_result whole = runner_run_seed(&world, scenario, seed, false);
    size_t count = copy_faults(&world, list);
    if (count == 0) continue;
    struct runner_result less = runner_run_list(&world, scenario, list, count - 1, false, false);
    compared++;
    differ += whole.digest != less.digest;
  }
  assert_true(compared > 200);
  assert_true(differ * 10 > compared * 8); /* a yield at the end of a handler, say, changes nothing */
  free(list);
  runner_world_close(&world);
  runner_scenario_free(scenario);
}

/* What a replay file carries: words. */
static void the_words_of_a_fault_lead_back_to_it(void **state) {
  (void)state;
  struct runner_scenario *scenario = open_scenario("scenarios/payment-two-instances.yaml");
  struct runner_world world;
  runner_world_open(&world);
  struct sim_fault *list = take(SIM_FAULTS_MAX, sizeof *list);
  char(*words)[400] = take(SIM_FAULTS_MAX, sizeof *words);
  uint64_t read = 0, repeated = 0;
  for (uint64_t seed = 1; seed <= (RUNNER_SANITIZED ? 60 : 400); seed++) {
    struct runner_result told = runner_run_seed(&world, scenario, seed, true);
    size_t count = copy_faults(&world, list);
    for (size_t i = 0; i < count; i++) {
      struct sim_fault back = {0};
      assert_non_null(list[i].words);
      snprintf(words[i], sizeof words[i], "%s", list[i].words);
      const char *reason = sim_fault_parse(fault_catalogue(), words[i], &back);
      if (reason != NULL) print_message("%s: %s\n", words[i], reason);
      assert_null(reason);
      assert_int_equal(back.address, list[i].address);
      assert_int_equal(back.family, list[i].family);
      assert_int_equal(back.point, list[i].point);
      assert_int_equal(back.answer, list[i].answer);
      repeated += strstr(words[i], ", time ") != NULL;
      read++;
      list[i] = back;
    }
    struct runner_result again = runner_run_list(&world, scenario, list, count, false, false);
    assert_same(&told, &again, scenario->name, seed);
  }
  print_message("%llu faults read back, %llu of them not the first of their address\n", (unsigned long long)read,
                (unsigned long long)repeated);
  assert_true(read > 300 && repeated > 0);
  free(words);
  free(list);
  runner_world_close(&world);
  runner_scenario_free(scenario);
}

/* ---- what ran before does not matter ---- */

static void the_order_of_seeds_does_not_matter(void **state) {
  (void)state;
  enum { SEEDS = RUNNER_SANITIZED ? 90 : 600 };
  static struct runner_result forwards[SEEDS + 1];
  struct runner_scenario *scenario = open_scenario("scenarios/payment.yaml");
  struct runner_scenario *other = open_scenario("scenarios/known-bad/journal.recovery-trust.yaml");
  struct runner_world world;
  runner_world_open(&world);
  for (uint64_t seed = 1; seed <= SEEDS; seed++) forwards[seed] = runner_run_seed(&world, scenario, seed, false);
  for (uint64_t seed = SEEDS; seed >= 1; seed--) {
    struct runner_result backwards = runner_run_seed(&world, scenario, seed, false);
    assert_same(&forwards[seed], &backwards, "backwards", seed);
  }
  for (uint64_t seed = 1; seed <= SEEDS; seed += 3) { /* another scenario, power losses and all, in between */
    runner_run_seed(&world, other, seed, false);
    struct runner_result between = runner_run_seed(&world, scenario, seed, false);
    assert_same(&forwards[seed], &between, "between", seed);
  }
  runner_world_close(&world);
  for (uint64_t seed = 1; seed <= 40; seed++) { /* and in a world of its own */
    runner_world_open(&world);
    struct runner_result fresh = runner_run_seed(&world, scenario, seed, false);
    assert_same(&forwards[seed], &fresh, "fresh", seed);
    runner_world_close(&world);
  }
  assert_int_not_equal(forwards[1].digest, forwards[2].digest);
  runner_scenario_free(other);
  runner_scenario_free(scenario);
}

/* Telling and recording look on; they change nothing. */
static void being_watched_changes_nothing(void **state) {
  (void)state;
  struct runner_scenario *scenario = open_scenario("scenarios/payment-two-instances.yaml");
  struct runner_world world;
  runner_world_open(&world);
  struct sim_fault *list = take(SIM_FAULTS_MAX, sizeof *list);
  for (uint64_t seed = 1; seed <= 300; seed++) {
    struct runner_result plain = runner_run_seed(&world, scenario, seed, false);
    size_t count = copy_faults(&world, list);
    struct runner_result told = runner_run_seed(&world, scenario, seed, true);
    assert_same(&plain, &told, "told", seed);
    struct runner_result recorded = runner_run_list(&world, scenario, list, count, false, true);
    assert_same(&plain, &recorded, "recorded", seed);
  }
  free(list);
  runner_world_close(&world);
  runner_scenario_free(scenario);
}

/* ---- campaigns ---- */

static struct runner_campaign *campaign_of(const struct runner_scenario *scenario, uint64_t seeds, int jobs, bool backwards) {
  struct runner_campaign *campaign = take(1, sizeof *campaign);
  struct runner_campaign_options options = {.first_seed = 1, .seeds = seeds, .jobs = jobs, .backwards = backwards};
  runner_campaign_run(scenario, &options, campaign);
  assert_false(campaign->worker_died);
  assert_int_equal(campaign->tally.runs, seeds);
  return campaign;
}

static void assert_same_tally(const struct runner_tally *a, const struct runner_tally *b) {
  assert_int_equal(a->digest, b->digest);
  assert_int_equal(a->failing_runs, b->failing_runs);
  assert_int_equal(a->stuck_runs, b->stuck_runs);
  assert_int_equal(a->transactions, b->transactions);
  assert_int_equal(a->steps, b->steps);
  assert_int_equal(a->decisions, b->decisions);
  assert_int_equal(a->repeated, b->repeated);
  for (size_t i = 0; i < SIM_INVARIANTS_MAX; i++) {
    assert_int_equal(a->violations[i], b->violations[i]);
    assert_int_equal(a->in_danger[i], b->in_danger[i]);
    if (a->violations[i] > 0) assert_int_equal(a->first_seed[i], b->first_seed[i]);
  }
  for (size_t p = 0; p < SIM_POINTS_MAX; p++) {
    assert_int_equal(a->asked[p], b->asked[p]);
    assert_int_equal(a->fired[p], b->fired[p]);
  }
  assert_int_equal(a->failing_count, b->failing_count);
  for (size_t i = 0; i < a->failing_count; i++) {
    assert_int_equal(a->failing[i].seed, b->failing[i].seed);
    assert_int_equal(a->failing[i].digest, b->failing[i].digest);
  }
}

static void jobs_and_direction_do_not_matter(void **state) {
  (void)state;
  static const char *const path[] = {"scenarios/payment.yaml", "scenarios/known-bad/payment.on_unknown-fail.yaml",
                                     "scenarios/known-bad/journal.recovery-trust.yaml"};
  for (size_t i = 0; i < sizeof path / sizeof path[0]; i++) {
    struct runner_scenario *scenario = open_scenario(path[i]);
    struct runner_campaign *one = campaign_of(scenario, RUNNER_SANITIZED ? 200 : 1000, 1, false);
    struct runner_campaign *two = campaign_of(scenario, RUNNER_SANITIZED ? 200 : 1000, 2, false);
    struct runner_campaign *three = campaign_of(scenario, RUNNER_SANITIZED ? 200 : 1000, 3, true);
    assert_true(i == 0 ? one->tally.failing_runs == 0 : one->tally.failing_count > 0);
    assert_same_tally(&one->tally, &two->tally);
    assert_same_tally(&one->tally, &three->tally);
    free(one);
    free(two);
    free(three);
    runner_scenario_free(scenario);
  }
}

/* The twin: the digest of a campaign tells 1,000 seeds from 999, and from another scenario's. */
static void campaigns_of_other_seeds_have_other_digests(void **state) {
  (void)state;
  struct runner_scenario *scenario = open_scenario("scenarios/payment-single.yaml");
  struct runner_scenario *plain = open_scenario("scenarios/payment-plain.yaml");
  struct runner_campaign *a = campaign_of(scenario, 256, 1, false);
  struct runner_campaign *b = campaign_of(scenario, 255, 1, false);
  struct runner_campaign *c = campaign_of(plain, 256, 1, false);
  assert_int_not_equal(a->tally.digest, b->tally.digest);
  assert_int_not_equal(a->tally.digest, c->tally.digest);
  free(a);
  free(b);
  free(c);
  runner_scenario_free(plain);
  runner_scenario_free(scenario);
}

/* ---- explorations ---- */

enum { EXPLORED_MAX = 20000 };

struct explored_run {
  struct runner_result result;
  struct sim_fault list[2];
  size_t count;
};

struct explored_runs {
  struct explored_run run[EXPLORED_MAX];
  size_t count;
};

static void keep_run(const struct runner_result *result, const struct sim_fault *list, size_t count, void *context) {
  struct explored_runs *runs = context;
  assert_true(runs->count < EXPLORED_MAX && count <= 2);
  struct explored_run *run = &runs->run[runs->count++];
  run->result = *result;
  run->count = count;
  memcpy(run->list, list, count * sizeof list[0]);
}

static void every_explored_run_comes_out_the_same_twice(void **state) {
  (void)state;
  static const char *const path[] = {"scenarios/payment-single.yaml", "scenarios/known-bad/journal.recovery-trust.yaml"};
  for (size_t s = 0; s < sizeof path / sizeof path[0]; s++) {
    struct runner_scenario *scenario = open_scenario(path[s]);
    struct explored_runs *runs = take(1, sizeof *runs);
    struct runner_explored *explored = take(1, sizeof *explored);
    struct runner_explore_options options = {
        .faults_max = RUNNER_SANITIZED ? 1 : 2, .jobs = 1, .go_on = true, .on_run = keep_run, .context = runs};
    runner_explore(scenario, &options, explored);
    assert_true(explored->complete);
    assert_int_equal(runs->count, explored->level[0].runs + explored->level[1].runs + explored->level[2].runs);
    struct runner_world world;
    runner_world_open(&world);
    for (size_t i = runs->count; i > 0; i--) { /* backwards, so that what ran before differs as well */
      struct explored_run *run = &runs->run[i - 1];
      struct runner_result again = runner_run_list(&world, scenario, run->list, run->count, false, false);
      assert_same(&run->result, &again, scenario->name, i);
    }
    runner_world_close(&world);
    free(explored);
    free(runs);
    runner_scenario_free(scenario);
  }
}

static void assert_same_level(const struct runner_level *a, const struct runner_level *b) {
  assert_int_equal(a->runs, b->runs);
  assert_int_equal(a->failing, b->failing);
  assert_int_equal(a->answers_left, b->answers_left);
  assert_int_equal(a->digest, b->digest);
  assert_int_equal(a->violated, b->violated);
  assert_int_equal(a->in_danger, b->in_danger);
  for (size_t i = 0; i <= SIM_INVARIANTS_MAX; i++) {
    if (i < SIM_INVARIANTS_MAX) assert_int_equal(a->violations[i], b->violations[i]);
    assert_int_equal(a->first[i].any, b->first[i].any);
    if (!a->first[i].any) continue;
    assert_int_equal(a->first[i].order, b->first[i].order);
    assert_int_equal(a->first[i].fault_count, b->first[i].fault_count);
    for (size_t f = 0; f < a->first[i].fault_count; f++) {
      assert_int_equal(a->first[i].fault[f].address, b->first[i].fault[f].address);
      assert_int_equal(a->first[i].fault[f].answer, b->first[i].fault[f].answer);
    }
  }
}

static void explore_counts_the_same_with_more_workers(void **state) {
  (void)state;
  static const char *const path[] = {"scenarios/payment-single.yaml", "scenarios/payment-two-instances.yaml",
                                     "scenarios/known-bad/payment.command_guard-not_for_unknown.yaml",
                                     "scenarios/known-bad/payment.key-fresh.yaml"};
  for (size_t s = 0; s < sizeof path / sizeof path[0]; s++) {
    struct runner_scenario *scenario = open_scenario(path[s]);
    struct runner_explored *one = take(1, sizeof *one), *other = take(1, sizeof *other);
    struct runner_explore_options options = {.faults_max = RUNNER_SANITIZED ? 1 : 2, .jobs = 1, .go_on = true};
    runner_explore(scenario, &options, one);
    for (int jobs = 2; jobs <= 3; jobs++) {
      options.jobs = jobs;
      runner_explore(scenario, &options, other);
      assert_int_equal(one->levels, other->levels);
      assert_true(one->complete && other->complete);
      assert_int_equal(one->answers, other->answers);
      for (int k = 0; k < one->levels; k++) assert_same_level(&one->level[k], &other->level[k]);
    }
    assert_true(one->level[one->levels - 1].runs > (RUNNER_SANITIZED ? 50U : 1000U));
    free(one);
    free(other);
    runner_scenario_free(scenario);
  }
}

int main(void) {
  const struct CMUnitTest campaign[] = {
      cmocka_unit_test(the_fault_list_of_a_seed_is_the_seed),
      cmocka_unit_test(a_list_without_its_last_fault_is_another_run),
      cmocka_unit_test(the_words_of_a_fault_lead_back_to_it),
      cmocka_unit_test(the_order_of_seeds_does_not_matter),
      cmocka_unit_test(being_watched_changes_nothing),
      cmocka_unit_test(jobs_and_direction_do_not_matter),
      cmocka_unit_test(campaigns_of_other_seeds_have_other_digests),
      cmocka_unit_test(every_explored_run_comes_out_the_same_twice),
      cmocka_unit_test(explore_counts_the_same_with_more_workers),
  };
  return cmocka_run_group_tests(campaign, NULL, NULL);
}
