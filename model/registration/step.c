/* The steps of a registration at other people's systems: a row a step (operations), the intent committed before the call, the
   result after it, in one transaction with the message that tells it. A call without a definite answer leaves the row Unknown
   and sends this service a Verify message, for later; each of them takes one more step: ask, or repeat under the same key
   while it lives, or park.

     command -> Pending -> Completed | Failed (refused) | Unknown -> Completed | Failed | Parked                              */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/registration/registration.h"
#include "sim/check.h"

enum step_statement {
  INSERT_STEP = OUTBOX_STATEMENT_COUNT,
  REPLACE_STEP,
  READ_STEP,
  RECORD_STEP,
  ATTEMPT_STEP,
  OPEN_STEP_CASE,
  CLOSE_STEP_CASE,
  VERIFY_LATER,
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

static const int64_t CALL_TIMEOUT_NS = 10 * SIM_SECOND;
static const int64_t VERIFY_NS = 30 * SIM_SECOND;
static const int64_t VERIFY_MAX_NS = 6 * SIM_HOUR;
static const int64_t SHORT_RETENTION_NS = SIM_DAY; /* retries.dedup=short */

static struct model_capabilities capabilities_of(const struct sim_node *node, enum saga_step step) {
  const struct model_config *config = model_shop_of(node)->config;
  if (saga_step_info(step)->outsider == SERVICE_XYZ) return config->accounts.can;
  return (struct model_capabilities){model_gateway_repeats_safely(&config->gateway), config->gateway.key_retention_ns,
                                     config->gateway.looks_up, config->gateway.look_up_lag_ns};
}

static bool is_payment(enum saga_step step) { return step == SAGA_PAYMENT || step == SAGA_SECOND; }
static bool is_refund(enum saga_step step) { return step == SAGA_REFUND || step == SAGA_REFUND_SECOND; }

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

static bool write_result(struct sim_node *node, void *what) {
  struct step *step = what;
  int changed = sim_sql_run(node, RECORD_STEP, "iiiisii", (int64_t)step->status, step->result, step->asks, (int64_t)step->reason,
                            step->id.text, step->known_attempts, step->verify_number);
  if (changed == 1 && step->status == STATE_PARKED)
    sim_sql_run(node, OPEN_STEP_CASE, "siissi", step->id.text, step->registration, step->amount_minor,
                step->reason == REASON_DECLINED ? "refused" : "sent, no definite answer", saga_step_info(step->step)->name,
                model_now(node));
  return changed == 1;
}

static int64_t back_off(const struct sim_node *node, const struct step *step) {
  if (MODEL_CHOSEN(model_design_of(node), SAGA_POLLING, NO_BACK_OFF)) return SIM_SECOND;
  return model_back_off(VERIFY_NS, VERIFY_MAX_NS, step->asks + step->attempts);
}

/* How the call ended is recorded and told in one transaction. */
static void record(struct sim_node *node, struct step *step) {
  const struct model_design *design = model_design_of(node);
  static const char *const words[MODEL_STATE_COUNT] = {
      [STATE_COMPLETED] = "step done", [STATE_FAILED] = "step refused", [STATE_UNKNOWN] = "step unknown", [STATE_PARKED] = "step parked"};
  struct saga_letters letters = {.count = 0};
  add_result(&letters, step);
  bool again = step->status == STATE_UNKNOWN && !(MODEL_CHOSEN(design, SAGA_POLLING, ONCE) && step->asks > 0);
  if (again && !MODEL_CHOSEN(design, SAGA_RETRY, NEVER)) add_verify(&letters, step, back_off(node, step));
  if (saga_commit(node, words[step->status], write_result, step, &letters)) return;
  struct step row;
  bool final = read_step(node, &step->id, &row) && row.status != STATE_PENDING && row.status != STATE_UNKNOWN;
  if (!final) sim_message_failed(node); /* somebody else works on it; if he dies, this message must come again */
}

/* ---- the provider ---- */

static struct sim_id numbered(const struct sim_id *id, const char *mark, int64_t number) {
  char text[2 * SIM_ID_SIZE];
  snprintf(text, sizeof text, "%s%s%" PRId64, id->text, mark, number);
  return sim_id_of(text);
}

/* saga.payment_key, external.key, compensation.key: what the provider sees as the caller's reference. */
static struct sim_id key_of(const struct sim_node *node, const struct step *step) {
  const struct model_design *design = model_design_of(node);
  bool payment = is_payment(step->step);
  bool account = step->step == SAGA_ACCOUNT;
  bool per_execution = (payment && MODEL_CHOSEN(design, SAGA_PAYMENT_KEY, PER_EXECUTION)) ||
                       (account && MODEL_CHOSEN(design, EXTERNAL_KEY, PER_EXECUTION)) ||
                       (is_refund(step->step) && MODEL_CHOSEN(design, COMPENSATION_KEY, FRESH));
  bool correlation =
      (payment && MODEL_CHOSEN(design, SAGA_PAYMENT_KEY, CORRELATION)) || (account && MODEL_CHOSEN(design, EXTERNAL_KEY, CORRELATION));
  if (correlation) return sim_id_join("registration:", step->registration, "");
  if (per_execution) return numbered(&step->id, "#", step->attempts + (is_refund(step->step) ? step->asks : 0));
  return step->id;
}

static bool key_lives(const struct sim_node *node, const struct step *step) {
  struct model_capabilities can = capabilities_of(node, step->step);
  if (is_refund(step->step) && MODEL_CHOSEN(model_design_of(node), COMPENSATION_KEY, NONE)) return false;
  return can.takes_keys && model_now(node) - step->created_ns < can.key_retention_ns - model_shop_of(node)->config->request_lifetime_ns;
}

static bool absence_is_definite(const struct sim_node *node, const struct step *step) {
  const struct model_config *config = model_shop_of(node)->config;
  int64_t final_after_ns =
      config->lease_ns + config->request_lifetime_ns + capabilities_of(node, step->step).look_up_lag_ns + MODEL_GATEWAY_PROCESSING_MAX_NS;
  return step->asked_ns - step->last_attempt_ns >= final_after_ns;
}

static enum model_gateway_status call(struct sim_node *node, struct step *step, enum model_kind kind, bool asking) {
  const struct model_design *design = model_design_of(node);
  struct sim_message answer;
  struct sim_id key = key_of(node, step);
  if (asking && is_payment(step->step) && MODEL_CHOSEN(design, SAGA_VERIFY_KEY, OTHER)) key = numbered(&step->id, "/verify-", step->asks);
  struct sim_message request = {
      .kind = (uint16_t)kind, .attempt = (uint32_t)(asking ? step->asks : step->attempts), .subject = step->registration, .id = key};
  request.value[VALUE_PURCHASE] = saga_purchase(step->registration, step->step);
  request.value[VALUE_AMOUNT] = step->amount_minor;
  request.value[VALUE_CARD] = step->card;
  request.value[VALUE_PAYMENT] = asking && is_payment(step->step) ? 0 : step->target;
  memcpy(&request.value[VALUE_OPERATION], &step->id.hash, sizeof step->id.hash);
  int64_t timeout_ns = MODEL_CHOSEN(design, SAGA_HANDLER_WAIT, LONG) ? SIM_HOUR : CALL_TIMEOUT_NS;
  if (sim_call(node, saga_step_info(step->step)->outsider, &request, timeout_ns, &answer) != SIM_CALL_ANSWERED) return GATEWAY_ERROR;
  if (answer.value[VALUE_STATUS] == GATEWAY_OK) step->result = answer.value[VALUE_PAYMENT];
  return (enum model_gateway_status)answer.value[VALUE_STATUS];
}

/* What a call without a definite answer means to this design: unknown, or some mistake. */
static enum model_state unanswered(const struct sim_node *node, struct step *step) {
  const struct model_design *design = model_design_of(node);
  bool failed = (is_payment(step->step) && MODEL_CHOSEN(design, SAGA_ON_TIMEOUT, FAILED)) ||
                (step->step == SAGA_ACCOUNT && MODEL_CHOSEN(design, EXTERNAL_ON_TIMEOUT, FAILED)) ||
                (step->step == SAGA_DISABLE && MODEL_CHOSEN(design, EXTERNAL_UNDO, FAILED_ON_UNKNOWN));
  bool business = MODEL_CHOSEN(design, TECHNICAL_FAILURE, TAKEN_FOR_BUSINESS) && is_payment(step->step);
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
      status == GATEWAY_DECLINED && is_payment(step->step) && !step->verifying && MODEL_CHOSEN(design, SAGA_DECLINE, EXCEPTION);
  if (exception) {
    sim_message_failed(node);
    return;
  }
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
  finish(node, step, call(node, step, saga_step_info(step->step)->request, false));
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

static void absent(struct sim_node *node, struct step *step) {
  bool definite = absence_is_definite(node, step);
  if (is_payment(step->step) && MODEL_CHOSEN(model_design_of(node), SAGA_ON_NOT_FOUND, FAILED)) {
    step->reason = REASON_NOT_EXECUTED;
    step->status = STATE_FAILED;
    record(node, step);
    return;
  }
  if (key_lives(node, step)) repeat(node, step);
  else if (!definite) finish(node, step, GATEWAY_ERROR);
  else if (step->attempts < 2 || capabilities_of(node, step->step).takes_keys) repeat(node, step);
  else park(node, step);
}

static void ask(struct sim_node *node, struct step *step) {
  step->asks++;
  step->asked_ns = model_now(node);
  enum model_gateway_status status = call(node, step, saga_step_info(step->step)->query, true);
  if (is_payment(step->step) && MODEL_CHOSEN(model_design_of(node), SAGA_VERIFY_RESULT, MESSAGE_ONLY) &&
      (status == GATEWAY_OK || status == GATEWAY_DECLINED)) {
    struct saga_letters letters = {.count = 0};
    step->status = status == GATEWAY_OK ? STATE_COMPLETED : STATE_FAILED;
    step->reason = status == GATEWAY_OK ? REASON_NONE : REASON_DECLINED;
    add_result(&letters, step);
    for (size_t i = 0; i < letters.count; i++) sim_send(node, letters.letter[i].to, &letters.letter[i].message, 0);
    return;
  }
  if (status == GATEWAY_NOT_FOUND) absent(node, step);
  else finish(node, step, status);
}

/* One step towards a definite answer. */
static void resolve(struct sim_node *node, struct step *step) {
  const struct model_design *design = model_design_of(node);
  bool bounded = !MODEL_CHOSEN(design, SAGA_POLLING, FOREVER);
  if (bounded && step->asks + step->attempts > model_shop_of(node)->config->resolve_attempts) park(node, step);
  else if (capabilities_of(node, step->step).looks_up) ask(node, step);
  else if (key_lives(node, step)) repeat(node, step);
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
  bool again = is_payment(step->step) && !asked && MODEL_CHOSEN(design, SAGA_RECORD_GUARD, SUCCEEDED_ONLY);
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
  bool thrown = step->status == STATE_PENDING && is_payment(step->step) && MODEL_CHOSEN(design, SAGA_DECLINE, EXCEPTION);
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
  return !(with_result && is_payment(step));
}

static bool unguarded(const struct sim_node *node) { return MODEL_CHOSEN(model_design_of(node), SAGA_RECORD, NONE); }

/* external.undo=fire_and_forget: asked for once, and done. */
static void fire_and_forget(struct sim_node *node, struct step *step) {
  call(node, step, saga_step_info(step->step)->request, false);
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
    enum model_gateway_status status = call(node, &step, saga_step_info(step.step)->request, false);
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

void saga_step_handle(struct sim_node *node, const struct sim_message *message) {
  if (message->kind == KIND_DISPATCH) {
    saga_outbox_sweep(node, message);
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
