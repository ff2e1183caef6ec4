/* From a failing run to something a person can use: run it again, shrink it, tell it, write its replay file. */
#ifndef RUNNER_FINDING_H
#define RUNNER_FINDING_H

#include <stdio.h>

#include "reports/report.h"
#include "runner/options.h"
#include "runner/shrink.h"

struct runner_finding_context {
  const struct runner_scenario *scenario;
  const struct runner_options *options;
  const struct runner_changes *changes;
  uint64_t failing_runs, runs;
};

/* Shrink the run (`list`) for `invariant` (-1: stuck), write its replay file where --out asks for it, and print it to
   stdout as --json or words. Returns EXIT_HELD, or EXIT_OUTPUT when the file could not be written. */
int runner_finding_report(struct runner_world *world, const struct runner_finding_context *context, int invariant,
                          const struct sim_fault *list, size_t count, bool seeded, uint64_t seed, uint64_t digest, uint64_t violated);
/* Run a seed again; returns false, after telling the first differing step, when it comes out otherwise. */
bool runner_finding_confirm(struct runner_world *world, const struct runner_scenario *scenario, uint64_t seed, uint64_t digest);

#endif
