/* What a known-bad scenario comes to, as one JSON object on stdout, for known_bad_test.py:

     known_bad_probe SCENARIO.yaml SEEDS PICKS FAULTS [POINT...]

   How many of SEEDS seeds break each invariant; the least number of faults at which explore breaks it (level by level to
   FAULTS, or until all of the scenario's own are broken; faults at these points only, if any are named), and in how many
   runs; for each of the scenario's own invariants (violates, violates_any), to how many faults PICKS failing seeds shrink,
   picked by the scenario's name; and, with masked_by, which of its own still break when that guard is put back. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults/catalogue.h"
#include "runner/explore.h"
#include "runner/shrink.h"
#include "sim/check.h"

enum { SEEDS_MAX = 100000 };

static uint64_t failing[SIM_INVARIANTS_MAX]; /* seeds */
static uint64_t violated_by[SEEDS_MAX];      /* mask by seed - 1 */

static void run_seeds(struct runner_world *world, const struct runner_scenario *scenario, uint64_t seeds) {
  memset(failing, 0, sizeof failing);
  for (uint64_t seed = 1; seed <= seeds; seed++) {
    struct runner_result result = runner_run_seed(world, scenario, seed, false);
    violated_by[seed - 1] = result.violated;
    for (uint64_t mask = result.violated; mask != 0; mask &= mask - 1) failing[__builtin_ctzll(mask)]++;
  }
}

/* One of the failing seeds: which, by the name, so that it is no favourite and stays the same. */
static uint64_t pick_seed(const struct runner_scenario *scenario, int invariant, uint64_t pick, uint64_t seeds) {
  uint64_t die = sim_finish(sim_mix(sim_mix(sim_hash_text(scenario->name), (uint64_t)invariant), pick));
  uint64_t wanted = die % failing[invariant];
  for (uint64_t seed = 1; seed <= seeds; seed++) {
    if ((violated_by[seed - 1] >> invariant & 1) != 0 && wanted-- == 0) return seed;
  }
  UNREACHABLE("a failing seed that was counted is there");
}

static void print_shrunk(struct runner_world *world, const struct runner_scenario *scenario, int invariant, uint64_t seed) {
  static struct sim_fault list[SIM_FAULTS_MAX];
  static struct runner_shrunk shrunk;
  runner_run_seed(world, scenario, seed, false);
  size_t count = sim_world_decisions(world->world)->fault_count;
  memcpy(list, sim_world_decisions(world->world)->fault, count * sizeof list[0]);
  runner_shrink(world, scenario, invariant, list, count, &shrunk);
  printf("{\"seed\":%" PRIu64 ",\"before\":%zu,\"runs\":%u,\"faults\":[", seed, count, shrunk.runs);
  for (size_t i = 0; i < shrunk.fault_count; i++) printf("%s\"%s\"", i ? "," : "", shrunk.fault[i].words);
  printf("]}");
  runner_shrunk_free(&shrunk);
}

static void print_counts(const char *key, const uint64_t *count) {
  const char *comma = "";
  printf("\"%s\":{", key);
  for (size_t i = 0; i < MODEL_INVARIANT_COUNT; i++) {
    if (count[i] == 0) continue;
    printf("%s\"%s\":%" PRIu64, comma, model_invariants[i].name, count[i]);
    comma = ",";
  }
  printf("}");
}

static void print_explored(const struct runner_explored *explored) {
  const char *comma = "";
  printf("\"explored\":{");
  for (size_t i = 0; i < MODEL_INVARIANT_COUNT; i++) {
    for (int k = 0; k < explored->levels; k++) {
      if (explored->level[k].violations[i] == 0) continue;
      printf("%s\"%s\":{\"faults\":%d,\"runs\":%" PRIu64 "}", comma, model_invariants[i].name, k, explored->level[k].violations[i]);
      comma = ",";
      break;
    }
  }
  printf("},\"explored_runs\":[");
  for (int k = 0; k < explored->levels; k++) printf("%s%" PRIu64, k ? "," : "", explored->level[k].runs);
  printf("],\"complete\":%s", explored->complete ? "true" : "false");
}

static void print_masked(struct runner_world *world, struct runner_scenario *scenario, uint64_t own, uint64_t seeds) {
  int axis = model_axis_find(scenario->masked_by);
  printf("\"masked_by\":");
  if (axis < 0) {
    printf("null");
    return;
  }
  scenario->config.design.choice[axis] = 0;
  runner_scenario_settle(scenario);
  run_seeds(world, scenario, seeds);
  printf("{\"axis\":\"%s\",", scenario->masked_by);
  for (size_t i = 0; i < SIM_INVARIANTS_MAX; i++) {
    if ((own >> i & 1) == 0) failing[i] = 0;
  }
  print_counts("still", failing);
  printf("}");
}

/* Level by level, no further than until `own` is all broken. */
static void explore(const struct runner_scenario *scenario, uint64_t own, int faults_max, uint64_t points, struct runner_explored *out) {
  uint64_t broken = 0;
  for (int faults = 0; faults <= faults_max && (own & ~broken) != 0; faults++) {
    struct runner_explore_options options = {.faults_max = faults, .jobs = 1, .points = points, .go_on = true};
    runner_explore(scenario, &options, out);
    broken |= out->level[faults].violated;
  }
}

static uint64_t points_of(int count, char **name) {
  uint64_t points = 0;
  for (int i = 0; i < count; i++) {
    const struct sim_point *point = sim_catalogue_find(fault_catalogue(), name[i]);
    REQUIRE(point != NULL);
    points |= UINT64_C(1) << point->index;
  }
  return points;
}

int main(int argc, char **argv) {
  char error[RUNNER_ERROR_SIZE];
  struct runner_scenario *scenario = argc >= 5 ? runner_scenario_read(argv[1], error, sizeof error) : NULL;
  if (scenario == NULL) {
    fprintf(stderr, "known_bad_probe: %s\n", argc >= 5 ? error : "SCENARIO SEEDS PICKS FAULTS are expected");
    return 4;
  }
  uint64_t seeds = strtoull(argv[2], NULL, 10), picks = strtoull(argv[3], NULL, 10);
  REQUIRE(seeds >= 1 && seeds <= SEEDS_MAX);
  uint64_t own = scenario->expect.violates | scenario->expect.violates_any;
  struct runner_world world;
  runner_world_open(&world);
  run_seeds(&world, scenario, seeds);
  printf("{\"scenario\":\"%s\",", scenario->name);
  print_counts("seeds", failing);
  printf(",\"own\":[");
  const char *comma = "";
  for (size_t i = 0; i < MODEL_INVARIANT_COUNT; i++) {
    if ((own >> i & 1) == 0) continue;
    printf("%s\"%s\"", comma, model_invariants[i].name);
    comma = ",";
  }
  printf("],\"shrunk\":{");
  comma = "";
  for (size_t i = 0; i < MODEL_INVARIANT_COUNT; i++) {
    if ((own >> i & 1) == 0 || failing[i] == 0) continue;
    printf("%s\"%s\":[", comma, model_invariants[i].name);
    for (uint64_t pick = 0; pick < picks; pick++) {
      if (pick > 0) printf(",");
      print_shrunk(&world, scenario, (int)i, pick_seed(scenario, (int)i, pick, seeds));
    }
    printf("]");
    comma = ",";
  }
  printf("},");
  runner_world_close(&world); /* explore has a world of its own, and libfiu knows one at a time */
  static struct runner_explored explored;
  explore(scenario, own, atoi(argv[4]), points_of(argc - 5, argv + 5), &explored);
  print_explored(&explored);
  printf(",");
  runner_world_open(&world);
  print_masked(&world, scenario, own, seeds);
  printf("}\n");
  runner_world_close(&world);
  runner_scenario_free(scenario);
  return 0;
}
