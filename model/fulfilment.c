/* What an order does besides paying: the confirmation mail and the picklist follow the payment, the shipping mail follows
   the goods; a cancelled order stops its picklist, gives the money back and says so. Each of these steps is asked for by an
   event and a row of the outbox, committed together, and is done when its result has been recorded; a repeat of a result
   only ends the row.

     PaymentCompleted -> ConfirmationEmailRequested -> ConfirmationEmailSent
                      -> PicklistRequested -> PicklistAccepted -> OrderShipped -> ShippingEmailRequested -> ShippingEmailSent
     CancellationRequested -> (payment under way: wait for its end; picklist out: stop it) -> OrderCancelled | CancellationRefused
     OrderCancelled -> RefundRequested -> RefundCompleted | RefundFailed (a case for a human), CorrectionEmailRequested -> ...Sent */
#include <string.h>

#include "model/facts.h"
#include "model/order.h"
#include "sim/check.h"

static const struct {
  enum model_event requested, done;
} step_event[MODEL_STEP_COUNT] = {
    [STEP_CONFIRMATION] = {EVENT_CONFIRMATION_EMAIL_REQUESTED, EVENT_CONFIRMATION_EMAIL_SENT},
    [STEP_SHIPPING] = {EVENT_SHIPPING_EMAIL_REQUESTED, EVENT_SHIPPING_EMAIL_SENT},
    [STEP_CORRECTION] = {EVENT_CORRECTION_EMAIL_REQUESTED, EVENT_CORRECTION_EMAIL_SENT},
    [STEP_PICKLIST] = {EVENT_PICKLIST_REQUESTED, EVENT_PICKLIST_ACCEPTED},
    [STEP_STOP] = {EVENT_CANCELLATION_REQUESTED, EVENT_ORDER_CANCELLED},
    [STEP_REFUND] = {EVENT_REFUND_REQUESTED, EVENT_REFUND_COMPLETED},
};

bool model_fulfilment__in_force(const struct sim_node *node) { return model_shop_of(node)->config->workflow == MODEL_WORKFLOW_ORDER; }

static bool payment_under_way(const struct sim_node *node, const struct order *order) {
  if (order->state == STATE_PARKED) return !MODEL_CHOSEN(model_design_of(node), CANCEL_WAIT, PARKED_TOO);
  return order->state == STATE_PENDING || order->state == STATE_UNKNOWN;
}

/* ---- state ---- */

void model_fulfilment__apply(struct order *order, const struct order_event *event) {
  bool known = false;
  for (int s = 0; s < MODEL_STEP_COUNT; s++) {
    if (event->type == step_event[s].requested && s != STEP_STOP) order->step[s] = STEP_REQUESTED;
    if (event->type == step_event[s].done) order->step[s] = STEP_DONE;
    known = known || event->type == step_event[s].requested || event->type == step_event[s].done;
  }
  if (event->type == EVENT_ORDER_SHIPPED) order->shipped = true;
  if (event->type == EVENT_CANCELLATION_REQUESTED) {
    order->cancelling = true;
    if (event->number != 0) order->step[STEP_STOP] = STEP_REQUESTED;
  }
  if (event->type == EVENT_ORDER_CANCELLED) order->cancelled = true;
  if (event->type == EVENT_ORDER_CANCELLED || event->type == EVENT_CANCELLATION_REFUSED) {
    order->cancelling = false;
    order->step[STEP_STOP] = STEP_DONE;
  }
  if (event->type == EVENT_REFUND_REQUESTED) order->refund_minor = event->number;
  if (event->type == EVENT_REFUND_FAILED) order->step[STEP_REFUND] = STEP_DONE;
  if (event->type == EVENT_REFUND_FAILED || event->type == EVENT_REFUND_COMPLETED)
    order->refund_failed = event->type == EVENT_REFUND_FAILED;
  known = known || event->type == EVENT_ORDER_SHIPPED || event->type == EVENT_CANCELLATION_REFUSED || event->type == EVENT_REFUND_FAILED;
  REQUIRE(known && "an event type the order does not know");
}

uint64_t model_fulfilment__hash(const struct order *order, uint64_t hash) {
  uint64_t flags =
      (uint64_t)order->shipped | (uint64_t)order->cancelling << 1 | (uint64_t)order->cancelled << 2 | (uint64_t)order->refund_failed << 3;
  for (int s = 0; s < MODEL_STEP_COUNT; s++) flags |= (uint64_t)order->step[s] << (8 + 2 * s);
  return flags == 0 ? hash : sim_mix(sim_mix(hash, flags), (uint64_t)order->refund_minor);
}

/* ---- what belongs together ---- */

/* step.state=flag: only the end of a step is recorded, not that it was asked for. */
static bool records_requests(const struct sim_node *node) { return !MODEL_CHOSEN(model_design_of(node), STEP_STATE, FLAG); }

static void ask_for(struct sim_node *node, struct order_batch *batch, enum model_step step, int64_t amount_minor, int64_t payment) {
  if (records_requests(node) || step == STEP_REFUND) {
    struct order_event *event = model_order__batch_add(batch, step_event[step].requested);
    event->number = amount_minor;
    event->payment = payment;
  }
  model_order__batch_send(batch, step, amount_minor, payment);
}

static void cancelled(struct sim_node *node, const struct order *order, struct order_batch *batch, int64_t payment, int64_t refund_minor) {
  model_order__batch_add(batch, EVENT_ORDER_CANCELLED);
  if (refund_minor > 0 && order->step[STEP_REFUND] == STEP_NONE) ask_for(node, batch, STEP_REFUND, refund_minor, payment);
  ask_for(node, batch, STEP_CORRECTION, order->amount_minor, payment);
}

void model_fulfilment__payment_requested(struct sim_node *node, struct order *order, struct order_batch *batch) {
  if (!model_fulfilment__in_force(node) || !MODEL_CHOSEN(model_design_of(node), SHIP_GUARD, REQUESTED)) return;
  if (order->step[STEP_PICKLIST] == STEP_NONE) ask_for(node, batch, STEP_PICKLIST, order->amount_minor, 0);
}

void model_fulfilment__payment_ended(struct sim_node *node, struct order *order, enum model_event event, int64_t payment,
                                     struct order_batch *batch) {
  if (!model_fulfilment__in_force(node)) return;
  if (event == EVENT_PAYMENT_FAILED && order->cancelling) model_order__batch_add(batch, EVENT_ORDER_CANCELLED);
  if (event != EVENT_PAYMENT_COMPLETED) return;
  if ((order->cancelled || order->cancelling) && MODEL_CHOSEN(model_design_of(node), WEBHOOK_LATE_SUCCESS, SKIP)) return;
  if (order->cancelled) { /* a success that comes after all */
    if (order->step[STEP_REFUND] == STEP_NONE) ask_for(node, batch, STEP_REFUND, order->amount_minor, payment);
    if (order->step[STEP_CORRECTION] == STEP_NONE) ask_for(node, batch, STEP_CORRECTION, order->amount_minor, payment);
    return;
  }
  if (order->cancelling) {
    cancelled(node, order, batch, payment, order->amount_minor);
    return;
  }
  if (order->step[STEP_CONFIRMATION] == STEP_NONE) ask_for(node, batch, STEP_CONFIRMATION, order->amount_minor, payment);
  if (order->step[STEP_PICKLIST] == STEP_NONE) ask_for(node, batch, STEP_PICKLIST, order->amount_minor, payment);
}

/* ---- cancelling ---- */

static void cancel_paid(struct sim_node *node, struct order *order, struct order_batch *batch) {
  const struct model_design *design = model_design_of(node);
  if (MODEL_CHOSEN(design, ORDER_CANCEL, IGNORES_PICKLIST)) {
    cancelled(node, order, batch, order->payment, order->amount_minor);
    return;
  }
  struct order_event *event = model_order__batch_add(batch, EVENT_CANCELLATION_REQUESTED);
  event->number = 1; /* the picklist is to be stopped */
  model_order__batch_send(batch, STEP_STOP, order->amount_minor, 0);
}

static void cancel(struct sim_node *node, struct order *order, const struct sim_message *message) {
  struct order_batch batch;
  if (!order->placed) {
    model_order__not_known(node, message);
    return;
  }
  model_order__batch_begin(&batch);
  if (!order->cancelled && !order->shipped && !order->cancelling && order->step[STEP_STOP] == STEP_NONE) {
    if (payment_under_way(node, order)) {
      model_order__batch_add(&batch, EVENT_CANCELLATION_REQUESTED);
      if (MODEL_CHOSEN(model_design_of(node), REFUND_WHEN, AT_ONCE)) ask_for(node, &batch, STEP_REFUND, order->amount_minor, 0);
    } else if (order->state == STATE_COMPLETED) {
      cancel_paid(node, order, &batch);
    } else {
      model_order__batch_add(&batch, EVENT_ORDER_CANCELLED);
    }
    if (!model_order__persist(node, order, &batch)) return;
  }
  bool noted_is_done = MODEL_CHOSEN(model_design_of(node), CANCEL_REPLY, NOTED_IS_DONE);
  enum model_kind noted = noted_is_done ? KIND_ORDER_CANCELLED : KIND_CANCEL_NOTED;
  enum model_kind told = order->cancelled ? KIND_ORDER_CANCELLED : order->cancelling ? noted : KIND_CANCEL_REFUSED;
  model_order__tell_customer(node, order, told, 0, message->attempt);
}

/* The warehouse has stopped the goods; if they had been made ready, the restocking fee is kept back. */
static void picklist_stopped(struct sim_node *node, struct order *order, const struct sim_message *message) {
  struct order_batch batch;
  model_order__batch_begin(&batch);
  batch.done = STEP_STOP;
  bool news = order->cancelling && !order->cancelled;
  if (news) {
    enum step_state at_least = MODEL_CHOSEN(model_design_of(node), REFUND_AMOUNT, FEE_IF_ASKED_FOR) ? STEP_REQUESTED : STEP_DONE;
    int64_t fee_minor = order->step[STEP_PICKLIST] >= at_least ? model_shop_of(node)->config->restocking_fee_minor : 0;
    cancelled(node, order, &batch, order->payment, order->amount_minor - fee_minor);
  }
  if (!model_order__persist(node, order, &batch)) return;
  if (news) model_order__tell_customer(node, order, KIND_ORDER_CANCELLED, 0, message->attempt);
}

static void picklist_too_late(struct sim_node *node, struct order *order, const struct sim_message *message) {
  struct order_batch batch;
  model_order__batch_begin(&batch);
  batch.done = STEP_STOP;
  bool news = order->cancelling;
  if (news) model_order__batch_add(&batch, EVENT_CANCELLATION_REFUSED);
  if (!model_order__persist(node, order, &batch)) return;
  if (news) model_order__tell_customer(node, order, KIND_CANCEL_REFUSED, 0, message->attempt);
}

/* ---- results ---- */

/* The result of a step: record it once, and end the outbox's row each time. A refund that had failed may be made after all. */
static void step_done(struct sim_node *node, struct order *order, enum model_step step, enum model_event event, int64_t result) {
  struct order_batch batch;
  model_order__batch_begin(&batch);
  batch.done = step;
  bool after_all = event == EVENT_REFUND_COMPLETED && order->refund_failed;
  if ((order->step[step] != STEP_DONE || after_all) && order->placed) model_order__batch_add(&batch, event)->payment = result;
  model_order__persist(node, order, &batch);
}

/* This mail can never be made: its row is put aside, so that it blocks nobody. */
static void mail_rejected(struct sim_node *node, struct order *order, enum model_step step) {
  struct order_batch batch;
  if (MODEL_CHOSEN(model_design_of(node), OUTBOX_ORDER, HEAD_BLOCKS)) return; /* it is tried again, and again */
  model_order__batch_begin(&batch);
  batch.done = step;
  batch.parked = true;
  model_order__persist(node, order, &batch);
}

static void acknowledge_shipped(struct sim_node *node, const struct order *order, const struct sim_message *message) {
  struct sim_message ack = {.kind = KIND_SHIPPED_ACK, .attempt = message->attempt, .subject = order->id, .id = message->id};
  sim_send(node, SERVICE_WAREHOUSE, &ack, 0);
}

static void shipped(struct sim_node *node, struct order *order, const struct sim_message *message) {
  if (!order->shipped && order->placed) {
    struct order_batch batch;
    model_order__batch_begin(&batch);
    model_order__batch_add(&batch, EVENT_ORDER_SHIPPED);
    if (!order->cancelled) ask_for(node, &batch, STEP_SHIPPING, order->amount_minor, 0);
    if (!model_order__persist(node, order, &batch)) return;
  }
  acknowledge_shipped(node, order, message);
}

/* ---- overdue ---- */

static bool has_ended(const struct order *order) {
  if (order->cancelled) return order->step[STEP_REFUND] != STEP_REQUESTED && !order->refund_failed;
  return order->state == STATE_FAILED || (order->state == STATE_COMPLETED && order->shipped);
}

void model_fulfilment__watch(struct sim_node *node, struct order *order) {
  int64_t after_ns = model_shop_of(node)->config->overdue_after_ns;
  if (after_ns == 0 || !model_fulfilment__in_force(node) || !order->placed) return;
  if (has_ended(order)) {
    sim_timer_cancel(node, &order->overdue);
    return;
  }
  if (order->overdue.number != 0 || MODEL_CHOSEN(model_design_of(node), ORDER_OVERDUE, FORGOTTEN)) return;
  int64_t due_ns = order->reminder_ns - SIM_DAY + after_ns;
  struct sim_message timer = {.kind = KIND_OVERDUE, .attempt = 1, .subject = order->id, .id = sim_id_join("order:", order->id, ":overdue")};
  order->overdue = sim_timer_set(node, due_ns > model_now(node) ? due_ns - model_now(node) : 0, &timer);
}

static void overdue(struct sim_node *node, struct order *order, const struct sim_message *timer) {
  order->overdue = (struct sim_timer){0};
  if (has_ended(order)) return;
  sim_sql_begin(node);
  if (sim_sql_run(node, INSERT_ORDER_CASE, "siissi", timer->id.text, order->id, order->amount_minor, model_state_name(order->state),
                  "overdue", model_now(node)) == 1)
    model_commit(node, "case: overdue");
  else sim_sql_rollback(node);
}

void model_fulfilment__handle(struct sim_node *node, struct order *order, const struct sim_message *message) {
  enum model_step step = (enum model_step)message->value[VALUE_STEP];
  switch ((int)message->kind) {
    case KIND_OVERDUE: overdue(node, order, message); return;
    case KIND_CANCEL_ORDER: cancel(node, order, message); return;
    case KIND_EMAIL_RESULT: step_done(node, order, step, step_event[step].done, message->value[VALUE_STATUS]); return;
    case KIND_EMAIL_REJECTED: mail_rejected(node, order, step); return;
    case KIND_PICKLIST_ACCEPTED: step_done(node, order, STEP_PICKLIST, EVENT_PICKLIST_ACCEPTED, 0); return;
    case KIND_REFUND_RESULT:
      if (order->step[STEP_REFUND] == STEP_NONE) { /* asked for by a newer copy of this journal */
        model_reconciliation__wake(node);
        return;
      }
      step_done(node, order, STEP_REFUND, message->value[VALUE_STATUS] == STATE_COMPLETED ? EVENT_REFUND_COMPLETED : EVENT_REFUND_FAILED,
                message->value[VALUE_PAYMENT]);
      return;
    case KIND_PICKLIST_STOPPED: picklist_stopped(node, order, message); return;
    case KIND_PICKLIST_TOO_LATE: picklist_too_late(node, order, message); return;
    case KIND_ORDER_SHIPPED: shipped(node, order, message); return;
    default: UNREACHABLE("a message no order gets");
  }
}

/* ---- after recovery ---- */

void model_fulfilment__resume(struct sim_node *node, struct order *order) {
  const struct model_design *design = model_design_of(node);
  if (!model_fulfilment__in_force(node)) return;
  bool all = MODEL_CHOSEN(design, RESUME_SCOPE, ALL_PENDING);
  bool rerun = MODEL_CHOSEN(design, RESUME_COMPLETED, RERUN);
  for (int s = 0; s < MODEL_STEP_COUNT; s++) {
    bool pending = order->step[s] == STEP_REQUESTED && all;
    bool again = order->step[s] == STEP_DONE && rerun && s != STEP_STOP;
    bool flagged = !records_requests(node) && order->step[s] == STEP_NONE && order->state == STATE_COMPLETED && !order->cancelled &&
                   (s == STEP_CONFIRMATION || s == STEP_PICKLIST);
    if (!pending && !again && !flagged) continue;
    struct order_letter letter = {(enum model_step)s, s == STEP_REFUND ? order->refund_minor : order->amount_minor, order->payment};
    model_outbox__send(node, order->id, &letter, 1, pending);
  }
}
