/* A step of a registration, as its row tells it (step.c), and what is said about it to other people's systems (call.c). */
#ifndef MODEL_REGISTRATION_STEP_H
#define MODEL_REGISTRATION_STEP_H

#include "model/registration/registration.h"

enum step_statement {
  INSERT_STEP = OUTBOX_STATEMENT_COUNT,
  REPLACE_STEP,
  READ_STEP,
  RECORD_STEP,
  ATTEMPT_STEP,
  OPEN_STEP_CASE,
  CLOSE_STEP_CASE,
  VERIFY_LATER,
  NOTICE_COMPLETES_STEP,
  NOTICE_FAILS_STEP,
};

struct step {
  struct sim_id id;
  int64_t registration, target, amount_minor, card;
  enum saga_step step;
  enum model_state status;
  int64_t result, attempts, asks, created_ns, last_attempt_ns, owner;
  int64_t known_attempts, asked_ns;
  int64_t verify_number; /* of the last Verify message sent for it: an earlier one has been overtaken */
  enum saga_reason reason;
  bool verifying; /* by a Verify message */
};

static inline bool saga_is_payment(enum saga_step step) { return step == SAGA_PAYMENT || step == SAGA_SECOND; }
static inline bool saga_is_refund(enum saga_step step) { return step == SAGA_REFUND || step == SAGA_REFUND_SECOND; }

/* What a protocol may rely on for this step, at whoever does it. */
struct model_capabilities saga_step__capabilities(const struct sim_node *node, enum saga_step step);
/* May the request be repeated under its key? */
bool saga_step__key_lives(const struct sim_node *node, const struct step *step);
/* Is a "not found" as of `asked_ns` a fact? */
bool saga_step__absence_is_definite(const struct sim_node *node, const struct step *step);
/* Until when asking is too early, as the gateway said itself that it has not decided yet; 0: it did not. */
int64_t saga_step__decided_ns(const struct sim_node *node, const struct step *step);
/* Make the request; the answer, GATEWAY_ERROR for none. What was heard that is no end yet is noted in `reason`. */
enum model_gateway_status saga_step__request(struct sim_node *node, struct step *step);
/* Ask what became of it: by a look-up; in the gateway's statement, line by line; or by taking it back. */
enum model_gateway_status saga_step__look_up(struct sim_node *node, struct step *step);
enum model_gateway_status saga_step__read_statement(struct sim_node *node, struct step *step);
enum model_gateway_status saga_step__reverse(struct sim_node *node, struct step *step);

#endif
