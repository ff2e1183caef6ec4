#include "sim/trace.h"

#include <stdlib.h>

#include "sim/check.h"
#include "sim/hash.h"
#include "sim/limits.h"

void sim_trace_reset(struct sim_trace *trace, bool telling) {
  trace->history = 0;
  trace->full = 0;
  trace->telling = telling;
  trace->line_count = 0;
  trace->path_count = 0;
  if (telling && trace->line == NULL) {
    trace->line = calloc(SIM_STORY_LINES_MAX, sizeof *trace->line);
    trace->path = calloc(SIM_STEPS_MAX + 1, sizeof *trace->path);
    ENSURE(trace->line != NULL && trace->path != NULL);
  }
}

void sim_trace_release(struct sim_trace *trace) {
  free(trace->line);
  free(trace->path);
  trace->line = NULL;
  trace->path = NULL;
}

void sim_trace_add(struct sim_trace *trace, int64_t time_ns, enum sim_trace_kind kind, uint64_t a, uint64_t b, uint64_t c) {
  uint64_t word = sim_mix(sim_mix(sim_mix((uint64_t)kind, a), b), c);
  trace->history = sim_mix(trace->history, word);
  trace->full = sim_mix(sim_mix(trace->full, word), (uint64_t)time_ns);
}
