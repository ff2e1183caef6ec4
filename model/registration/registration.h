/* The registration saga: what its files share. A saga (saga.c) asks services for steps (step.c) by messages over the broker,
   each step under its own stable operation id; what it decided and what it sends is one transaction, results come back as
   messages. A step that is not sure how its call ended asks again later, by a message to itself.

     BeginRegistration -> ChargePayment -> RegisterWithExternalXYZ [-> ChargePayment, the second] -> CompleteRegistration
     a step refused, or the user withdraws: what has landed is undone, by RefundPayment and DisableAccount                    */
#ifndef MODEL_REGISTRATION_H
#define MODEL_REGISTRATION_H

#include "model/shop.h"

struct model_charge;
struct model_refund;

/* The steps of a saga at other people's systems. */
enum saga_step {
#define SAGA_STEP(id, ...) SAGA_##id,
#include "model/registration/steps.def"
#undef SAGA_STEP
  SAGA_STEP_COUNT
};

struct saga_step_info {
  const char *name;                          /* in words */
  const char *key;                           /* end of its operation id */
  enum model_service service;                /* who does it */
  enum model_kind command;                   /* ... when told so */
  enum model_kind verify;                    /* ... and when it asks again */
  enum model_kind result[MODEL_STATE_COUNT]; /* by the state it ended in */
  enum model_service outsider;               /* at whom */
  enum model_kind request, query;
  enum saga_step undoes; /* SAGA_STEP_COUNT: it undoes nothing */
};
const struct saga_step_info *saga_step_info(enum saga_step step);
/* `registration:1:initial-payment`, and `registration:1:initial-payment:refund` for what undoes it. */
struct sim_id saga_operation_id(int64_t registration, enum saga_step step);
/* Purchases of a registration, towards the gateway: the first payment and the second. */
static inline int64_t saga_purchase(int64_t registration, enum saga_step step) {
  return step == SAGA_SECOND ? registration + 50 : registration;
}
int64_t saga_amount(const struct model_config *config, enum saga_step step);

/* In commands and results. */
enum { VALUE_SAGA_STEP = VALUE_STATUS, VALUE_REASON = VALUE_OPERATION, VALUE_VERIFY = VALUE_PURCHASE };
/* Why a step was refused; while it is unknown, what was heard of it last. */
enum saga_reason { REASON_NONE, REASON_DECLINED, REASON_NOT_EXECUTED, REASON_TAKEN_ON, REASON_CALLED_FAILED };

/* Tables and columns that invariants read; the order is that of the schema. */
enum { TABLE_SAGA = 0, TABLE_SAGA_OUTBOX = 1 };
enum { TABLE_STEPS = 0, TABLE_STEP_OUTBOX = 1, TABLE_STEP_CASES = 2 };
enum { SAGA_KEY, SAGA_REGISTRATION, SAGA_AMOUNT, SAGA_CARD, SAGA_VERSION, SAGA_ABORTED, SAGA_COMPLETE, SAGA_FIRST_STATUS };
enum {
  STEP_OPERATION,
  STEP_REGISTRATION,
  STEP_STEP,
  STEP_TARGET,
  STEP_AMOUNT,
  STEP_CARD,
  STEP_STATUS,
  STEP_RESULT,
  STEP_ATTEMPTS,
  STEP_ASKS,
  STEP_CREATED,
  STEP_LAST_ATTEMPT,
  STEP_OWNER,
  STEP_REASON
};

/* outbox of each service of the saga: what is to be sent, in the transaction that decided it. */
struct saga_letter {
  enum model_service to;
  struct sim_message message;
  int64_t delay_ns;
};
enum { SAGA_LETTERS_MAX = 8 };
struct saga_letters {
  struct saga_letter letter[SAGA_LETTERS_MAX];
  size_t count;
};
void saga_letters_add(struct saga_letters *letters, enum model_service to, const struct sim_message *message, int64_t delay_ns);

/* Statements of the outbox, the first of each service's list. */
enum { OUTBOX_PUT, OUTBOX_READ, OUTBOX_GONE, SAGA_BOOT, OUTBOX_STATEMENT_COUNT };
#define SAGA_OUTBOX_TABLE                                                                                                                   \
  "CREATE TABLE outbox(number INTEGER PRIMARY KEY, message_type INTEGER NOT NULL, message_id TEXT NOT NULL, aggregate_id INTEGER NOT NULL," \
  " receiver INTEGER NOT NULL, amount INTEGER, card INTEGER, step INTEGER, payment INTEGER, reason INTEGER, purchase INTEGER, delay INTEGER);"
#define SAGA_OUTBOX_STATEMENTS                                                                                                                             \
  "INSERT INTO outbox VALUES(?,?,?,?,?,?,?,?,?,?,?,?)",                                                                                                    \
      "SELECT number, message_type, message_id, aggregate_id, receiver, amount, card, step, payment, reason, purchase, delay FROM outbox ORDER BY number", \
      "DELETE FROM outbox WHERE number=?", "INSERT OR REPLACE INTO boots VALUES(?, ?)"
/* The timer of a commit whose letters may not have left. */
void saga_outbox_sweep(struct sim_node *node, const struct sim_message *timer);
/* After a restart, or a handler that threw: send what was left. */
void saga_outbox_resume(struct sim_node *node);
/* Decide and send, as saga.outbox says: `write` makes the decision's changes inside the transaction; false: nothing changed. */
bool saga_commit(struct sim_node *node, const char *step, bool (*write)(struct sim_node *node, void *what), void *what,
                 const struct saga_letters *letters);

/* First act of a process with an outbox. */
void saga_outbox_start(struct sim_node *node);
void saga_handle(struct sim_node *node, const struct sim_message *message);
void saga_step_handle(struct sim_node *node, const struct sim_message *message);
void saga_user_handle(struct sim_node *node, const struct sim_message *message);
void saga_users_begin(struct model_shop *shop);

/* facts.c: what the invariants know. */
extern const struct sim_observer saga_observer;
void saga_facts_begin(struct model_shop *shop);
void saga_fact_charged(struct model_shop *shop, const struct model_charge *charge);
void saga_fact_declined(struct model_shop *shop, int64_t registration, int64_t card);
void saga_fact_reversed(struct model_shop *shop, const struct model_charge *charge);
void saga_fact_refunded(struct model_shop *shop, const struct model_refund *refund);
void saga_fact_account(struct model_shop *shop, int64_t registration, bool disabled);

#endif
