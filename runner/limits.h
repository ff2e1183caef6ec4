/* Every maximum of runner/, each with its reason. */
#ifndef RUNNER_LIMITS_H
#define RUNNER_LIMITS_H

enum {
  RUNNER_SCENARIO_SIZE_MAX = 1024 * 1024, /* bytes of a scenario or design file: the largest shipped one has 2 KB; more is no scenario */
  RUNNER_REPLAY_SIZE_MAX = 256 * 1024, /* bytes of a replay file: a shrunk one has 1 KB, an unshrunk one of SIM_FAULTS_MAX faults 130 KB */
  RUNNER_NAME_SIZE = 64,               /* bytes of a scenario's name with its NUL: it becomes part of file names */
  RUNNER_ERROR_SIZE = 1600,            /* bytes of one error message, the offending line included */
  RUNNER_SETS_MAX = 32,                /* --set options of one command: more than there are axes */
  RUNNER_JOBS_MAX = 64,                /* worker processes: no machine of today's CI has more cores */
  RUNNER_FAULTS_EXPLORED_MAX = 6,      /* depth of explore: at 72 answers seven faults are 10^11 runs */
  RUNNER_FAILING_KEPT = 32,            /* lowest failing seeds a campaign remembers; all are counted */
  RUNNER_FINDINGS_MAX = 3,             /* findings told in full; further invariants are named */
};

#endif
