#include "sim/fiber.h"

#include <signal.h>
#include <sqlite3.h>
#include <string.h>

#include "tests/support.h"

#if defined(__SANITIZE_ADDRESS__)
enum { UNDER_ASAN = 1 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { UNDER_ASAN = 1 };
#else
enum { UNDER_ASAN = 0 };
#endif
#else
enum { UNDER_ASAN = 0 };
#endif

static struct sim_fiber_pool *pool;

/* What the bodies did, in order. Nothing is asserted on a fiber: cmocka leaves a failed test by a long jump. */
static char log_text[256];
static size_t log_size;

static void note(char letter) {
  if (log_size + 1 < sizeof log_text) log_text[log_size++] = letter;
  log_text[log_size] = '\0';
}

static int fiber_setup(void **state) {
  (void)state;
  pool = sim_fiber_pool_create();
  log_size = 0;
  log_text[0] = '\0';
  return 0;
}

static int fiber_teardown(void **state) {
  (void)state;
  sim_fiber_pool_destroy(pool);
  return 0;
}

static void runs_through(void *argument) {
  (void)argument;
  note('a');
}

static void blocks_twice(void *argument) {
  char letter = *(const char *)argument;
  note(letter);
  sim_fiber_block(pool);
  note((char)(letter + 1));
  sim_fiber_block(pool);
  note((char)(letter + 2));
}

static void leaves_early(void *argument) {
  (void)argument;
  note('a');
  sim_fiber_exit(pool);
  note('!');
}

static void blocks_then_leaves_early(void *argument) {
  (void)argument;
  sim_fiber_block(pool);
  leaves_early(NULL);
}

static void a_body_that_never_blocks_ends_in_start(void **state) {
  (void)state;
  assert_null(sim_fiber_start(pool, runs_through, NULL));
  assert_string_equal(log_text, "a");
  assert_null(sim_fiber_current(pool));
}

static void a_blocked_fiber_goes_on_where_it_stopped(void **state) {
  (void)state;
  char letter = 'a';
  struct sim_fiber *fiber = sim_fiber_start(pool, blocks_twice, &letter);
  assert_non_null(fiber);
  assert_string_equal(log_text, "a");
  assert_true(sim_fiber_resume(pool, fiber));
  assert_string_equal(log_text, "ab");
  assert_false(sim_fiber_resume(pool, fiber));
  assert_string_equal(log_text, "abc");
}

static void fibers_interleave_in_the_order_of_the_resumes(void **state) {
  (void)state;
  char low = 'a', high = 'A';
  struct sim_fiber *one = sim_fiber_start(pool, blocks_twice, &low);
  struct sim_fiber *two = sim_fiber_start(pool, blocks_twice, &high);
  assert_ptr_not_equal(one, two);
  assert_true(sim_fiber_resume(pool, two));
  assert_true(sim_fiber_resume(pool, one));
  assert_false(sim_fiber_resume(pool, two));
  assert_false(sim_fiber_resume(pool, one));
  assert_string_equal(log_text, "aABbCc");
}

static void a_killed_fiber_runs_no_more_of_its_code(void **state) {
  (void)state;
  char letter = 'a';
  struct sim_fiber *fiber = sim_fiber_start(pool, blocks_twice, &letter);
  sim_fiber_kill(pool, fiber);
  assert_string_equal(log_text, "a");
  /* Its stack is free for the next one, which starts at the beginning and not where the dead one stopped. */
  letter = 'p';
  struct sim_fiber *next = sim_fiber_start(pool, blocks_twice, &letter);
  assert_ptr_equal(next, fiber);
  assert_true(sim_fiber_resume(pool, next));
  sim_fiber_kill(pool, next);
  assert_string_equal(log_text, "apq");
}

static void nothing_after_exit_runs(void **state) {
  (void)state;
  assert_null(sim_fiber_start(pool, leaves_early, NULL));
  assert_string_equal(log_text, "a");
  struct sim_fiber *fiber = sim_fiber_start(pool, blocks_then_leaves_early, NULL);
  assert_false(sim_fiber_resume(pool, fiber));
  assert_string_equal(log_text, "aa");
}

static void notes_whether_it_is_current(void *argument) {
  struct sim_fiber *volatile *seen = argument;
  *seen = sim_fiber_current(pool);
  sim_fiber_block(pool);
  note(*seen == sim_fiber_current(pool) ? 'y' : 'n');
}

static void the_current_fiber_is_known_on_it_and_nowhere_else(void **state) {
  (void)state;
  struct sim_fiber *volatile seen = NULL;
  struct sim_fiber *fiber = sim_fiber_start(pool, notes_whether_it_is_current, (void *)(uintptr_t)&seen);
  assert_ptr_equal(seen, fiber);
  assert_null(sim_fiber_current(pool));
  sim_fiber_resume(pool, fiber);
  assert_string_equal(log_text, "y");
}

/* Each of many fibers keeps its own locals, on the stack and in registers, through many switches. */
struct sum {
  uint64_t seed;
  uint64_t total;
};

static void sums_between_blocks(void *argument) {
  struct sum *sum = argument;
  uint64_t dice = sum->seed;
  uint64_t a = dice, b = a * 3, c = b + 7;
  uint64_t kept[64];
  for (size_t i = 0; i < 64; i++) kept[i] = support_random(&dice);
  for (int round = 0; round < 50; round++) {
    sim_fiber_block(pool);
    a += kept[round % 64];
    b ^= a;
    c += b * (uint64_t)round;
  }
  sum->total = a ^ b ^ c;
}

static void ignores_blocks(void *argument) {
  struct sum *sum = argument;
  uint64_t dice = sum->seed;
  uint64_t a = dice, b = a * 3, c = b + 7;
  uint64_t kept[64];
  for (size_t i = 0; i < 64; i++) kept[i] = support_random(&dice);
  for (int round = 0; round < 50; round++) {
    a += kept[round % 64];
    b ^= a;
    c += b * (uint64_t)round;
  }
  sum->total = a ^ b ^ c;
}

static void all_fibers_at_once_keep_their_own_stacks(void **state) {
  (void)state;
  struct sim_fiber *fiber[SIM_FIBERS_MAX];
  struct sum sum[SIM_FIBERS_MAX];
  bool alive[SIM_FIBERS_MAX];
  uint64_t dice = 5;
  for (size_t i = 0; i < SIM_FIBERS_MAX; i++) {
    sum[i] = (struct sum){.seed = i + 1};
    fiber[i] = sim_fiber_start(pool, sums_between_blocks, &sum[i]);
    assert_non_null(fiber[i]);
    alive[i] = true;
  }
  for (size_t left = SIM_FIBERS_MAX; left > 0;) {
    size_t i = (size_t)support_below(&dice, SIM_FIBERS_MAX);
    if (!alive[i]) continue;
    alive[i] = sim_fiber_resume(pool, fiber[i]);
    if (!alive[i]) left--;
  }
  for (size_t i = 0; i < SIM_FIBERS_MAX; i++) {
    struct sum wanted = {.seed = i + 1};
    ignores_blocks(&wanted);
    assert_true(sum[i].total == wanted.total);
  }
}

static void waits(void *argument) {
  (void)argument;
  sim_fiber_block(pool);
}

static void ended_and_killed_fibers_are_used_again_for_ever(void **state) {
  (void)state;
  for (int round = 0; round < 2000; round++) {
    struct sim_fiber *fiber[3];
    for (size_t i = 0; i < 3; i++) {
      fiber[i] = sim_fiber_start(pool, waits, NULL);
      assert_non_null(fiber[i]);
    }
    sim_fiber_kill(pool, fiber[round % 3]);
    assert_false(sim_fiber_resume(pool, fiber[(round + 1) % 3]));
    sim_fiber_kill(pool, fiber[(round + 2) % 3]);
  }
}

static void start_too_many(void *argument) {
  (void)argument;
  for (int i = 0; i <= SIM_FIBERS_MAX; i++) sim_fiber_start(pool, waits, NULL);
}

static void one_fiber_too_many_is_a_failed_check_that_names_the_maximum(void **state) {
  (void)state;
  assert_true(support_aborts(start_too_many, NULL, "SIM_FIBERS_MAX"));
}

static void resume_a_dead_one(void *argument) {
  sim_fiber_kill(pool, argument);
  sim_fiber_resume(pool, argument);
}

static void resuming_a_dead_fiber_is_a_failed_check(void **state) {
  (void)state;
  assert_true(support_aborts(resume_a_dead_one, sim_fiber_start(pool, waits, NULL), "FIBER_BLOCKED"));
}

static void starts_another(void *argument) {
  (void)argument;
  sim_fiber_start(pool, waits, NULL);
}

/* Two fibers exist already, so that the second start finds a free one. */
static void start_within(void *argument) {
  (void)argument;
  struct sim_fiber *one = sim_fiber_start(pool, waits, NULL);
  struct sim_fiber *two = sim_fiber_start(pool, waits, NULL);
  sim_fiber_kill(pool, one);
  sim_fiber_kill(pool, two);
  sim_fiber_start(pool, starts_another, NULL);
}

static void a_fiber_may_not_start_another(void **state) {
  (void)state;
  assert_true(support_aborts(start_within, NULL, "pool->current == NULL"));
}

/* Run a query of the heavier kind; returns its one number. */
static int64_t sql_sum(void) {
  sqlite3 *db = NULL;
  sqlite3_stmt *statement = NULL;
  int64_t sum = -1;
  if (sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) == SQLITE_OK &&
      sqlite3_exec(
          db,
          "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT UNIQUE); CREATE INDEX i ON t(b, a);"
          "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 200) INSERT INTO t SELECT x, 'row ' || x FROM n;",
          NULL, NULL, NULL) == SQLITE_OK &&
      sqlite3_prepare_v2(
          db, "SELECT sum(p.a) FROM t p JOIN t q ON p.b = q.b WHERE p.a IN (SELECT a FROM t WHERE b LIKE 'row%') GROUP BY 1 = 1 ORDER BY 1",
          -1, &statement, NULL) == SQLITE_OK &&
      sqlite3_step(statement) == SQLITE_ROW) {
    sum = sqlite3_column_int64(statement, 0);
  }
  sqlite3_finalize(statement);
  sqlite3_close(db);
  return sum;
}

static void queries(void *argument) { *(int64_t *)argument = sql_sum(); }

static void sql_fits_on_a_fiber_with_room_to_spare(void **state) {
  (void)state;
  int64_t sum = 0;
  assert_null(sim_fiber_start(pool, queries, &sum));
  assert_int_equal(sum, 200 * 201 / 2);
  size_t used = sim_fiber_stack_used_max(pool);
  if (!UNDER_ASAN) {
    assert_int_equal(used, 0); /* stacks are painted under ASan only */
    return;
  }
  print_message("deepest fiber stack under ASan: %zu of %d bytes\n", used, SIM_FIBER_STACK);
  assert_in_range(used, 1024, SIM_FIBER_STACK / 2);
}

static int dig(int depth) {
  volatile char room[512];
  room[0] = (char)depth;
  return depth == 0 ? room[0] : dig(depth - 1) + room[0];
}

static void digs_down(void *argument) { *(volatile int *)argument = dig(SIM_FIBER_STACK); }

static void dig_on_a_fiber(void *argument) { sim_fiber_start(pool, digs_down, argument); }

static void an_overflow_meets_the_guard_page(void **state) {
  (void)state;
  volatile int deep = 0;
  if (UNDER_ASAN) skip(); /* ASan reports the overflow in its own words */
  assert_true(support_dies_of(dig_on_a_fiber, (void *)(uintptr_t)&deep, SIGSEGV));
}

int main(void) {
#define FIBER_TEST(name) cmocka_unit_test_setup_teardown(name, fiber_setup, fiber_teardown)
  const struct CMUnitTest fiber_test[] = {
      FIBER_TEST(a_body_that_never_blocks_ends_in_start),
      FIBER_TEST(a_blocked_fiber_goes_on_where_it_stopped),
      FIBER_TEST(fibers_interleave_in_the_order_of_the_resumes),
      FIBER_TEST(a_killed_fiber_runs_no_more_of_its_code),
      FIBER_TEST(nothing_after_exit_runs),
      FIBER_TEST(the_current_fiber_is_known_on_it_and_nowhere_else),
      FIBER_TEST(all_fibers_at_once_keep_their_own_stacks),
      FIBER_TEST(ended_and_killed_fibers_are_used_again_for_ever),
      FIBER_TEST(one_fiber_too_many_is_a_failed_check_that_names_the_maximum),
      FIBER_TEST(resuming_a_dead_fiber_is_a_failed_check),
      FIBER_TEST(a_fiber_may_not_start_another),
      FIBER_TEST(sql_fits_on_a_fiber_with_room_to_spare),
      FIBER_TEST(an_overflow_meets_the_guard_page),
  };
  return cmocka_run_group_tests(fiber_test, NULL, NULL);
}
