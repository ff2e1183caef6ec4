/* Explore: every run with at most K faults, each once. */
#ifndef RUNNER_EXPLORE_H
#define RUNNER_EXPLORE_H

#include "runner/one.h"

struct runner_found { /* the first failing run of a level, in the order of its faults */
  bool any;
  uint64_t violated;
  bool stuck;
  uint64_t order; /* place in the level's order */
  struct sim_fault fault[RUNNER_FAULTS_EXPLORED_MAX];
  size_t fault_count;
};

struct runner_level { /* runs with exactly K faults */
  uint64_t runs;
  uint64_t failing;
  uint64_t answers_left; /* sum over runs of the answers a further fault could take */
  uint64_t digest;       /* sum of the runs' digests, in any order */
  uint64_t violated;     /* union */
  uint64_t in_danger;
  uint64_t violations[SIM_INVARIANTS_MAX];
  struct runner_found first[SIM_INVARIANTS_MAX + 1]; /* by invariant; the last for stuck */
  double seconds;
  bool complete;
};

struct runner_explored {
  struct runner_level level[RUNNER_FAULTS_EXPLORED_MAX + 1];
  int levels;       /* how many levels were begun */
  bool complete;    /* all of them to the end */
  uint64_t answers; /* non-dull answers on the happy path */
  uint64_t decisions;
};

struct runner_explore_options {
  int faults_max;
  int jobs;
  uint64_t points; /* bit p: faults at point p are explored; 0: all */
  bool go_on;      /* also to higher K after a level that found something */
  volatile const int *interrupted;
  void (*on_level)(const struct runner_explored *explored, int level, void *context);
  void *context;
  /* For tests: each run's history and full digest. Only with one job. */
  void (*on_run)(const struct runner_result *result, const struct sim_fault *list, size_t count, void *context);
};

void runner_explore(const struct runner_scenario *scenario, const struct runner_explore_options *options, struct runner_explored *out);

#endif
