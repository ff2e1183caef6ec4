/* A run is a pure function of its faults: thousands of seeds of the toy, replayed, repeated, reordered, reopened. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "faults/catalogue.h"
#include "sim/world.h"
#include "tests/sim/toy.h"
#include "tests/support.h"

static struct toy toy;
static struct sim_fault list[SIM_FAULTS_MAX];

/* The ways in which the toy is set up; each is run with many seeds. */
static const struct variant {
  const char *name;
  uint8_t pings, pongs;
  enum sim_durability durability;
  int job_count;
  int64_t job_gap_ns;
  bool restores;   /* a crash may set the database back */
  uint32_t wilder; /* by how much faults are likelier than usual */
} variants[] = {
    {"one instance each", 1, 1, SIM_DURABILITY_FULL, 3, SIM_SECOND, false, 1},
    {"two pongs", 1, 2, SIM_DURABILITY_FULL, 3, 0, false, 1},
    {"two pings and pongs", 2, 2, SIM_DURABILITY_FULL, 4, 0, false, 1},
    {"restores", 1, 1, SIM_DURABILITY_FULL, 3, 40 * SIM_MINUTE, true, 1},
    {"relaxed log", 1, 2, SIM_DURABILITY_RELAXED, 3, SIM_SECOND, false, 1},
    {"wild", 2, 2, SIM_DURABILITY_FULL, 5, 0, true, 3},
    {"rollback journal at FULL", 1, 1, SIM_DURABILITY_DELETE_FULL, 3, SIM_SECOND, false, 1},
};
enum { VARIANTS = sizeof variants / sizeof variants[0], SEEDS = 700 };

static void vary(const struct variant *variant) {
  toy_reset(&toy);
  fault_plan_default(&toy.plan);
  toy.setup.instance_count[TOY_PING] = variant->pings;
  toy.setup.instance_count[TOY_PONG] = variant->pongs;
  toy.setup.durability = variant->durability;
  toy.job_count = variant->job_count;
  toy.job_gap_ns = variant->job_gap_ns;
  const struct sim_point *restart = sim_world_point(toy.world, "restart");
  for (size_t p = 0; p < fault_catalogue()->count; p++) {
    if (fault_catalogue()->point[p].class != SIM_POINT_FAULT) continue;
    for (size_t a = 1; a < SIM_ANSWERS_MAX; a++) toy.plan.odds[p][a].numerator *= variant->wilder;
  }
  if (variant->restores) toy.plan.odds[restart->index][restart->answer_count - 1] = (struct sim_odds){1, 5};
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

/* What remains of a run: everything two equal runs must share. */
struct remains {
  uint64_t digest, history, violated, rows;
  enum sim_end end;
};

static uint64_t rows_of_run(void) {
  static const size_t tables[][2] = {{TOY_PING, TOY_JOBS}, {TOY_PING, TOY_NOTES}, {TOY_PONG, TOY_SEEN}};
  uint64_t hash = 0;
  for (size_t t = 0; t < 3; t++) {
    size_t count = sim_durable_count(toy.world, tables[t][0], tables[t][1]);
    uint64_t sum = count;
    for (size_t i = 0; i < count; i++) sum += sim_durable_row(toy.world, tables[t][0], tables[t][1], i)->hash;
    hash = sim_mix(hash, sum);
  }
  return hash;
}

static struct remains remains_of_run(void) {
  if (toy.broken) {
    toy_print(&toy);
    fail_msg("the toy saw something that must never happen");
  }
  return (struct remains){toy.digest, toy.history, toy.violated, rows_of_run(), toy.end};
}

static bool same(const struct remains *a, const struct remains *b, bool digest_too) {
  return a->history == b->history && a->violated == b->violated && a->rows == b->rows && a->end == b->end &&
         (!digest_too || a->digest == b->digest);
}

static struct remains run_seed(uint64_t seed) {
  toy_run_seed(&toy, seed);
  return remains_of_run();
}

static struct remains run_list(size_t count) {
  toy_run_list(&toy, list, count);
  return remains_of_run();
}

/* Keep the faults of the run that just ended. */
static size_t keep_faults(void) {
  const struct sim_decisions *decisions = sim_world_decisions(toy.world);
  memcpy(list, decisions->fault, decisions->fault_count * sizeof list[0]);
  return decisions->fault_count;
}

/* Points that only the shop's providers ask; the toy's oracle borrows "gateway.look_up". */
static bool is_the_shops(const char *name) {
  static const char *const shops[] = {"gateway.charge", "gateway.refund", "mailer.send", "mailer.look_up", "carrier.collect",
                                      "snapshot.write", "snapshot.read",  "xyz.create",  "xyz.disable",    "xyz.look_up",   "gateway.key_store"};
  for (size_t i = 0; i < sizeof shops / sizeof shops[0]; i++) {
    if (strcmp(name, shops[i]) == 0) return true;
  }
  return false;
}

/* The toy has no endpoint; tests/sim/broker_test.c has. */
static bool of_endpoints(const struct sim_point *point, size_t answer) {
  return strcmp(point->name.text, "error_queue") == 0 || strcmp(point->answer[answer].text, "throws") == 0;
}

static void a_seeds_fault_list_replays_to_the_seeds_digest(void **state) {
  (void)state;
  uint64_t fired[SIM_POINTS_MAX][SIM_ANSWERS_MAX] = {{0}};
  uint64_t faults = 0;
  for (size_t v = 0; v < VARIANTS; v++) {
    vary(&variants[v]);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
      struct remains seeded = run_seed(seed);
      size_t count = keep_faults();
      struct remains replayed = run_list(count);
      if (!same(&seeded, &replayed, true)) fail_msg("%s, seed %" PRIu64 " differs from its %zu faults", variants[v].name, seed, count);
      faults += count;
      for (size_t i = 0; i < count; i++) {
        assert_true(list[i].reached);
        fired[list[i].point][list[i].answer]++;
      }
    }
  }
  /* All that can happen to the toy did happen: no answer of the world's own points is untested. */
  const struct sim_catalogue *catalogue = fault_catalogue();
  for (size_t p = 0; p < catalogue->count; p++) {
    const struct sim_point *point = &catalogue->point[p];
    if (point->class != SIM_POINT_FAULT || is_the_shops(point->name.text)) continue;
    for (size_t a = 1; a < point->answer_count; a++) {
      if (fired[p][a] == 0 && !of_endpoints(point, a)) fail_msg("no seed answered %s with %s", point->name.text, point->answer[a].text);
    }
  }
  print_message("%d runs, %.1f faults each, %.2f %% of decisions repeated an address\n", VARIANTS * SEEDS,
                (double)faults / (VARIANTS * SEEDS),
                100.0 * (double)sim_world_decisions(toy.world)->repeated_total / (double)sim_world_decisions(toy.world)->decisions_total);
}

static void a_list_that_lacks_one_of_its_faults_is_another_run(void **state) {
  (void)state;
  uint32_t tried = 0, different = 0;
  vary(&variants[0]);
  for (uint64_t seed = 0; seed < 300; seed++) {
    struct remains seeded = run_seed(seed);
    size_t count = keep_faults();
    if (count == 0) continue;
    list[seed % count] = list[count - 1];
    struct remains shorter = run_list(count - 1);
    tried++;
    different += !same(&seeded, &shorter, true);
  }
  assert_true(different > tried / 2);
}

static void seeds_give_the_same_runs_forwards_and_backwards(void **state) {
  (void)state;
  enum { ORDER_SEEDS = 300 };
  struct remains *forwards = calloc(VARIANTS * ORDER_SEEDS, sizeof *forwards);
  assert_non_null(forwards);
  uint32_t distinct = 0;
  for (size_t v = 0; v < VARIANTS; v++) {
    for (uint64_t seed = 0; seed < ORDER_SEEDS; seed++) {
      vary(&variants[v]);
      forwards[v * ORDER_SEEDS + seed] = run_seed(seed);
      distinct += seed == 0 || forwards[v * ORDER_SEEDS + seed].digest != forwards[v * ORDER_SEEDS + seed - 1].digest;
    }
  }
  /* Backwards, and from one variant to the next at each run, so that kept connections come from anywhere. */
  for (uint64_t seed = ORDER_SEEDS; seed > 0; seed--) {
    for (size_t v = VARIANTS; v > 0; v--) {
      vary(&variants[v - 1]);
      struct remains backwards = run_seed(seed - 1);
      if (!same(&backwards, &forwards[(v - 1) * ORDER_SEEDS + seed - 1], true))
        fail_msg("%s, seed %" PRIu64 " depends on what ran before", variants[v - 1].name, seed - 1);
    }
  }
  assert_true(distinct > VARIANTS * ORDER_SEEDS * 3 / 4);
  free(forwards);
}

static void a_seed_run_again_and_again_stays_the_same(void **state) {
  (void)state;
  for (size_t v = 0; v < VARIANTS; v++) {
    vary(&variants[v]);
    struct remains first = run_seed(17);
    for (int i = 0; i < 50; i++) {
      struct remains again = run_seed(17);
      assert_true(same(&again, &first, true));
    }
  }
}

static void a_second_world_gives_the_same_runs_as_the_first(void **state) {
  (void)state;
  struct remains first[100];
  for (uint64_t seed = 0; seed < 100; seed++) {
    vary(&variants[seed % VARIANTS]);
    first[seed] = run_seed(seed);
  }
  toy_close(&toy);
  toy_open(&toy);
  for (uint64_t seed = 100; seed > 0; seed--) {
    vary(&variants[(seed - 1) % VARIANTS]);
    struct remains second = run_seed(seed - 1);
    assert_true(same(&second, &first[seed - 1], true));
  }
}

/* By list and not by seed: a connection opened anew rolls a hot journal back before it can be told synchronous=EXTRA, the
   deletion of that journal is unsynced, and so a gap after it offers a power loss that the kept connection does not. */
static void connections_reopened_at_each_crash_read_the_same_as_those_that_were_kept(void **state) {
  (void)state;
  uint64_t crashes = sim_world_counters(toy.world)->crashes;
  for (size_t v = 0; v < VARIANTS; v++) {
    for (uint64_t seed = 0; seed < 250; seed++) {
      vary(&variants[v]);
      struct remains kept = run_seed(seed);
      size_t count = keep_faults();
      toy.setup.reopen_at_crash = true;
      struct remains reopened = run_list(count);
      if (!same(&kept, &reopened, false)) fail_msg("%s, seed %" PRIu64 " differs when reopened", variants[v].name, seed);
      struct remains again = run_list(count);
      assert_true(same(&again, &reopened, true));
    }
  }
  assert_true(sim_world_counters(toy.world)->crashes > crashes + 1000);
}

static void connections_reopened_before_the_run_read_the_same(void **state) {
  (void)state;
  for (size_t v = 0; v < VARIANTS; v++) {
    if (variants[v].durability != SIM_DURABILITY_FULL) continue;
    for (uint64_t seed = 0; seed < 100; seed++) {
      vary(&variants[v]);
      struct remains kept = run_seed(seed);
      toy.reopen_first = true;
      struct remains reopened = run_seed(seed);
      if (!same(&kept, &reopened, false)) fail_msg("%s, seed %" PRIu64 " differs when reopened first", variants[v].name, seed);
    }
  }
}

static void telling_and_recording_leave_digests_alone(void **state) {
  (void)state;
  for (size_t v = 0; v < VARIANTS; v++) {
    vary(&variants[v]);
    for (uint64_t seed = 0; seed < 60; seed++) {
      struct remains plain = run_seed(seed);
      toy.telling = true;
      sim_world_decisions(toy.world)->recording = seed % 2 == 0;
      struct remains told = run_seed(seed);
      toy.telling = sim_world_decisions(toy.world)->recording = false;
      assert_true(same(&plain, &told, true));
    }
  }
}

static void every_fault_told_in_words_is_found_by_its_words(void **state) {
  (void)state;
  vary(&variants[2]);
  toy.telling = true;
  for (uint64_t seed = 0; seed < 200; seed++) {
    run_seed(seed);
    const struct sim_decisions *decisions = sim_world_decisions(toy.world);
    for (size_t i = 0; i < decisions->fault_count; i++) {
      struct sim_fault parsed;
      assert_null(sim_fault_parse(fault_catalogue(), decisions->fault[i].words, &parsed));
      assert_true(parsed.address == decisions->fault[i].address && parsed.family == decisions->fault[i].family);
      assert_int_equal(parsed.answer, decisions->fault[i].answer);
    }
  }
}

static void a_strong_toy_is_found_wanting_only_where_it_should_be(void **state) {
  (void)state;
  uint32_t asked_twice = 0, never_done = 0, stuck = 0;
  for (size_t v = 0; v < VARIANTS; v++) {
    vary(&variants[v]);
    for (uint64_t seed = 0; seed < 200; seed++) {
      struct remains remains = run_seed(seed);
      asked_twice += (remains.violated >> TOY_ASKED_ONCE) & 1;
      never_done += (remains.violated >> TOY_ALL_DONE) & 1;
      stuck += remains.end == SIM_END_STUCK;
    }
  }
  assert_true(asked_twice > 100); /* it repeats calls whose answer was lost */
  assert_int_equal(never_done, 0);
  assert_int_equal(stuck, 0);
}

static void handlers_use_a_fraction_of_their_stacks(void **state) {
  (void)state;
  for (size_t v = 0; v < VARIANTS; v++) {
    vary(&variants[v]);
    for (uint64_t seed = 0; seed < 20; seed++) run_seed(seed);
  }
  size_t used = sim_world_stack_used_max(toy.world); /* 0 where stacks are not painted, that is without ASan */
  if (used > 0) print_message("deepest handler: %zu of %d bytes\n", used, SIM_FIBER_STACK);
  assert_in_range(used, 0, SIM_FIBER_STACK / 2);
}

int main(void) {
  const struct CMUnitTest replay_test[] = {
      cmocka_unit_test(a_seeds_fault_list_replays_to_the_seeds_digest),
      cmocka_unit_test(a_list_that_lacks_one_of_its_faults_is_another_run),
      cmocka_unit_test(seeds_give_the_same_runs_forwards_and_backwards),
      cmocka_unit_test(a_seed_run_again_and_again_stays_the_same),
      cmocka_unit_test(a_second_world_gives_the_same_runs_as_the_first),
      cmocka_unit_test(connections_reopened_at_each_crash_read_the_same_as_those_that_were_kept),
      cmocka_unit_test(connections_reopened_before_the_run_read_the_same),
      cmocka_unit_test(telling_and_recording_leave_digests_alone),
      cmocka_unit_test(every_fault_told_in_words_is_found_by_its_words),
      cmocka_unit_test(handlers_use_a_fraction_of_their_stacks),
      cmocka_unit_test(a_strong_toy_is_found_wanting_only_where_it_should_be),
  };
  return cmocka_run_group_tests(replay_test, open_world, close_world);
}
