#include "sim/arena.h"

#include <stdlib.h>
#include <string.h>

#include "sim/check.h"
#include "sim/limits.h"

void sim_arena_init(struct sim_arena *arena, size_t size) {
  arena->base = malloc(size);
  ENSURE(arena->base != NULL);
  arena->size = size;
  arena->used = 0;
}

void sim_arena_release(struct sim_arena *arena) {
  free(arena->base);
  *arena = (struct sim_arena){0};
}

void *sim_arena_take(struct sim_arena *arena, size_t size) {
  size_t rounded = (size + 15) & ~(size_t)15;
  ENSURE(arena->size - arena->used >= rounded && "SIM_ARENA_SIZE");
  void *memory = arena->base + arena->used;
  arena->used += rounded;
  memset(memory, 0, rounded);
  return memory;
}

char *sim_arena_text(struct sim_arena *arena, const char *text) {
  size_t size = strlen(text) + 1;
  char *copy = sim_arena_take(arena, size);
  memcpy(copy, text, size);
  return copy;
}

void sim_arena_reset(struct sim_arena *arena) { arena->used = 0; }
