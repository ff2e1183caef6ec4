/* A campaign: many seeds of one scenario. */
#ifndef RUNNER_CAMPAIGN_H
#define RUNNER_CAMPAIGN_H

#include "runner/one.h"

struct runner_failing { /* a failing seed; the lowest ones are kept */
  uint64_t seed;
  uint64_t digest;
  uint64_t violated;
  bool stuck;
};

struct runner_tally {
  uint64_t runs, failing_runs, stuck_runs;
  uint64_t digest; /* sum of hash(seed, digest): order and job count do not matter */
  uint64_t violations[SIM_INVARIANTS_MAX];
  uint64_t in_danger[SIM_INVARIANTS_MAX];
  uint64_t first_seed[SIM_INVARIANTS_MAX + 1]; /* lowest failing seed by invariant, the last for stuck; valid where counted */
  uint64_t asked[SIM_POINTS_MAX], fired[SIM_POINTS_MAX];
  uint64_t transactions, decisions, repeated, steps;
  uint64_t endings[MODEL_ENDING_COUNT];
  uint64_t undecided[MODEL_OUTSIDERS]; /* cases that were still open at the end, as nobody could tell or undo it */
  uint64_t calls, settling_ms; /* requests to somebody else's systems; from first to last event, summed over orders */
  uint64_t moves[MODEL_STATE_COUNT][MODEL_EVENT_COUNT]; /* events by the payment state they met */
  struct runner_failing failing[RUNNER_FAILING_KEPT];
  size_t failing_count;
  uint64_t seed_under_way; /* of a worker that died */
  bool whole;              /* this worker came to its end */
};

struct runner_campaign_options {
  uint64_t first_seed;
  uint64_t seeds;     /* 0: until the time is over */
  double seconds_max; /* 0: no limit */
  int jobs;
  volatile const int *interrupted;
  bool progress;  /* tell on stderr how far it is: a line that overwrites itself on a terminal, else one every 30 s */
  bool backwards; /* seeds in falling order, for the order test */
};

struct runner_campaign {
  struct runner_tally tally;
  double seconds;
  bool worker_died;
  uint64_t died_at_seed;
  bool interrupted;
};

void runner_campaign_run(const struct runner_scenario *scenario, const struct runner_campaign_options *options,
                         struct runner_campaign *out);

#endif
