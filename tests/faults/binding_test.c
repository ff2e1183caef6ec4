#include "faults/binding.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "faults/catalogue.h"
#include "tests/sim/toy.h"
#include "tests/support.h"

static const struct sim_catalogue *catalogue;
static struct sim_decisions *decisions;
static struct sim_plan plan; /* the first fault of each point is certain */

static int binding_setup(void **state) {
  (void)state;
  catalogue = fault_catalogue();
  plan = (struct sim_plan){0};
  for (size_t p = 0; p < catalogue->count; p++) plan.odds[p][1] = (struct sim_odds){1, 1};
  decisions = sim_decisions_create(catalogue);
  fault_binding_attach(decisions);
  sim_decisions_begin_seed(decisions, &plan, 1);
  decisions->pending_offered = 0xFE;
  return 0;
}

static int binding_teardown(void **state) {
  (void)state;
  fault_binding_detach(decisions);
  sim_decisions_destroy(decisions);
  return 0;
}

/* What libfiu says to a name, asked as the binding asks it. */
static int answer_to(const struct sim_point *point) { return decisions->gate(decisions, point); }

static void every_fault_point_is_enabled_in_libfiu_by_its_exact_name(void **state) {
  (void)state;
  size_t faults = 0;
  for (size_t p = 0; p < catalogue->count; p++) {
    const struct sim_point *point = &catalogue->point[p];
    if (point->class != SIM_POINT_FAULT) continue;
    uint64_t calls = fault_binding_calls();
    assert_int_equal(answer_to(point), 1);
    assert_true(fault_binding_calls() == calls + 1);
    faults++;
  }
  assert_true(faults >= 12);
}

static void an_unknown_name_is_not_enabled(void **state) {
  (void)state;
  static const char *const names[] = {"", "gap.", "ga", "gap/1", "GAP", "no.such.point", "*", "commit.*"};
  uint64_t calls = fault_binding_calls();
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    struct sim_point unknown = catalogue->point[0];
    unknown.name.text = names[i];
    assert_int_equal(answer_to(&unknown), 0);
  }
  assert_true(fault_binding_calls() == calls);
}

static void a_workload_point_does_not_pass_libfiu(void **state) {
  (void)state;
  uint64_t calls = fault_binding_calls();
  for (size_t p = 0; p < catalogue->count; p++) {
    const struct sim_point *point = &catalogue->point[p];
    if (point->class != SIM_POINT_WORKLOAD) continue;
    assert_int_equal(answer_to(point), 0); /* libfiu does not know it */
    assert_int_equal(sim_decide(decisions, point, &(struct sim_subject){.step = "asked"}, sim_point_all(point)), 1); /* the source does */
  }
  assert_true(fault_binding_calls() == calls);
}

static void the_answer_comes_back_as_the_number_of_the_answer(void **state) {
  (void)state;
  for (size_t p = 0; p < catalogue->count; p++) {
    const struct sim_point *point = &catalogue->point[p];
    for (int answer = 1; answer < point->answer_count; answer++) {
      memset(plan.odds[p], 0, sizeof plan.odds[p]);
      plan.odds[p][answer] = (struct sim_odds){1, 1};
      sim_decisions_begin_seed(decisions, &plan, 1);
      assert_int_equal(sim_decide(decisions, point, &(struct sim_subject){.step = "asked"}, sim_point_all(point)), answer);
    }
  }
}

static void initialising_again_changes_nothing(void **state) {
  (void)state;
  fault_binding_init();
  fault_binding_attach(decisions);
  uint64_t calls = fault_binding_calls();
  assert_int_equal(answer_to(sim_catalogue_find(catalogue, "gap")), 1);
  assert_true(fault_binding_calls() == calls + 1);
}

static void a_detached_source_is_asked_directly(void **state) {
  (void)state;
  fault_binding_detach(decisions);
  assert_true(decisions->gate == NULL);
  uint64_t calls = fault_binding_calls();
  const struct sim_point *gap = sim_catalogue_find(catalogue, "gap");
  assert_int_equal(sim_decide(decisions, gap, &(struct sim_subject){.step = "asked"}, sim_point_all(gap)), 1);
  assert_true(fault_binding_calls() == calls);
}

/* ---- a whole world through libfiu ---- */

enum { SEEDS = 400 };

static struct toy toy;
static struct sim_fault list[SIM_FAULTS_MAX];

static int open_world(void **state) {
  (void)state;
  toy_open(&toy);
  fault_plan_default(&toy.plan);
  toy.setup.instance_count[TOY_PONG] = 2;
  return 0;
}

static int close_world(void **state) {
  (void)state;
  fault_binding_detach(sim_world_decisions(toy.world));
  toy_close(&toy);
  return 0;
}

static void runs_through_libfiu_equal_runs_without_it(void **state) {
  (void)state;
  struct sim_decisions *source = sim_world_decisions(toy.world);
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    fault_binding_detach(source);
    toy_run_seed(&toy, seed);
    uint64_t digest = toy.digest;
    size_t count = source->fault_count;
    memcpy(list, source->fault, count * sizeof list[0]);
    fault_binding_attach(source);
    toy_run_seed(&toy, seed);
    if (toy.digest != digest) fail_msg("seed %" PRIu64 " differs through libfiu", seed);
    toy_run_list(&toy, list, count);
    if (toy.digest != digest) fail_msg("the list of seed %" PRIu64 " differs through libfiu", seed);
  }
}

static int never(struct sim_decisions *asking, const struct sim_point *point) {
  (void)asking;
  (void)point;
  return 0;
}

static void a_libfiu_that_never_fires_would_be_noticed(void **state) {
  (void)state;
  struct sim_decisions *source = sim_world_decisions(toy.world);
  uint32_t different = 0;
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    source->gate = NULL;
    toy_run_seed(&toy, seed);
    uint64_t digest = toy.digest;
    source->gate = never;
    toy_run_seed(&toy, seed);
    different += toy.digest != digest;
  }
  source->gate = NULL;
  assert_true(different > SEEDS / 2);
}

/* Fault decisions asked so far. */
static uint64_t faults_asked(const struct sim_decisions *source) {
  uint64_t asked = 0;
  for (size_t p = 0; p < catalogue->count; p++) asked += catalogue->point[p].class == SIM_POINT_FAULT ? source->point_asked[p] : 0;
  return asked;
}

static void libfiu_is_called_once_for_each_fault_decision_of_a_replay(void **state) {
  (void)state;
  struct sim_decisions *source = sim_world_decisions(toy.world);
  fault_binding_attach(source);
  for (uint64_t seed = 0; seed < 50; seed++) {
    toy_run_seed(&toy, seed);
    size_t count = source->fault_count;
    memcpy(list, source->fault, count * sizeof list[0]);
    uint64_t asked = faults_asked(source);
    uint64_t calls = fault_binding_calls();
    toy_run_list(&toy, list, count);
    assert_true(faults_asked(source) > asked + 20);
    assert_true(fault_binding_calls() - calls == faults_asked(source) - asked);
  }
}

static void a_seed_calls_libfiu_only_for_points_that_may_fire(void **state) {
  (void)state;
  struct sim_decisions *source = sim_world_decisions(toy.world);
  fault_binding_attach(source);
  uint64_t asked = faults_asked(source);
  uint64_t calls = fault_binding_calls();
  for (uint64_t seed = 0; seed < 100; seed++) toy_run_seed(&toy, seed);
  assert_true(fault_binding_calls() > calls);
  assert_true(fault_binding_calls() - calls < faults_asked(source) - asked); /* swarm makes some points dead */
  fault_plan_quiet(&toy.plan);
  calls = fault_binding_calls();
  toy_run_seed(&toy, 1);
  assert_true(fault_binding_calls() == calls);
}

int main(void) {
#define BINDING_TEST(name) cmocka_unit_test_setup_teardown(name, binding_setup, binding_teardown)
#define WORLD_TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)
  catalogue = fault_catalogue();
  const struct CMUnitTest binding_test[] = {
      BINDING_TEST(every_fault_point_is_enabled_in_libfiu_by_its_exact_name),
      BINDING_TEST(an_unknown_name_is_not_enabled),
      BINDING_TEST(a_workload_point_does_not_pass_libfiu),
      BINDING_TEST(the_answer_comes_back_as_the_number_of_the_answer),
      BINDING_TEST(initialising_again_changes_nothing),
      BINDING_TEST(a_detached_source_is_asked_directly),
      WORLD_TEST(runs_through_libfiu_equal_runs_without_it),
      WORLD_TEST(a_libfiu_that_never_fires_would_be_noticed),
      WORLD_TEST(libfiu_is_called_once_for_each_fault_decision_of_a_replay),
      WORLD_TEST(a_seed_calls_libfiu_only_for_points_that_may_fire),
  };
  return cmocka_run_group_tests(binding_test, NULL, NULL);
}
