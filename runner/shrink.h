/* The shrinker: the smallest fault list that still breaks the same invariant. */
#ifndef RUNNER_SHRINK_H
#define RUNNER_SHRINK_H

#include "runner/one.h"

struct runner_shrunk {
  struct sim_fault fault[SIM_FAULTS_MAX]; /* with words, which the caller frees by runner_shrunk_free */
  size_t fault_count;
  struct runner_result result;
  unsigned runs; /* tried on the way */
};

/* Shrink `list` (which must fail on `invariant`; -1: stuck). Deterministic; at most a few thousand runs. */
void runner_shrink(struct runner_world *world, const struct runner_scenario *scenario, int invariant, const struct sim_fault *list,
                   size_t count, struct runner_shrunk *out);
void runner_shrunk_free(struct runner_shrunk *shrunk);
/* Does this result break that invariant (-1: is it stuck)? */
bool runner_breaks(const struct runner_result *result, int invariant);

#endif
