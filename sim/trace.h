/* The trace: what happened, in order. A campaign keeps two digests; a replay keeps the words as well.

   `full` folds in times, disk operations and all below; `history` only what was delivered, persisted, answered, crashed,
   in order, so that two runs that differ in nothing but their fault lists compare equal. Fields are folded one by one,
   never struct memory. */
#ifndef SIM_TRACE_H
#define SIM_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/arena.h"

enum sim_trace_kind {
  SIM_TRACE_DELIVER = 1,
  SIM_TRACE_SEND,
  SIM_TRACE_CALL,
  SIM_TRACE_ANSWER,
  SIM_TRACE_TIMEOUT,
  SIM_TRACE_TIMER,
  SIM_TRACE_COMMIT,
  SIM_TRACE_COMMIT_FAILED,
  SIM_TRACE_ROW,
  SIM_TRACE_CRASH,
  SIM_TRACE_PAUSE,
  SIM_TRACE_BOOT,
  SIM_TRACE_NOTE, /* a fact of the model: a ledger entry, a verdict */
};

struct sim_story_line {
  int64_t time_ns;
  const char *who;
  const char *text;
};

struct sim_trace {
  uint64_t history;
  uint64_t full;
  bool telling;
  struct sim_arena *arena;
  struct sim_story_line *line; /* SIM_STORY_LINES_MAX, made at the first telling */
  size_t line_count;
  uint64_t *path; /* recording: the full digest after each step, to find the first step where two runs differ */
  size_t path_count;
};

void sim_trace_reset(struct sim_trace *trace, bool telling);
void sim_trace_release(struct sim_trace *trace);
/* Fold one happening into both digests (time only into `full`). */
void sim_trace_add(struct sim_trace *trace, int64_t time_ns, enum sim_trace_kind kind, uint64_t a, uint64_t b, uint64_t c);

#endif
