/* Fibers: each handler runs on a stack of its own, so that protocol code is straight-line C that may stop at any step.

   Life: sim_fiber_pool_init once a process; sim_fiber_start takes a free fiber and runs it until it blocks or ends;
   sim_fiber_block (on the fiber) hands control back; sim_fiber_resume continues it; sim_fiber_kill unwinds a blocked
   fiber to its base without running any of its code. A fiber is never switched from inside a libfiu callback. */
#ifndef SIM_FIBER_H
#define SIM_FIBER_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/limits.h"

struct sim_fiber;
struct sim_fiber_pool;

struct sim_fiber_pool *sim_fiber_pool_create(void);
void sim_fiber_pool_destroy(struct sim_fiber_pool *pool);

/* Run `body(argument)` on a free fiber until it blocks or returns. Returns the fiber if it blocked, NULL if it ended.
   Errors: no free fiber is a failed ENSURE naming SIM_FIBERS_MAX. */
struct sim_fiber *sim_fiber_start(struct sim_fiber_pool *pool, void (*body)(void *), void *argument);
/* Continue a blocked fiber until it blocks again (true) or ends (false). */
bool sim_fiber_resume(struct sim_fiber_pool *pool, struct sim_fiber *fiber);
/* On a fiber: hand control back to whoever started or resumed it. */
void sim_fiber_block(struct sim_fiber_pool *pool);
/* On a fiber: end it at once; nothing after the call runs. */
_Noreturn void sim_fiber_exit(struct sim_fiber_pool *pool);
/* Off a fiber: end a blocked one without running any more of its code. */
void sim_fiber_kill(struct sim_fiber_pool *pool, struct sim_fiber *fiber);
/* The fiber now running, NULL on the scheduler's own stack. */
struct sim_fiber *sim_fiber_current(const struct sim_fiber_pool *pool);
/* Bytes of the deepest stack so far over all fibers; measured in sanitizer builds, where stacks
   are painted when made; else 0. */
size_t sim_fiber_stack_used_max(const struct sim_fiber_pool *pool);

#endif
