/* Invariants: what must always, or eventually, hold. A model lists its own in a .def file; sim keeps, for one run, which
   were in danger (something happened that would have broken a wrong design) and which were violated, with a sentence. */
#ifndef SIM_INVARIANT_H
#define SIM_INVARIANT_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/limits.h"

enum sim_invariant_kind { SIM_ALWAYS, SIM_EVENTUALLY };

struct sim_invariant {
  const char *name;
  enum sim_invariant_kind kind;
  const char *sentence; /* what must hold */
  const char *danger;   /* what exercises it */
  const char *remedy;   /* what a design does to keep it, two sentences at most */
};

struct sim_judgement {
  uint64_t in_danger; /* bit i: invariant i */
  uint64_t violated;
  const char *sentence[SIM_INVARIANTS_MAX]; /* the first violation of each, only when telling */
  int64_t time_ns[SIM_INVARIANTS_MAX];
};

struct sim_world;

void sim_danger(struct sim_world *world, unsigned invariant);
/* Record a violation; the sentence says what happened, with amounts and ids. */
void sim_violated(struct sim_world *world, unsigned invariant, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
