/* What each fault does to a world: one run of the toy with the fault written out in words. */
#include "sim/world.h"

#include <stdio.h>
#include <string.h>

#include "faults/catalogue.h"
#include "tests/sim/toy.h"
#include "tests/support.h"

static struct toy toy;

static int world_setup(void **state) {
  (void)state;
  toy_reset(&toy);
  return 0;
}

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

/* Run with these faults: each must be reached, the run must end quiet, every job done. */
static void run_to_the_end(const char *const *words, size_t count) {
  const char *why = toy_run_words(&toy, words, count);
  if (why != NULL) fail_msg("%s", why);
  const char *missed = toy_not_reached(&toy);
  bool good = missed == NULL && !toy.broken && toy.end == SIM_END_QUIET && (toy.violated & (1U << TOY_ALL_DONE)) == 0;
  if (good) return;
  toy_print(&toy);
  fail_msg("not reached: %s; broken %d, end %d, violated %x", missed ? missed : "none", toy.broken, (int)toy.end, (unsigned)toy.violated);
}

#define RUN(...) run_to_the_end((const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static bool asked_once(void) { return (toy.violated & (1U << TOY_ASKED_ONCE)) == 0; }

static int64_t after(const char *text) {
  int64_t time_ns = toy_time(&toy, text);
  if (time_ns < 0) {
    toy_print(&toy);
    fail_msg("the log lacks \"%s\"", text);
  }
  return time_ns;
}

/* Times of the dull run: job 1 reaches ping after 1 ms, pong after 2, ping after 3, the oracle after 4. */
static const int64_t MS = SIM_MS;

static void the_run_without_faults_does_every_job_once(void **state) {
  (void)state;
  run_to_the_end(NULL, 0);
  assert_true(asked_once());
  assert_int_equal(sim_world_fault_count(toy.world), 0);
  assert_int_equal(toy.starts, 1);
  assert_int_equal(toy.crashes + toy.recoveries + toy.settled_rows + toy.unanswered, 0);
  assert_int_equal(toy.answered, 3);
  for (int job = 1; job <= 3; job++) {
    assert_int_equal(toy_job_state(&toy, job), TOY_FINISHED);
    assert_int_equal(toy.asked[job], 1);
  }
  assert_int_equal(sim_durable_count(toy.world, TOY_PING, TOY_NOTES), 3);
  assert_int_equal(sim_durable_count(toy.world, TOY_PONG, TOY_SEEN), 3);
  assert_int_equal(after("oracle.1 asked job:1"), 4 * MS);
}

/* ---- crashes ---- */

static void a_crash_runs_no_more_of_the_handler_and_keeps_what_was_committed(void **state) {
  (void)state;
  RUN("crash: gap, ping/1 life 1, Go job:1 try 1, job stored");
  assert_int_equal(toy_count(&toy, "ping/1.1 Go job:1"), 1);
  assert_int_equal(toy_count(&toy, "ping/1.1 stored job:1"), 0); /* the line after the commit */
  assert_int_equal(toy_count(&toy, "ping/1.1 crashes"), 1);
  assert_int_equal(toy_count(&toy, "ping/1.2 stored job:1"), 0); /* the row was there */
  assert_int_equal(toy.starts, 2);                               /* each finds no memory, or the toy is broken */
  assert_int_equal(toy.recoveries, 1);
  assert_int_equal(after("ping/1.2 starts"), MS + 5 * SIM_SECOND);
}

static void a_crash_before_the_commit_leaves_no_row(void **state) {
  (void)state;
  RUN("crash: gap, ping/1 life 1, Go job:1 try 1, received");
  assert_int_equal(after("ping/1.2 stored job:1"), 40 * SIM_SECOND + MS); /* by the driver's second try */
  RUN("crash_before: commit, ping/1 life 1, Go job:1 try 1, job stored");
  assert_int_equal(after("ping/1.2 stored job:1"), 40 * SIM_SECOND + MS);
  assert_int_equal(toy.settled_rows, 0);
}

static void a_crash_takes_timers_and_other_handlers_of_the_node_with_it(void **state) {
  (void)state;
  /* Job 1 waits for an answer that never comes, and has a timer for 20.001 s, when job 2 brings the node down. */
  RUN("lost: request, ping/1 life 1, Ask job:1 try 1, on its way", "crash: gap, ping/1 life 1, Go job:2 try 1, received");
  assert_int_equal(toy_count(&toy, "ping/1.1 unanswered job:1"), 0);
  assert_int_equal(toy_count_prefix(&toy, "ping/1.1 Retry"), 0);
  assert_int_equal(toy_count(&toy, "ping/1.1 end of job:1"), 1); /* Go's handler had ended; Pong's never does */
  assert_int_equal(after("ping/1.2 Retry job:1"), SIM_SECOND + MS + 5 * SIM_SECOND + 20 * SIM_SECOND); /* the new life's own */
}

static void a_node_that_is_down_receives_nothing(void **state) {
  (void)state;
  toy.job_gap_ns = 2 * SIM_SECOND;
  RUN("crash: gap, ping/1 life 1, Go job:1 try 1, received");
  assert_int_equal(toy_count_prefix(&toy, "ping/1.1 Go job:2"), 0); /* at 2 s, while it was down until 5 s */
  assert_int_equal(after("ping/1.2 Go job:2"), 42 * SIM_SECOND + MS);
}

static void restarts_take_seconds_hours_or_days(void **state) {
  (void)state;
  static const char crash[] = "crash: gap, ping/1 life 1, Go job:1 try 1, received";
  toy.setup.faults_until_ns = 20 * SIM_DAY;
  RUN(crash, "hours: restart, ping/1 life 1, -, down");
  assert_int_equal(after("ping/1.2 starts"), MS + 3 * SIM_HOUR);
  RUN(crash, "days: restart, ping/1 life 1, -, down");
  assert_int_equal(after("ping/1.2 starts"), MS + 3 * SIM_DAY);
}

static void a_node_may_crash_again_while_it_starts(void **state) {
  (void)state;
  RUN("crash: gap, ping/1 life 1, Go job:1 try 1, job stored", "crash: gap, ping/1 life 2, -, open jobs read");
  assert_int_equal(toy.starts, 3);
  assert_int_equal(after("ping/1.3 starts"), MS + 10 * SIM_SECOND);
}

static void messages_wait_until_a_restarted_node_has_started(void **state) {
  (void)state;
  toy.job_count = 8;
  toy.start_takes_ns = 3 * SIM_SECOND; /* from 5.001 to 8.001 s: jobs 7 and 8 come meanwhile */
  RUN("crash: gap, ping/1 life 1, Go job:1 try 1, received");
  assert_int_equal(after("ping/1.2 Go job:7"), MS + 8 * SIM_SECOND);
  assert_int_equal(after("ping/1.2 Go job:8"), MS + 8 * SIM_SECOND);
  assert_true(toy_place(&toy, "ping/1.2 Go job:7") < toy_place(&toy, "ping/1.2 Go job:8"));
}

static void no_fault_touches_an_outsider(void **state) {
  (void)state;
  static const char *const words[] = {"crash: gap, driver life 1, Again job:1 try 1, received",
                                      "crash: gap, oracle life 1, Ask job:1 try 1, received"};
  assert_null(toy_run_words(&toy, words, 2));
  assert_false(toy.list[0].reached || toy.list[1].reached);
}

/* ---- yields and pauses ---- */

static void a_yield_lets_all_else_that_is_due_go_first(void **state) {
  (void)state;
  toy.job_gap_ns = 0;
  RUN("yield: gap, ping/1 life 1, Go job:1 try 1, job stored");
  assert_true(toy_place(&toy, "ping/1.1 stored job:3") < toy_place(&toy, "ping/1.1 stored job:1"));
  assert_int_equal(after("ping/1.1 stored job:1"), MS); /* at the same time */
}

static void a_pause_holds_what_comes_and_then_wakes_in_order(void **state) {
  (void)state;
  toy.job_count = 4;
  RUN("pause: gap, ping/1 life 1, Go job:2 try 1, job stored");
  int64_t wake_ns = SIM_SECOND + MS + 2 * SIM_MINUTE; /* twice the lease */
  assert_int_equal(toy_count_prefix(&toy, "ping/1.1 crashes"), 0);
  assert_int_equal(toy.paused_until_ns, wake_ns);
  static const char *const order[] = {"ping/1.1 stored job:2", "ping/1.1 Go job:3", "ping/1.1 Go job:4", "ping/1.1 Retry job:1"};
  for (size_t i = 0; i < 4; i++) {
    assert_int_equal(after(order[i]), wake_ns);
    assert_true(i == 0 || toy_place(&toy, order[i - 1]) < toy_place(&toy, order[i]));
  }
  /* Its own memory and life go on, as if nothing had happened. */
  assert_int_equal(toy.starts, 1);
}

static void a_pause_takes_one_instance_and_the_other_works_on(void **state) {
  (void)state;
  toy.setup.instance_count[TOY_PONG] = 2;
  RUN("pause: gap, pong/1 life 1, Ping job:1 try 1, received");
  assert_int_equal(after("pong/2.1 Ping job:2"), SIM_SECOND + 2 * MS);
  assert_int_equal(after("pong/1.1 sent Pong job:1"), 2 * MS + 2 * SIM_MINUTE);
}

static void a_pause_of_days_outlasts_every_retry(void **state) {
  (void)state;
  toy.setup.faults_until_ns = 20 * SIM_DAY;
  RUN("pause_days: gap, ping/1 life 1, Go job:1 try 1, job stored");
  assert_int_equal(after("ping/1.1 stored job:1"), MS + 3 * SIM_DAY);
}

/* ---- the bus ---- */

static void a_lost_message_never_comes(void **state) {
  (void)state;
  RUN("lost: bus, driver life 1, Go job:1 try 1, on its way");
  assert_int_equal(after("ping/1.1 Go job:1"), 40 * SIM_SECOND + MS);
}

static void a_doubled_message_comes_twice(void **state) {
  (void)state;
  RUN("doubled: bus, driver life 1, Go job:1 try 1, on its way");
  assert_int_equal(toy_count(&toy, "ping/1.1 Go job:1"), 2);
  assert_int_equal(toy_count(&toy, "ping/1.1 stored job:1"), 1);
}

static void a_message_may_slip_behind_the_next_event(void **state) {
  (void)state;
  toy.job_gap_ns = 0;
  RUN("behind_next: bus, driver life 1, Go job:1 try 1, on its way");
  assert_true(toy_place(&toy, "ping/1.1 Go job:2") < toy_place(&toy, "ping/1.1 Go job:1"));
  assert_int_equal(after("ping/1.1 Go job:1"), MS);
}

static void a_message_may_slip_behind_its_senders_timer(void **state) {
  (void)state;
  RUN("behind_timer: bus, driver life 1, Go job:1 try 1, on its way");
  assert_int_equal(after("ping/1.1 Go job:1"), 40 * SIM_SECOND + MS);
  assert_int_equal(toy_count(&toy, "ping/1.1 Go job:1"), 2); /* the second try and the first */
}

static void a_message_may_come_after_all_retries_or_days_later(void **state) {
  (void)state;
  toy.job_count = 1;
  RUN("past_retries: bus, ping/1 life 1, Done job:1 try 1, on its way", "lost: bus, ping/1 life 1, Done job:1 try 2, on its way");
  assert_int_equal(after("driver.1 Done job:1"), 40 * SIM_SECOND + 2 * MS); /* by the driver's own asking again */
  assert_int_equal(toy_count(&toy, "driver.1 Done job:1"), 2);
  assert_int_equal(toy.line[toy.line_count - 1].time_ns, 6 * MS + SIM_HOUR);
  RUN("days: bus, ping/1 life 1, Done job:1 try 1, on its way", "lost: bus, ping/1 life 1, Done job:1 try 2, on its way");
  assert_int_equal(toy.line[toy.line_count - 1].time_ns, 6 * MS + SIM_DAY + SIM_HOUR);
}

/* ---- notices ---- */

static void a_notice_may_be_doubled_twinned_late_or_given_up(void **state) {
  (void)state;
  toy.job_count = 1;
#define NOTE ": notice, oracle life 1, Note job:1 try 1, on its way"
  RUN("doubled" NOTE);
  assert_int_equal(toy_count(&toy, "ping/1.1 Note job:1"), 2);
  assert_int_equal(sim_durable_count(toy.world, TOY_PING, TOY_NOTES), 1);
  RUN("twin" NOTE);
  assert_int_equal(toy_count(&toy, "ping/1.1 Note job:1"), 2);
  assert_int_equal(sim_durable_count(toy.world, TOY_PING, TOY_NOTES), 2); /* under another try number */
  RUN("lost" NOTE);
  assert_int_equal(after("ping/1.1 Note job:1"), 5 * MS + SIM_MINUTE);
  RUN("days" NOTE);
  assert_int_equal(after("ping/1.1 Note job:1"), 5 * MS + SIM_DAY + SIM_HOUR);
  RUN("given_up" NOTE);
  assert_int_equal(toy_count(&toy, "ping/1.1 Note job:1"), 0);
  RUN("behind_next" NOTE);
  assert_true(toy_place(&toy, "ping/1.1 told driver job:1") < toy_place(&toy, "ping/1.1 Note job:1"));
}

/* ---- calls ---- */

static void a_lost_request_is_unanswered_and_was_never_done(void **state) {
  (void)state;
  RUN("lost: request, ping/1 life 1, Ask job:1 try 1, on its way");
  assert_int_equal(after("ping/1.1 unanswered job:1"), 3 * MS + 10 * SIM_SECOND);
  assert_int_equal(toy.asked[1], 1); /* by the retry */
  assert_true(asked_once());
  assert_int_equal(toy.unanswered, 1);
}

static void a_lost_answer_is_unanswered_and_was_done(void **state) {
  (void)state;
  RUN("lost: answer, oracle life 1, Told job:1 try 1, on its way");
  assert_int_equal(after("ping/1.1 unanswered job:1"), 3 * MS + 10 * SIM_SECOND);
  assert_int_equal(toy.asked[1], 2);
  assert_false(asked_once());
}

static void a_request_may_arrive_after_the_caller_gave_up(void **state) {
  (void)state;
  RUN("behind_timer: request, ping/1 life 1, Ask job:1 try 1, on its way");
  assert_int_equal(after("oracle.1 asked job:1"), 4 * MS + 10 * SIM_SECOND);
  assert_true(toy_place(&toy, "ping/1.1 unanswered job:1") < toy_place(&toy, "oracle.1 asked job:1"));
  assert_int_equal(toy.asked[1], 2);
  assert_int_equal(toy_count(&toy, "ping/1.1 answered job:1"), 1); /* the late answer is dropped */
}

static void a_late_request_arrives_at_the_end_of_its_lifetime_and_not_after(void **state) {
  (void)state;
  toy.job_count = 1;
  RUN("late: request, ping/1 life 1, Ask job:1 try 1, on its way");
  assert_int_equal(toy.asked[1], 2);
  int last = -1;
  for (size_t i = 0; i < toy.line_count; i++) {
    if (strcmp(toy.line[i].text, "oracle.1 asked job:1") == 0) last = (int)i;
  }
  assert_int_equal(toy.line[last].time_ns, 3 * MS + 10 * SIM_MINUTE);
}

static void requests_and_answers_may_slip_behind_the_next_event(void **state) {
  (void)state;
  toy.job_gap_ns = MS;
  run_to_the_end(NULL, 0);
  assert_true(toy_place(&toy, "oracle.1 asked job:1") < toy_place(&toy, "ping/1.1 Pong job:3"));
  assert_true(toy_place(&toy, "ping/1.1 answered job:1") < toy_place(&toy, "oracle.1 asked job:3"));
  RUN("behind_next: request, ping/1 life 1, Ask job:1 try 1, on its way");
  assert_true(toy_place(&toy, "ping/1.1 Pong job:3") < toy_place(&toy, "oracle.1 asked job:1"));
  RUN("behind_next: answer, oracle life 1, Told job:1 try 1, on its way");
  assert_true(toy_place(&toy, "oracle.1 asked job:3") < toy_place(&toy, "ping/1.1 answered job:1"));
  assert_true(asked_once());
}

static void what_an_outsider_answers_is_a_decision_like_any_other(void **state) {
  (void)state;
  RUN("error: gateway.look_up, -, Ask job:1 try 1, asked");
  assert_int_equal(toy_count(&toy, "ping/1.1 answered job:1"), 2);
  assert_int_equal(toy.asked[1], 1);
}

/* ---- several instances ---- */

static void a_crash_takes_one_instance_and_a_power_loss_takes_all(void **state) {
  (void)state;
  toy.setup.instance_count[TOY_PONG] = 2;
  RUN("crash: gap, pong/1 life 1, Ping job:1 try 1, received");
  assert_int_equal(toy.crashes, 1);
  assert_int_equal(after("pong/2.1 Ping job:2"), SIM_SECOND + 2 * MS);
  RUN("power_lost: commit, pong/1 life 1, Ping job:1 try 1, ping seen");
  assert_int_equal(toy.crashes, 2);
  assert_int_equal(after("pong/1.1 crashes"), 2 * MS);
  assert_int_equal(after("pong/2.1 crashes"), 2 * MS);
  assert_int_equal(toy_count_prefix(&toy, "ping/1.1 crashes"), 0); /* another database, another disk */
}

static void a_message_may_go_to_the_next_instance(void **state) {
  (void)state;
  toy.setup.instance_count[TOY_PONG] = 2;
  RUN("next: route, ping/1 life 1, Ping job:1 try 1, route");
  assert_int_equal(after("pong/2.1 Ping job:1"), 2 * MS);
  assert_int_equal(toy_count(&toy, "pong/1.1 Ping job:1"), 0);
}

static void an_overtaken_transaction_makes_the_other_instance_wait(void **state) {
  (void)state;
  toy.setup.instance_count[TOY_PONG] = 2;
  toy.job_gap_ns = 0;
  uint64_t busy = sim_world_counters(toy.world)->busy;
  RUN("next: route, ping/1 life 1, Ping job:2 try 1, route");
  assert_int_equal(sim_world_counters(toy.world)->busy, busy);
  RUN("next: route, ping/1 life 1, Ping job:2 try 1, route",
      "overtaken: transaction, pong/1 life 1, Ping job:1 try 1, inside a transaction");
  assert_true(sim_world_counters(toy.world)->busy > busy);
  assert_true(after("pong/2.1 sent Pong job:2") > 2 * MS);
  assert_int_equal(after("pong/1.1 sent Pong job:1"), 2 * MS);
}

static void an_actor_handles_one_message_of_a_subject_at_a_time(void **state) {
  (void)state;
  toy.job_count = 2;
  /* The copy of Go waits while the first one yields; job 2 does not. */
  toy.job_gap_ns = 0;
  RUN("doubled: bus, driver life 1, Go job:1 try 1, on its way", "yield: gap, ping/1 life 1, Go job:1 try 1, job stored");
  int second = -1;
  for (size_t i = 0; i < toy.line_count && second < 0; i++) {
    if (strcmp(toy.line[i].text, "ping/1.1 Go job:1") == 0 && (int)i > toy_place(&toy, "ping/1.1 Go job:1")) second = (int)i;
  }
  assert_true(second > toy_place(&toy, "ping/1.1 end of job:1"));
  assert_true(toy_place(&toy, "ping/1.1 stored job:2") < toy_place(&toy, "ping/1.1 stored job:1"));
}

/* ---- commits ---- */

static void a_commit_survives_the_power_loss_after_it_unless_durability_is_relaxed(void **state) {
  (void)state;
#define STORED ", ping/1 life 1, Go job:1 try 1, job stored"
  static const char *const journals[] = {"delete: disk.journal, -, -, journal", "4096: disk.page_size, -, -, page size"};
  for (size_t i = 0; i < 2; i++) {
    RUN(journals[i], "power_lost: commit" STORED);
    assert_int_equal(toy_count(&toy, "ping/1.2 stored job:1"), 0);
    assert_int_equal(toy.settled_rows, 0);
  }
  static const enum sim_durability weak[] = {SIM_DURABILITY_RELAXED, SIM_DURABILITY_DELETE_FULL};
  for (size_t i = 0; i < 2; i++) {
    toy.setup.durability = weak[i];
    RUN("power_lost: commit" STORED);
    assert_int_equal(toy_count(&toy, "ping/1.2 stored job:1"), 1); /* stored anew, as it was lost */
    RUN("power_lost_kept: commit" STORED);
    assert_int_equal(toy_count(&toy, "ping/1.2 stored job:1"), 0);
  }
}

static void a_failed_commit_is_told_to_the_handler_and_settled_at_the_restart(void **state) {
  (void)state;
  uint64_t errors = sim_world_counters(toy.world)->commit_errors;
  for (int delete = 0; delete < 2; delete ++) {
    const char *words[2] = {"io_error: commit" STORED, "delete: disk.journal, -, -, journal"};
    run_to_the_end(words, delete ? 2 : 1);
    assert_int_equal(toy_count(&toy, "ping/1.1 commit failed job:1"), 1);
    assert_int_equal(toy.crashes, 1); /* a failed sync is a crash */
    /* In a log the frames were written, and the next recovery finds them; a journal is rolled back. */
    assert_int_equal(toy_count(&toy, "ping/1.2 stored job:1"), delete ? 1 : 0);
    assert_int_equal(toy.settled_rows, delete ? 0 : 1);
    words[0] = "disk_full: commit" STORED;
    run_to_the_end(words, delete ? 2 : 1);
    assert_int_equal(toy_count(&toy, "ping/1.1 commit failed job:1"), 1);
    assert_int_equal(toy_count(&toy, "ping/1.2 stored job:1"), 1);
  }
  assert_int_equal(sim_world_counters(toy.world)->commit_errors, errors + 4);
}

static void power_lost_inside_a_commit_leaves_the_row_or_not_and_never_breaks_a_run(void **state) {
  (void)state;
  static const char *const positions[] = {NULL, "journal_synced", "database_written", "database_synced", "journal_gone"};
  static const char *const fates[] = {NULL, "kept", "torn"};
  uint32_t there = 0, runs = 0;
  for (size_t mode = 0; mode < 4; mode++) {
    for (size_t p = 0; p < 5; p++) {
      for (size_t f = 0; f < 3; f++) {
        char position[128], fate[128];
        const char *words[5] = {"power_lost_inside: commit" STORED};
        size_t count = 1;
        snprintf(position, sizeof position, "%s: commit.position" STORED, positions[p] ? positions[p] : "");
        snprintf(fate, sizeof fate, "%s: commit.unsynced" STORED, fates[f] ? fates[f] : "");
        if (positions[p] != NULL) words[count++] = position;
        if (fates[f] != NULL) words[count++] = fate;
        if (mode & 1) words[count++] = "delete: disk.journal, -, -, journal";
        if (mode & 2) words[count++] = "4096: disk.page_size, -, -, page size";
        run_to_the_end(words, count);
        assert_int_equal(toy.crashes, 1);
        runs++;
        there += toy_count(&toy, "ping/1.2 stored job:1") == 0;
      }
    }
  }
  assert_true(there > 10 && there < runs - 10);
}

static void power_may_go_at_a_gap_where_something_is_unsynced_or_others_would_die(void **state) {
  (void)state;
  static const char *const words[] = {"power_lost: gap, pong/1 life 1, Ping job:1 try 1, ping seen"};
  assert_null(toy_run_words(&toy, words, 1));
  assert_non_null(toy_not_reached(&toy)); /* all is synced, nobody else is there: it would be a crash */
  toy.setup.durability = SIM_DURABILITY_RELAXED;
  RUN(words[0]);
  assert_int_equal(toy.settled_rows, 1); /* the row is gone */
  toy.setup.durability = SIM_DURABILITY_FULL;
  toy.setup.instance_count[TOY_PONG] = 2;
  RUN(words[0]);
  assert_int_equal(toy.settled_rows, 0);
  assert_int_equal(toy.crashes, 2);
}

/* ---- restore ---- */

static void a_restore_before_any_backup_empties_the_database(void **state) {
  (void)state;
  RUN("crash: gap, ping/1 life 1, Pong job:1 try 1, job finished", "restored: restart, ping/1 life 1, -, down");
  assert_int_equal(toy_count(&toy, "ping/1.2 stored job:1"), 1);
  assert_true(toy.settled_rows > 0);
  assert_int_equal(toy.asked[1], 2);
}

static void a_restore_sets_the_database_back_to_the_last_hourly_copy(void **state) {
  (void)state;
  toy.job_gap_ns = SIM_HOUR + SIM_MINUTE;
  toy.setup.faults_until_ns = SIM_DAY;
  RUN("crash: gap, ping/1 life 1, Pong job:3 try 1, job finished", "restored: restart, ping/1 life 1, -, down");
  /* The copy was made when job 3 had just been stored: it is there, but neither asked about nor finished. */
  assert_int_equal(toy_count(&toy, "ping/1.2 stored job:3"), 0);
  assert_int_equal(toy_count(&toy, "ping/1.2 sent Ping job:3"), 1);
  assert_int_equal(toy.asked[3], 2);
  assert_int_equal(toy.asked[1], 1);
  assert_int_equal(toy_job_state(&toy, 3), TOY_FINISHED);
}

/* ---- healing and ending ---- */

static void healing_brings_back_nodes_that_are_down_for_longer(void **state) {
  (void)state;
  RUN("crash: gap, ping/1 life 1, Go job:1 try 1, received", "days: restart, ping/1 life 1, -, down");
  int64_t up_ns = after("ping/1.2 starts");
  assert_true(up_ns >= 4 * SIM_HOUR && up_ns < 6 * SIM_HOUR); /* twice faults_until, as the workload is not done */
}

static void no_fault_is_asked_after_healing_began(void **state) {
  (void)state;
  toy.setup.faults_until_ns = 0;
  static const char *const words[] = {"lost: bus, driver life 1, Go job:2 try 1, on its way"};
  assert_null(toy_run_words(&toy, words, 1));
  assert_false(toy.list[0].reached);
  assert_int_equal(toy.end, SIM_END_QUIET);
}

static void after_very_many_faults_healing_begins(void **state) {
  (void)state;
  const struct sim_point *gap = sim_world_point(toy.world, "gap");
  toy.plan.odds[gap->index][2] = (struct sim_odds){1, 3}; /* crashes, and no end to them */
  toy.setup.faults_until_ns = 900 * SIM_DAY;
  toy.job_count = 8;
  toy_run_seed(&toy, 1);
  assert_int_equal(toy.end, SIM_END_QUIET);
  assert_int_equal(toy.violated & (1U << TOY_ALL_DONE), 0);
  assert_in_range(sim_world_fault_count(toy.world), 16, SIM_FAULTS_BEFORE_HEALING + 8);
  toy.plan.odds[gap->index][2] = (struct sim_odds){1, 1};
  toy_run_seed(&toy, 1);
  assert_int_equal(toy.end, SIM_END_QUIET);
  assert_int_equal(toy.violated & (1U << TOY_ALL_DONE), 0);
  assert_in_range(sim_world_fault_count(toy.world), SIM_FAULTS_BEFORE_HEALING, SIM_FAULTS_BEFORE_HEALING + 8);
}

static void a_run_that_is_not_quiet_in_time_is_stuck(void **state) {
  (void)state;
  toy.setup.resolve_within_ns = SIM_HOUR;
  toy.setup.faults_until_ns = SIM_DAY;
  static const char *const words[] = {"crash: gap, ping/1 life 1, Go job:1 try 1, received", "hours: restart, ping/1 life 1, -, down"};
  assert_null(toy_run_words(&toy, words, 2));
  assert_int_equal(toy.end, SIM_END_STUCK);
  run_to_the_end(NULL, 0); /* and the next run is none the worse */
}

/* ---- the catalogue ---- */

static void create_with(void *argument) {
  static const struct sim_service service = {.name = "alone", .outside = true};
  static const char *const kinds[] = {"Any"};
  sim_world_create(argument, &service, 1, kinds, 1);
}

static void a_catalogue_that_lacks_an_own_point_or_orders_its_answers_otherwise_is_refused(void **state) {
  (void)state;
  static struct sim_catalogue catalogue;
  for (size_t p = 0; p < fault_catalogue()->count; p++) {
    catalogue = *fault_catalogue();
    struct sim_point *point = &catalogue.point[p];
    static const char *const own[] = {"gap",     "transaction", "commit", "commit.position", "commit.unsynced", "restart", "bus", "notice",
                                      "request", "answer",      "route"};
    bool is_own = false;
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) is_own = is_own || strcmp(own[i], point->name.text) == 0;
    if (!is_own) continue;
    struct sim_name first = point->answer[0];
    point->answer[0] = point->answer[1];
    point->answer[1] = first;
    assert_true(support_aborts(create_with, &catalogue, "REQUIRE"));
    point->name = sim_name_of("renamed");
    assert_true(support_aborts(create_with, &catalogue, "REQUIRE"));
  }
}

/* ---- telling ---- */

static void telling_a_run_changes_nothing_but_the_words(void **state) {
  (void)state;
  static const char *const words[] = {"power_lost: commit, pong/1 life 1, Ping job:2 try 1, ping seen",
                                      "crash: gap, ping/1 life 1, Go job:3 try 1, job stored"};
  run_to_the_end(words, 2);
  uint64_t digest = toy.digest;
  toy.telling = true;
  run_to_the_end(words, 2);
  assert_true(toy.digest == digest);
  const struct sim_trace *trace = sim_world_trace(toy.world);
  assert_true(trace->line_count > 20);
  bool told = false;
  for (size_t i = 0; i < trace->line_count; i++) told = told || strstr(trace->line[i].text, "CRASHES after \"job stored\"") != NULL;
  assert_true(told);
  const struct sim_decisions *decisions = sim_world_decisions(toy.world);
  assert_int_equal(decisions->fault_count, 2);
  for (size_t i = 0; i < 2; i++) assert_string_equal(decisions->fault[i].words, words[i]);
}

int main(void) {
#define WORLD_TEST(name) cmocka_unit_test_setup(name, world_setup)
  const struct CMUnitTest world_test[] = {
      WORLD_TEST(the_run_without_faults_does_every_job_once),
      WORLD_TEST(a_crash_runs_no_more_of_the_handler_and_keeps_what_was_committed),
      WORLD_TEST(a_crash_before_the_commit_leaves_no_row),
      WORLD_TEST(a_crash_takes_timers_and_other_handlers_of_the_node_with_it),
      WORLD_TEST(a_node_that_is_down_receives_nothing),
      WORLD_TEST(restarts_take_seconds_hours_or_days),
      WORLD_TEST(a_node_may_crash_again_while_it_starts),
      WORLD_TEST(messages_wait_until_a_restarted_node_has_started),
      WORLD_TEST(no_fault_touches_an_outsider),
      WORLD_TEST(a_yield_lets_all_else_that_is_due_go_first),
      WORLD_TEST(a_pause_holds_what_comes_and_then_wakes_in_order),
      WORLD_TEST(a_pause_takes_one_instance_and_the_other_works_on),
      WORLD_TEST(a_pause_of_days_outlasts_every_retry),
      WORLD_TEST(a_lost_message_never_comes),
      WORLD_TEST(a_doubled_message_comes_twice),
      WORLD_TEST(a_message_may_slip_behind_the_next_event),
      WORLD_TEST(a_message_may_slip_behind_its_senders_timer),
      WORLD_TEST(a_message_may_come_after_all_retries_or_days_later),
      WORLD_TEST(a_notice_may_be_doubled_twinned_late_or_given_up),
      WORLD_TEST(a_lost_request_is_unanswered_and_was_never_done),
      WORLD_TEST(a_lost_answer_is_unanswered_and_was_done),
      WORLD_TEST(a_request_may_arrive_after_the_caller_gave_up),
      WORLD_TEST(a_late_request_arrives_at_the_end_of_its_lifetime_and_not_after),
      WORLD_TEST(requests_and_answers_may_slip_behind_the_next_event),
      WORLD_TEST(what_an_outsider_answers_is_a_decision_like_any_other),
      WORLD_TEST(a_crash_takes_one_instance_and_a_power_loss_takes_all),
      WORLD_TEST(a_message_may_go_to_the_next_instance),
      WORLD_TEST(an_overtaken_transaction_makes_the_other_instance_wait),
      WORLD_TEST(an_actor_handles_one_message_of_a_subject_at_a_time),
      WORLD_TEST(a_commit_survives_the_power_loss_after_it_unless_durability_is_relaxed),
      WORLD_TEST(a_failed_commit_is_told_to_the_handler_and_settled_at_the_restart),
      WORLD_TEST(power_lost_inside_a_commit_leaves_the_row_or_not_and_never_breaks_a_run),
      WORLD_TEST(power_may_go_at_a_gap_where_something_is_unsynced_or_others_would_die),
      WORLD_TEST(a_restore_before_any_backup_empties_the_database),
      WORLD_TEST(a_restore_sets_the_database_back_to_the_last_hourly_copy),
      WORLD_TEST(healing_brings_back_nodes_that_are_down_for_longer),
      WORLD_TEST(no_fault_is_asked_after_healing_began),
      WORLD_TEST(after_very_many_faults_healing_begins),
      WORLD_TEST(a_run_that_is_not_quiet_in_time_is_stuck),
      WORLD_TEST(a_catalogue_that_lacks_an_own_point_or_orders_its_answers_otherwise_is_refused),
      WORLD_TEST(telling_a_run_changes_nothing_but_the_words),
  };
  return cmocka_run_group_tests(world_test, open_world, close_world);
}
