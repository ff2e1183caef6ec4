/* Run memory: everything a run allocates comes from here and dies with the run. */
#ifndef SIM_ARENA_H
#define SIM_ARENA_H

#include <stddef.h>

struct sim_arena {
  char *base;
  size_t size;
  size_t used;
};

/* Allocate the arena's storage once per process. */
void sim_arena_init(struct sim_arena *arena, size_t size);
void sim_arena_release(struct sim_arena *arena);
/* Hand out `size` zeroed bytes, 16-aligned. Errors: a full arena is a failed ENSURE naming SIM_ARENA_SIZE. */
void *sim_arena_take(struct sim_arena *arena, size_t size);
/* Copy text into the arena. */
char *sim_arena_text(struct sim_arena *arena, const char *text);
/* Forget everything handed out. */
void sim_arena_reset(struct sim_arena *arena);

#endif
