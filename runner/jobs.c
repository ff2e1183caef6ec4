#include "runner/jobs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/check.h"

#ifdef ONCESIM_COVERAGE
void __gcov_dump(void);
#endif

/* Leave a worker without running the parent's exit handlers, but not without its coverage counters. */
static _Noreturn void leave_worker(void) {
#ifdef ONCESIM_COVERAGE
  __gcov_dump();
#endif
  _exit(0);
}

bool runner_jobs_run(int jobs, void (*work)(void *context, int job), void *context) {
  REQUIRE(jobs >= 1 && jobs <= RUNNER_JOBS_MAX);
  if (jobs == 1) {
    work(context, 0);
    return true;
  }
  pid_t worker[RUNNER_JOBS_MAX];
  fflush(stdout);
  fflush(stderr);
  for (int j = 0; j < jobs; j++) {
    worker[j] = fork();
    ENSURE(worker[j] >= 0);
    if (worker[j] != 0) continue;
    work(context, j);
    leave_worker();
  }
  bool whole = true;
  for (int j = 0; j < jobs; j++) {
    int status = 0;
    while (waitpid(worker[j], &status, 0) < 0 && errno == EINTR) {}
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) whole = false;
  }
  return whole;
}
