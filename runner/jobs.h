/* Workers: one forked process a job, as SQLite's and libfiu's state is process-wide. No open database handle crosses a
   fork: each worker makes its own world. Results live in memory that parent and workers share, so that what a killed
   worker had done is kept. */
#ifndef RUNNER_JOBS_H
#define RUNNER_JOBS_H

#include <stdbool.h>

#include "runner/limits.h"

/* Run `work(context, job)` in `jobs` workers (in this process when there is one) and wait. Returns false when a worker
   died of a signal or an internal error. */
bool runner_jobs_run(int jobs, void (*work)(void *context, int job), void *context);

#endif
