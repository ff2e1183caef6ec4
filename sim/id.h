/* Operation and message ids: short text in the protocol's own words ("job:1:print"), with its hash. */
#ifndef SIM_ID_H
#define SIM_ID_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/limits.h"

struct sim_id {
  uint64_t hash; /* of the text; 0 for the empty id */
  char text[SIM_ID_SIZE];
};

/* Make an id from text. Errors: longer than SIM_ID_SIZE - 1 bytes is a bug of the caller. */
struct sim_id sim_id_of(const char *text);
/* Make "{prefix}{number}{suffix}", the shape of nearly all ids, without going through printf. */
struct sim_id sim_id_join(const char *prefix, int64_t number, const char *suffix);
static inline bool sim_id_same(const struct sim_id *a, const struct sim_id *b) { return a->hash == b->hash; }
static inline bool sim_id_empty(const struct sim_id *id) { return id->hash == 0; }

#endif
