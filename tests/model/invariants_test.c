/* Twins of the invariants that no known-bad scenario breaks for certain: a run that holds, a fact bent after it, and the
   checker must see it, with the right words. Bent the other way it must not. */
#include <string.h>

#include "runner/one.h"
#include "tests/support.h"

static struct runner_world world;
static struct runner_scenario *scenario;

static void open_scenario(const char *text) {
  char error[RUNNER_ERROR_SIZE];
  scenario = runner_scenario_parse("test", text, strlen(text), error, sizeof error);
  if (scenario == NULL) print_message("%s\n", error);
  assert_non_null(scenario);
  runner_world_open(&world);
}

static int close_scenario(void **state) {
  (void)state;
  runner_world_close(&world);
  runner_scenario_free(scenario);
  return 0;
}

/* A run without faults, told so that sentences are kept; it must hold. */
static struct model_facts *quiet_run(void) {
  struct runner_result result = runner_run_list(&world, scenario, NULL, 0, true, false);
  assert_int_equal(result.violated, 0);
  assert_false(result.stuck);
  assert_int_equal(world.shop->facts->order_count, 1);
  return world.shop->facts;
}

static bool violated(enum model_invariant invariant) { return (sim_world_judgement(world.world)->violated >> invariant & 1) != 0; }

static void assert_violated(enum model_invariant invariant, const char *words) {
  const struct sim_judgement *judgement = sim_world_judgement(world.world);
  assert_int_equal(judgement->violated, UINT64_C(1) << invariant);
  assert_non_null(judgement->sentence[invariant]);
  if (strstr(judgement->sentence[invariant], words) == NULL) print_message("%s\n", judgement->sentence[invariant]);
  assert_non_null(strstr(judgement->sentence[invariant], words));
}

/* ---- quiet_run_completes ---- */

static void quiet_run_completes_has_a_twin(void **state) {
  (void)state;
  open_scenario("scenario: a\nfaults: quiet\n");
  struct model_facts *facts = quiet_run();
  assert_true(sim_world_judgement(world.world)->in_danger >> INVARIANT_QUIET_RUN_COMPLETES & 1);
  facts->order[0].state = STATE_UNKNOWN;
  model_judge_quiet(world.shop);
  assert_violated(INVARIANT_QUIET_RUN_COMPLETES, "the payment of order:1 ends Unknown");
}

static void a_run_with_faults_need_not_complete(void **state) {
  (void)state;
  open_scenario("scenario: a\nfaults: {bus: {lost: 1/2}}\n");
  uint64_t seed = 1;
  while (runner_run_seed(&world, scenario, seed, true).violated == 0 && sim_world_fault_count(world.world) == 0) seed++;
  world.shop->facts->order[0].state = STATE_UNKNOWN;
  model_judge_quiet(world.shop);
  assert_false(violated(INVARIANT_QUIET_RUN_COMPLETES));
}

/* ---- exactly_one_ending ---- */

static void end_a_second_cart(enum model_state ending) {
  struct model_order_fact *second = model_order_fact(world.shop, model_order_number(1, 2));
  second->purchase = 1;
  second->state = ending;
  model_judge_endings(world.shop);
}

static void exactly_one_ending_has_a_twin(void **state) {
  (void)state;
  open_scenario("scenario: a\nfaults: quiet\n");
  quiet_run();
  end_a_second_cart(STATE_COMPLETED);
  assert_violated(INVARIANT_EXACTLY_ONE_ENDING, "Purchase 1 has 2 fulfilled orders and 0 open cases");
  quiet_run();
  end_a_second_cart(STATE_PARKED);
  assert_violated(INVARIANT_EXACTLY_ONE_ENDING, "Purchase 1 has 1 fulfilled orders and 1 open cases");
}

static void a_cart_that_failed_is_no_second_ending(void **state) {
  (void)state;
  open_scenario("scenario: a\nfaults: quiet\n");
  quiet_run();
  end_a_second_cart(STATE_FAILED);
  assert_false(violated(INVARIANT_EXACTLY_ONE_ENDING));
}

/* ---- no_lost_command ---- */

static void no_lost_command_has_a_twin(void **state) {
  (void)state;
  open_scenario("scenario: a\nfaults: quiet\n");
  struct model_facts *facts = quiet_run();
  model_judge_commands(world.shop);
  assert_false(violated(INVARIANT_NO_LOST_COMMAND));
  facts->order[0].placed = false;
  assert_true(facts->order[0].told_accepted);
  model_judge_commands(world.shop);
  assert_violated(INVARIANT_NO_LOST_COMMAND, "order:1 was accepted");
}

/* ---- manual_queue_is_complete ---- */

/* A gateway that tells nothing, and an answer that is lost: the payment is parked with an open case. */
static struct model_facts *parked_run(void) {
  struct sim_fault lost = {0};
  const char *reason = sim_fault_parse(sim_world_decisions(world.world)->catalogue,
                                       "lost: answer, gateway life 1, Charged order:1:payment try 1, on its way", &lost);
  assert_null(reason);
  struct runner_result result = runner_run_list(&world, scenario, &lost, 1, true, false);
  assert_int_equal(result.violated, 0);
  assert_true(lost.reached);
  assert_true(result.in_danger >> INVARIANT_MANUAL_QUEUE_IS_COMPLETE & 1);
  assert_int_equal(world.shop->facts->operation[0].status, STATE_PARKED);
  return world.shop->facts;
}

static void manual_queue_is_complete_has_a_twin(void **state) {
  (void)state;
  open_scenario("scenario: a\ngateway: mute\n");
  struct model_facts *facts = parked_run();
  facts->operation[0].amount_minor++;
  model_judge_queue(world.shop);
  assert_violated(INVARIANT_MANUAL_QUEUE_IS_COMPLETE, "order:1:payment is parked, but the human's queue lacks its amount");
  facts = parked_run();
  facts->operation[0].id++;
  facts->order[0].operation++;
  model_judge_queue(world.shop);
  assert_violated(INVARIANT_MANUAL_QUEUE_IS_COMPLETE, "the human's queue does not list it");
  facts = parked_run();
  facts->operation[0].status = STATE_COMPLETED;
  facts->order[0].state = STATE_COMPLETED;
  model_judge_queue(world.shop);
  assert_violated(INVARIANT_MANUAL_QUEUE_IS_COMPLETE, "lists a case whose payment is not parked");
}

static void a_parked_order_without_a_parked_payment_is_seen(void **state) {
  (void)state;
  open_scenario("scenario: a\nfaults: quiet\n");
  struct model_facts *facts = quiet_run();
  facts->order[0].state = STATE_PARKED;
  model_judge_queue(world.shop);
  assert_violated(INVARIANT_MANUAL_QUEUE_IS_COMPLETE, "order:1 is parked, but the payment service has no such open case");
}

/* ---- polling_is_bounded, redelivery_is_bounded: limits tighter than the design keeps ---- */

static unsigned seeds_that_violate(enum model_invariant invariant, uint64_t seeds) {
  unsigned count = 0;
  for (uint64_t seed = 1; seed <= seeds; seed++) {
    struct runner_result result = runner_run_seed(&world, scenario, seed, true);
    if ((result.violated >> invariant & 1) == 0) continue;
    assert_int_equal(result.violated, UINT64_C(1) << invariant); /* nothing else is wrong with the design */
    count++;
  }
  return count;
}

static void polling_is_bounded_has_a_twin(void **state) {
  (void)state;
  open_scenario("scenario: a\ngateway: plain\nlimits: {polls: 1}\n");
  assert_true(seeds_that_violate(INVARIANT_POLLING_IS_BOUNDED, 300) > 3);
  scenario->config.polls_max = 40;
  assert_int_equal(seeds_that_violate(INVARIANT_POLLING_IS_BOUNDED, 300), 0);
}

static void redelivery_is_bounded_has_a_twin(void **state) {
  (void)state;
  open_scenario("scenario: a\nlimits: {redeliveries: 1}\n");
  assert_true(seeds_that_violate(INVARIANT_REDELIVERY_IS_BOUNDED, 300) > 3);
  scenario->config.redeliveries_max = 24;
  assert_int_equal(seeds_that_violate(INVARIANT_REDELIVERY_IS_BOUNDED, 300), 0);
}

int main(void) {
  const struct CMUnitTest invariants[] = {
      cmocka_unit_test_teardown(quiet_run_completes_has_a_twin, close_scenario),
      cmocka_unit_test_teardown(a_run_with_faults_need_not_complete, close_scenario),
      cmocka_unit_test_teardown(exactly_one_ending_has_a_twin, close_scenario),
      cmocka_unit_test_teardown(a_cart_that_failed_is_no_second_ending, close_scenario),
      cmocka_unit_test_teardown(no_lost_command_has_a_twin, close_scenario),
      cmocka_unit_test_teardown(manual_queue_is_complete_has_a_twin, close_scenario),
      cmocka_unit_test_teardown(a_parked_order_without_a_parked_payment_is_seen, close_scenario),
      cmocka_unit_test_teardown(polling_is_bounded_has_a_twin, close_scenario),
      cmocka_unit_test_teardown(redelivery_is_bounded_has_a_twin, close_scenario),
  };
  return cmocka_run_group_tests(invariants, NULL, NULL);
}
