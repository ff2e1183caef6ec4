/* An effect at a provider (a mail sent, a refund made), carried out by a service of ours under a stable id: the intent is
   committed before the call and the result after it; a call without a definite answer leaves the row Unknown, and each
   further command for it takes one more step: ask the provider, or repeat under the same key while it lives, or park.
   payment.c does the same for charges, with all the ways of getting it wrong.

     command -> Pending -> Completed | Failed (refused for good) | Unknown -> Completed | Failed | Parked               */
#ifndef MODEL_EFFECT_H
#define MODEL_EFFECT_H

#include "model/shop.h"

/* Statements of an effect's table, in the order of enum effect_statement. `id`, `target`, `what` and `result` are the names
   of its columns. */
#define EFFECT_TABLE(table, id, target, what, result)                                                    \
  "CREATE TABLE " table "(" id " TEXT PRIMARY KEY, order_id INTEGER NOT NULL, " target " INTEGER, " what \
  " INTEGER NOT NULL, amount_minor INTEGER, status INTEGER NOT NULL, " result                            \
  " INTEGER, attempt_count INTEGER NOT NULL, ask_count INTEGER NOT NULL, created_at INTEGER, last_attempt_at INTEGER, owner INTEGER NOT NULL);"
#define EFFECT_STATEMENTS(table, id, target, what, result, cases)                                                                     \
  "INSERT INTO " table " VALUES(?1, ?2, ?3, ?4, ?5, 1, 0, 1, 0, ?6, ?6, ?7) ON CONFLICT DO NOTHING",                                  \
      "INSERT OR REPLACE INTO " table " VALUES(?1, ?2, ?3, ?4, ?5, 1, 0, 1, 0, ?6, ?6, ?7)",                                          \
      "SELECT order_id, " target ", " what ", amount_minor, status, " result                                                          \
      ", attempt_count, ask_count, created_at, last_attempt_at, owner FROM " table " WHERE " id "=?",                                 \
      "UPDATE " table " SET owner=? WHERE " id "=? AND owner=? AND status=1",                                                         \
      "UPDATE " table " SET status=?, " result "=?, ask_count=? WHERE " id "=?4 AND status IN (1, 4) AND (attempt_count=?5 OR ?1=2)", \
      "UPDATE " table " SET attempt_count=?, ask_count=?, last_attempt_at=?, owner=? WHERE " id                                       \
      "=? AND status IN (1, 4) AND attempt_count=?",                                                                                  \
      "INSERT OR IGNORE INTO " cases " VALUES(?,?,?,?,?,?)",                                                                          \
      "UPDATE " table " SET status=2, " result "=? WHERE " id "=? AND status IN (1, 3, 4, 5)",                                        \
      "DELETE FROM " cases " WHERE operation_id=?",                                                                                   \
      "UPDATE " table " SET status=4, attempt_count=?, last_attempt_at=?, owner=? WHERE " id "=? AND status=5 AND attempt_count=?"

enum effect_statement {
  EFFECT_INSERT,
  EFFECT_REPLACE,
  EFFECT_READ,
  EFFECT_TAKE_OVER,
  EFFECT_RECORD,
  EFFECT_ATTEMPT,
  EFFECT_CASE,
  EFFECT_FOUND,
  EFFECT_CLOSE_CASE,
  EFFECT_REOPEN,
  EFFECT_STATEMENT_COUNT
};

struct effect {
  struct sim_id id;
  int64_t order;
  int64_t target; /* a refund: the payment; a mail: the recipient, who is the order's customer */
  enum model_step step;
  int64_t amount_minor;
  enum model_state status;
  int64_t result; /* the provider's id of it */
  int64_t attempts, asks, created_ns, last_attempt_ns, owner;
  int64_t known_attempts; /* as read or written last: whoever changed it since has taken over */
  int64_t asked_ns;
  bool refused;  /* by the provider, for good */
  bool reopened; /* by the operator: its case is still open */
};

enum effect_dedup { EFFECT_UNIQUE_ROW, EFFECT_CHECK_THEN_INSERT, EFFECT_IN_MEMORY, EFFECT_NO_DEDUP };
enum effect_on_unknown { EFFECT_RESOLVE, EFFECT_AGAIN, EFFECT_GIVE_UP };

/* What a kind of effect is made of. Lifetime: process. */
struct effect_class {
  size_t statement; /* its first one in the service's list */
  enum model_service outsider;
  enum model_kind request, query;
  const char *intent, *attempt, *taken_over, *found, *result[MODEL_STATE_COUNT]; /* names of its commits */
  enum effect_dedup (*dedup)(const struct model_design *design);
  enum effect_on_unknown (*on_unknown)(const struct model_design *design);
  struct model_capabilities (*capabilities)(const struct model_config *config);
  bool (*ages)(const struct model_design *design); /* does it heed the age of the provider's memory? */
  struct sim_id (*key)(const struct sim_node *node, const struct effect *effect);
  bool refusal_is_a_case; /* what the provider refuses for good is parked for a human */
  void (*report)(struct sim_node *node, const struct effect *effect, uint32_t tries);
};

/* What a process does at the moment; the first member of its service's memory. */
struct effect_memory {
  uint64_t working[64];
  size_t working_count;
  uint64_t seen[MODEL_OPERATIONS_MAX]; /* EFFECT_IN_MEMORY */
  size_t seen_count;
};

/* The operator's word on a parked effect: it is there, or it is to be tried again. */
void model_effect_operator(struct sim_node *node, const struct effect_class *class, const struct sim_message *says);
/* What the provider's own books say: the effect is there, under the provider's id `result`. */
void model_effect_found(struct sim_node *node, const struct effect_class *class, const struct sim_message *says);
/* Carry out, resolve or report the effect that a command asks for. */
void model_effect_command(struct sim_node *node, const struct effect_class *class, const struct sim_message *command);

#endif
