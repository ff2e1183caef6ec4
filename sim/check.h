/* The first kind of wrong: a bug of ours. Always on; prints where the run stood (seed, step, virtual time) and aborts.
   Findings about a protocol go through sim/invariant.h, errors of the
   outside world are returned as messages by whoever met them. */
#ifndef SIM_CHECK_H
#define SIM_CHECK_H

#include <stdint.h>

/* Where the current run stands, for the message of a failed check. */
struct sim_where {
  const char *scenario;
  uint64_t seed;
  uint64_t step;
  int64_t time_ns;
};
extern struct sim_where sim_where;

/* Print the failed check with the current `sim_where` and abort. */
_Noreturn void sim_check_fail(const char *kind, const char *what, const char *file, int line);

/* The caller broke the contract. */
#define REQUIRE(condition) ((condition) ? (void)0 : sim_check_fail("REQUIRE", #condition, __FILE__, __LINE__))
/* We broke our own. */
#define ENSURE(condition) ((condition) ? (void)0 : sim_check_fail("ENSURE", #condition, __FILE__, __LINE__))
#define UNREACHABLE(why) sim_check_fail("UNREACHABLE", why, __FILE__, __LINE__)

#endif
