/* The steps of a registration at other people's systems: a row a step (operations), the intent committed before the call, the
   result after it, in one transaction with the message that tells it. A call without a definite answer leaves the row Unknown
   and sends this service a Verify message, for later; each of them takes one more step: ask, or repeat under the same key
   while it lives, or park.

     command -> Pending -> Completed | Failed (refused) | Unknown -> Completed | Failed | Parked                              */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/registration/step.h"
#include "sim/check.h"

static const int64_t VERIFY_NS = 30 * SIM_SECOND;
static const int64_t VERIFY_MAX_NS = 6 * SIM_HOUR;
static const int64_t SHORT_RETENTION_NS = SIM_DAY; /* retries.dedup=short */

/* ---- rows ---- */

static struct step step_of(const struct sim_node *node, const struct sim_message *command) {
  return (struct step){.id = command->id,
                       .registration = command->subject,
                       .target = command->value[VALUE_PAYMENT],
                       .amount_minor = command->value[VALUE_AMOUNT],
                       .card = command->value[VALUE_CARD],
                       .step = (enum saga_step)command->value[VALUE_SAGA_STEP],
                       .status = STATE_PENDING,
                       .attempts = 1,
                       .known_attempts = 1,
                       .created_ns = model_now(node),
                       .last_attempt_ns = model_now(node),
                       .owner = model_owner(node)};
}

static bool read_step(struct sim_node *node, const struct sim_id *id, struct step *out) {
  sqlite3_stmt *row = sim_sql_query(node, READ_STEP, "s", id->text);
  if (row == NULL) return false;
  *out = (struct step){.id = *id,
                       .registration = sqlite3_column_int64(row, 0),
                       .step = (enum saga_step)sqlite3_column_int(row, 1),
                       .target = sqlite3_column_int64(row, 2),
                       .amount_minor = sqlite3_column_int64(row, 3),
                       .card = sqlite3_column_int64(row, 4),
                       .status = (enum model_state)sqlite3_column_int(row, 5),
                       .result = sqlite3_column_int64(row, 6),
                       .attempts = sqlite3_column_int64(row, 7),
                       .known_attempts = sqlite3_column_int64(row, 7),
                       .asks = sqlite3_column_int64(row, 8),
                       .created_ns = sqlite3_column_int64(row, 9),
                       .last_attempt_ns = sqlite3_column_int64(row, 10),
                       .owner = sqlite3_column_int64(row, 11),
                       .reason = (enum saga_reason)sqlite3_column_int(row, 12),
                       .verify_number = sqlite3_column_int64(row, 13)};
  sim_sql_done(row);
  return true;
}

static int insert_step(struct sim_node *node, const struct step *step, enum step_statement statement) {
  return sim_sql_run(node, statement, "siiiiiiiiiiii", step->id.text, step->registration, (int64_t)step->step, step->target,
                     step->amount_minor, step->card, (int64_t)step->status, step->result, step->attempts, step->asks, step->created_ns,
                     step->last_attempt_ns, step->owner);
}

/* ---- messages ---- */

static void add_result(struct saga_letters *letters, const struct step *step) {
  const struct saga_step_info *info = saga_step_info(step->step);
  struct sim_message message = {.kind = (uint16_t)info->result[step->status],
                                .attempt = (uint32_t)(step->attempts + step->asks),
                                .subject = step->registration,
                                .id = step->id};
  message.value[VALUE_SAGA_STEP] = step->step;
  message.value[VALUE_AMOUNT] = step->amount_minor;
  message.value[VALUE_CARD] = step->card;
  message.value[VALUE_PAYMENT] = step->result;
  message.value[VALUE_REASON] = step->reason;
  saga_letters_add(letters, SERVICE_REGISTRATIONS, &message, 0);
}

static void add_verify(struct saga_letters *letters, const struct step *step, int64_t delay_ns) {
  struct sim_message message = {.kind = (uint16_t)saga_step_info(step->step)->verify,
                                .attempt = (uint32_t)(step->attempts + step->asks),
                                .subject = step->registration,
                                .id = step->id};
  message.value[VALUE_SAGA_STEP] = step->step;
  message.value[VALUE_VERIFY] = step->verify_number + 1;
  saga_letters_add(letters, saga_step_info(step->step)->service, &message, delay_ns);
}

/* ---- recording ---- */

/* Is this a charge that may be taken back? Then "charged", in answer to any but the last attempt, is no news. */
static bool is_reversible(const struct sim_node *node, const struct step *step) {
  return saga_is_payment(step->step) && model_shop_of(node)->config->gateway.reverses;
}

static bool write_result(struct sim_node *node, void *what) {
  struct step *step = what;
  int changed = sim_sql_run(node, RECORD_STEP, "iiiisiii", (int64_t)step->status, step->result, step->asks, (int64_t)step->reason,
                            step->id.text, step->known_attempts, step->verify_number, (int64_t)is_reversible(node, step));
  if (changed == 1 && step->status == STATE_PARKED)
    sim_sql_run(node, OPEN_STEP_CASE, "siissi", step->id.text, step->registration, step->amount_minor,
                step->reason == REASON_DECLINED ? "refused" : "sent, no definite answer", saga_step_info(step->step)->name,
                model_now(node));
  return changed == 1;
}

/* When to verify: with a growing pause, and not before the gateway has decided. */
static int64_t verify_delay(const struct sim_node *node, const struct step *step) {
  if (MODEL_CHOSEN(model_design_of(node), SAGA_POLLING, NO_BACK_OFF)) return SIM_SECOND;
  int64_t delay_ns = model_back_off(VERIFY_NS, VERIFY_MAX_NS, step->asks + step->attempts);
  int64_t decided_ns = saga_step__decided_ns(node, step) - model_now(node);
  return decided_ns > delay_ns ? decided_ns : delay_ns;
}

/* How the call ended is recorded and told in one transaction. */
static void record(struct sim_node *node, struct step *step) {
  const struct model_design *design = model_design_of(node);
  static const char *const words[MODEL_STATE_COUNT] = {
      [STATE_COMPLETED] = "step done", [STATE_FAILED] = "step refused", [STATE_UNKNOWN] = "step unknown", [STATE_PARKED] = "step parked"};
  struct saga_letters letters = {.count = 0};
  add_result(&letters, step);
  bool again = step->status == STATE_UNKNOWN && !(MODEL_CHOSEN(design, SAGA_POLLING, ONCE) && step->asks > 0);
  if (again && !MODEL_CHOSEN(design, SAGA_RETRY, NEVER)) add_verify(&letters, step, verify_delay(node, step));
  if (saga_commit(node, words[step->status], write_result, step, &letters)) return;
  struct step row;
  bool final = read_step(node, &step->id, &row) && row.status != STATE_PENDING && row.status != STATE_UNKNOWN;
  if (!final) sim_message_failed(node); /* somebody else works on it; if he dies, this message must come again */
}

/* ---- the provider ---- */

/* What a call without a definite answer means to this design: unknown, or some mistake. */
static enum model_state unanswered(const struct sim_node *node, struct step *step) {
  const struct model_design *design = model_design_of(node);
  bool failed = (saga_is_payment(step->step) && MODEL_CHOSEN(design, SAGA_ON_TIMEOUT, FAILED)) ||
                (step->step == SAGA_ACCOUNT && MODEL_CHOSEN(design, EXTERNAL_ON_TIMEOUT, FAILED)) ||
                (step->step == SAGA_DISABLE && MODEL_CHOSEN(design, EXTERNAL_UNDO, FAILED_ON_UNKNOWN));
  bool business = MODEL_CHOSEN(design, TECHNICAL_FAILURE, TAKEN_FOR_BUSINESS) && saga_is_payment(step->step);
  if (failed || business) step->reason = business ? REASON_DECLINED : REASON_NOT_EXECUTED;
  return failed || business ? STATE_FAILED : STATE_UNKNOWN;
}

/* A refusal ends a step; of what undoes another, it is a case for a human. */
static enum model_state refused(const struct sim_node *node, struct step *step) {
  const struct model_design *design = model_design_of(node);
  step->reason = REASON_DECLINED;
  if (saga_step_info(step->step)->undoes == SAGA_STEP_COUNT) return STATE_FAILED;
  bool left = MODEL_CHOSEN(design, COMPENSATION_FAILURE, GIVE_UP) ||
              (step->step == SAGA_DISABLE && MODEL_CHOSEN(design, EXTERNAL_IRREVERSIBLE, UNDO_ANYWAY));
  return left ? STATE_FAILED : STATE_PARKED;
}

static void finish(struct sim_node *node, struct step *step, enum model_gateway_status status) {
  const struct model_design *design = model_design_of(node);
  bool exception =
      status == GATEWAY_DECLINED && saga_is_payment(step->step) && !step->verifying && MODEL_CHOSEN(design, SAGA_DECLINE, EXCEPTION);
  if (exception) {
    sim_message_failed(node);
    return;
  }
  if (status == GATEWAY_OK) step->reason = REASON_NONE;
  step->status = status == GATEWAY_OK ? STATE_COMPLETED : status == GATEWAY_DECLINED ? refused(node, step) : unanswered(node, step);
  record(node, step);
}

/* Has the pause between intent and call been so long that others may have taken the step over? */
static bool is_stale(const struct sim_node *node, const struct step *step) {
  return model_now(node) - step->last_attempt_ns > model_shop_of(node)->config->lease_ns;
}

static void execute(struct sim_node *node, struct step *step) {
  if (is_stale(node, step)) {
    sim_tell(sim_node_world(node), sim_node_name(node), "finds its own intent too old and leaves %s alone", step->id.text);
    sim_message_failed(node);
    return;
  }
  finish(node, step, saga_step__request(node, step));
}

static void park(struct sim_node *node, struct step *step) {
  step->status = STATE_PARKED;
  record(node, step);
}

static bool take_attempt(struct sim_node *node, struct step *step) {
  step->last_attempt_ns = model_now(node);
  sim_sql_begin(node);
  if (sim_sql_run(node, ATTEMPT_STEP, "iiiisi", step->attempts, step->asks, step->last_attempt_ns, model_owner(node), step->id.text,
                  step->known_attempts) != 1) {
    sim_sql_rollback(node);
    sim_message_failed(node); /* somebody else was faster; if he dies, this message must come again */
    return false;
  }
  step->known_attempts = step->attempts;
  model_commit(node, "next attempt");
  return true;
}

static void repeat(struct sim_node *node, struct step *step) {
  step->attempts++;
  if (take_attempt(node, step)) execute(node, step);
}

/* Under a key that is too old or not to be relied on, a repeat is safe once absence is a fact. */
static bool knows_keys(const struct sim_node *node, enum saga_step step) {
  struct model_capabilities can = saga_step__capabilities(node, step);
  return can.takes_keys || can.keys_may_fail;
}

static void absent(struct sim_node *node, struct step *step) {
  bool definite = saga_step__absence_is_definite(node, step);
  if (saga_is_payment(step->step) && MODEL_CHOSEN(model_design_of(node), SAGA_ON_NOT_FOUND, FAILED)) {
    step->reason = REASON_NOT_EXECUTED;
    step->status = STATE_FAILED;
    record(node, step);
    return;
  }
  if (saga_step__key_lives(node, step)) repeat(node, step);
  else if (!definite) finish(node, step, GATEWAY_ERROR);
  else if (step->attempts < 2 || knows_keys(node, step->step)) repeat(node, step);
  else park(node, step);
}

static void heard(struct sim_node *node, struct step *step, enum model_gateway_status status) {
  if (status == GATEWAY_NOT_FOUND) absent(node, step);
  else finish(node, step, status);
}

static void ask(struct sim_node *node, struct step *step) {
  enum model_gateway_status status = saga_step__look_up(node, step);
  if (saga_is_payment(step->step) && MODEL_CHOSEN(model_design_of(node), SAGA_VERIFY_RESULT, MESSAGE_ONLY) &&
      (status == GATEWAY_OK || status == GATEWAY_DECLINED)) {
    struct saga_letters letters = {.count = 0};
    step->status = status == GATEWAY_OK ? STATE_COMPLETED : STATE_FAILED;
    step->reason = status == GATEWAY_OK ? REASON_NONE : REASON_DECLINED;
    add_result(&letters, step);
    for (size_t i = 0; i < letters.count; i++) sim_send(node, letters.letter[i].to, &letters.letter[i].message, 0);
    return;
  }
  heard(node, step, status);
}

/* An attempt of its own: whoever still waits for an answer to an earlier one is too late. */
static void reverse(struct sim_node *node, struct step *step) {
  step->attempts++;
  if (!take_attempt(node, step)) return;
  if (saga_step__reverse(node, step) != GATEWAY_OK) {
    finish(node, step, GATEWAY_ERROR);
    return;
  }
  step->reason = REASON_NOT_EXECUTED;
  step->status = STATE_FAILED;
  record(node, step);
}

/* Where notices come, one may still tell what became of the payment. */
static bool notice_may_come(const struct sim_node *node, const struct step *step) {
  const struct model_gateway_profile *gateway = &model_shop_of(node)->config->gateway;
  int64_t patience_ns = gateway->decides_after_ns + SIM_HOUR;
  return saga_is_payment(step->step) && gateway->notifies && model_now(node) - step->last_attempt_ns < patience_ns;
}

/* One step towards a definite answer. */
static void resolve(struct sim_node *node, struct step *step) {
  const struct model_design *design = model_design_of(node);
  const struct model_gateway_profile *gateway = &model_shop_of(node)->config->gateway;
  bool at_gateway = saga_step_info(step->step)->outsider == SERVICE_GATEWAY;
  bool bounded = !MODEL_CHOSEN(design, SAGA_POLLING, FOREVER);
  if (bounded && step->asks + step->attempts > model_shop_of(node)->config->resolve_attempts) park(node, step);
  else if (saga_step__capabilities(node, step->step).looks_up) ask(node, step);
  else if (saga_step__key_lives(node, step)) repeat(node, step);
  else if (is_reversible(node, step)) reverse(node, step);
  else if (at_gateway && gateway->statements) heard(node, step, saga_step__read_statement(node, step));
  else if (notice_may_come(node, step)) finish(node, step, GATEWAY_ERROR);
  else park(node, step);
}

/* ---- messages that come ---- */

static void tell_again(struct sim_node *node, const struct step *step) {
  struct saga_letters letters = {.count = 0};
  if (MODEL_CHOSEN(model_design_of(node), SAGA_DUPLICATE_REPLY, SILENT)) return;
  add_result(&letters, step);
  saga_commit(node, "told again", NULL, NULL, &letters);
}

static bool write_verify(struct sim_node *node, void *what) {
  const struct step *step = what;
  return sim_sql_run(node, VERIFY_LATER, "si", step->id.text, step->verify_number) == 1;
}

static void look_later(struct sim_node *node, struct step *step) {
  struct saga_letters letters = {.count = 0};
  add_verify(&letters, step, model_shop_of(node)->config->lease_ns);
  saga_commit(node, "to be looked at later", write_verify, step, &letters);
}

/* A row that is there already; `asked`: by a Verify message. */
static void known(struct sim_node *node, struct step *step, bool asked) {
  const struct model_design *design = model_design_of(node);
  bool again = saga_is_payment(step->step) && !asked && MODEL_CHOSEN(design, SAGA_RECORD_GUARD, SUCCEEDED_ONLY);
  if (again && step->status != STATE_COMPLETED) { /* whatever it says but "done" is as good as nothing */
    sim_sql_begin(node);
    step->attempts++;
    step->status = STATE_PENDING;
    step->last_attempt_ns = model_now(node);
    step->owner = model_owner(node);
    step->known_attempts = step->attempts;
    insert_step(node, step, REPLACE_STEP);
    model_commit(node, "step intent, again");
    execute(node, step);
    return;
  }
  bool thrown = step->status == STATE_PENDING && saga_is_payment(step->step) && MODEL_CHOSEN(design, SAGA_DECLINE, EXCEPTION);
  if (thrown && !asked) { /* the exception is retried as any other */
    repeat(node, step);
    return;
  }
  if (step->status == STATE_UNKNOWN) {
    if (asked) resolve(node, step);
    return; /* a Verify message is on its way */
  }
  if (step->status != STATE_PENDING) {
    if (!asked) tell_again(node, step);
    return;
  }
  if (!model_owner_is_dead(node, step->owner) && !is_stale(node, step)) look_later(node, step);
  else if (take_attempt(node, step)) resolve(node, step);
}

static bool writes_intent_first(const struct sim_node *node, enum saga_step step) {
  const struct model_design *design = model_design_of(node);
  bool with_result = MODEL_CHOSEN(design, SAGA_INTENT_COMMIT, WITH_RESULT) || MODEL_CHOSEN(design, SAGA_TRUTH, LOG_IN_TRANSACTION);
  return !(with_result && saga_is_payment(step));
}

static bool unguarded(const struct sim_node *node) { return MODEL_CHOSEN(model_design_of(node), SAGA_RECORD, NONE); }

/* external.undo=fire_and_forget: asked for once, and done. */
static void fire_and_forget(struct sim_node *node, struct step *step) {
  saga_step__request(node, step);
  step->status = STATE_COMPLETED;
  record(node, step);
}

/* An account at a provider that undoes nothing: a case, without asking. */
static bool cannot_be_undone(const struct sim_node *node, const struct step *step) {
  return step->step == SAGA_DISABLE && !model_shop_of(node)->config->accounts.undoes &&
         !MODEL_CHOSEN(model_design_of(node), EXTERNAL_IRREVERSIBLE, UNDO_ANYWAY);
}

/* Do what the intent says, which is durable. */
static void carry_out(struct sim_node *node, struct step *step) {
  bool forget = step->step == SAGA_DISABLE && MODEL_CHOSEN(model_design_of(node), EXTERNAL_UNDO, FIRE_AND_FORGET);
  if (cannot_be_undone(node, step)) {
    step->reason = REASON_DECLINED;
    park(node, step);
  } else if (forget) {
    fire_and_forget(node, step);
  } else {
    execute(node, step);
  }
}

static void command(struct sim_node *node, const struct sim_message *message) {
  struct step step = step_of(node, message);
  struct step seen;
  if (!writes_intent_first(node, step.step)) {
    if (read_step(node, &step.id, &seen)) {
      known(node, &seen, false);
      return;
    }
    enum model_gateway_status status = saga_step__request(node, &step);
    sim_sql_begin(node);
    insert_step(node, &step, REPLACE_STEP);
    model_commit(node, "step intent after the call");
    finish(node, &step, status);
    return;
  }
  bool forgotten = MODEL_CHOSEN(model_design_of(node), RETRIES_DEDUP, SHORT) && read_step(node, &step.id, &seen) &&
                   model_now(node) - seen.created_ns > SHORT_RETENTION_NS;
  sim_sql_begin(node);
  int changed = insert_step(node, &step, unguarded(node) || forgotten ? REPLACE_STEP : INSERT_STEP);
  if (changed == 1) {
    model_commit(node, "step intent");
    carry_out(node, &step);
    return;
  }
  sim_sql_rollback(node);
  if (read_step(node, &step.id, &seen)) known(node, &seen, false);
}

/* One that was overtaken by another step towards an answer has nothing more to do. */
static void verify(struct sim_node *node, const struct sim_message *message) {
  struct step seen;
  if (message->delivery == 1) saga_outbox_resume(node); /* a handler that lost its lease may have thrown before it sent anything */
  if (!read_step(node, &message->id, &seen)) return;
  seen.verifying = true;
  if (message->value[VALUE_VERIFY] == seen.verify_number) known(node, &seen, true);
}

/* ---- notices ---- */

/* How the gateway says a payment ended, against the row as it is. */
static bool write_told(struct sim_node *node, void *what) {
  struct step *step = what;
  bool charged = step->status == STATE_COMPLETED;
  int changed = charged ? sim_sql_run(node, NOTICE_COMPLETES_STEP, "is", step->result, step->id.text)
                        : sim_sql_run(node, NOTICE_FAILS_STEP, "is", (int64_t)step->reason, step->id.text);
  if (changed == 1 && charged) sim_sql_run(node, CLOSE_STEP_CASE, "s", step->id.text);
  return changed == 1;
}

/* A notice is about the payment, never about itself: it moves the row by a conditional update as an answer does, "pending" moves
   nothing, and it is acknowledged once what it says is durable. */
static void told(struct sim_node *node, const struct sim_message *notice) {
  enum model_gateway_status status = (enum model_gateway_status)notice->value[VALUE_STATUS];
  bool final = model_shop_of(node)->config->gateway.failed_final_after_ns == 0;
  char operation[SIM_ID_SIZE];
  snprintf(operation, sizeof operation, "%.*s", (int)strcspn(notice->id.text, "#"), notice->id.text);
  struct sim_id id = sim_id_of(operation);
  struct step step;
  if (!read_step(node, &id, &step)) return; /* it will come again */
  bool taken_back = is_reversible(node, &step); /* if it is not answered, whatever is told of it */
  if (!taken_back && (status == GATEWAY_OK || (status == GATEWAY_DECLINED && final))) {
    struct saga_letters letters = {.count = 0};
    step.status = status == GATEWAY_OK ? STATE_COMPLETED : STATE_FAILED;
    step.reason = status == GATEWAY_OK ? REASON_NONE : REASON_DECLINED;
    step.result = notice->value[VALUE_PAYMENT];
    add_result(&letters, &step);
    saga_commit(node, "told by notice", write_told, &step, &letters);
  }
  struct sim_message ack = {.kind = KIND_NOTICE_ACK, .attempt = notice->attempt, .subject = notice->subject, .id = notice->id};
  ack.value[VALUE_EVENT] = notice->value[VALUE_EVENT];
  sim_send(node, SERVICE_GATEWAY, &ack, 0);
}

void saga_step_handle(struct sim_node *node, const struct sim_message *message) {
  if (message->kind == KIND_DISPATCH) {
    saga_outbox_sweep(node, message);
    return;
  }
  if (message->kind == KIND_PAYMENT_NOTICE) {
    told(node, message);
    return;
  }
  if (message->delivery > 1) saga_outbox_resume(node); /* its first handler may have thrown before it sent anything */
  for (int s = 0; s < SAGA_STEP_COUNT; s++) {
    if (message->kind == saga_step_info((enum saga_step)s)->verify) {
      verify(node, message);
      return;
    }
  }
  command(node, message);
}
