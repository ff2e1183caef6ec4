/* Bugs of sim/ and faults/ that other tests and a search over wild seeds found; each test says what is right. */
#include <stdlib.h>

#include "faults/binding.h"
#include "faults/catalogue.h"
#include "sim/fiber.h"
#include "tests/sim/toy.h"
#include "tests/support.h"

static struct toy toy;

static int open_world(void **state) {
  (void)state;
  toy_open(&toy);
  return 0;
}

static int close_world(void **state) {
  (void)state;
  toy_close(&toy);
  return 0;
}

/* The first letter that waited for the boot to end pauses the node; the second must wait for the pause to end. */
static void letters_that_waited_for_a_boot_do_not_run_on_a_paused_node(void **state) {
  (void)state;
  static const char *const words[] = {"crash: gap, ping/1 life 1, Go job:1 try 1, received",
                                      "pause: gap, ping/1 life 2, Go job:7 try 1, received"};
  toy.job_count = 8;
  toy.start_takes_ns = 3 * SIM_SECOND; /* from 5.001 to 8.001 s; jobs 7 and 8 come meanwhile */
  assert_null(toy_run_words(&toy, words, 2));
  assert_null(toy_not_reached(&toy));
  assert_int_equal(toy_time(&toy, "ping/1.2 Go job:7"), 128 * SIM_SECOND + SIM_MS);
  assert_int_equal(toy_time(&toy, "ping/1.2 Go job:8"), 128 * SIM_SECOND + SIM_MS);
}

/* ping/1's commit fails at a sync: its frames stand in the log, but the shared memory that ping/2 keeps alive does not
   know them. ping/1 restarts and does not see the row; then both go down, and the next recovery finds it. */
static void run_a_commit_that_comes_back(void *argument) {
  (void)argument;
  static const char *const words[] = {
      "io_error: commit, ping/1 life 1, Go job:2 try 1, job stored",
      "crash: gap, ping/2 life 1, Go job:3 try 1, received",
      "hours: restart, ping/2 life 1, -, down",
      "crash: gap, ping/1 life 2, Go job:4 try 1, received",
  };
  toy.job_count = 4;
  toy.job_gap_ns = 10 * SIM_SECOND;
  toy.setup.instance_count[TOY_PING] = 2;
  if (toy_run_words(&toy, words, 4) != NULL || toy_not_reached(&toy) != NULL || toy.broken) abort();
}

static void a_failed_commit_may_come_back_when_the_last_instance_has_died(void **state) {
  (void)state;
  assert_true(support_survives(run_a_commit_that_comes_back, NULL));
}

/* world.h: when healing begins, "nodes that are down or paused come back now". */
static void healing_wakes_paused_nodes(void **state) {
  (void)state;
  static const char *const words[] = {"pause_days: gap, ping/1 life 1, Go job:1 try 1, job stored"};
  assert_null(toy_run_words(&toy, words, 1));
  assert_null(toy_not_reached(&toy));
  assert_true(toy_time(&toy, "ping/1.1 stored job:1") < SIM_DAY); /* healing begins after four hours */
}

/* ---- the durable copy ---- */

static const char schema[] = "CREATE TABLE numbers(k INTEGER PRIMARY KEY, v INTEGER)";
static const char *const tables[] = {"numbers"};
static const char *const statements[] = {"INSERT INTO numbers VALUES(1, 1), (2, 2)", "DELETE FROM numbers", "UPDATE numbers SET k=k+100"};
static const char *const kinds[] = {"Do"};

static void store_handle(struct sim_node *node, const struct sim_message *message) {
  if (message->value[0] < 0) return;
  sim_sql_begin(node);
  sim_sql_run(node, (size_t)message->value[0], "");
  if (sim_sql_commit(node, "done") != SIM_COMMIT_DONE) sim_node_stop(node);
}

static void client_handle(struct sim_node *node, const struct sim_message *message) { sim_send(node, 1, message, 0); }

static const struct sim_service services[] = {
    {.name = "client", .outside = true, .handle = client_handle},
    {.name = "store",
     .actor = true,
     .schema = schema,
     .table = tables,
     .table_count = 1,
     .statement = statements,
     .statement_count = 3,
     .handle = store_handle},
};

/* Send the store these values, a subject and a second each; returns the number of durable rows. */
static size_t rows_after(const int64_t *value, int64_t count) {
  struct sim_world *world = sim_world_create(fault_catalogue(), services, 2, kinds, 1);
  struct sim_setup setup = {
      .scenario = "bugs", .scenario_seed = 1, .instance_count = {1, 1}, .lease_ns = SIM_SECOND, .resolve_within_ns = SIM_DAY};
  sim_decisions_begin_list(sim_world_decisions(world), &toy.plan, NULL, 0);
  sim_world_begin(world, &setup, false);
  for (int64_t i = 0; i < count; i++) {
    struct sim_message message = {.subject = i, .attempt = 1, .id = sim_id_join("m:", i, ""), .value = {value == NULL ? -1 : value[i]}};
    sim_timer_set(sim_world_node(world, 0, 0), i * SIM_SECOND, &message);
  }
  sim_world_run(world);
  size_t rows = sim_durable_count(world, 1, 0);
  sim_world_destroy(world);
  return rows;
}

static void delete_all(void *argument) {
  (void)argument;
  if (rows_after((const int64_t[]){0, 1}, 2) != 0) abort();
}

/* SQLite deletes all rows of a table at once, telling no hook, if there was no hook when the statement was prepared. */
static void the_deletion_of_all_rows_is_followed(void **state) {
  (void)state;
  assert_true(support_survives(delete_all, NULL));
}

static void change_keys(void *argument) {
  (void)argument;
  if (rows_after((const int64_t[]){0, 2}, 2) != 2) abort();
}

/* An UPDATE of an INTEGER PRIMARY KEY moves the row to another rowid. */
static void a_row_that_changes_its_key_is_followed(void **state) {
  (void)state;
  assert_true(support_survives(change_keys, NULL));
}

static void send_many_subjects(void *argument) {
  (void)argument;
  rows_after(NULL, SIM_MAILBOXES_MAX + 1);
}

/* limits.h: "subjects of one actor node that are busy at once". Here one is busy at a time. */
static void an_actor_may_see_any_number_of_subjects_one_after_the_other(void **state) {
  (void)state;
  assert_true(support_survives(send_many_subjects, NULL));
}

static void connections_reopened_by_the_world_keep_the_runs_durability(void **state) {
  (void)state;
  static const char *const words[] = {"power_lost: commit, ping/1 life 1, Go job:1 try 1, job stored"};
  toy.setup.durability = SIM_DURABILITY_RELAXED;
  toy.reopen_first = true;
  assert_null(toy_run_words(&toy, words, 1));
  assert_int_equal(toy_count(&toy, "ping/1.2 stored job:1"), 1); /* the first was lost, as nothing had synced it */
}

/* ---- others ---- */

static struct sim_fiber_pool *pool;

static void ends_at_once(void *argument) { (void)argument; }

static void starts_another(void *argument) {
  (void)argument;
  sim_fiber_start(pool, ends_at_once, NULL);
}

static void start_on_a_fiber(void *argument) {
  (void)argument;
  pool = sim_fiber_pool_create();
  sim_fiber_start(pool, starts_another, NULL);
}

/* Also when no free fiber is at hand and one must be made. */
static void starting_a_fiber_on_a_fiber_is_a_failed_check(void **state) {
  (void)state;
  assert_true(support_aborts(start_on_a_fiber, NULL, "REQUIRE"));
}

static void two_worlds_through_libfiu_do_not_answer_for_each_other(void **state) {
  (void)state;
  const struct sim_point *gap = sim_world_point(toy.world, "gap");
  struct sim_decisions *mine = sim_world_decisions(toy.world);
  struct sim_decisions *other = sim_decisions_create(fault_catalogue());
  struct sim_plan certain = {0};
  certain.odds[gap->index][1] = (struct sim_odds){1, 1};
  fault_binding_attach(mine);
  fault_binding_attach(other);
  sim_decisions_begin_list(other, &toy.plan, NULL, 0);
  sim_decisions_begin_seed(mine, &certain, 1);
  int answer = sim_decide(mine, gap, &(struct sim_subject){.step = "asked"}, sim_point_all(gap));
  fault_binding_detach(mine);
  fault_binding_detach(other);
  sim_decisions_destroy(other);
  assert_int_equal(answer, 1);
}

static void junk_after_an_occurrence_is_refused(void **state) {
  (void)state;
  struct sim_fault fault;
  assert_non_null(sim_fault_parse(fault_catalogue(), "crash: gap, ping/1 life 1, -, received, time 2 or so", &fault));
  assert_non_null(sim_fault_parse(fault_catalogue(), "crash: gap, ping/1 life 1, -, received, time 4294967298", &fault));
}

int main(void) {
#define BUG_TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)
  const struct CMUnitTest bugs_test[] = {
      BUG_TEST(letters_that_waited_for_a_boot_do_not_run_on_a_paused_node),
      BUG_TEST(a_failed_commit_may_come_back_when_the_last_instance_has_died),
      BUG_TEST(healing_wakes_paused_nodes),
      BUG_TEST(the_deletion_of_all_rows_is_followed),
      BUG_TEST(a_row_that_changes_its_key_is_followed),
      BUG_TEST(an_actor_may_see_any_number_of_subjects_one_after_the_other),
      BUG_TEST(connections_reopened_by_the_world_keep_the_runs_durability),
      BUG_TEST(starting_a_fiber_on_a_fiber_is_a_failed_check),
      BUG_TEST(two_worlds_through_libfiu_do_not_answer_for_each_other),
      BUG_TEST(junk_after_an_occurrence_is_refused),
  };
  return cmocka_run_group_tests(bugs_test, NULL, NULL);
}
