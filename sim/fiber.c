/* Method. A fiber is entered once by swapcontext and from then on switched with _setjmp/_longjmp (12 ns a round trip
   against 323: no signal mask is saved). It loops for ever: wait for a body, run it, mark itself free. Killing a blocked
   fiber resumes it with a flag; sim_fiber_block sees the flag and jumps back to the loop, so no handler code runs again.
   This file is compiled without _FORTIFY_SOURCE, whose longjmp check refuses a jump to another stack. */
#include "sim/fiber.h"

#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "sim/check.h"

#if defined(__SANITIZE_ADDRESS__)
#define SIM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIM_ASAN 1
#endif
#endif
#ifdef SIM_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#include <valgrind/valgrind.h>
#pragma GCC diagnostic pop
#define SIM_VALGRIND 1
#endif
#endif

enum fiber_state { FIBER_FREE, FIBER_RUNNING, FIBER_BLOCKED };

struct sim_fiber {
  struct sim_fiber_pool *pool;
  enum fiber_state state;
  bool kill;
  void (*body)(void *);
  void *argument;
  jmp_buf here; /* where the fiber stopped */
  jmp_buf base; /* its loop, the target of exit and kill */
  ucontext_t entry;
  char *stack; /* usable part; one guard page lies below */
  void *fake_stack;
};

struct sim_fiber_pool {
  struct sim_fiber fiber[SIM_FIBERS_MAX];
  size_t made_count;
  struct sim_fiber *current;
  jmp_buf scheduler;
  ucontext_t scheduler_entry;
  const void *scheduler_stack;
  size_t scheduler_stack_size;
  void *scheduler_fake_stack;
};

enum { GUARD_SIZE = 4096, PAINT = 0x5A };

static void to_fiber_begin(struct sim_fiber *fiber) {
#ifdef SIM_ASAN
  __sanitizer_start_switch_fiber(&fiber->pool->scheduler_fake_stack, fiber->stack, SIM_FIBER_STACK);
#else
  (void)fiber;
#endif
}

static void to_scheduler_begin(struct sim_fiber *fiber) {
#ifdef SIM_ASAN
  __sanitizer_start_switch_fiber(&fiber->fake_stack, fiber->pool->scheduler_stack, fiber->pool->scheduler_stack_size);
#else
  (void)fiber;
#endif
}

static void arrived_on_fiber(struct sim_fiber *fiber) {
#ifdef SIM_ASAN
  __sanitizer_finish_switch_fiber(fiber->fake_stack, &fiber->pool->scheduler_stack, &fiber->pool->scheduler_stack_size);
#else
  (void)fiber;
#endif
}

static void arrived_on_scheduler(struct sim_fiber_pool *pool) {
#ifdef SIM_ASAN
  __sanitizer_finish_switch_fiber(pool->scheduler_fake_stack, NULL, NULL);
#else
  (void)pool;
#endif
}

/* Leave the fiber for the scheduler; returns when somebody resumes it. */
static void leave(struct sim_fiber *fiber) {
  if (_setjmp(fiber->here) == 0) {
    to_scheduler_begin(fiber);
    _longjmp(fiber->pool->scheduler, 1);
  }
  arrived_on_fiber(fiber);
}

static _Noreturn void fiber_loop(struct sim_fiber *fiber) {
  arrived_on_fiber(fiber);
  _setjmp(fiber->base);
  for (;;) {
    fiber->kill = false;
    if (fiber->state == FIBER_RUNNING && fiber->body != NULL) {
      void (*body)(void *) = fiber->body;
      fiber->body = NULL;
      body(fiber->argument);
    }
    fiber->state = FIBER_FREE;
    leave(fiber);
  }
}

static void fiber_entry(unsigned high, unsigned low) {
  uintptr_t address = ((uintptr_t)high << 32) | (uintptr_t)low;
  fiber_loop((struct sim_fiber *)address);
}

static void make_fiber(struct sim_fiber_pool *pool, struct sim_fiber *fiber) {
  char *memory = mmap(NULL, SIM_FIBER_STACK + GUARD_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ENSURE(memory != MAP_FAILED);
  ENSURE(mprotect(memory, GUARD_SIZE, PROT_NONE) == 0);
  fiber->pool = pool;
  fiber->stack = memory + GUARD_SIZE;
#ifdef SIM_ASAN
  memset(fiber->stack, PAINT, SIM_FIBER_STACK);
#endif
#ifdef SIM_VALGRIND
  (void)VALGRIND_STACK_REGISTER(fiber->stack, fiber->stack + SIM_FIBER_STACK);
#endif
  ENSURE(getcontext(&fiber->entry) == 0);
  fiber->entry.uc_stack.ss_sp = fiber->stack;
  fiber->entry.uc_stack.ss_size = SIM_FIBER_STACK;
  fiber->entry.uc_link = NULL;
  uintptr_t address = (uintptr_t)fiber;
  makecontext(&fiber->entry, (void (*)(void))fiber_entry, 2, (unsigned)(address >> 32), (unsigned)(address & 0xFFFFFFFFU));
  pool->current = fiber;
  if (_setjmp(pool->scheduler) == 0) {
    to_fiber_begin(fiber);
    ENSURE(swapcontext(&pool->scheduler_entry, &fiber->entry) == 0);
  }
  arrived_on_scheduler(pool);
  pool->current = NULL;
}

struct sim_fiber_pool *sim_fiber_pool_create(void) {
  struct sim_fiber_pool *pool = calloc(1, sizeof *pool);
  ENSURE(pool != NULL);
  return pool;
}

void sim_fiber_pool_destroy(struct sim_fiber_pool *pool) {
  for (size_t i = 0; i < pool->made_count; i++) {
    munmap(pool->fiber[i].stack - GUARD_SIZE, SIM_FIBER_STACK + GUARD_SIZE);
  }
  free(pool);
}

/* Let the fiber run; returns when it blocks, ends or exits. */
static void enter(struct sim_fiber_pool *pool, struct sim_fiber *fiber) {
  REQUIRE(pool->current == NULL);
  pool->current = fiber;
  if (_setjmp(pool->scheduler) == 0) {
    to_fiber_begin(fiber);
    _longjmp(fiber->here, 1);
  }
  arrived_on_scheduler(pool);
  pool->current = NULL;
}

struct sim_fiber *sim_fiber_start(struct sim_fiber_pool *pool, void (*body)(void *), void *argument) {
  REQUIRE(pool->current == NULL);
  struct sim_fiber *fiber = NULL;
  for (size_t i = 0; i < pool->made_count && fiber == NULL; i++) {
    if (pool->fiber[i].state == FIBER_FREE) fiber = &pool->fiber[i];
  }
  if (fiber == NULL) {
    ENSURE(pool->made_count < SIM_FIBERS_MAX);
    fiber = &pool->fiber[pool->made_count++];
    make_fiber(pool, fiber);
  }
  fiber->state = FIBER_RUNNING;
  fiber->body = body;
  fiber->argument = argument;
  enter(pool, fiber);
  return fiber->state == FIBER_FREE ? NULL : fiber;
}

bool sim_fiber_resume(struct sim_fiber_pool *pool, struct sim_fiber *fiber) {
  REQUIRE(fiber->state == FIBER_BLOCKED);
  fiber->state = FIBER_RUNNING;
  enter(pool, fiber);
  return fiber->state != FIBER_FREE;
}

void sim_fiber_block(struct sim_fiber_pool *pool) {
  struct sim_fiber *fiber = pool->current;
  REQUIRE(fiber != NULL);
  fiber->state = FIBER_BLOCKED;
  leave(fiber);
  if (fiber->kill) sim_fiber_exit(pool);
}

void sim_fiber_exit(struct sim_fiber_pool *pool) {
  REQUIRE(pool->current != NULL);
  _longjmp(pool->current->base, 1);
}

void sim_fiber_kill(struct sim_fiber_pool *pool, struct sim_fiber *fiber) {
  REQUIRE(fiber->state == FIBER_BLOCKED);
  fiber->kill = true;
  fiber->state = FIBER_RUNNING;
  enter(pool, fiber);
  ENSURE(fiber->state == FIBER_FREE);
}

struct sim_fiber *sim_fiber_current(const struct sim_fiber_pool *pool) {
  return pool->current;
}

size_t sim_fiber_stack_used_max(const struct sim_fiber_pool *pool) {
  size_t used_max = 0;
#ifdef SIM_ASAN
  for (size_t i = 0; i < pool->made_count; i++) {
    const char *stack = pool->fiber[i].stack;
    size_t free_size = 0;
    while (free_size < SIM_FIBER_STACK && stack[free_size] == PAINT) free_size++;
    if (SIM_FIBER_STACK - free_size > used_max) used_max = SIM_FIBER_STACK - free_size;
  }
#else
  (void)pool;
#endif
  return used_max;
}
