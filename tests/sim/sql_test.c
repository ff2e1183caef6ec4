/* SQL steps of a handler, and the durable copy that follows them: every way of changing a row. */
#include "sim/sql.h"

#include <inttypes.h>
#include <string.h>

#include "faults/catalogue.h"
#include "tests/support.h"

enum { CLIENT, STORE, SERVICE_COUNT };
enum { KIND_DO, KIND_LOOK, KIND_COUNT };
static const char *const kinds[KIND_COUNT] = {"Do", "Look"};

static const char schema[] =
    "CREATE TABLE things(id TEXT PRIMARY KEY, n INTEGER, note TEXT);"
    "CREATE TABLE numbers(k INTEGER PRIMARY KEY, v INTEGER);"
    "CREATE TABLE scratch(x INTEGER);";
static const char *const tables[] = {"things", "numbers"}; /* scratch is nobody's business */
enum { THINGS, NUMBERS };

enum {
  INSERT,
  INSERT_IGNORE,
  INSERT_REPLACE,
  UPSERT,
  UPDATE_ONE,
  UPDATE_ALL,
  RENAME,
  SET_NULL,
  DELETE_ONE,
  DELETE_SOME,
  INSERT_MANY,
  SCRATCH,
  NUMBER_REPLACE,
  NUMBER_UPDATE,
  NUMBER_DELETE,
  WAYS, /* what random transactions are made of, up to here */
  SUM_THINGS = WAYS,
  SUM_NUMBERS,
  STATEMENT_COUNT,
};
static const char *const statements[STATEMENT_COUNT] = {
    [INSERT] = "INSERT INTO things VALUES(?1, ?2, 'new')",
    [INSERT_IGNORE] = "INSERT OR IGNORE INTO things VALUES(?1, ?2, 'ignored')",
    [INSERT_REPLACE] = "INSERT OR REPLACE INTO things VALUES(?1, ?2, 'replaced')",
    [UPSERT] = "INSERT INTO things VALUES(?1, ?2, 'fresh') ON CONFLICT(id) DO UPDATE SET n=n+?2, note='upserted'",
    [UPDATE_ONE] = "UPDATE things SET n=?2 WHERE id=?1",
    [UPDATE_ALL] = "UPDATE things SET n=n+?2 WHERE ?1 IS NOT NULL",
    [RENAME] = "UPDATE OR IGNORE things SET id=?1 WHERE id='thing:' || ?2",
    [SET_NULL] = "UPDATE things SET note=NULL, n=?2 WHERE id=?1",
    [DELETE_ONE] = "DELETE FROM things WHERE id=?1 AND ?2 IS NOT NULL",
    [DELETE_SOME] = "DELETE FROM things WHERE n%3=?2%3 AND ?1 IS NOT NULL",
    [INSERT_MANY] = "INSERT INTO things SELECT ?1 || '.' || k, ?2, 'many' FROM numbers", /* refused half-way if one is there */
    [SCRATCH] = "INSERT INTO scratch SELECT ?2 WHERE ?1 IS NOT NULL",
    [NUMBER_REPLACE] = "INSERT OR REPLACE INTO numbers SELECT ?2, length(?1)",
    [NUMBER_UPDATE] = "UPDATE numbers SET v=v+1 WHERE k=?2 AND ?1 IS NOT NULL",
    [NUMBER_DELETE] = "DELETE FROM numbers WHERE k=?2 AND ?1 IS NOT NULL",
    [SUM_THINGS] = "SELECT count(*), coalesce(sum(n), 0) FROM things",
    [SUM_NUMBERS] = "SELECT count(*), coalesce(sum(v), 0) FROM numbers",
};

/* What the handler saw; nothing is asserted on its fiber. */
static struct {
  int result[6];
  int result_count;
  int64_t count[2], sum[2]; /* read with SQL by KIND_LOOK */
  uint32_t changes[3];      /* told to the observer, by kind of change */
  uint32_t refused;
} seen;

static void do_transaction(struct sim_node *node, const struct sim_message *message) {
  uint64_t dice = (uint64_t)message->value[0];
  size_t steps = (size_t)message->value[1];
  sim_sql_begin(node);
  for (size_t i = 0; i < steps; i++) {
    size_t way = message->value[2] >= 0 ? (size_t)message->value[2] : (size_t)support_below(&dice, WAYS);
    int64_t number = message->value[2] >= 0 ? message->value[3] : (int64_t)support_below(&dice, 12);
    struct sim_id id = sim_id_join("thing:", number, "");
    int result = sim_sql_run(node, way, "si", id.text, number);
    seen.refused += result < 0;
    if (seen.result_count < 6) seen.result[seen.result_count++] = result;
  }
  if (message->value[4] != 0) sim_sql_rollback(node);
  else if (sim_sql_commit(node, "done") != SIM_COMMIT_DONE) sim_node_stop(node);
}

static void store_handle(struct sim_node *node, const struct sim_message *message) {
  if (message->kind == KIND_DO) do_transaction(node, message);
  for (size_t t = 0; message->kind == KIND_LOOK && t < 2; t++) {
    sqlite3_stmt *row = sim_sql_query(node, SUM_THINGS + t, "");
    seen.count[t] = sqlite3_column_int64(row, 0);
    seen.sum[t] = sqlite3_column_int64(row, 1);
    sim_sql_done(row);
  }
}

static void client_handle(struct sim_node *node, const struct sim_message *message) { sim_send(node, STORE, message, 0); }

static const struct sim_service services[SERVICE_COUNT] = {
    [CLIENT] = {.name = "client", .outside = true, .handle = client_handle},
    [STORE] = {.name = "store",
               .actor = true,
               .schema = schema,
               .table = tables,
               .table_count = 2,
               .statement = statements,
               .statement_count = STATEMENT_COUNT,
               .handle = store_handle},
};

static void on_row(struct sim_world *world, size_t service, size_t table, enum sim_change change, const struct sim_row *row) {
  (void)world;
  (void)service;
  (void)table;
  (void)row;
  seen.changes[change]++;
}

static struct sim_world *world;
static struct sim_plan plan;
static const struct sim_observer observer = {.row = on_row};
static struct sim_setup setup;
static int64_t next_ns;

static int sql_setup(void **state) {
  (void)state;
  setup = (struct sim_setup){.scenario = "sql",
                             .scenario_seed = 1,
                             .instance_count = {1, 1},
                             .lease_ns = SIM_SECOND,
                             .request_lifetime_ns = SIM_MINUTE,
                             .retry_window_ns = SIM_HOUR,
                             .dedup_retention_ns = SIM_DAY,
                             .faults_until_ns = SIM_DAY,
                             .resolve_within_ns = 90 * SIM_DAY,
                             .observer = &observer};
  plan = (struct sim_plan){0};
  if (world == NULL) world = sim_world_create(fault_catalogue(), services, SERVICE_COUNT, kinds, KIND_COUNT);
  return 0;
}

static int sql_teardown(void **state) {
  (void)state;
  sim_world_destroy(world);
  world = NULL;
  return 0;
}

static void begin(uint64_t seed) {
  memset(&seen, 0, sizeof seen);
  sim_decisions_begin_seed(sim_world_decisions(world), &plan, seed);
  sim_world_begin(world, &setup, false);
  next_ns = 0;
}

static void send(struct sim_message message) {
  message.id = sim_id_of("m");
  message.attempt = (uint32_t)(next_ns / SIM_SECOND) + 1;
  sim_timer_set(sim_world_node(world, CLIENT, 0), next_ns, &message);
  next_ns += SIM_SECOND;
}

/* One statement in a transaction of its own, committed or rolled back. */
static void do_one(size_t way, int64_t number, bool roll_back) {
  send((struct sim_message){.kind = KIND_DO, .value = {0, 1, (int64_t)way, number, roll_back}});
}

/* The end of a run reads every table and compares it with the durable copy: a difference aborts. On top of that, compare
   with what a handler reads by SQL. */
static void end(void) {
  send((struct sim_message){.kind = KIND_LOOK});
  assert_int_equal(sim_world_run(world), SIM_END_QUIET);
  static const size_t summed[] = {1, 1}; /* column of things.n and numbers.v */
  for (size_t t = 0; t < 2; t++) {
    int64_t sum = 0;
    for (size_t i = 0; i < sim_durable_count(world, STORE, t); i++) sum += sim_durable_row(world, STORE, t, i)->cell[summed[t]].number;
    assert_int_equal(sim_durable_count(world, STORE, t), seen.count[t]);
    assert_int_equal(sum, seen.sum[t]);
  }
}

static const struct sim_row *thing(size_t index) { return sim_durable_row(world, STORE, THINGS, index); }

static void a_row_is_known_with_its_cells(void **state) {
  (void)state;
  begin(1);
  do_one(INSERT, 7, false);
  do_one(SET_NULL, 7, false);
  do_one(INSERT, 8, false);
  end();
  assert_int_equal(sim_durable_count(world, STORE, THINGS), 2);
  assert_string_equal(thing(0)->cell[0].text, "thing:7");
  assert_true((uint64_t)thing(0)->cell[0].number == sim_hash_text("thing:7"));
  assert_int_equal(thing(0)->cell[1].number, 7);
  assert_null(thing(0)->cell[2].text);
  assert_int_equal(thing(0)->cell[2].number, 0);
  assert_string_equal(thing(1)->cell[2].text, "new");
  assert_int_equal(seen.changes[SIM_ROW_INSERTED], 2);
  assert_int_equal(seen.changes[SIM_ROW_UPDATED], 1);
}

static void what_is_rolled_back_or_refused_is_not_durable(void **state) {
  (void)state;
  begin(1);
  do_one(INSERT, 1, true);
  do_one(INSERT, 2, false);
  do_one(INSERT, 2, false); /* refused */
  end();
  assert_int_equal(sim_durable_count(world, STORE, THINGS), 1);
  static const int wanted[] = {1, 1, -1};
  assert_memory_equal(seen.result, wanted, sizeof wanted);
}

static void a_statement_that_is_refused_half_way_leaves_nothing_of_itself(void **state) {
  (void)state;
  begin(1);
  for (int64_t k = 1; k <= 3; k++) do_one(NUMBER_REPLACE, k, false);
  do_one(INSERT_MANY, 5, false); /* three rows: thing:5.1 to .3 */
  do_one(NUMBER_REPLACE, 0, false);
  do_one(INSERT_MANY, 5, false); /* thing:5.0 goes in, thing:5.1 is there already */
  end();
  assert_int_equal(sim_durable_count(world, STORE, THINGS), 3);
  assert_int_equal(seen.result[3], 3);
  assert_int_equal(seen.result[5], -1);
}

static void deletions_updates_and_replacements_are_followed(void **state) {
  (void)state;
  begin(1);
  for (int64_t n = 0; n < 6; n++) do_one(INSERT, n, false);
  do_one(DELETE_ONE, 3, false);
  do_one(DELETE_SOME, 1, false);    /* 1 and 4 */
  do_one(INSERT_REPLACE, 5, false); /* another rowid under the same id */
  do_one(UPSERT, 0, false);
  do_one(UPDATE_ALL, 10, false);
  end();
  assert_int_equal(sim_durable_count(world, STORE, THINGS), 3);
  for (size_t i = 0; i < 3; i++) assert_true(thing(i)->cell[1].number >= 10);
}

static void random_transactions_are_followed_through_crashes_and_power_losses(void **state) {
  (void)state;
  fault_plan_default(&plan);
  uint32_t refused = 0, changes = 0;
  uint64_t crashes = sim_world_counters(world)->crashes;
  for (uint64_t seed = 0; seed < 400; seed++) {
    uint64_t dice = seed;
    begin(seed);
    for (int i = 0; i < 12; i++) {
      int64_t steps = 1 + (int64_t)support_below(&dice, 6);
      int64_t roll_back = support_below(&dice, 5) == 0;
      send((struct sim_message){.kind = KIND_DO, .value = {(int64_t)(support_random(&dice) >> 2), steps, -1, 0, roll_back}});
    }
    next_ns = 20 * SIM_DAY; /* past all faults */
    end();
    refused += seen.refused;
    changes += seen.changes[SIM_ROW_UPDATED] + seen.changes[SIM_ROW_DELETED];
  }
  print_message("%d refused, %d changes\n", (int)refused, (int)changes);
  assert_true(refused > 150 && changes > 3000);
  assert_true(sim_world_counters(world)->crashes > crashes + 100);
}

int main(void) {
#define SQL_TEST(name) cmocka_unit_test_setup_teardown(name, sql_setup, sql_teardown)
  const struct CMUnitTest sql_test[] = {
      SQL_TEST(a_row_is_known_with_its_cells),
      SQL_TEST(what_is_rolled_back_or_refused_is_not_durable),
      SQL_TEST(a_statement_that_is_refused_half_way_leaves_nothing_of_itself),
      SQL_TEST(deletions_updates_and_replacements_are_followed),
      SQL_TEST(random_transactions_are_followed_through_crashes_and_power_losses),
  };
  return cmocka_run_group_tests(sql_test, NULL, NULL);
}
