/* Reconciliation: a job of the order service that reads the gateway's statement, line by line, and compares it with the
   journal both ways. It compares nothing itself: each line goes to the order it names, through that order's own mailbox, and
   so does "that was all"; the order knows what it has recorded, and the payment service moves its rows by conditional updates.

     StatementLine -> ChargeStated | RefundStated at the order; after the last one StatementEnded at every order
     recorded here, so stated: nothing to do
     stated, not recorded here: the payment service is told, and reports it like any other result
     recorded as unknown or parked, not stated, and old enough that nothing can land any more: it was not executed
     stated, and no order explains it, or recorded and never stated: a case for a human

   The job sleeps when a round has found nothing to do, and takes its time with what many rounds have not settled. A payment that is asked for wakes it, and so does a restart: what was
   recorded may be an older copy. */
#include <string.h>

#include "model/effect.h"
#include "model/facts.h"
#include "model/order.h"
#include "model/payment.h"
#include "sim/check.h"

static const int64_t CALL_TIMEOUT_NS = 10 * SIM_SECOND;

static bool in_force(const struct sim_node *node) {
  const struct model_config *config = model_shop_of(node)->config;
  return config->gateway.statements && config->reconcile_every_ns > 0 && !MODEL_CHOSEN(&config->design, RECONCILIATION, NONE);
}

/* ---- the job ---- */

void model_reconciliation__wake(struct sim_node *node) {
  struct order_memory *memory = sim_node_memory(node);
  if (!in_force(node) || memory->reconcile.number != 0) return;
  int64_t first_ns = model_shop_of(node)->config->reconcile_every_ns;
  int64_t every_ns = model_back_off(first_ns, first_ns > SIM_DAY ? first_ns : SIM_DAY, memory->rounds);
  struct sim_message timer = {.kind = KIND_RECONCILE, .attempt = 1, .subject = MODEL_RECONCILE_SUBJECT};
  memory->reconcile = sim_timer_set(node, every_ns - model_now(node) % every_ns, &timer);
}

/* Ask for line `number`. Returns false when the gateway did not answer; `more_out`: there is such a line. */
static bool read_line(struct sim_node *node, uint32_t number, struct sim_message *line_out, bool *more_out) {
  struct sim_message request = {.kind = KIND_ASK_STATEMENT, .attempt = number, .id = sim_id_of("statement")};
  request.value[VALUE_NUMBER] = number;
  if (sim_call(node, SERVICE_GATEWAY, &request, CALL_TIMEOUT_NS, line_out) != SIM_CALL_ANSWERED) return false;
  *more_out = line_out->value[VALUE_STATUS] == GATEWAY_OK;
  return *more_out || line_out->value[VALUE_STATUS] == GATEWAY_NOT_FOUND;
}

/* Into the order's own mailbox. */
static void hand_over(struct sim_node *node, enum model_kind kind, int64_t order, const struct sim_message *line) {
  struct sim_message message = *line;
  message.kind = (uint16_t)kind;
  message.subject = order;
  message.call = NULL;
  sim_timer_set(node, 0, &message);
}

static bool read_statement(struct sim_node *node) {
  struct sim_message line;
  bool more = true;
  for (uint32_t number = 1; more; number++) {
    if (!read_line(node, number, &line, &more)) return false;
    line.attempt = number;
    if (more) hand_over(node, line.value[VALUE_PURCHASE] != 0 ? KIND_CHARGE_STATED : KIND_REFUND_STATED, line.subject, &line);
  }
  return true;
}

void model_reconciliation__run(struct sim_node *node) {
  struct order_memory *memory = sim_node_memory(node);
  int64_t order[MODEL_ORDERS_MAX];
  size_t count = 0;
  int64_t started_ns = model_now(node);
  memory->reconcile = (struct sim_timer){0};
  memory->rounds++;
  if (!read_statement(node)) {
    model_reconciliation__wake(node);
    return;
  }
  sqlite3_stmt *row = sim_sql_query(node, READ_ORDERS, "");
  for (bool more = row != NULL; more; more = sim_sql_next(row)) {
    ENSURE(count < MODEL_ORDERS_MAX);
    order[count++] = sqlite3_column_int64(row, 0);
  }
  sim_sql_done(row);
  struct sim_message ended = {.attempt = 1};
  ended.value[VALUE_AS_OF] = started_ns;
  for (size_t i = 0; i < count; i++) hand_over(node, KIND_STATEMENT_ENDED, order[i], &ended);
}

/* ---- at the order ---- */

static void tell_payments(struct sim_node *node, const struct order *order, enum model_kind kind, const struct sim_id *id,
                          enum model_gateway_status status, const struct sim_message *about) {
  struct sim_message message = {.kind = (uint16_t)kind, .attempt = about->attempt, .subject = order->id, .id = *id};
  memcpy(message.value, about->value, sizeof message.value);
  message.value[VALUE_STATUS] = status;
  if (status == GATEWAY_NOT_FOUND) message.value[VALUE_AMOUNT] = order->amount_minor;
  bool lacks = status == GATEWAY_NOT_FOUND || status == GATEWAY_ERROR || about->value[VALUE_PAYMENT] == 0;
  sim_tell(sim_node_world(node), sim_node_name(node), "reads that the gateway's statement %s %s", lacks ? "lacks" : "lists", id->text);
  sim_send(node, SERVICE_PAYMENTS, &message, 0);
  model_reconciliation__wake(node); /* until it has been settled */
}

static bool noted(const struct sim_node *node, const struct sim_id *id) {
  const struct order_memory *memory = sim_node_memory(node);
  for (size_t i = 0; i < memory->noted_count; i++) {
    if (memory->noted[i] == id->hash) return true;
  }
  return false;
}

void model_reconciliation__noted(struct sim_node *node, const struct sim_message *message) {
  struct order_memory *memory = sim_node_memory(node);
  if (!noted(node, &message->id) && memory->noted_count < MODEL_OPERATIONS_MAX) memory->noted[memory->noted_count++] = message->id.hash;
}

static void unexplained(struct sim_node *node, const struct order *order, enum model_kind kind, const struct sim_message *line) {
  if (!noted(node, &line->id)) tell_payments(node, order, kind, &line->id, GATEWAY_UNSUPPORTED, line);
}

static bool undecided(const struct order *order) {
  return order->state == STATE_PENDING || order->state == STATE_UNKNOWN || order->state == STATE_PARKED;
}

void model_reconciliation__charge(struct sim_node *node, struct order *order, const struct sim_message *line) {
  int64_t payment = line->value[VALUE_PAYMENT];
  order->charge_stated_ns = model_now(node);
  if (order->state == STATE_COMPLETED && order->payment == payment) return;
  bool current = sim_id_same(&order->operation, &line->id);
  bool given_back = line->value[VALUE_REFUNDED] != 0; /* by an order that was cancelled, which this copy does not know */
  if (given_back) {
    unexplained(node, order, KIND_CHARGE_STATED, line);
  } else if ((undecided(order) && current) || order->state == STATE_FAILED) {
    tell_payments(node, order, KIND_CHARGE_STATED, &line->id, GATEWAY_OK, line);
  } else if (order->placed && order->state == STATE_NOT_REQUESTED && !order->cancelled) {
    if (model_order__found(node, order, line)) tell_payments(node, order, KIND_CHARGE_STATED, &line->id, GATEWAY_OK, line);
  } else {
    unexplained(node, order, KIND_CHARGE_STATED, line);
  }
}

void model_reconciliation__refund(struct sim_node *node, struct order *order, const struct sim_message *line) {
  if (order->step[STEP_REFUND] == STEP_NONE) unexplained(node, order, KIND_REFUND_STATED, line);
  else if (order->step[STEP_REFUND] == STEP_REQUESTED || order->refund_failed)
    tell_payments(node, order, KIND_REFUND_STATED, &line->id, GATEWAY_OK, line);
}

void model_reconciliation__ended(struct sim_node *node, struct order *order, const struct sim_message *ended) {
  const struct model_design *design = model_design_of(node);
  int64_t as_of_ns = ended->value[VALUE_AS_OF];
  /* An activation younger than the statement has not heard its lines. */
  if (order->activated_ns >= as_of_ns || order->charge_stated_ns >= as_of_ns) return;
  if (undecided(order)) {
    bool charges_itself = MODEL_CHOSEN(design, RECONCILIATION, RACES_WITH_RETRY);
    struct sim_message about = *ended;
    about.value[VALUE_CARD] = order->card;
    about.value[VALUE_PURCHASE] = order->purchase;
    tell_payments(node, order, KIND_CHARGE_STATED, &order->operation, charges_itself ? GATEWAY_ERROR : GATEWAY_NOT_FOUND, &about);
  } else if (order->state == STATE_COMPLETED && order->completed_ns < as_of_ns) {
    struct sim_message about = *ended;
    about.id = order->operation;
    about.value[VALUE_AMOUNT] = order->amount_minor;
    unexplained(node, order, KIND_CHARGE_STATED, &about);
  }
}

/* ---- at the payment service ---- */

void model_reconciliation_ask(struct sim_node *node) {
  if (!in_force(node) || sim_node_life(node) == 1) return;
  struct sim_message message = {
      .kind = KIND_RECONCILE_SOON, .attempt = sim_node_life(node), .subject = MODEL_RECONCILE_SUBJECT, .id = sim_id_of("statement")};
  sim_send(node, SERVICE_ORDERS, &message, 0);
}

static void open_case(struct sim_node *node, const struct sim_message *stated) {
  bool charge = stated->value[VALUE_PAYMENT] != 0;
  sim_sql_begin(node);
  int changed = sim_sql_run(node, INSERT_CASE, "siissi", stated->id.text, stated->subject, stated->value[VALUE_AMOUNT],
                            charge ? "in the gateway's statement" : "recorded as completed",
                            charge ? "no order explains it" : "not in the gateway's statement", model_now(node));
  if (changed == 1) model_commit(node, "case: unexplained");
  else sim_sql_rollback(node);
  struct sim_message note = {.kind = KIND_STATED_NOTED, .attempt = stated->attempt, .subject = stated->subject, .id = stated->id};
  sim_send(node, SERVICE_ORDERS, &note, 0);
}

/* The operation that a stated reference belongs to: what stands behind '#' is a key of its own (payment.key=fresh). */
static struct sim_id operation_of(const struct sim_id *reference) {
  char text[SIM_ID_SIZE];
  memcpy(text, reference->text, sizeof text);
  text[strcspn(text, "#")] = '\0';
  return sim_id_of(text);
}

static void charge_is_there(struct sim_node *node, const struct sim_message *stated) {
  struct sim_id id = operation_of(&stated->id);
  const int64_t *value = stated->value;
  struct operation row;
  sim_sql_begin(node);
  int changed = sim_sql_run(node, STATEMENT_COMPLETES, "iis", value[VALUE_PAYMENT], model_now(node), id.text);
  if (changed != 1)
    changed = sim_sql_run(node, STATEMENT_INSERTS, "siiiiii", id.text, stated->subject, value[VALUE_PURCHASE], value[VALUE_CARD],
                          value[VALUE_AMOUNT], value[VALUE_PAYMENT], model_now(node));
  if (changed == 1) {
    sim_sql_run(node, CLOSE_CASE, "s", id.text);
    model_commit(node, "statement: charged");
  } else {
    sim_sql_rollback(node);
  }
  if (model_payment__read(node, &id, &row)) model_payment__report(node, &row, 1);
}

static void charge_is_not_there(struct sim_node *node, const struct sim_message *stated) {
  bool blind = MODEL_CHOSEN(model_design_of(node), RECONCILIATION, REPAIRS_BLINDLY);
  struct operation row;
  if (!model_payment__read(node, &stated->id, &row)) return;
  if (row.status != STATE_PENDING && row.status != STATE_UNKNOWN && row.status != STATE_PARKED) {
    model_payment__report(node, &row, 1);
    return;
  }
  row.asked_ns = stated->value[VALUE_AS_OF];
  if (!blind && (row.status == STATE_PENDING || !model_payment__absence_is_definite(node, &row))) return;
  sim_sql_begin(node);
  if (sim_sql_run(node, STATEMENT_FAILS, "isi", model_now(node), stated->id.text, row.attempts) != 1) {
    sim_sql_rollback(node);
    return;
  }
  sim_sql_run(node, CLOSE_CASE, "s", stated->id.text);
  model_commit(node, "statement: not charged");
  if (model_payment__read(node, &stated->id, &row)) model_payment__report(node, &row, 1);
}

void model_reconciliation_charge_stated(struct sim_node *node, const struct sim_message *stated) {
  struct operation row;
  switch ((int)stated->value[VALUE_STATUS]) {
    case GATEWAY_OK: charge_is_there(node, stated); return;
    case GATEWAY_NOT_FOUND: charge_is_not_there(node, stated); return;
    case GATEWAY_ERROR: /* races_with_retry: whoever else is at it, charge */
      if (model_payment__read(node, &stated->id, &row)) model_payment__charge_beside(node, &row);
      return;
    default: open_case(node, stated); return;
  }
}

void model_reconciliation_refund_stated(struct sim_node *node, const struct sim_message *stated) {
  if (stated->value[VALUE_STATUS] == GATEWAY_OK) model_refund_found(node, stated);
  else open_case(node, stated);
}
