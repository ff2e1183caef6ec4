/* One run: a scenario and either a seed or a fault list. */
#ifndef RUNNER_ONE_H
#define RUNNER_ONE_H

#include <stdbool.h>
#include <stdint.h>

#include "runner/scenario.h"
#include "sim/world.h"

/* A world ready to run scenarios, one after the other. Lifetime: process (or worker). */
struct runner_world {
  struct sim_world *world;
  struct model_shop *shop;
  const struct runner_scenario *scenario; /* of the last run */
  struct sim_setup setup;
};

struct runner_result {
  uint64_t digest;
  uint64_t history; /* what happened, without times and disk operations */
  uint64_t violated;
  uint64_t in_danger;
  bool stuck;
};

void runner_world_open(struct runner_world *world);
void runner_world_close(struct runner_world *world);
/* Run with the scenario's odds. `telling` keeps the story and words of faults. */
struct runner_result runner_run_seed(struct runner_world *world, const struct runner_scenario *scenario, uint64_t seed, bool telling);
/* Run with a fault list; `recording` keeps what was asked, for explore and shrink. */
struct runner_result runner_run_list(struct runner_world *world, const struct runner_scenario *scenario, struct sim_fault *list,
                                     size_t count, bool telling, bool recording);
static inline bool runner_failed(const struct runner_result *result) { return result->violated != 0 || result->stuck; }

#endif
