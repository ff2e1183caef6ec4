/* The payment service: one row an operation (payment_operations), the intent committed before the call and the result
   after it, both under the operation's stable id. A call without a definite answer leaves the row Unknown; the order asks
   again (ResolvePayment), and each time one more step is taken: ask the gateway, or repeat under the same key while it
   lives, or park. Results are redelivered until acknowledged.

   Recommended path: ChargePayment -> insert intent -> Charge at the gateway -> record result -> PaymentSucceeded.
   Everything named after an axis (axes.def) is a way of getting it wrong. */
#include <stdio.h>
#include <string.h>

#include "model/effect.h"
#include "model/facts.h"
#include "model/payment.h"
#include "sim/check.h"

enum outcome { OUTCOME_COMPLETED, OUTCOME_DECLINED, OUTCOME_NOT_EXECUTED, OUTCOME_UNKNOWN };

struct payment_memory {
  struct effect_memory refunds;
  uint64_t working[64]; /* operations that a handler of this life works on */
  size_t working_count;
  uint64_t seen[MODEL_OPERATIONS_MAX]; /* payment.dedup=memory */
  size_t seen_count;
  struct {
    uint64_t id;
    struct sim_timer timer;
  } redelivery[MODEL_OPERATIONS_MAX];
  size_t redelivery_count;
};

static const int64_t CALL_TIMEOUT_NS = 10 * SIM_SECOND;
static const int64_t REDELIVER_NS = 30 * SIM_SECOND;
static const int64_t REDELIVER_MAX_NS = 6 * SIM_HOUR;

static const struct model_gateway_profile *gateway_of(const struct sim_node *node) { return &model_shop_of(node)->config->gateway; }

/* ---- what this process is doing ---- */

static bool working_on(const struct sim_node *node, const struct sim_id *id) {
  const struct payment_memory *memory = sim_node_memory(node);
  for (size_t i = 0; i < memory->working_count; i++) {
    if (memory->working[i] == id->hash) return true;
  }
  return false;
}

static void work_begins(struct sim_node *node, const struct sim_id *id) {
  struct payment_memory *memory = sim_node_memory(node);
  ENSURE(memory->working_count < sizeof memory->working / sizeof memory->working[0]);
  memory->working[memory->working_count++] = id->hash;
}

static void work_ends(struct sim_node *node, const struct sim_id *id) {
  struct payment_memory *memory = sim_node_memory(node);
  for (size_t i = 0; i < memory->working_count; i++) {
    if (memory->working[i] != id->hash) continue;
    memory->working[i] = memory->working[--memory->working_count];
    return;
  }
}

/* ---- keys and references ---- */

static bool number_in_key(const struct sim_node *node) {
  const struct model_design *design = model_design_of(node);
  bool keys = gateway_of(node)->takes_keys;
  return MODEL_CHOSEN(design, PAYMENT_KEY, FRESH) || (!keys && MODEL_CHOSEN(design, PAYMENT_NO_KEY_GATEWAY, REFERENCE_PER_TRY));
}

static struct sim_id numbered(const struct sim_id *id, const char *mark, int64_t number) {
  char text[2 * SIM_ID_SIZE];
  snprintf(text, sizeof text, "%s%s%lld", id->text, mark, (long long)number);
  return sim_id_of(text);
}

/* The key or reference sent to the provider. Stable: the operation id; the number only for designs that spoil it. */
static struct sim_id key_of(const struct sim_node *node, const struct operation *operation) {
  int64_t number = number_in_key(node) ? operation->attempts : operation->key_number;
  if (number == 0) return operation->id;
  return numbered(&operation->id, "#", number);
}

/* payment.key_trust=blind: whatever the gateway documents about repeats. */
static bool trusts_keys(const struct sim_node *node) {
  return gateway_of(node)->takes_keys && MODEL_CHOSEN(model_design_of(node), PAYMENT_KEY_TRUST, BLIND);
}

static bool key_lives(const struct sim_node *node, const struct operation *operation) {
  const struct model_gateway_profile *gateway = gateway_of(node);
  if (!model_gateway_repeats_safely(gateway) && !trusts_keys(node)) return false;
  if (MODEL_CHOSEN(model_design_of(node), PAYMENT_KEY_AGE, IGNORED)) return true;
  return model_now(node) - operation->created_ns < gateway->key_retention_ns - model_shop_of(node)->config->request_lifetime_ns;
}

/* Had so much time passed since the last request left, when the gateway was asked, that its "not found" is a fact? The
   time of asking counts, not the time at which the answer is looked at: in between this process may have been frozen. */
bool model_payment__absence_is_definite(const struct sim_node *node, const struct operation *operation) {
  const struct model_config *config = model_shop_of(node)->config;
  int64_t final_after_ns =
      config->lease_ns + config->request_lifetime_ns + gateway_of(node)->look_up_lag_ns + MODEL_GATEWAY_PROCESSING_MAX_NS;
  return operation->asked_ns - operation->last_attempt_ns >= final_after_ns;
}

static int64_t failed_final_ns(const struct sim_node *node, const struct operation *operation) {
  return operation->last_attempt_ns + model_shop_of(node)->config->request_lifetime_ns + gateway_of(node)->failed_final_after_ns;
}

/* Was a "failed" that the gateway told as of `asked_ns` its last word? */
static bool failed_is_final(const struct sim_node *node, const struct operation *operation) {
  if (MODEL_CHOSEN(model_design_of(node), PAYMENT_ON_CALLED_FAILED, FAIL)) return true;
  return gateway_of(node)->failed_final_after_ns == 0 || operation->asked_ns >= failed_final_ns(node, operation);
}

/* Is it too early to ask, as the gateway said itself that it has not decided yet? */
static bool is_being_decided(const struct sim_node *node, const struct operation *operation) {
  int64_t until_ns = 0;
  if (operation->last_was_taken_on) until_ns = operation->last_attempt_ns + gateway_of(node)->decides_after_ns;
  if (operation->last_was_failed) until_ns = failed_final_ns(node, operation);
  return model_now(node) < until_ns;
}

/* ---- rows ---- */

static struct operation operation_from_message(const struct sim_node *node, const struct sim_message *message) {
  return (struct operation){.id = message->id,
                            .order = message->subject,
                            .purchase = message->value[VALUE_PURCHASE],
                            .card = message->value[VALUE_CARD],
                            .amount_minor = message->value[VALUE_AMOUNT],
                            .status = STATE_PENDING,
                            .attempts = 1,
                            .known_attempts = 1,
                            .last_attempt_ns = model_now(node),
                            .created_ns = model_now(node),
                            .owner = model_owner(node)};
}

bool model_payment__read(struct sim_node *node, const struct sim_id *id, struct operation *out) {
  sqlite3_stmt *row = sim_sql_query(node, READ_OPERATION, "s", id->text);
  if (row == NULL) return false;
  *out = (struct operation){.id = *id,
                            .order = sqlite3_column_int64(row, 0),
                            .purchase = sqlite3_column_int64(row, 1),
                            .card = sqlite3_column_int64(row, 2),
                            .amount_minor = sqlite3_column_int64(row, 3),
                            .status = (enum model_state)sqlite3_column_int(row, 4),
                            .payment = sqlite3_column_int64(row, 5),
                            .attempts = sqlite3_column_int64(row, 6),
                            .asks = sqlite3_column_int64(row, 7),
                            .last_attempt_ns = sqlite3_column_int64(row, 8),
                            .created_ns = sqlite3_column_int64(row, 9),
                            .owner = sqlite3_column_int64(row, 10)};
  const char *error = (const char *)sqlite3_column_text(row, 11);
  out->last_was_error = error != NULL && strcmp(error, "5xx") == 0;
  out->last_was_declined = error != NULL && strcmp(error, "declined") == 0;
  out->last_was_taken_on = error != NULL && strcmp(error, "in flight") == 0;
  out->last_was_failed = error != NULL && strcmp(error, "called failed") == 0;
  out->known_attempts = out->attempts;
  out->acknowledged = sqlite3_column_int(row, 12) != 0;
  out->refusal =
      out->status == STATE_FAILED ? (error != NULL && strcmp(error, "declined") == 0 ? REFUSAL_DECLINED : REFUSAL_FAILED) : REFUSAL_NONE;
  sim_sql_done(row);
  return true;
}

static int write_intent(struct sim_node *node, const struct operation *operation, enum payment_statement statement) {
  return sim_sql_run(node, statement, "siiiiiiiiii", operation->id.text, operation->order, operation->purchase, operation->card,
                     operation->amount_minor, (int64_t)operation->status, operation->payment, operation->attempts,
                     operation->last_attempt_ns, operation->created_ns, operation->owner);
}

/* ---- telling the order ---- */

static enum model_kind kind_of(enum model_state status) {
  return status == STATE_COMPLETED ? KIND_PAYMENT_SUCCEEDED
         : status == STATE_FAILED  ? KIND_PAYMENT_FAILED
         : status == STATE_PARKED  ? KIND_PAYMENT_PARKED
                                   : KIND_PAYMENT_UNKNOWN;
}

static void arm_redelivery(struct sim_node *node, const struct sim_id *id, int64_t order, uint32_t tries) {
  struct payment_memory *memory = sim_node_memory(node);
  struct sim_message timer = {.kind = KIND_REDELIVER, .subject = order, .id = *id, .attempt = tries};
  size_t at = 0;
  while (at < memory->redelivery_count && memory->redelivery[at].id != id->hash) at++;
  if (at == memory->redelivery_count) {
    if (memory->redelivery_count == MODEL_OPERATIONS_MAX) {
      sim_world_exhausted(sim_node_world(node), "MODEL_OPERATIONS_MAX");
      return;
    }
    memory->redelivery_count++;
    memory->redelivery[at].id = id->hash;
  } else {
    sim_timer_cancel(node, &memory->redelivery[at].timer);
  }
  memory->redelivery[at].timer = sim_timer_set(node, model_back_off(REDELIVER_NS, REDELIVER_MAX_NS, tries), &timer);
}

static void disarm_redelivery(struct sim_node *node, const struct sim_id *id) {
  struct payment_memory *memory = sim_node_memory(node);
  for (size_t i = 0; i < memory->redelivery_count; i++) {
    if (memory->redelivery[i].id == id->hash) sim_timer_cancel(node, &memory->redelivery[i].timer);
  }
}

/* Send the operation's present status to the order; final ones again until acknowledged. */
void model_payment__report(struct sim_node *node, const struct operation *operation, uint32_t tries) {
  struct sim_message message = {
      .kind = (uint16_t)kind_of(operation->status), .attempt = tries, .subject = operation->order, .id = operation->id};
  message.value[VALUE_PURCHASE] = operation->purchase;
  message.value[VALUE_AMOUNT] = operation->amount_minor;
  message.value[VALUE_CARD] = operation->card;
  message.value[VALUE_STATUS] = operation->status == STATE_FAILED ? operation->refusal : (int64_t)operation->status;
  message.value[VALUE_PAYMENT] = operation->status == STATE_COMPLETED ? operation->payment : 0;
  bool final = operation->status != STATE_UNKNOWN;
  if (final) arm_redelivery(node, &operation->id, operation->order, tries);
  sim_send(node, SERVICE_ORDERS, &message, final ? REDELIVER_NS : 0);
}

/* ---- recording ---- */

static const char *result_words(const struct operation *operation) {
  if (operation->status == STATE_COMPLETED) return "charged";
  if (operation->status == STATE_FAILED) return operation->refusal == REFUSAL_DECLINED ? "declined" : "not executed";
  return "sent, no definite answer";
}

static const char *step_of(enum model_state status) {
  return status == STATE_COMPLETED ? "result: completed"
         : status == STATE_FAILED  ? "result: failed"
         : status == STATE_PARKED  ? "result: parked"
                                   : "result: unknown";
}

/* Record the status, unless the row is final already or somebody else has made a further attempt (then only success, which
   no attempt can undo but a reversal, is news); in that case take over what the row says. */
void model_payment__record(struct sim_node *node, struct operation *operation) {
  const struct model_design *design = model_design_of(node);
  int64_t kept = MODEL_CHOSEN(design, PAYMENT_RESULT, STATUS_ONLY) ? 0 : operation->payment;
  operation->payment = kept;
  const char *error = operation->status == STATE_FAILED ? (operation->refusal == REFUSAL_DECLINED ? "declined" : "failed")
                      : operation->error                ? operation->error
                                                        : "";
  sim_sql_begin(node);
  int changed = sim_sql_run(node, RECORD_RESULT, "iissiisii", (int64_t)operation->status, kept, error, result_words(operation),
                            operation->asks, model_now(node), operation->id.text, operation->known_attempts,
                            (int64_t)gateway_of(node)->reverses);
  if (changed == 1 && operation->status == STATE_PARKED) {
    sim_sql_run(node, INSERT_CASE, "siissi", operation->id.text, operation->order, operation->amount_minor, result_words(operation),
                gateway_of(node)->looks_up ? "asked and repeated within its bounds" : "the gateway answers no look-up", model_now(node));
  }
  if (changed == 1) {
    model_commit(node, step_of(operation->status));
    return;
  }
  sim_sql_rollback(node);
  struct operation row;
  if (model_payment__read(node, &operation->id, &row)) *operation = row;
}

static void tell_operator(struct sim_node *node, const struct operation *operation) {
  struct sim_message message = {.kind = KIND_CASE_OPENED, .attempt = 1, .subject = operation->order, .id = operation->id};
  message.value[VALUE_PURCHASE] = operation->purchase;
  message.value[VALUE_AMOUNT] = operation->amount_minor;
  message.value[VALUE_CARD] = operation->card;
  sim_send(node, SERVICE_OPERATOR, &message, 0);
}

static void park(struct sim_node *node, struct operation *operation) {
  operation->status = STATE_PARKED;
  model_payment__record(node, operation);
  if (operation->status == STATE_PARKED && model_shop_of(node)->config->workflow == MODEL_WORKFLOW_ORDER) tell_operator(node, operation);
  model_payment__report(node, operation, 1);
}

/* ---- the gateway ---- */

static struct sim_message gateway_request(const struct sim_node *node, const struct operation *operation, enum model_kind kind,
                                          const struct sim_id *key) {
  (void)node;
  struct sim_message request = {.kind = (uint16_t)kind, .subject = operation->order, .id = *key};
  request.value[VALUE_PURCHASE] = operation->purchase;
  request.value[VALUE_AMOUNT] = operation->amount_minor;
  request.value[VALUE_CARD] = operation->card;
  memcpy(&request.value[VALUE_OPERATION], &operation->id.hash, sizeof operation->id.hash);
  return request;
}

/* What a charge's answer means; payment.on_unknown spoils it. */
static enum outcome read_answer(const struct sim_node *node, struct operation *operation, const struct sim_message *answer) {
  const struct model_design *design = model_design_of(node);
  bool fail = MODEL_CHOSEN(design, PAYMENT_ON_UNKNOWN, FAIL);
  operation->error = answer == NULL ? "timeout" : "5xx";
  if (answer == NULL) return fail ? OUTCOME_NOT_EXECUTED : OUTCOME_UNKNOWN;
  switch ((enum model_gateway_status)answer->value[VALUE_STATUS]) {
    case GATEWAY_OK: operation->payment = answer->value[VALUE_PAYMENT]; return OUTCOME_COMPLETED;
    case GATEWAY_DECLINED: return OUTCOME_DECLINED;
    case GATEWAY_ERROR: return fail || MODEL_CHOSEN(design, PAYMENT_ON_UNKNOWN, FAIL_ON_5XX) ? OUTCOME_NOT_EXECUTED : OUTCOME_UNKNOWN;
    case GATEWAY_IN_FLIGHT:
      operation->error = "in flight";
      return fail || MODEL_CHOSEN(design, PAYMENT_ON_UNKNOWN, FAIL_ON_CONFLICT) ? OUTCOME_NOT_EXECUTED : OUTCOME_UNKNOWN;
    case GATEWAY_REFUSED: operation->error = "refused"; return OUTCOME_UNKNOWN;
    case GATEWAY_DUPLICATE: /* of what, only its number tells */
      operation->error = "duplicate";
      operation->payment = answer->value[VALUE_PAYMENT];
      if (operation->payment != 0) return OUTCOME_COMPLETED;
      return fail || MODEL_CHOSEN(design, PAYMENT_ON_UNKNOWN, FAIL_ON_CONFLICT) ? OUTCOME_NOT_EXECUTED : OUTCOME_UNKNOWN;
    case GATEWAY_NOT_FOUND:
    case GATEWAY_UNSUPPORTED: break;
  }
  UNREACHABLE("an answer no charge gets");
}

static enum outcome call_charge(struct sim_node *node, struct operation *operation) {
  struct sim_id key = key_of(node, operation);
  struct sim_message request = gateway_request(node, operation, KIND_CHARGE, &key);
  request.attempt = (uint32_t)operation->attempts;
  struct sim_message answer;
  bool answered = sim_call(node, SERVICE_GATEWAY, &request, CALL_TIMEOUT_NS, &answer) == SIM_CALL_ANSWERED;
  return read_answer(node, operation, answered ? &answer : NULL);
}

static bool charge_anew(struct sim_node *node, enum outcome outcome) {
  const struct model_design *design = model_design_of(node);
  if (outcome == OUTCOME_UNKNOWN)
    return MODEL_CHOSEN(design, PAYMENT_ON_UNKNOWN, RECHARGE) || MODEL_CHOSEN(design, PAYMENT_ON_UNKNOWN, CATCH_ALL);
  return outcome == OUTCOME_DECLINED && MODEL_CHOSEN(design, PAYMENT_ON_UNKNOWN, CATCH_ALL);
}

/* Has the pause between intent and call been so long that others may have taken the operation over? */
static bool intent_is_stale(const struct sim_node *node, const struct operation *operation) {
  return model_now(node) - operation->last_attempt_ns > model_shop_of(node)->config->lease_ns;
}

static bool refunds_doubles(const struct sim_node *node) {
  return !gateway_of(node)->takes_keys && gateway_of(node)->looks_up &&
         MODEL_CHOSEN(model_design_of(node), PAYMENT_NO_KEY_GATEWAY, REFUND_THE_DOUBLE);
}

/* The variant refund_the_double: come back when nothing can land any more. */
static void arm_double_check(struct sim_node *node, const struct sim_id *id, int64_t order, int64_t last_attempt_ns, uint32_t tries) {
  const struct model_config *config = model_shop_of(node)->config;
  int64_t due_ns =
      last_attempt_ns + config->lease_ns + config->request_lifetime_ns + gateway_of(node)->look_up_lag_ns + MODEL_GATEWAY_PROCESSING_MAX_NS;
  int64_t delay_ns = due_ns > model_now(node) ? due_ns - model_now(node) : 0;
  struct sim_message timer = {.kind = KIND_CHECK_DOUBLE, .subject = order, .id = *id, .attempt = tries};
  sim_timer_set(node, delay_ns + (int64_t)(tries - 1) * SIM_HOUR, &timer);
}

static void finish(struct sim_node *node, struct operation *operation, enum outcome outcome) {
  /* While an earlier try may still land, a later one's refusal is no end. */
  if (refunds_doubles(node) && operation->attempts > 1 && outcome == OUTCOME_DECLINED &&
      !model_payment__absence_is_definite(node, operation)) {
    outcome = OUTCOME_UNKNOWN;
    operation->error = "declined";
  }
  operation->status = outcome == OUTCOME_COMPLETED ? STATE_COMPLETED : outcome == OUTCOME_UNKNOWN ? STATE_UNKNOWN : STATE_FAILED;
  operation->refusal = outcome == OUTCOME_DECLINED ? REFUSAL_DECLINED : outcome == OUTCOME_NOT_EXECUTED ? REFUSAL_FAILED : REFUSAL_NONE;
  if (outcome == OUTCOME_UNKNOWN && MODEL_CHOSEN(model_design_of(node), UNKNOWN_POLICY, PARK_ALWAYS)) {
    park(node, operation);
    return;
  }
  model_payment__record(node, operation);
  if (refunds_doubles(node) && operation->attempts > 1 && operation->status != STATE_UNKNOWN)
    arm_double_check(node, &operation->id, operation->order, operation->last_attempt_ns, 1);
  model_payment__report(node, operation, 1);
}

/* Call the gateway for an operation whose intent is durable, and finish it. */
static void execute(struct sim_node *node, struct operation *operation) {
  enum { ANEW_MAX = 3 };
  if (intent_is_stale(node, operation)) {
    sim_tell(sim_node_world(node), sim_node_name(node), "finds its own intent too old and leaves %s alone", operation->id.text);
    return;
  }
  enum outcome outcome = call_charge(node, operation);
  for (int i = 0; i < ANEW_MAX && charge_anew(node, outcome); i++) {
    operation->key_number++;
    outcome = call_charge(node, operation);
  }
  finish(node, operation, outcome);
}

/* The next attempt is durable before it leaves. Returns false when somebody else was faster. */
static bool take_attempt(struct sim_node *node, struct operation *operation) {
  operation->attempts++;
  operation->last_attempt_ns = model_now(node);
  sim_sql_begin(node);
  int changed = sim_sql_run(node, RECORD_ATTEMPT, "iiiisi", operation->attempts, operation->asks, operation->last_attempt_ns,
                            model_owner(node), operation->id.text, operation->known_attempts);
  if (changed != 1) {
    sim_sql_rollback(node);
    return false;
  }
  operation->known_attempts = operation->attempts;
  model_commit(node, "next attempt");
  return true;
}

static void repeat(struct sim_node *node, struct operation *operation) {
  if (take_attempt(node, operation)) execute(node, operation);
}

/* "Not found": a fact, or not yet. */
static void absent(struct sim_node *node, struct operation *operation) {
  const struct model_design *design = model_design_of(node);
  const struct model_config *config = model_shop_of(node)->config;
  bool definite = model_payment__absence_is_definite(node, operation);
  bool keys = gateway_of(node)->takes_keys;
  if (MODEL_CHOSEN(design, PAYMENT_ON_NOT_FOUND, FAIL)) {
    finish(node, operation, OUTCOME_NOT_EXECUTED);
    return;
  }
  if (MODEL_CHOSEN(design, PAYMENT_ON_NOT_FOUND, RESUBMIT_FRESH)) {
    operation->key_number = operation->attempts;
    repeat(node, operation);
    return;
  }
  if (definite && operation->last_was_error && gateway_of(node)->stores_errors) { /* the key would replay its 5xx for ever */
    finish(node, operation, OUTCOME_NOT_EXECUTED);
    return;
  }
  if (keys && key_lives(node, operation)) {
    repeat(node, operation);
    return;
  }
  bool at_once =
      !keys && !operation->last_was_declined &&
      (MODEL_CHOSEN(design, PAYMENT_NO_KEY_GATEWAY, BELIEVE_AT_ONCE) || MODEL_CHOSEN(design, PAYMENT_NO_KEY_GATEWAY, REFUND_THE_DOUBLE));
  if (!definite && !at_once) {
    finish(node, operation, OUTCOME_UNKNOWN);
    return;
  }
  if (keys) {
    finish(node, operation, OUTCOME_NOT_EXECUTED); /* the key is too old to be sent again, and nothing can land any more */
    return;
  }
  if (operation->attempts < 2 || (at_once && operation->attempts < config->resolve_attempts)) repeat(node, operation);
  else park(node, operation);
}

static void ask(struct sim_node *node, struct operation *operation) {
  const struct model_design *design = model_design_of(node);
  struct operation asked = *operation;
  if (MODEL_CHOSEN(design, PAYMENT_NO_KEY_GATEWAY, REFERENCE_PER_TRY) && !gateway_of(node)->takes_keys) asked.attempts++;
  struct sim_id key = key_of(node, &asked);
  if (MODEL_CHOSEN(design, PAYMENT_QUERY_ID, ATTEMPT_ID)) {
    key = numbered(&operation->id, "/try-", operation->attempts);
  }
  struct sim_message request = gateway_request(node, operation, KIND_LOOK_UP, &key);
  operation->asks++;
  operation->asked_ns = model_now(node);
  request.attempt = (uint32_t)operation->asks;
  struct sim_message answer;
  bool answered = sim_call(node, SERVICE_GATEWAY, &request, CALL_TIMEOUT_NS, &answer) == SIM_CALL_ANSWERED;
  enum model_gateway_status status = answered ? (enum model_gateway_status)answer.value[VALUE_STATUS] : GATEWAY_ERROR;
  operation->error = operation->last_was_declined ? "declined" : status == GATEWAY_IN_FLIGHT ? "in flight" : answered ? "5xx" : "timeout";
  if (status == GATEWAY_OK) {
    operation->payment = answer.value[VALUE_PAYMENT];
    finish(node, operation, OUTCOME_COMPLETED);
  } else if (status == GATEWAY_DECLINED && failed_is_final(node, operation)) {
    finish(node, operation, OUTCOME_DECLINED);
  } else if (status == GATEWAY_DECLINED) {
    operation->error = "called failed";
    finish(node, operation, OUTCOME_UNKNOWN);
  } else if (status == GATEWAY_NOT_FOUND) {
    absent(node, operation);
  } else {
    finish(node, operation, OUTCOME_UNKNOWN);
  }
}

/* Where notices come, one may still tell what became of the request. */
static bool notice_may_come(const struct sim_node *node, const struct operation *operation) {
  int64_t patience_ns = gateway_of(node)->decides_after_ns + SIM_HOUR;
  return gateway_of(node)->notifies && model_now(node) - operation->last_attempt_ns < patience_ns;
}

/* Wait as before: what was last heard stays. */
static void wait_on(struct sim_node *node, struct operation *operation) {
  operation->status = STATE_UNKNOWN;
  model_payment__report(node, operation, 1);
}

/* Have the charge voided, or stopped before it arrives; once that is answered, it was not executed. It is an attempt of its own:
   whoever still waits for an answer to an earlier one, and hears "charged", is too late. */
static void reverse(struct sim_node *node, struct operation *operation) {
  if (!take_attempt(node, operation)) return;
  struct sim_id key = key_of(node, operation);
  struct sim_message request = gateway_request(node, operation, KIND_REVERSE, &key);
  struct sim_message answer;
  request.attempt = (uint32_t)operation->attempts;
  bool answered = sim_call(node, SERVICE_GATEWAY, &request, CALL_TIMEOUT_NS, &answer) == SIM_CALL_ANSWERED;
  bool reversed = (answered && answer.value[VALUE_STATUS] == GATEWAY_OK) ||
                  MODEL_CHOSEN(model_design_of(node), PAYMENT_REVERSAL, ONCE);
  operation->error = answered ? "5xx" : "timeout";
  finish(node, operation, reversed ? OUTCOME_NOT_EXECUTED : OUTCOME_UNKNOWN);
}

/* A gateway that answers every repeat with its receipt for the first request has nothing more to say to a further one. */
static bool has_its_receipt(const struct sim_node *node, const struct operation *operation) {
  return gateway_of(node)->repeat == MODEL_REPEAT_RECEIPT && operation->last_was_taken_on;
}

/* One step towards a definite answer for an operation whose last call ended without one. */
static void resolve(struct sim_node *node, struct operation *operation) {
  const struct model_design *design = model_design_of(node);
  const struct model_config *config = model_shop_of(node)->config;
  const struct model_gateway_profile *gateway = gateway_of(node);
  bool repeats_errors = operation->last_was_error && MODEL_CHOSEN(design, PAYMENT_ON_REPLAYED_ERROR, RETRY_UNTIL_EXPIRY);
  bool rotates = operation->last_was_error && MODEL_CHOSEN(design, PAYMENT_ON_REPLAYED_ERROR, ROTATE_KEY);
  if (MODEL_CHOSEN(design, UNKNOWN_POLICY, PARK_ALWAYS)) {
    park(node, operation);
    return;
  }
  if (is_being_decided(node, operation)) {
    wait_on(node, operation);
    return;
  }
  if (rotates) operation->key_number = operation->attempts;
  if ((repeats_errors || rotates) && gateway->takes_keys) {
    repeat(node, operation);
    return;
  }
  if (operation->asks + operation->attempts > config->resolve_attempts) {
    park(node, operation);
    return;
  }
  if (!gateway->takes_keys && MODEL_CHOSEN(design, PAYMENT_NO_KEY_GATEWAY, RETRY_ANYWAY)) repeat(node, operation);
  else if (gateway->looks_up && !trusts_keys(node)) ask(node, operation);
  else if (key_lives(node, operation) && !has_its_receipt(node, operation)) repeat(node, operation);
  else if (gateway->reverses) reverse(node, operation);
  else if (notice_may_come(node, operation)) wait_on(node, operation);
  else park(node, operation);
}

void model_payment__charge_beside(struct sim_node *node, struct operation *operation) {
  if (operation->status != STATE_PENDING && operation->status != STATE_UNKNOWN) return;
  finish(node, operation, call_charge(node, operation));
}

/* ---- commands ---- */

static bool persists_before_call(const struct sim_node *node) {
  const struct model_design *design = model_design_of(node);
  if (MODEL_CHOSEN(design, PAYMENT_PERSIST, EFFECT_FIRST)) return false;
  return gateway_of(node)->takes_keys || !MODEL_CHOSEN(design, PAYMENT_NO_KEY_GATEWAY, REFERENCE_AFTER);
}

/* payment.persist=result_first: "completed" is durable before anything was asked. */
static void completed_before_call(struct sim_node *node, struct operation *operation) {
  operation->status = STATE_COMPLETED;
  model_payment__record(node, operation);
  enum outcome outcome = call_charge(node, operation);
  if (outcome != OUTCOME_COMPLETED) operation->payment = 0;
  model_payment__report(node, operation, 1);
}

/* Write the intent if this operation was never seen. Returns true when this handler is the one to call. */
static bool write_if_new(struct sim_node *node, struct operation *operation) {
  const struct model_design *design = model_design_of(node);
  struct payment_memory *memory = sim_node_memory(node);
  enum payment_statement statement = INSERT_OPERATION;
  if (MODEL_CHOSEN(design, PAYMENT_DEDUP, CHECK_THEN_INSERT)) {
    struct operation seen;
    if (model_payment__read(node, &operation->id, &seen)) return false;
    sim_sql_looked(node, "row looked up");
    statement = REPLACE_OPERATION;
  }
  if (MODEL_CHOSEN(design, PAYMENT_DEDUP, MEMORY)) {
    for (size_t i = 0; i < memory->seen_count; i++) {
      if (memory->seen[i] == operation->id.hash) return false;
    }
    if (memory->seen_count == MODEL_OPERATIONS_MAX) {
      sim_world_exhausted(sim_node_world(node), "MODEL_OPERATIONS_MAX");
      return false;
    }
    memory->seen[memory->seen_count++] = operation->id.hash;
    statement = REPLACE_OPERATION;
  }
  if (MODEL_CHOSEN(design, PAYMENT_DEDUP, NONE)) statement = REPLACE_OPERATION;
  sim_sql_begin(node);
  if (write_intent(node, operation, statement) == 0) {
    sim_sql_rollback(node);
    return false;
  }
  model_commit(node, "intent");
  return true;
}

/* A row that was there already. */
static void known_operation(struct sim_node *node, struct operation *operation, uint32_t tries) {
  const struct model_design *design = model_design_of(node);
  if (operation->status == STATE_UNKNOWN) {
    resolve(node, operation);
    return;
  }
  if (operation->status != STATE_PENDING) {
    model_payment__report(node, operation, tries);
    return;
  }
  if (MODEL_CHOSEN(design, PAYMENT_PROCESSING_ROW, WAIT_FOR_EVER)) return;
  if (MODEL_CHOSEN(design, PAYMENT_PROCESSING_ROW, READ_AS_DONE)) {
    operation->status = STATE_COMPLETED;
    model_payment__report(node, operation, tries);
    return;
  }
  bool owner_dead = model_owner_is_dead(node, operation->owner);
  if (!owner_dead && !intent_is_stale(node, operation)) return; /* in progress: whoever works on it will answer */
  sim_sql_begin(node);
  int changed = sim_sql_run(node, TAKE_OVER, "isi", model_owner(node), operation->id.text, operation->owner);
  if (changed != 1) {
    sim_sql_rollback(node);
    return;
  }
  model_commit(node, "taken over");
  operation->owner = model_owner(node);
  resolve(node, operation);
}

static void charge_or_resolve(struct sim_node *node, const struct sim_message *message) {
  struct operation operation = operation_from_message(node, message);
  if (!persists_before_call(node)) {
    struct operation seen;
    if (model_payment__read(node, &operation.id, &seen)) {
      known_operation(node, &seen, message->attempt);
      return;
    }
    enum outcome outcome = call_charge(node, &operation);
    sim_sql_begin(node);
    write_intent(node, &operation, REPLACE_OPERATION);
    model_commit(node, "intent after the call");
    finish(node, &operation, outcome);
    return;
  }
  if (!write_if_new(node, &operation)) {
    struct operation seen;
    if (!model_payment__read(node, &operation.id, &seen)) return;
    if (MODEL_CHOSEN(model_design_of(node), PAYMENT_PARAMS, RECOMPUTED)) seen.amount_minor = operation.amount_minor;
    known_operation(node, &seen, message->attempt);
    return;
  }
  if (MODEL_CHOSEN(model_design_of(node), PAYMENT_PERSIST, RESULT_FIRST)) completed_before_call(node, &operation);
  else execute(node, &operation);
}

/* Ask for a charge under this operation's reference other than the one that counts, and refund it; until there is none. */
static void check_double(struct sim_node *node, const struct sim_message *message) {
  struct operation operation;
  struct sim_message answer;
  if (!refunds_doubles(node) || !model_payment__read(node, &message->id, &operation)) return;
  struct sim_id key = key_of(node, &operation);
  for (;;) {
    struct sim_message request = gateway_request(node, &operation, KIND_LOOK_UP, &key);
    request.attempt = (uint32_t)(operation.asks + message->attempt * 10);
    request.value[VALUE_PAYMENT] = operation.status == STATE_COMPLETED ? operation.payment : -1;
    bool answered = sim_call(node, SERVICE_GATEWAY, &request, CALL_TIMEOUT_NS, &answer) == SIM_CALL_ANSWERED;
    if (answered && (answer.value[VALUE_STATUS] == GATEWAY_NOT_FOUND || answer.value[VALUE_STATUS] == GATEWAY_DECLINED)) break;
    bool found = answered && answer.value[VALUE_STATUS] == GATEWAY_OK;
    if (found) {
      char text[2 * SIM_ID_SIZE];
      snprintf(text, sizeof text, "%s:refund", operation.id.text);
      struct sim_id id = sim_id_of(text);
      struct sim_message refund = gateway_request(node, &operation, KIND_REFUND_CHARGE, &id);
      refund.attempt = message->attempt;
      refund.value[VALUE_PAYMENT] = answer.value[VALUE_PAYMENT];
      found = sim_call(node, SERVICE_GATEWAY, &refund, CALL_TIMEOUT_NS, &answer) == SIM_CALL_ANSWERED;
    }
    if (found) continue;
    arm_double_check(node, &operation.id, operation.order, operation.last_attempt_ns, message->attempt + 1);
    return;
  }
  sim_sql_begin(node);
  sim_sql_run(node, DOUBLE_CHECKED, "s", operation.id.text);
  model_commit(node, "checked for doubles");
}

static void redeliver(struct sim_node *node, const struct sim_message *message) {
  struct operation operation;
  if (!model_payment__read(node, &message->id, &operation) || operation.acknowledged || operation.status == STATE_UNKNOWN ||
      operation.status == STATE_PENDING)
    return;
  model_payment__report(node, &operation, message->attempt + 1);
}

static void acknowledged(struct sim_node *node, const struct sim_message *message) {
  sim_sql_begin(node);
  int changed = sim_sql_run(node, ACKNOWLEDGE, "si", message->id.text, message->value[VALUE_STATUS]);
  if (changed != 1) {
    sim_sql_rollback(node);
    return;
  }
  disarm_redelivery(node, &message->id);
  model_commit(node, "acknowledged");
}

void model_payment_handle(struct sim_node *node, const struct sim_message *message) {
  switch ((int)message->kind) {
    case KIND_CHARGE_PAYMENT:
    case KIND_RESOLVE_PAYMENT:
      if (working_on(node, &message->id) && !MODEL_CHOSEN(model_design_of(node), PAYMENT_DEDUP, NONE)) return; /* in progress here */
      work_begins(node, &message->id);
      charge_or_resolve(node, message);
      work_ends(node, &message->id);
      return;
    case KIND_ACK: acknowledged(node, message); return;
    case KIND_REDELIVER: redeliver(node, message); return;
    case KIND_CHECK_DOUBLE: check_double(node, message); return;
    case KIND_REFUND_PAYMENT: model_refund_handle(node, message); return;
    case KIND_PAYMENT_NOTICE: model_notice_handle(node, message); return;
    case KIND_CHARGE_STATED: model_reconciliation_charge_stated(node, message); return;
    case KIND_REFUND_STATED: model_reconciliation_refund_stated(node, message); return;
    case KIND_OPERATOR_SAYS: model_notice_operator(node, message); return;
    default: UNREACHABLE("a message the payment service does not know");
  }
}

void model_payment_start(struct sim_node *node) {
  struct model_shop *shop = model_shop_of(node);
  sim_node_set_memory(node, sim_arena_take(sim_world_arena(shop->world), sizeof(struct payment_memory)));
  model_sync_before_recovery(node, PAYMENT_BOOT);
  sqlite3_stmt *row = sim_sql_query(node, READ_UNACKNOWLEDGED, "");
  for (bool more = row != NULL; more; more = sim_sql_next(row)) {
    struct sim_id id = sim_id_of((const char *)sqlite3_column_text(row, 0));
    arm_redelivery(node, &id, sqlite3_column_int64(row, 1), 1);
  }
  sim_sql_done(row);
  model_reconciliation_ask(node);
  if (!refunds_doubles(node)) return;
  row = sim_sql_query(node, READ_UNCHECKED, "");
  for (bool more = row != NULL; more; more = sim_sql_next(row)) {
    struct sim_id id = sim_id_of((const char *)sqlite3_column_text(row, 0));
    arm_double_check(node, &id, sqlite3_column_int64(row, 1), sqlite3_column_int64(row, 2), 1);
  }
  sim_sql_done(row);
}
