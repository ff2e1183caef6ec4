/* What the files of the payment service share: charges (payment.c) and refunds (refund.c). */
#ifndef MODEL_PAYMENT_H
#define MODEL_PAYMENT_H

#include "model/shop.h"

enum payment_statement {
  INSERT_OPERATION,
  REPLACE_OPERATION,
  READ_OPERATION,
  TAKE_OVER,
  RECORD_RESULT,
  RECORD_ATTEMPT,
  INSERT_CASE,
  ACKNOWLEDGE,
  READ_UNACKNOWLEDGED,
  PAYMENT_BOOT,
  DOUBLE_CHECKED,
  READ_UNCHECKED,
  NOTICE_COMPLETES,
  NOTICE_FAILS,
  OPERATOR_FAILS,
  NOTICE_OVERWRITES,
  CLOSE_CASE,
  MARK_SEEN,
  ANOTHER_PAYMENT,
  STATEMENT_COMPLETES,
  STATEMENT_INSERTS,
  STATEMENT_FAILS,
  REFUND_STATEMENTS, /* the first of EFFECT_STATEMENTS */
};

struct operation {
  struct sim_id id;
  int64_t order, purchase, card, amount_minor;
  enum model_state status;
  int64_t payment;
  int64_t attempts, asks;
  int64_t last_attempt_ns, created_ns;
  bool last_was_error;    /* the provider answered 5xx */
  bool last_was_declined; /* it declined, while an earlier try might still land (refund_the_double) */
  bool last_was_taken_on; /* it has taken the charge on, and not decided yet */
  bool last_was_failed;   /* it called the charge failed, which was not final yet */
  int64_t owner;
  int64_t refusal; /* enum model_refusal, in provider_payment_id's place for failed rows */
  const char *error;
  int64_t key_number; /* which key or reference was used last */
  bool acknowledged;
  int64_t asked_ns;       /* when the gateway was last asked, by this handler */
  int64_t known_attempts; /* as read or written last: whoever changed it since has taken over */
};

/* payment.c */
bool model_payment__read(struct sim_node *node, const struct sim_id *id, struct operation *out);
/* Record the operation's status, or take over what the row says if it is final already. */
void model_payment__record(struct sim_node *node, struct operation *operation);
/* Is a "not found" as of `asked_ns` a fact? */
bool model_payment__absence_is_definite(const struct sim_node *node, const struct operation *operation);
/* reconciliation=races_with_retry: charge, whoever else works on the operation. */
void model_payment__charge_beside(struct sim_node *node, struct operation *operation);
/* Send the operation's status to the order. */
void model_payment__report(struct sim_node *node, const struct operation *operation, uint32_t tries);

#endif
