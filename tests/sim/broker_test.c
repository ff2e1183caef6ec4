/* The broker: what it holds is delivered until a handler has returned; a handler that dies, freezes or throws has it delivered
   again; what is given up lies in the error queue and may be requeued. */
#include <stdio.h>
#include <string.h>

#include "faults/catalogue.h"
#include "sim/sql.h"
#include "sim/world.h"
#include "tests/support.h"

enum { SENDER, WORKER, SERVICES };
enum { GO, JOB, KINDS };
enum { JOBS = 3, DELIVERIES_MAX = 200 };
enum { INSERT_JOB };

static const char *const statements[] = {"INSERT INTO jobs VALUES(?) ON CONFLICT DO NOTHING"};
static const char *const tables[] = {"jobs"};
static const char *const kinds[] = {"Go", "Job"};

static struct {
  struct sim_world *world;
  struct sim_setup setup;
  struct sim_plan plan;
  int fails;        /* how many deliveries of a job the handler throws on */
  int64_t delay_ns; /* of sending */
  uint32_t deliveries[JOBS + 1], given_up;
  int64_t first_ns[JOBS + 1], last_ns[JOBS + 1];
  struct sim_fault list[SIM_FAULTS_MAX];
  const char *wrong;
} test;

static void sender_handles(struct sim_node *node, const struct sim_message *message) {
  struct sim_message job = {.kind = JOB, .attempt = 1, .subject = message->subject, .id = sim_id_join("job:", message->subject, "")};
  if (test.delay_ns > 0) sim_send_later(node, WORKER, &job, test.delay_ns);
  else sim_send(node, WORKER, &job, 0);
}

static void worker_handles(struct sim_node *node, const struct sim_message *message) {
  int64_t number = message->subject;
  if (test.deliveries[number]++ == 0) test.first_ns[number] = sim_world_now(test.world);
  test.last_ns[number] = sim_world_now(test.world);
  sim_sql_begin(node);
  sim_sql_run(node, INSERT_JOB, "i", number);
  if (sim_sql_commit(node, "job") != SIM_COMMIT_DONE) sim_node_stop(node);
  if (message->delivery <= (uint32_t)test.fails) sim_message_failed(node);
}

static void given_up(struct sim_world *world, size_t service, const struct sim_message *message) {
  (void)world;
  (void)service;
  (void)message;
  test.given_up++;
}

static const struct sim_service services[SERVICES] = {
    {.name = "sender", .outside = true, .handle = sender_handles},
    {.name = "worker",
     .endpoint = true,
     .schema = "CREATE TABLE jobs(number INTEGER PRIMARY KEY);",
     .table = tables,
     .table_count = 1,
     .statement = statements,
     .statement_count = 1,
     .handle = worker_handles},
};
static const struct sim_observer observer = {.given_up = given_up};

static int set_up(void **state) {
  (void)state;
  static bool made;
  if (!made) test.world = sim_world_create(fault_catalogue(), services, SERVICES, kinds, KINDS);
  made = true;
  test.setup = (struct sim_setup){.scenario = "broker",
                                  .scenario_seed = 7,
                                  .instance_count = {1, 1},
                                  .request_lifetime_ns = 10 * SIM_MINUTE,
                                  .lease_ns = SIM_MINUTE,
                                  .retry_window_ns = SIM_HOUR,
                                  .dedup_retention_ns = SIM_DAY,
                                  .faults_until_ns = 60 * SIM_DAY,
                                  .resolve_within_ns = 90 * SIM_DAY,
                                  .observer = &observer};
  test.plan = (struct sim_plan){0};
  test.fails = 0;
  test.delay_ns = 0;
  return 0;
}

static void run(void) {
  memset(test.deliveries, 0, sizeof test.deliveries);
  test.given_up = 0;
  sim_world_begin(test.world, &test.setup, false);
  for (int64_t job = 1; job <= JOBS; job++) {
    struct sim_message go = {.kind = GO, .attempt = 1, .subject = job, .id = sim_id_join("job:", job, "")};
    sim_timer_set(sim_world_node(test.world, SENDER, 0), (job - 1) * SIM_SECOND, &go);
  }
  assert_int_equal(sim_world_run(test.world), SIM_END_QUIET);
}

static void run_words(const char *const *words, size_t count) {
  for (size_t i = 0; i < count; i++) assert_null(sim_fault_parse(fault_catalogue(), words[i], &test.list[i]));
  sim_decisions_begin_list(sim_world_decisions(test.world), &test.plan, test.list, count);
  run();
  for (size_t i = 0; i < count; i++) {
    if (!test.list[i].reached) fail_msg("not reached: %s", words[i]);
  }
}

static void run_quiet(void) { run_words(NULL, 0); }

static void all_jobs_are_done(void) { assert_int_equal(sim_durable_count(test.world, WORKER, 0), JOBS); }

static void a_message_is_delivered_once(void **state) {
  (void)state;
  run_quiet();
  for (int job = 1; job <= JOBS; job++) assert_int_equal(test.deliveries[job], 1);
  all_jobs_are_done();
}

static void a_message_may_be_sent_for_later(void **state) {
  (void)state;
  test.delay_ns = SIM_HOUR;
  run_quiet();
  assert_true(test.first_ns[1] > SIM_HOUR && test.first_ns[1] < SIM_HOUR + SIM_SECOND);
}

static void a_handler_that_throws_has_it_again_at_once(void **state) {
  (void)state;
  test.fails = 2;
  run_quiet();
  assert_int_equal(test.deliveries[1], 3);
  assert_true(test.last_ns[1] - test.first_ns[1] < SIM_SECOND);
  assert_int_equal(test.given_up, 0);
}

static void then_later_and_later(void **state) {
  (void)state;
  test.fails = 4; /* the first round is of three, the second half a minute later */
  run_quiet();
  assert_int_equal(test.deliveries[1], 5);
  assert_true(test.last_ns[1] - test.first_ns[1] >= 30 * SIM_SECOND);
  assert_true(test.last_ns[1] - test.first_ns[1] < SIM_MINUTE);
}

static void what_is_given_up_is_requeued_by_the_operator(void **state) {
  (void)state;
  test.fails = 15; /* three at once, four rounds later: then it lies in the error queue */
  run_quiet();
  assert_int_equal(test.given_up, JOBS);
  assert_int_equal(test.deliveries[1], 16);
  assert_true(test.last_ns[1] - test.first_ns[1] > SIM_DAY);
  assert_int_equal(sim_broker_error_count(test.world, WORKER), 0);
}

static void or_left_there(void **state) {
  (void)state;
  static const char *const words[] = {"left: error_queue, -, Job job:1 try 1, in the error queue"};
  test.fails = 15;
  run_words(words, 1);
  assert_int_equal(test.deliveries[1], 15);
  assert_int_equal(sim_broker_error_count(test.world, WORKER), 1);
}

static void or_dropped_by_a_broker_that_has_no_error_queue(void **state) {
  (void)state;
  static const struct sim_broker dropping = {.name = "dropping", .tries_at_once = 2, .drops = true};
  test.setup.broker = &dropping;
  test.fails = 100;
  run_quiet();
  assert_int_equal(test.deliveries[1], 2);
  assert_int_equal(test.given_up, 0);
}

static void a_crash_gives_it_back_when_the_lease_is_over(void **state) {
  (void)state;
  static const char *const words[] = {"crash: gap, worker/1 life 1, Job job:1 try 1, job"};
  run_words(words, 1);
  assert_int_equal(test.deliveries[1], 2);
  assert_true(test.last_ns[1] - test.first_ns[1] >= SIM_MINUTE);
  all_jobs_are_done();
}

static void an_exception_gives_it_back_at_once(void **state) {
  (void)state;
  static const char *const words[] = {"throws: gap, worker/1 life 1, Job job:1 try 1, job"};
  run_words(words, 1);
  assert_int_equal(test.deliveries[1], 2);
  assert_true(test.last_ns[1] - test.first_ns[1] < SIM_SECOND);
}

static void a_zombie_does_its_work_beside_the_second_delivery(void **state) {
  (void)state;
  static const char *const words[] = {"pause: gap, worker/1 life 1, Job job:1 try 1, received"};
  test.setup.instance_count[WORKER] = 2;
  run_words(words, 1);
  assert_int_equal(test.deliveries[1], 2);
  all_jobs_are_done();
}

static void what_comes_while_nobody_is_up_waits(void **state) {
  (void)state;
  static const char *const words[] = {"crash: gap, worker/1 life 1, Job job:1 try 1, received", "hours: restart, worker/1 life 1, -, down"};
  run_words(words, 2);
  assert_true(test.first_ns[2] >= 3 * SIM_HOUR);
  all_jobs_are_done();
}

/* All answers that only endpoints can be given do come, and a seed's list replays to its digest. */
static void a_seeds_list_replays_to_its_digest(void **state) {
  (void)state;
  enum { SEEDS = 3000 };
  uint64_t fired[SIM_POINTS_MAX][SIM_ANSWERS_MAX] = {{0}};
  fault_plan_default(&test.plan);
  const struct sim_point *gap = sim_catalogue_find(fault_catalogue(), "gap");
  const struct sim_point *queue = sim_catalogue_find(fault_catalogue(), "error_queue");
  test.setup.instance_count[WORKER] = 2;
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    test.fails = seed % 2 ? 0 : 15;
    sim_decisions_begin_seed(sim_world_decisions(test.world), &test.plan, seed);
    run();
    uint64_t digest = sim_world_digest(test.world);
    all_jobs_are_done();
    size_t count = sim_world_decisions(test.world)->fault_count;
    memcpy(test.list, sim_world_decisions(test.world)->fault, count * sizeof test.list[0]);
    sim_decisions_begin_list(sim_world_decisions(test.world), &test.plan, test.list, count);
    run();
    if (sim_world_digest(test.world) != digest) fail_msg("seed %d differs from its %zu faults", (int)seed, count);
    for (size_t i = 0; i < count; i++) fired[test.list[i].point][test.list[i].answer]++;
  }
  for (int a = 1; a < gap->answer_count; a++) assert_true(fired[gap->index][a] > 0);
  for (int a = 1; a < queue->answer_count; a++) assert_true(fired[queue->index][a] > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(a_message_is_delivered_once, set_up),
      cmocka_unit_test_setup(a_message_may_be_sent_for_later, set_up),
      cmocka_unit_test_setup(a_handler_that_throws_has_it_again_at_once, set_up),
      cmocka_unit_test_setup(then_later_and_later, set_up),
      cmocka_unit_test_setup(what_is_given_up_is_requeued_by_the_operator, set_up),
      cmocka_unit_test_setup(or_left_there, set_up),
      cmocka_unit_test_setup(or_dropped_by_a_broker_that_has_no_error_queue, set_up),
      cmocka_unit_test_setup(a_crash_gives_it_back_when_the_lease_is_over, set_up),
      cmocka_unit_test_setup(an_exception_gives_it_back_at_once, set_up),
      cmocka_unit_test_setup(a_zombie_does_its_work_beside_the_second_delivery, set_up),
      cmocka_unit_test_setup(what_comes_while_nobody_is_up_waits, set_up),
      cmocka_unit_test_setup(a_seeds_list_replays_to_its_digest, set_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
