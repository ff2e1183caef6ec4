/* Decisions: the places where a run may go differently.

   A decision asks a *point* (what kind of question), about a *subject* (in the protocol's own terms), and gets a small
   integer. 0 is always the dull answer; any other answer is a *fault*. The address of a decision is a mix of the hashes
   of its point and subject, plus an occurrence that is 1 in nearly all cases. Two sources answer: a seed (hash of seed
   and address against the plan's odds) or a fault list (address -> answer). A run is a pure function of its faults.

   Points are listed in faults/catalogue.def; sim and model look theirs up by name at start. */
#ifndef SIM_DECISION_H
#define SIM_DECISION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/arena.h"
#include "sim/hash.h"
#include "sim/id.h"
#include "sim/limits.h"

/* Faults pass libfiu and stop at healing; workload is asked whatever happens and does not count as a fault of the world. */
enum sim_point_class { SIM_POINT_FAULT, SIM_POINT_WORKLOAD };

/* One kind of question. Lifetime: process. `answer[0]` is the dull one, the rest are in order of severity. */
struct sim_point {
  struct sim_name name;
  const char *meaning;
  enum sim_point_class class;
  uint8_t index;
  uint8_t answer_count;
  struct sim_name answer[SIM_ANSWERS_MAX];
};

/* The closed list of points, built once a process by faults/ (or by a user's own program). */
struct sim_catalogue {
  struct sim_point point[SIM_POINTS_MAX];
  size_t count;
};

/* Find a point by name; NULL when there is none. */
const struct sim_point *sim_catalogue_find(const struct sim_catalogue *catalogue, const char *name);

/* Odds as a ratio of two integers. Units: numerator/denominator, at most 1. */
struct sim_odds {
  uint32_t numerator;
  uint32_t denominator; /* 0 means "never" */
};

/* Which answers may come and how likely; scenario data. */
struct sim_plan {
  struct sim_odds odds[SIM_POINTS_MAX][SIM_ANSWERS_MAX];
  uint8_t explored[SIM_POINTS_MAX]; /* bit a: explore asks answer a */
  bool swarm;                       /* each seed redraws which fault points are live and how likely */
};

/* What a decision is about; every part may be absent (NULL or 0). */
struct sim_subject {
  const struct sim_name *who;  /* node: "printing/1" */
  uint32_t life;               /* incarnation of that node, 1 at first boot */
  const struct sim_name *what; /* message kind or step: "Print" */
  const struct sim_id *id;     /* operation or message id */
  uint32_t attempt;            /* try number of that message */
  const char *step;            /* the step just done: "intent persisted" */
};

/* One fault of a list: where, and which answer. */
struct sim_fault {
  uint64_t address;
  uint64_t family; /* address without life, attempt and occurrence: "the other occurrences of the same step" */
  uint8_t point;
  uint8_t answer;
  bool reached;      /* list source: the run came there and the answer was on offer */
  uint32_t position; /* which decision of the run, from 0 */
  const char *words; /* only when telling or given by a file; owner: whoever keeps the list */
};

/* One decision that was asked, for explore. */
struct sim_asked {
  uint64_t address;
  uint64_t family;
  uint8_t point;
  uint8_t offered; /* bit a: answer a was on offer */
};

struct sim_decisions {
  const struct sim_catalogue *catalogue;
  const struct sim_plan *plan;
  /* Set by the runner: fault points pass through here (libfiu); NULL asks the source directly. The gate must end in
     sim_decision_draw for this same object. */
  int (*gate)(struct sim_decisions *decisions, const struct sim_point *point);

  /* Source. */
  bool from_list;
  uint64_t seed;
  struct sim_fault *list; /* caller's storage, `reached` is written */
  size_t list_count;
  uint16_t list_slot[2 * SIM_FAULTS_MAX]; /* open addressing: index + 1 into list */

  /* This run. */
  bool healing; /* no fault is asked any more */
  bool recording;
  bool telling;
  struct sim_arena *arena;                             /* for words */
  uint32_t threshold[SIM_POINTS_MAX][SIM_ANSWERS_MAX]; /* cumulative, of 2^32 - 1 */
  uint32_t threshold_run[SIM_POINTS_MAX];              /* the run they were drawn for */
  uint64_t pending_address;
  uint8_t pending_offered;
  uint32_t asked_count;    /* decisions of this run */
  struct sim_asked *asked; /* recording only: SIM_DECISIONS_MAX entries */
  struct sim_fault *fault; /* faults of this run: SIM_FAULTS_MAX entries */
  size_t fault_count;
  const char *full;        /* the maximum that this run reached, NULL for none: the run is then stuck */
  uint32_t repeated_count; /* decisions whose occurrence was not 1 */
  /* How often each address was asked: open addressing, sized for the usual run and grown within one that needs more. */
  struct sim_seen {
    uint64_t address;
    uint32_t run;
    uint32_t count;
  } * seen;
  uint32_t seen_mask;
  uint32_t seen_count;
  uint32_t run; /* generation of `seen` */

  /* Campaign counters, never reset here. */
  uint64_t point_asked[SIM_POINTS_MAX];
  uint64_t point_fired[SIM_POINTS_MAX];
  uint64_t decisions_total;
  uint64_t repeated_total;
};

struct sim_decisions *sim_decisions_create(const struct sim_catalogue *catalogue);
void sim_decisions_destroy(struct sim_decisions *decisions);

/* Begin a run answered by a seed and the plan's odds. */
void sim_decisions_begin_seed(struct sim_decisions *decisions, const struct sim_plan *plan, uint64_t seed);
/* Begin a run answered by a fault list. Errors: more than SIM_FAULTS_MAX faults is a bug of the caller. */
void sim_decisions_begin_list(struct sim_decisions *decisions, const struct sim_plan *plan, struct sim_fault *list, size_t count);

/* Ask. `offered` has bit a set for each non-dull answer a that makes sense here; 0 asks nothing. Returns the answer.
   Draws: one decision. At most one call per full expression (compilers differ in argument order). */
int sim_decide(struct sim_decisions *decisions, const struct sim_point *point, const struct sim_subject *subject, uint8_t offered);
/* What the source answers to the pending question; only for gates. */
int sim_decision_draw(struct sim_decisions *decisions, const struct sim_point *point);

/* All non-dull answers of a point. */
static inline uint8_t sim_point_all(const struct sim_point *point) { return (uint8_t)(((1U << point->answer_count) - 1U) & ~1U); }

/* The address of a subject at a point (occurrence 1), and its family. */
uint64_t sim_subject_address(const struct sim_point *point, const struct sim_subject *subject);
uint64_t sim_subject_family(const struct sim_point *point, const struct sim_subject *subject);
/* Write a fault in words: "crash: gap, printing/1 life 1, Print job:1:print try 1, intent persisted". */
void sim_fault_words(char *out, size_t size, const struct sim_point *point, int answer, const struct sim_subject *subject,
                     uint32_t occurrence);
/* Read such words back. Returns NULL and fills `fault_out` (address, point, answer; words = text), or the reason it cannot. */
const char *sim_fault_parse(const struct sim_catalogue *catalogue, const char *text, struct sim_fault *fault_out);

#endif
