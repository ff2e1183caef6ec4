#include "sim/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct sim_where sim_where;

void sim_check_fail(const char *kind, const char *what, const char *file, int line) {
  fprintf(stderr, "oncesim: internal error: %s(%s) at %s:%d\n", kind, what, file, line);
  fprintf(stderr, "oncesim: scenario %s, seed %" PRIu64 ", step %" PRIu64 ", virtual time %" PRId64 " ns\n",
          sim_where.scenario ? sim_where.scenario : "-", sim_where.seed, sim_where.step, sim_where.time_ns);
  abort();
}
