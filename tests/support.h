/* What the tests share: dice that never change, and a way to see a failed check of ours abort. */
#ifndef TESTS_SUPPORT_H
#define TESTS_SUPPORT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* cmocka.h wants these and setjmp.h before it, so that tests include it through this header. */
#include <setjmp.h>

#include <cmocka.h>

/* Draw the next number of a stream; equal states give equal streams on every machine.
   Source: splitmix64. */
uint64_t support_random(uint64_t *state);
/* A number below `limit` (at least 1). */
uint64_t support_below(uint64_t *state, uint64_t limit);

/* Run `body(argument)` in a child process. True when it aborted by a failed check whose message contains `words`. */
bool support_aborts(void (*body)(void *), void *argument, const char *words);
/* Run it in a child process. True when the child came to its end; what it said is printed when it did not. */
bool support_survives(void (*body)(void *), void *argument);
/* True when the child was killed by `signal`. */
bool support_dies_of(void (*body)(void *), void *argument, int signal);

#endif
