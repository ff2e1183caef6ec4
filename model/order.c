/* The order service: one event-sourced actor an order. State changes only by applying events; recovery replays them
   through the same function, and only after RecoveryCompleted resumes what is pending. Numbers of lines that belong to
   a mistake (docs/designs.md) stand beside the line they spoil.

        PlaceOrder        ProcessPayment          PaymentSucceeded
     --------------> . ------------------> Pending --------------> Completed
                     NotRequested            |  \-- PaymentFailed --> Failed -- ProcessPayment, corrected card --> Pending
                                             |  \-- PaymentUnknown -> Unknown -- ResolvePayment … --> Completed | Failed | Parked
                                             \----- PaymentParked --> Parked                                                   */
#include <string.h>

#include "model/facts.h"
#include "model/order.h"
#include "sim/check.h"

enum { NOT_EXECUTED = -1 };
static const int64_t ASK_AGAIN_NS = 30 * SIM_SECOND;
static const int64_t ASK_AGAIN_MAX_NS = 6 * SIM_HOUR;

static bool several_instances(const struct sim_node *node) { return model_shop_of(node)->config->order_instances > 1; }

static struct order *in_memory(const struct sim_node *node, int64_t id) {
  const struct order_memory *memory = sim_node_memory(node);
  for (size_t i = 0; memory != NULL && i < memory->count; i++) {
    if (memory->order[i]->id == id) return memory->order[i];
  }
  return NULL;
}

static void evict(struct sim_node *node, struct order *order) {
  struct order_memory *memory = sim_node_memory(node);
  sim_timer_cancel(node, &order->ask_again);
  sim_timer_cancel(node, &order->overdue);
  for (size_t i = 0; i < memory->count; i++) {
    if (memory->order[i] != order) continue;
    memory->order[i] = memory->order[--memory->count];
    return;
  }
}

/* ---- events ---- */

static int64_t reminder_of(struct sim_node *node, const struct order_event *event) {
  const struct model_design *design = model_design_of(node);
  struct model_shop *shop = model_shop_of(node);
  const struct order_memory *memory = sim_node_memory(node);
  if (MODEL_CHOSEN(design, REPLAY_PURITY, CLOCK)) return sim_world_now(shop->world) + SIM_DAY;
  if (MODEL_CHOSEN(design, REPLAY_PURITY, RANDOM)) return event->at_ns + (int64_t)(++shop->replay_noise);
  if (MODEL_CHOSEN(design, REPLAY_PURITY, OTHER_STATE)) return event->at_ns + (int64_t)(memory ? memory->count : 0);
  return event->at_ns + SIM_DAY;
}

static uint64_t state_hash(const struct order *order) {
  uint64_t hash = sim_mix(sim_mix((uint64_t)order->state + 1, (uint64_t)order->placed), order->operation.hash);
  hash = sim_mix(sim_mix(sim_mix(hash, (uint64_t)order->number), (uint64_t)order->purchase), (uint64_t)order->amount_minor);
  hash = sim_mix(sim_mix(sim_mix(hash, (uint64_t)order->card), (uint64_t)order->payment), (uint64_t)order->reminder_ns);
  return model_fulfilment__hash(order, hash);
}

static void send_charge(struct sim_node *node, struct order *order, enum model_kind kind);

/* The one function by which state changes, live and on replay. */
static void apply(struct sim_node *node, struct order *order, const struct order_event *event, bool replaying) {
  const struct model_design *design = model_design_of(node);
  order->seq = event->seq;
  switch ((int)event->type) {
    case EVENT_ORDER_PLACED:
      order->placed = true;
      order->purchase = event->purchase;
      order->amount_minor = event->amount_minor;
      order->reminder_ns = reminder_of(node, event);
      return;
    case EVENT_PAYMENT_REQUESTED:
      order->state = STATE_PENDING;
      order->operation = event->operation;
      order->number = event->number;
      order->card = event->card;
      if (MODEL_CHOSEN(design, REPLAY_EFFECTS, IN_HANDLER)) send_charge(node, order, KIND_CHARGE_PAYMENT);
      return;
    case EVENT_PAYMENT_COMPLETED:
      order->state = STATE_COMPLETED;
      order->completed_ns = event->at_ns;
      order->payment = event->payment;
      return;
    case EVENT_PAYMENT_FAILED:
      order->state = STATE_FAILED;
      order->payment = event->payment; /* NOT_EXECUTED when it was no refusal of the card */
      return;
    case EVENT_PAYMENT_UNKNOWN:
      if (replaying && MODEL_CHOSEN(design, REPLAY_COVERAGE, FORGETS_ONE)) return;
      order->state = STATE_UNKNOWN;
      return;
    case EVENT_PAYMENT_PARKED: order->state = STATE_PARKED; return;
    default: model_fulfilment__apply(order, event); return;
  }
}

static void evict_and_stand_down(struct sim_node *node, struct order *order) {
  sim_tell(sim_node_world(node), sim_node_name(node), "is no longer the owner of order:%lld and stands down", (long long)order->id);
  evict(node, order);
}

/* Insert the event in an open transaction. Returns false when another activation was faster. */
static bool insert_event(struct sim_node *node, struct order *order, struct order_event *event) {
  const struct model_design *design = model_design_of(node);
  int64_t owner = (int64_t)sim_node_instance(node) + 1;
  if (several_instances(node) && !MODEL_CHOSEN(design, ORDER_ACTIVATION, DOUBLE)) {
    if (sim_sql_run(node, CHECK_CLAIM, "iii", order->id, owner, order->epoch) != 1) return false;
  }
  if (MODEL_CHOSEN(design, JOURNAL_SEQUENCE, NEXT_FREE)) {
    sim_sql_run(node, INSERT_EVENT_NEXT_FREE, "iisiiiiii", order->id, (int64_t)event->type, event->operation.text, event->number,
                event->purchase, event->amount_minor, event->card, event->payment, event->at_ns);
    sqlite3_stmt *last = sim_sql_query(node, READ_LAST_SEQ, "i", order->id);
    event->seq = sqlite3_column_int64(last, 0);
    sim_sql_done(last);
    return true;
  }
  return sim_sql_run(node, INSERT_EVENT, "iiisiiiiii", order->id, event->seq, (int64_t)event->type, event->operation.text, event->number,
                     event->purchase, event->amount_minor, event->card, event->payment, event->at_ns) == 1;
}

void model_order__batch_begin(struct order_batch *batch) {
  batch->event_count = batch->letter_count = 0;
  batch->done = MODEL_STEP_COUNT;
  batch->parked = false;
}

struct order_event *model_order__batch_add(struct order_batch *batch, enum model_event type) {
  ENSURE(batch->event_count < ORDER_BATCH_MAX);
  struct order_event *event = &batch->event[batch->event_count++];
  *event = (struct order_event){.type = type};
  return event;
}

void model_order__batch_send(struct order_batch *batch, enum model_step step, int64_t amount_minor, int64_t payment) {
  ENSURE(batch->letter_count < ORDER_BATCH_MAX);
  batch->letter[batch->letter_count++] = (struct order_letter){step, amount_minor, payment};
}

/* The outbox's part of a batch, inside the transaction under way. */
static void write_outbox(struct sim_node *node, const struct order *order, const struct order_batch *batch) {
  for (size_t i = 0; i < batch->letter_count; i++) model_outbox__enqueue(node, order, &batch->letter[i]);
}

static bool write_events(struct sim_node *node, struct order *order, struct order_batch *batch) {
  for (size_t i = 0; i < batch->event_count; i++) {
    struct order_event *event = &batch->event[i];
    event->seq = order->seq + 1 + (int64_t)i;
    event->at_ns = sim_world_now(sim_node_world(node));
    event->purchase = order->placed ? order->purchase : event->purchase;
    event->amount_minor = order->placed ? order->amount_minor : event->amount_minor;
    if (!insert_event(node, order, event)) return false;
  }
  if (batch->done != MODEL_STEP_COUNT) model_outbox__end(node, order, batch->done, batch->parked);
  return true;
}

static void apply_batch(struct sim_node *node, struct order *order, const struct order_batch *batch) {
  for (size_t i = 0; i < batch->event_count; i++) {
    const struct order_event *event = &batch->event[i];
    apply(node, order, event, false);
    order->checked_ns = event->at_ns; /* the time of the check, which a pause may have followed */
    model_fact_applied(node, order->id, event->seq, state_hash(order));
  }
}

static void outbox_in_its_own_transaction(struct sim_node *node, const struct order *order, const struct order_batch *batch) {
  if (batch->letter_count == 0) return;
  sim_sql_begin(node);
  write_outbox(node, order, batch);
  model_commit(node, "outbox rows");
  model_outbox__wake(node);
}

/* outbox.write=none: what would be in the outbox leaves at once, and only once. */
static void send_without_outbox(struct sim_node *node, const struct order *order, const struct order_batch *batch) {
  for (size_t i = 0; i < batch->letter_count; i++) model_outbox__send(node, order->id, &batch->letter[i], 1, false);
}

bool model_order__persist(struct sim_node *node, struct order *order, struct order_batch *batch) {
  const struct model_design *design = model_design_of(node);
  bool together = MODEL_CHOSEN(design, OUTBOX_WRITE, SAME_TRANSACTION);
  if (MODEL_CHOSEN(design, OUTBOX_WRITE, MESSAGE_THEN_STATE)) outbox_in_its_own_transaction(node, order, batch);
  sim_sql_begin(node);
  if (!write_events(node, order, batch)) {
    sim_sql_rollback(node);
    evict_and_stand_down(node, order);
    return false;
  }
  if (together) write_outbox(node, order, batch);
  model_commit(node, batch->event_count > 0 ? model_event_name(batch->event[0].type) : "outbox row done");
  int64_t seq_before = order->seq;
  apply_batch(node, order, batch);
  if (model_shop_of(node)->config->snapshot_every > 0) model_snapshot__write(node, order, seq_before);
  model_fulfilment__watch(node, order);
  if (batch->letter_count == 0) return true;
  if (together) model_outbox__wake(node);
  if (MODEL_CHOSEN(design, OUTBOX_WRITE, STATE_THEN_MESSAGE)) outbox_in_its_own_transaction(node, order, batch);
  if (MODEL_CHOSEN(design, OUTBOX_WRITE, NONE)) send_without_outbox(node, order, batch);
  return true;
}

/* ---- recovery ---- */

static struct order_event event_from_row(sqlite3_stmt *row) {
  struct order_event event = {
      .seq = sqlite3_column_int64(row, 0), .type = (enum model_event)sqlite3_column_int(row, 1), .number = sqlite3_column_int64(row, 3)};
  const char *operation = (const char *)sqlite3_column_text(row, 2);
  event.operation = sim_id_of(operation ? operation : "");
  event.purchase = sqlite3_column_int64(row, 4);
  event.amount_minor = sqlite3_column_int64(row, 5);
  event.card = sqlite3_column_int64(row, 6);
  event.payment = sqlite3_column_int64(row, 7);
  event.at_ns = sqlite3_column_int64(row, 8);
  return event;
}

/* The events behind `seq`. */
static size_t read_events(struct sim_node *node, int64_t id, int64_t seq, struct order_event *event) {
  size_t count = 0;
  sqlite3_stmt *row = sim_sql_query(node, READ_EVENTS, "ii", id, seq);
  for (bool more = row != NULL; more; more = sim_sql_next(row)) {
    if (count == MODEL_EVENTS_MAX) {
      sim_world_exhausted(sim_node_world(node), "MODEL_EVENTS_MAX");
      break;
    }
    event[count++] = event_from_row(row);
  }
  sim_sql_done(row);
  return count;
}

/* Claim the activation, so that any other one finds itself stale. */
static void claim(struct sim_node *node, struct order *order) {
  if (!several_instances(node) || MODEL_CHOSEN(model_design_of(node), ORDER_ACTIVATION, DOUBLE)) return;
  sim_sql_begin(node);
  sim_sql_run(node, CLAIM, "ii", order->id, (int64_t)sim_node_instance(node) + 1);
  model_commit(node, "activation claimed");
  sqlite3_stmt *row = sim_sql_query(node, READ_CLAIM, "i", order->id);
  order->epoch = row ? sqlite3_column_int64(row, 1) : 0;
  sim_sql_done(row);
}

static void resume(struct sim_node *node, struct order *order);

/* Make the actor: replay its events, then RecoveryCompleted, then resume. Nothing leaves before that. */
static struct order *activate(struct sim_node *node, int64_t id) {
  const struct model_design *design = model_design_of(node);
  struct model_shop *shop = model_shop_of(node);
  struct order *order = sim_arena_take(sim_world_arena(shop->world), sizeof *order);
  order->id = id;
  order->activated_ns = model_now(node);
  claim(node, order);
  struct order_memory *memory = sim_node_memory(node);
  ENSURE(memory->count < MODEL_ORDERS_MAX);
  memory->order[memory->count++] = order;
  struct order_event event[MODEL_EVENTS_MAX];
  bool from_snapshot = model_snapshot__read(node, order);
  size_t count = read_events(node, id, order->seq, event);
  if (count == 0 && !from_snapshot) return order;
  sim_tell(shop->world, sim_node_name(node), "replays %zu events of order:%lld", count, (long long)id);
  model_fact_replay_started(node, id);
  if (from_snapshot) model_fact_snapshot_used(node, id, order->seq, state_hash(order));
  bool trusted = from_snapshot && MODEL_CHOSEN(design, SNAPSHOT_USE, TRUSTED);
  for (size_t i = 0; i < count; i++) {
    if (trusted) { /* the snapshot is the state: what came after it is only counted */
      order->seq = event[i].seq;
      continue;
    }
    apply(node, order, &event[i], true);
    model_fact_replayed(node, id, event[i].seq, state_hash(order));
    if (event[i].type == EVENT_PAYMENT_REQUESTED && MODEL_CHOSEN(design, RESUME_WHEN, DURING))
      send_charge(node, order, KIND_RESOLVE_PAYMENT);
  }
  if (from_snapshot) model_fact_snapshot_used(node, id, order->seq, state_hash(order));
  model_fact_recovery_completed(node, id);
  resume(node, order);
  model_fulfilment__resume(node, order);
  model_fulfilment__watch(node, order);
  return order;
}

/* ---- payments ---- */

static void arm_ask_again(struct sim_node *node, struct order *order) {
  struct sim_message timer = {.kind = KIND_ASK_AGAIN, .subject = order->id, .id = order->operation, .attempt = order->tries};
  sim_timer_cancel(node, &order->ask_again);
  order->ask_again = sim_timer_set(node, model_back_off(ASK_AGAIN_NS, ASK_AGAIN_MAX_NS, order->tries), &timer);
}

static int64_t amount_to_send(struct sim_node *node, const struct order *order, enum model_kind kind) {
  if (!MODEL_CHOSEN(model_design_of(node), PAYMENT_PARAMS, RECOMPUTED) || kind == KIND_CHARGE_PAYMENT) return order->amount_minor;
  sqlite3_stmt *row = sim_sql_query(node, READ_PRICE, "");
  int64_t amount_minor = row ? sqlite3_column_int64(row, 0) : order->amount_minor;
  sim_sql_done(row);
  return amount_minor;
}

static void charge_inline(struct sim_node *node, struct order *order);

static void send_charge(struct sim_node *node, struct order *order, enum model_kind kind) {
  order->tries++;
  if (MODEL_CHOSEN(model_design_of(node), ORDER_EXECUTOR, INLINE)) {
    charge_inline(node, order);
    return;
  }
  struct sim_message message = {.kind = (uint16_t)kind, .attempt = order->tries, .subject = order->id, .id = order->operation};
  message.value[VALUE_PURCHASE] = order->purchase;
  message.value[VALUE_AMOUNT] = amount_to_send(node, order, kind);
  message.value[VALUE_CARD] = order->card;
  arm_ask_again(node, order);
  sim_send(node, SERVICE_PAYMENTS, &message, ASK_AGAIN_NS);
}

/* Ask for a payment under this operation number: intent first, then the command. */
static void request(struct sim_node *node, struct order *order, int64_t number, int64_t card) {
  const struct model_design *design = model_design_of(node);
  struct order_batch batch;
  model_order__batch_begin(&batch);
  struct order_event *event = model_order__batch_add(&batch, EVENT_PAYMENT_REQUESTED);
  event->number = number;
  event->card = card;
  event->operation = model_operation_id(order->id, number);
  model_fulfilment__payment_requested(node, order, &batch);
  if (!model_order__persist(node, order, &batch)) return;
  order->tries = 0;
  ((struct order_memory *)sim_node_memory(node))->rounds = 0;
  model_reconciliation__wake(node);
  if (!MODEL_CHOSEN(design, REPLAY_EFFECTS, IN_HANDLER)) send_charge(node, order, KIND_CHARGE_PAYMENT);
}

bool model_order__found(struct sim_node *node, struct order *order, const struct sim_message *line) {
  struct order_batch batch;
  model_order__batch_begin(&batch);
  struct order_event *event = model_order__batch_add(&batch, EVENT_PAYMENT_REQUESTED);
  event->number = 1;
  event->card = line->value[VALUE_CARD];
  event->operation = line->id;
  if (!model_order__persist(node, order, &batch)) return false;
  order->tries = 0;
  arm_ask_again(node, order);
  return true;
}

static void resume(struct sim_node *node, struct order *order) {
  const struct model_design *design = model_design_of(node);
  bool pending = order->state == STATE_PENDING;
  bool unfinished = pending || order->state == STATE_UNKNOWN;
  if (!unfinished) return;
  if (MODEL_CHOSEN(design, PAYMENT_RESUME, NOTHING)) return;
  if (MODEL_CHOSEN(design, PAYMENT_RESUME, PENDING_ONLY) && !pending) return;
  if (MODEL_CHOSEN(design, PAYMENT_RESUME, RECHARGE)) request(node, order, order->number + 1, order->card);
  else if (MODEL_CHOSEN(design, PAYMENT_RESUME, RESTART) || MODEL_CHOSEN(design, PAYMENT_STATE, FLAG))
    send_charge(node, order, KIND_CHARGE_PAYMENT);
  else send_charge(node, order, KIND_RESOLVE_PAYMENT);
}

/* Tell the customer how things stand. Words that a process frozen past its lease was about to say may be false by now:
   it says nothing, and the customer asks again. */
void model_order__tell_customer(struct sim_node *node, const struct order *order, enum model_kind kind, int64_t status, uint32_t attempt) {
  struct model_shop *shop = model_shop_of(node);
  if (several_instances(node) && sim_world_now(shop->world) - order->checked_ns > shop->config->lease_ns) return;
  struct sim_message message = {
      .kind = (uint16_t)kind, .attempt = attempt, .subject = order->id, .id = sim_id_join("order:", order->id, "")};
  message.value[VALUE_PURCHASE] = order->purchase;
  message.value[VALUE_AMOUNT] = order->amount_minor;
  message.value[VALUE_CARD] = order->card;
  message.value[VALUE_STATUS] = status;
  message.value[VALUE_PAYMENT] = order->payment;
  sim_send(node, SERVICE_CUSTOMERS, &message, 0);
}

void model_order__not_known(struct sim_node *node, const struct sim_message *command) {
  struct sim_message message = *command;
  message.kind = KIND_ORDER_NOT_KNOWN;
  sim_send(node, SERVICE_CUSTOMERS, &message, 0);
}

static void tell_failed(struct sim_node *node, const struct order *order, int64_t refusal, uint32_t attempt) {
  model_order__tell_customer(node, order, KIND_PAYMENT_REFUSED, refusal, attempt);
}

/* ---- commands ---- */

static void place(struct sim_node *node, struct order *order, const struct sim_message *message) {
  if (!order->placed) {
    struct order_batch batch;
    model_order__batch_begin(&batch);
    struct order_event *event = model_order__batch_add(&batch, EVENT_ORDER_PLACED);
    event->purchase = message->value[VALUE_PURCHASE];
    event->amount_minor = message->value[VALUE_AMOUNT];
    if (!model_order__persist(node, order, &batch)) return;
  }
  model_order__tell_customer(node, order, KIND_ORDER_ACCEPTED, 0, message->attempt);
}

/* payment.command_guard and payment.state spoilt: charge whatever the state says. */
static bool charges_without_guard(struct sim_node *node, struct order *order, int64_t card) {
  const struct model_design *design = model_design_of(node);
  int64_t number = card != order->card && order->number > 0 ? order->number + 1 : order->number > 0 ? order->number : 1;
  bool none = MODEL_CHOSEN(design, PAYMENT_COMMAND_GUARD, NONE);
  bool unknown = MODEL_CHOSEN(design, PAYMENT_COMMAND_GUARD, NOT_FOR_UNKNOWN) && order->state == STATE_UNKNOWN;
  bool while_unknown = MODEL_CHOSEN(design, PAYMENT_AFTER_DECLINE, NEW_WHILE_UNKNOWN) && card != order->card &&
                       (order->state == STATE_PENDING || order->state == STATE_UNKNOWN);
  bool same_key = MODEL_CHOSEN(design, PAYMENT_AFTER_DECLINE, SAME_KEY) && card != order->card && order->state == STATE_FAILED;
  if (same_key) {
    request(node, order, order->number, card);
    return true;
  }
  if (none || unknown || while_unknown) {
    request(node, order, number, card);
    return true;
  }
  if (MODEL_CHOSEN(design, PAYMENT_STATE, FLAG) && (order->state == STATE_PENDING || order->state == STATE_UNKNOWN)) {
    send_charge(node, order, KIND_CHARGE_PAYMENT);
    return true;
  }
  return false;
}

static void process_payment(struct sim_node *node, struct order *order, const struct sim_message *message) {
  int64_t card = message->value[VALUE_CARD];
  if (!order->placed) { /* lost with the newer copy of the database */
    model_order__not_known(node, message);
    return;
  }
  if (order->cancelled && !MODEL_CHOSEN(model_design_of(node), CANCEL_GUARD, NONE)) {
    model_order__tell_customer(node, order, KIND_ORDER_CANCELLED, 0, message->attempt);
    return;
  }
  if (charges_without_guard(node, order, card)) return;
  switch (order->state) {
    case STATE_NOT_REQUESTED: request(node, order, 1, card); return;
    case STATE_FAILED:
      if (card > order->card) request(node, order, order->number + 1, card);
      else if (card == order->card)
        tell_failed(node, order, order->payment == NOT_EXECUTED ? REFUSAL_FAILED : REFUSAL_DECLINED, message->attempt);
      return;
    case STATE_PENDING:
    case STATE_UNKNOWN:
    case STATE_PARKED: model_order__tell_customer(node, order, KIND_PAYMENT_PENDING, order->state, message->attempt); return;
    case STATE_COMPLETED: model_order__tell_customer(node, order, KIND_PAYMENT_ALREADY_COMPLETED, 0, message->attempt); return;
    case MODEL_STATE_COUNT: UNREACHABLE("no such state");
  }
}

static void acknowledge(struct sim_node *node, const struct order *order, const struct sim_message *message) {
  static const enum model_state state_of_kind[] = {STATE_COMPLETED, STATE_FAILED, STATE_UNKNOWN, STATE_PARKED};
  struct sim_message ack = {.kind = KIND_ACK, .attempt = message->attempt, .subject = order->id, .id = message->id};
  ack.value[VALUE_STATUS] = state_of_kind[message->kind - KIND_PAYMENT_SUCCEEDED];
  sim_send(node, SERVICE_PAYMENTS, &ack, 0);
}

/* Does the result move this order on? It must be about its present operation, and that must not have ended. */
static enum model_event event_for(const struct order *order, const struct sim_message *message) {
  bool current = sim_id_same(&order->operation, &message->id);
  bool undecided = order->state == STATE_PENDING || order->state == STATE_UNKNOWN || order->state == STATE_PARKED;
  switch ((int)message->kind) {
    case KIND_PAYMENT_SUCCEEDED:
      return order->state != STATE_COMPLETED && order->state != STATE_NOT_REQUESTED && (current || order->state == STATE_FAILED)
                 ? EVENT_PAYMENT_COMPLETED
                 : EVENT_NONE;
    case KIND_PAYMENT_FAILED: return current && undecided ? EVENT_PAYMENT_FAILED : EVENT_NONE;
    case KIND_PAYMENT_UNKNOWN: return current && order->state == STATE_PENDING ? EVENT_PAYMENT_UNKNOWN : EVENT_NONE;
    case KIND_PAYMENT_PARKED:
      return current && (order->state == STATE_PENDING || order->state == STATE_UNKNOWN) ? EVENT_PAYMENT_PARKED : EVENT_NONE;
    default: return EVENT_NONE;
  }
}

static void tell_result(struct sim_node *node, const struct order *order, enum model_event event, const struct sim_message *message) {
  if (event == EVENT_PAYMENT_COMPLETED) model_order__tell_customer(node, order, KIND_ORDER_PAID, 0, message->attempt);
  else if (event == EVENT_PAYMENT_FAILED) tell_failed(node, order, message->value[VALUE_STATUS], message->attempt);
  else model_order__tell_customer(node, order, KIND_PAYMENT_PENDING, order->state, message->attempt);
}

static void payment_result(struct sim_node *node, struct order *order, const struct sim_message *message) {
  const struct model_design *design = model_design_of(node);
  enum model_event event = event_for(order, message);
  bool first_time_only = MODEL_CHOSEN(design, COMPLETION_ACK, FIRST_TIME_ONLY);
  bool unexplained =
      message->kind == KIND_PAYMENT_SUCCEEDED && (order->state != STATE_COMPLETED || order->payment != message->value[VALUE_PAYMENT]);
  if (event == EVENT_NONE) {
    if (unexplained) model_reconciliation__wake(node);
    if (!first_time_only) acknowledge(node, order, message);
    return;
  }
  bool early = MODEL_CHOSEN(design, COMPLETION_ACK, BEFORE_PERSIST);
  if (early) acknowledge(node, order, message);
  int64_t payment = event == EVENT_PAYMENT_COMPLETED                                                  ? message->value[VALUE_PAYMENT]
                    : event == EVENT_PAYMENT_FAILED && message->value[VALUE_STATUS] == REFUSAL_FAILED ? NOT_EXECUTED
                                                                                                      : 0;
  struct order_batch batch;
  model_order__batch_begin(&batch);
  struct order_event *row = model_order__batch_add(&batch, event);
  row->operation = order->operation;
  row->number = order->number;
  row->card = order->card;
  row->payment = payment;
  model_fulfilment__payment_ended(node, order, event, payment, &batch);
  if (!model_order__persist(node, order, &batch)) return;
  if (event != EVENT_PAYMENT_UNKNOWN) sim_timer_cancel(node, &order->ask_again);
  if (!early) acknowledge(node, order, message);
  tell_result(node, order, event, message);
}

/* order.executor=inline: the order itself calls the gateway, and waits for as long as it takes; all its other messages wait
   with it. */
static void charge_inline(struct sim_node *node, struct order *order) {
  static const int64_t as_long_as_it_takes_ns = 40 * SIM_DAY;
  struct sim_message answer;
  struct sim_message request = {.kind = KIND_CHARGE, .attempt = order->tries, .subject = order->id, .id = order->operation};
  request.value[VALUE_PURCHASE] = order->purchase;
  request.value[VALUE_AMOUNT] = order->amount_minor;
  request.value[VALUE_CARD] = order->card;
  memcpy(&request.value[VALUE_OPERATION], &order->operation.hash, sizeof order->operation.hash);
  bool answered = sim_call(node, SERVICE_GATEWAY, &request, as_long_as_it_takes_ns, &answer) == SIM_CALL_ANSWERED;
  enum model_gateway_status status = answered ? (enum model_gateway_status)answer.value[VALUE_STATUS] : GATEWAY_ERROR;
  enum model_kind kind = status == GATEWAY_OK         ? KIND_PAYMENT_SUCCEEDED
                         : status == GATEWAY_DECLINED ? KIND_PAYMENT_FAILED
                                                      : KIND_PAYMENT_UNKNOWN;
  struct sim_message result = {.kind = (uint16_t)kind, .attempt = 1, .subject = order->id, .id = order->operation};
  result.value[VALUE_STATUS] = REFUSAL_DECLINED;
  result.value[VALUE_PAYMENT] = answered ? answer.value[VALUE_PAYMENT] : 0;
  if (kind == KIND_PAYMENT_UNKNOWN) arm_ask_again(node, order);
  payment_result(node, order, &result);
}

/* webhook.race=own_path: what a notice says is written down beside the order, not by it: its journal is looked at, and if
   nobody has completed the payment, this does. */
static void confirm_beside(struct sim_node *node, const struct sim_message *confirmed) {
  struct order_event event[MODEL_EVENTS_MAX];
  int64_t id = -confirmed->subject - MODEL_BESIDE_SUBJECT;
  size_t count = read_events(node, id, 0, event);
  struct order order = {.id = id, .placed = true};
  for (size_t i = 0; i < count; i++) {
    if (event[i].type == EVENT_PAYMENT_COMPLETED) return;
    apply(node, &order, &event[i], true);
  }
  if (count == 0) return;
  sim_sql_looked(node, "journal looked at");
  struct order_batch batch;
  model_order__batch_begin(&batch);
  struct order_event *row = model_order__batch_add(&batch, EVENT_PAYMENT_COMPLETED);
  row->operation = order.operation;
  row->number = order.number;
  row->card = order.card;
  row->payment = confirmed->value[VALUE_PAYMENT];
  model_order__batch_send(&batch, STEP_CONFIRMATION, order.amount_minor, row->payment);
  model_order__batch_send(&batch, STEP_PICKLIST, order.amount_minor, row->payment);
  sim_sql_begin(node);
  if (!write_events(node, &order, &batch)) {
    sim_sql_rollback(node);
    return;
  }
  write_outbox(node, &order, &batch);
  model_commit(node, "confirmed by notice");
  model_outbox__wake(node);
}

static void ask_again(struct sim_node *node, struct order *order, const struct sim_message *message) {
  bool unfinished = order->state == STATE_PENDING || order->state == STATE_UNKNOWN;
  if (!unfinished || !sim_id_same(&order->operation, &message->id)) return;
  send_charge(node, order, MODEL_CHOSEN(model_design_of(node), PAYMENT_STATE, FLAG) ? KIND_CHARGE_PAYMENT : KIND_RESOLVE_PAYMENT);
}

static void price_changed(struct sim_node *node, const struct sim_message *message) {
  sim_sql_begin(node);
  sim_sql_run(node, WRITE_PRICE, "i", message->value[VALUE_AMOUNT]);
  model_commit(node, "price changed");
}

/* The live activation for a message; a stale one is replaced by a fresh one first. A timer of a stale one is no reason to
   take the order back: NULL. */
static struct order *activation_for(struct sim_node *node, int64_t id, bool timer) {
  struct order *order = in_memory(node, id);
  if (timer && order == NULL) return NULL;
  bool checks = several_instances(node) && !MODEL_CHOSEN(model_design_of(node), ORDER_ACTIVATION, DOUBLE);
  if (order != NULL && checks) {
    sqlite3_stmt *row = sim_sql_query(node, READ_CLAIM, "i", id);
    bool mine =
        row != NULL && sqlite3_column_int64(row, 0) == (int64_t)sim_node_instance(node) + 1 && sqlite3_column_int64(row, 1) == order->epoch;
    sim_sql_done(row);
    if (!mine) {
      evict_and_stand_down(node, order);
      if (timer) return NULL;
      order = NULL;
    }
  }
  if (order == NULL) order = activate(node, id);
  order->checked_ns = sim_world_now(sim_node_world(node));
  return order;
}

static bool is_timer(enum model_kind kind) { return kind == KIND_ASK_AGAIN || kind == KIND_STATEMENT_ENDED || kind == KIND_OVERDUE; }

void model_order_handle(struct sim_node *node, const struct sim_message *message) {
  if (message->kind == KIND_PRICE_CHANGED) {
    price_changed(node, message);
    return;
  }
  if (message->kind == KIND_DISPATCH) {
    model_outbox__dispatch(node);
    return;
  }
  if (message->kind == KIND_RECONCILE_SOON) {
    model_reconciliation__wake(node);
    return;
  }
  if (message->kind == KIND_RECONCILE) {
    model_reconciliation__run(node);
    return;
  }
  if (message->kind == KIND_CONFIRMED_BESIDE) {
    confirm_beside(node, message);
    return;
  }
  if (message->kind == KIND_STATED_NOTED) {
    model_reconciliation__noted(node, message);
    return;
  }
  struct order *order = activation_for(node, message->subject, is_timer((enum model_kind)message->kind));
  if (order == NULL) return;
  switch ((int)message->kind) {
    case KIND_PLACE_ORDER: place(node, order, message); return;
    case KIND_PROCESS_PAYMENT: process_payment(node, order, message); return;
    case KIND_PAYMENT_SUCCEEDED:
    case KIND_PAYMENT_FAILED:
    case KIND_PAYMENT_UNKNOWN:
    case KIND_PAYMENT_PARKED: payment_result(node, order, message); return;
    case KIND_CHARGE_STATED: model_reconciliation__charge(node, order, message); return;
    case KIND_REFUND_STATED: model_reconciliation__refund(node, order, message); return;
    case KIND_STATEMENT_ENDED: model_reconciliation__ended(node, order, message); return;
    case KIND_ASK_AGAIN: ask_again(node, order, message); return;
    default: model_fulfilment__handle(node, order, message); return;
  }
}

void model_order_start(struct sim_node *node) {
  struct model_shop *shop = model_shop_of(node);
  sim_node_set_memory(node, sim_arena_take(sim_world_arena(shop->world), sizeof(struct order_memory)));
  int64_t id[MODEL_ORDERS_MAX];
  size_t count = 0;
  model_sync_before_recovery(node, ORDER_BOOT);
  sqlite3_stmt *row = sim_sql_query(node, READ_ORDERS, "");
  for (bool more = row != NULL; more; more = sim_sql_next(row)) {
    ENSURE(count < MODEL_ORDERS_MAX);
    id[count++] = sqlite3_column_int64(row, 0);
  }
  sim_sql_done(row);
  for (size_t i = 0; i < count; i++) {
    if (in_memory(node, id[i]) == NULL) activate(node, id[i]);
  }
  if (model_fulfilment__in_force(node)) model_outbox__wake(node);
  if (sim_node_life(node) > 1) model_reconciliation__wake(node);
}
