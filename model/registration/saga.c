/* The saga of a registration: a row, unique by the registration's id, with the state of each step. A message moves it only from
   a state that it may leave, under optimistic concurrency: the row's version must be as it was read, else the handler
   throws and the message comes again. What follows (advance) is a function of the row alone.

     NotStarted -> Pending -> Completed | Failed | Unknown | Parked      for each step
     not aborted: payment, account, second payment, then CompleteRegistration
     aborted (a step failed, the local step was refused, the user withdrew): each landed step is undone, what is unknown is waited for */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/registration/registration.h"
#include "sim/check.h"

enum saga_statement {
  INSERT_SAGA = OUTBOX_STATEMENT_COUNT,
  READ_SAGA,
  UPDATE_SAGA,
  DELETE_SAGA,
  INSERT_CUSTOMER,
};

struct saga {
  char key[SIM_ID_SIZE];
  int64_t registration, amount_minor, card, version;
  bool aborted, complete;
  enum model_state status[SAGA_STEP_COUNT];
  int64_t result[SAGA_STEP_COUNT];
  int64_t reason; /* why it was aborted: enum saga_reason */
  int64_t code;   /* which version of the code wrote the row */
};

static const struct saga_step_info infos[SAGA_STEP_COUNT] = {
#define SAGA_STEP(id, name, key, service, command, verify, succeeded, failed, unknown, parked, outsider, request, query, undoes) \
  [SAGA_##id] = {name,                                                                                                           \
                 key,                                                                                                            \
                 SERVICE_##service,                                                                                              \
                 KIND_##command,                                                                                                 \
                 KIND_##verify,                                                                                                  \
                 {[STATE_COMPLETED] = KIND_##succeeded,                                                                          \
                  [STATE_FAILED] = KIND_##failed,                                                                                \
                  [STATE_UNKNOWN] = KIND_##unknown,                                                                              \
                  [STATE_PARKED] = KIND_##parked},                                                                               \
                 SERVICE_##outsider,                                                                                             \
                 KIND_##request,                                                                                                 \
                 KIND_##query,                                                                                                   \
                 SAGA_##undoes},
#include "model/registration/steps.def"
#undef SAGA_STEP
};

const struct saga_step_info *saga_step_info(enum saga_step step) { return &infos[step]; }

struct sim_id saga_operation_id(int64_t registration, enum saga_step step) {
  return sim_id_join("registration:", registration, infos[step].key);
}

int64_t saga_amount(const struct model_config *config, enum saga_step step) {
  if (step == SAGA_SECOND || step == SAGA_REFUND_SECOND) return config->amount_minor / 5;
  return step == SAGA_PAYMENT || step == SAGA_REFUND ? config->amount_minor : 0;
}

/* ---- rows ---- */

static bool read_saga(struct sim_node *node, int64_t registration, struct saga *out) {
  sqlite3_stmt *row = sim_sql_query(node, READ_SAGA, "i", registration);
  if (row == NULL) return false;
  *out = (struct saga){.registration = registration};
  strncpy(out->key, (const char *)sqlite3_column_text(row, 0), sizeof out->key - 1);
  out->amount_minor = sqlite3_column_int64(row, 1);
  out->card = sqlite3_column_int64(row, 2);
  out->version = sqlite3_column_int64(row, 3);
  out->aborted = sqlite3_column_int(row, 4) != 0;
  out->complete = sqlite3_column_int(row, 5) != 0;
  for (int s = 0; s < SAGA_STEP_COUNT; s++) {
    out->status[s] = (enum model_state)sqlite3_column_int(row, 6 + 2 * s);
    out->result[s] = sqlite3_column_int64(row, 7 + 2 * s);
  }
  out->reason = sqlite3_column_int64(row, 6 + 2 * SAGA_STEP_COUNT);
  out->code = sqlite3_column_int64(row, 7 + 2 * SAGA_STEP_COUNT);
  sim_sql_done(row);
  return true;
}

static bool write_new(struct sim_node *node, void *what) {
  const struct saga *saga = what;
  return sim_sql_run(node, INSERT_SAGA, "siiii", saga->key, saga->registration, saga->amount_minor, saga->card, saga->code) == 1;
}

static bool write_change(struct sim_node *node, void *what) {
  const struct saga *saga = what;
  const enum model_state *status = saga->status;
  const int64_t *result = saga->result;
  return sim_sql_run(node, UPDATE_SAGA, "iiiiiiiiiiiiiiisi", (int64_t)saga->aborted, (int64_t)saga->complete, (int64_t)status[0], result[0],
                     (int64_t)status[1], result[1], (int64_t)status[2], result[2], (int64_t)status[3], result[3], (int64_t)status[4],
                     result[4], (int64_t)status[5], result[5], saga->reason, saga->key, saga->version) == 1;
}

/* ---- what follows ---- */

static void ask_for(struct sim_node *node, struct saga *saga, struct saga_letters *letters, enum saga_step step) {
  const struct model_config *config = model_shop_of(node)->config;
  const struct saga_step_info *info = &infos[step];
  struct sim_message message = {
      .kind = (uint16_t)info->command, .attempt = 1, .subject = saga->registration, .id = saga_operation_id(saga->registration, step)};
  message.value[VALUE_PURCHASE] = saga_purchase(saga->registration, step);
  message.value[VALUE_AMOUNT] = saga_amount(config, step);
  message.value[VALUE_CARD] = saga->card;
  message.value[VALUE_SAGA_STEP] = step;
  message.value[VALUE_PAYMENT] = info->undoes != SAGA_STEP_COUNT ? saga->result[info->undoes] : 0;
  saga->status[step] = STATE_PENDING;
  saga_letters_add(letters, info->service, &message, 0);
}

static void complete_next(struct saga *saga, struct saga_letters *letters) {
  struct sim_message message = {.kind = KIND_COMPLETE_REGISTRATION,
                                .attempt = 1,
                                .subject = saga->registration,
                                .id = sim_id_join("registration:", saga->registration, ":complete")};
  saga_letters_add(letters, SERVICE_REGISTRATIONS, &message, 0);
}

static bool wants_second(const struct sim_node *node) { return model_shop_of(node)->config->second_payment; }

/* Is a step to be undone, as far as this design can tell? */
static bool to_be_undone(const struct sim_node *node, const struct saga *saga, enum saga_step undo) {
  const struct model_design *design = model_design_of(node);
  enum model_state landed = saga->status[infos[undo].undoes];
  bool asked_for = landed != STATE_NOT_REQUESTED;
  bool unknown_too = MODEL_CHOSEN(design, COMPENSATION_WHEN, UNKNOWN_TOO) && (landed == STATE_UNKNOWN || landed == STATE_PENDING);
  bool by_log = MODEL_CHOSEN(design, COMPENSATION_TRIGGER, LOG_SCAN) || MODEL_CHOSEN(design, SAGA_TRUTH, LOG_DECIDES);
  if (by_log && asked_for && landed != STATE_FAILED) return true; /* the log says "begun" */
  return landed == STATE_COMPLETED || unknown_too;
}

static void undo(struct sim_node *node, struct saga *saga, struct saga_letters *letters) {
  static const enum saga_step undoing[] = {SAGA_REFUND, SAGA_REFUND_SECOND, SAGA_DISABLE};
  for (size_t i = 0; i < sizeof undoing / sizeof undoing[0]; i++) {
    enum saga_step step = undoing[i];
    if (saga->status[step] == STATE_NOT_REQUESTED && to_be_undone(node, saga, step)) ask_for(node, saga, letters, step);
  }
}

static void advance(struct sim_node *node, struct saga *saga, struct saga_letters *letters) {
  if (saga->aborted) {
    undo(node, saga, letters);
    return;
  }
  const enum model_state *status = saga->status;
  if (status[SAGA_PAYMENT] == STATE_NOT_REQUESTED) ask_for(node, saga, letters, SAGA_PAYMENT);
  else if (status[SAGA_PAYMENT] != STATE_COMPLETED) return;
  else if (status[SAGA_ACCOUNT] == STATE_NOT_REQUESTED) ask_for(node, saga, letters, SAGA_ACCOUNT);
  else if (status[SAGA_ACCOUNT] != STATE_COMPLETED) return;
  else if (wants_second(node) && status[SAGA_SECOND] == STATE_NOT_REQUESTED) ask_for(node, saga, letters, SAGA_SECOND);
  else if (wants_second(node) && status[SAGA_SECOND] != STATE_COMPLETED) return;
  else if (!saga->complete) complete_next(saga, letters);
}

static bool has_ended(const struct saga *saga) {
  for (int s = 0; s < SAGA_STEP_COUNT; s++) {
    if (saga->status[s] == STATE_PENDING || saga->status[s] == STATE_UNKNOWN || saga->status[s] == STATE_PARKED) return false;
    bool landed = infos[s].undoes != SAGA_STEP_COUNT && saga->status[infos[s].undoes] == STATE_COMPLETED;
    if (saga->aborted && landed && saga->status[s] == STATE_NOT_REQUESTED) return false;
  }
  return saga->complete || saga->aborted;
}

/* ---- the user ---- */

static void tell_user(struct sim_node *node, const struct saga *saga, enum model_kind kind, uint32_t attempt) {
  struct sim_message message = {.kind = (uint16_t)kind,
                                .attempt = attempt,
                                .subject = saga->registration,
                                .id = sim_id_join("registration:", saga->registration, "")};
  message.value[VALUE_REASON] = saga->reason;
  sim_send(node, SERVICE_USERS, &message, 0);
}

static void tell_how_it_stands(struct sim_node *node, const struct saga *saga, uint32_t attempt) {
  enum model_kind kind = saga->complete && !saga->aborted   ? KIND_REGISTERED
                         : saga->aborted && has_ended(saga) ? KIND_REGISTRATION_REFUSED
                                                            : KIND_REGISTRATION_PENDING;
  tell_user(node, saga, kind, attempt);
}

/* ---- handlers ---- */

/* Write the change and what follows from it; a row that somebody else has changed meanwhile makes the handler throw. */
static void change(struct sim_node *node, struct saga *saga, const char *step, struct saga_letters *letters, uint32_t attempt) {
  const struct model_design *design = model_design_of(node);
  advance(node, saga, letters);
  if (MODEL_CHOSEN(design, SAGA_DATA, SEPARATE)) { /* the row in one transaction, its messages in another */
    struct saga_letters none = {.count = 0};
    if (!saga_commit(node, step, write_change, saga, &none)) {
      sim_message_failed(node);
      return;
    }
    saga_commit(node, "messages", NULL, NULL, letters);
  } else if (!saga_commit(node, step, write_change, saga, letters)) {
    sim_message_failed(node);
    return;
  }
  if (!has_ended(saga)) return;
  tell_how_it_stands(node, saga, attempt);
  if (!MODEL_CHOSEN(design, SAGA_COMPLETED, DELETED)) return;
  sim_sql_begin(node);
  sim_sql_run(node, DELETE_SAGA, "i", saga->registration);
  model_commit(node, "saga deleted");
}

/* saga.steps=one_handler: charge and register here and now, then write it all down. */
static void all_in_one(struct sim_node *node, struct saga *saga, uint32_t attempt) {
  static const enum saga_step steps[] = {SAGA_PAYMENT, SAGA_ACCOUNT};
  for (size_t i = 0; i < 2; i++) {
    struct sim_message answer;
    struct sim_id id = saga_operation_id(saga->registration, steps[i]);
    struct sim_message request = {.kind = (uint16_t)infos[steps[i]].request, .attempt = attempt, .subject = saga->registration, .id = id};
    request.value[VALUE_PURCHASE] = saga->registration;
    request.value[VALUE_AMOUNT] = saga->amount_minor;
    request.value[VALUE_CARD] = saga->card;
    memcpy(&request.value[VALUE_OPERATION], &id.hash, sizeof id.hash);
    bool answered = sim_call(node, infos[steps[i]].outsider, &request, 10 * SIM_SECOND, &answer) == SIM_CALL_ANSWERED;
    if (!answered || answer.value[VALUE_STATUS] == GATEWAY_ERROR || answer.value[VALUE_STATUS] == GATEWAY_IN_FLIGHT) {
      sim_message_failed(node);
      return;
    }
    saga->status[steps[i]] = answer.value[VALUE_STATUS] == GATEWAY_OK ? STATE_COMPLETED : STATE_FAILED;
    saga->result[steps[i]] = answer.value[VALUE_PAYMENT];
    if (saga->status[steps[i]] == STATE_FAILED) break;
  }
  struct saga_letters letters = {.count = 0};
  saga->aborted = saga->status[SAGA_PAYMENT] != STATE_COMPLETED || saga->status[SAGA_ACCOUNT] != STATE_COMPLETED;
  saga->reason = saga->aborted ? REASON_DECLINED : REASON_NONE;
  if (saga_commit(node, "saga begun", write_new, saga, &letters)) change(node, saga, "saga changed", &letters, attempt);
}

static void begin(struct sim_node *node, const struct sim_message *message) {
  const struct model_design *design = model_design_of(node);
  struct saga saga = {.registration = message->subject,
                      .amount_minor = message->value[VALUE_AMOUNT],
                      .card = message->value[VALUE_CARD],
                      .code = sim_node_life(node)};
  snprintf(saga.key, sizeof saga.key, "registration:%" PRId64, saga.registration);
  if (MODEL_CHOSEN(design, SAGA_CORRELATION, NONE)) /* nothing ties two of them together */
    snprintf(saga.key, sizeof saga.key, "saga:%" PRId64 "-%u-%u", saga.registration, message->attempt, message->copy);
  if (MODEL_CHOSEN(design, SAGA_STEPS, ONE_HANDLER)) {
    struct saga seen;
    if (read_saga(node, saga.registration, &seen)) tell_how_it_stands(node, &seen, message->attempt);
    else all_in_one(node, &saga, message->attempt);
    return;
  }
  struct saga_letters letters = {.count = 0};
  struct saga fresh = saga;
  advance(node, &fresh, &letters);
  if (saga_commit(node, "saga begun", write_new, &saga, &letters)) {
    tell_user(node, &saga, KIND_REGISTRATION_ACCEPTED, message->attempt);
    return;
  }
  struct saga seen;
  if (read_saga(node, saga.registration, &seen)) tell_how_it_stands(node, &seen, message->attempt);
}

/* Which step a result is about, and how it ended; SAGA_STEP_COUNT for no result. */
static enum saga_step step_of(const struct sim_message *message, enum model_state *state_out) {
  for (int s = 0; s < SAGA_STEP_COUNT; s++) {
    for (int state = 0; state < MODEL_STATE_COUNT; state++) {
      if (infos[s].result[state] == 0 || infos[s].result[state] != message->kind) continue;
      *state_out = (enum model_state)state;
      return (enum saga_step)s;
    }
  }
  return SAGA_STEP_COUNT;
}

/* Is this news, for a step in that state? A refusal may be overtaken by a late success, never the other way round. */
static bool is_news(enum model_state from, enum model_state to) {
  if (from == STATE_PENDING) return true;
  if (from == STATE_UNKNOWN) return to != STATE_UNKNOWN;
  if (from == STATE_PARKED) return to == STATE_COMPLETED || to == STATE_FAILED;
  return from == STATE_FAILED && to == STATE_COMPLETED;
}

/* compensation.guard=none: told of the failure a second time, undo everything a second time. */
static void compensate_again(struct sim_node *node, struct saga *saga, const struct sim_message *message) {
  struct saga_letters letters = {.count = 0};
  saga->status[SAGA_REFUND] = saga->status[SAGA_REFUND_SECOND] = saga->status[SAGA_DISABLE] = STATE_NOT_REQUESTED;
  change(node, saga, "compensated again", &letters, message->attempt);
}

static void result(struct sim_node *node, struct saga *saga, enum saga_step step, enum model_state state,
                   const struct sim_message *message) {
  const struct model_design *design = model_design_of(node);
  if (!is_news(saga->status[step], state)) {
    bool again = state == STATE_FAILED && infos[step].undoes == SAGA_STEP_COUNT && saga->aborted;
    if (again && MODEL_CHOSEN(design, COMPENSATION_GUARD, NONE)) compensate_again(node, saga, message);
    return;
  }
  if (saga->status[step] == STATE_FAILED && MODEL_CHOSEN(design, COMPENSATION_WHEN, NEVER_REVISITED)) return;
  bool late = saga->aborted && MODEL_CHOSEN(design, COMPENSATION_WHEN, NEVER_REVISITED) && infos[step].undoes == SAGA_STEP_COUNT;
  struct saga_letters letters = {.count = 0};
  saga->status[step] = state;
  saga->result[step] = message->value[VALUE_PAYMENT];
  bool forward = infos[step].undoes == SAGA_STEP_COUNT;
  if (state == STATE_FAILED && forward && !saga->aborted) {
    saga->aborted = true;
    saga->reason = message->value[VALUE_REASON];
  }
  if (late) { /* what comes after the decision to undo is only written down */
    if (!saga_commit(node, "saga changed", write_change, saga, &letters)) sim_message_failed(node);
    return;
  }
  change(node, saga, "saga changed", &letters, message->attempt);
}

/* The last, local step, which may be refused although the account exists. */
static void complete(struct sim_node *node, struct saga *saga, const struct sim_message *message) {
  struct model_shop *shop = model_shop_of(node);
  struct saga_letters letters = {.count = 0};
  if (saga->complete || saga->aborted) return;
  struct sim_id id = sim_id_join("registration:", saga->registration, "");
  struct sim_subject subject = {.id = &id, .what = sim_world_kind(shop->world, KIND_COMPLETE_REGISTRATION), .step = "local step"};
  if (model_ask(shop, "saga.completes", &subject) == 0) {
    saga->complete = true;
  } else {
    saga->aborted = true;
    saga->reason = REASON_DECLINED;
  }
  change(node, saga, "registration completed", &letters, message->attempt);
}

static void withdraw(struct sim_node *node, struct saga *saga, const struct sim_message *message) {
  struct saga_letters letters = {.count = 0};
  if (!saga->complete && !saga->aborted) {
    saga->aborted = true;
    saga->reason = REASON_NONE;
    change(node, saga, "withdrawn", &letters, message->attempt);
    return;
  }
  tell_how_it_stands(node, saga, message->attempt);
}

void saga_handle(struct sim_node *node, const struct sim_message *message) {
  if (message->kind == KIND_DISPATCH) {
    saga_outbox_sweep(node, message);
    return;
  }
  const struct model_design *design = model_design_of(node);
  enum model_state state = STATE_NOT_REQUESTED;
  struct saga saga;
  if (message->delivery > 1) saga_outbox_resume(node); /* its first handler may have thrown before it sent anything */
  if (message->kind == KIND_BEGIN_REGISTRATION) {
    begin(node, message);
    return;
  }
  if (!read_saga(node, message->subject, &saga)) { /* not visible yet, or gone */
    if (!MODEL_CHOSEN(design, SAGA_NOT_FOUND, DROP)) sim_message_failed(node);
    return;
  }
  if (MODEL_CHOSEN(design, SAGA_VERSION, STRICT) && saga.code != sim_node_life(node)) { /* rows of older code cannot be read */
    sim_message_failed(node);
    return;
  }
  enum saga_step step = step_of(message, &state);
  if (message->kind == KIND_COMPLETE_REGISTRATION) complete(node, &saga, message);
  else if (message->kind == KIND_WITHDRAW) withdraw(node, &saga, message);
  else if (step != SAGA_STEP_COUNT) result(node, &saga, step, state, message);
  else UNREACHABLE("a message no saga gets");
}
