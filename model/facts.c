/* Observation: from sim's observer and the gateway's ledger into facts, and from facts to the checks that judge them. */
#include "model/facts.h"
#include "model/registration/registration.h"

#include <stdlib.h>
#include <string.h>

#include "sim/check.h"

const struct sim_invariant model_invariants[MODEL_INVARIANT_COUNT] = {
#define INVARIANT(id, name, kind, sentence, danger, remedy) {name, SIM_##kind, sentence, danger, remedy},
#include "model/invariants/invariants.def"
#undef INVARIANT
};

bool model_invariant_judged(enum model_workflow workflow, int invariant) {
#define BIT(id) UINT64_C(1) << INVARIANT_##id
  static const uint64_t not_of_registrations = BIT(REPLAY_IS_PURE) | BIT(REPLAY_EQUALS_LIVE) | BIT(TERMINAL_IS_STICKY) |
                                               BIT(SNAPSHOT_EQUALS_REPLAY) | BIT(EMAIL_AT_MOST_ONCE) | BIT(EMAIL_TELLS_TRUTH) |
                                               BIT(EMAIL_AT_LEAST_ONCE) | BIT(PICKLIST_AT_MOST_ONCE) | BIT(PICKLIST_MATCHES_ORDER) |
                                               BIT(PICKLIST_AT_LEAST_ONCE) | BIT(SHIPPED_IMPLIES_PAID) | BIT(REFUND_MATCHES_CANCELLATION) |
                                               BIT(OUTBOX_IS_PROMPT) | BIT(OVERDUE_IS_ALERTED);
#undef BIT
  if (workflow == MODEL_WORKFLOW_PAYMENT) return invariant < INVARIANT_TERMINAL_IS_STICKY;
  if (workflow == MODEL_WORKFLOW_ORDER) return invariant < INVARIANT_ACCOUNT_AT_MOST_ONCE;
  return (not_of_registrations >> invariant & 1) == 0;
}

int model_invariant_find(const char *name) {
  for (int i = 0; i < MODEL_INVARIANT_COUNT; i++) {
    if (strcmp(model_invariants[i].name, name) == 0) return i;
  }
  return -1;
}

static struct model_facts *facts_of(struct model_shop *shop) { return shop->facts; }

struct model_facts *model_facts_create(void) {
  struct model_facts *facts = calloc(1, sizeof *facts);
  ENSURE(facts != NULL);
  return facts;
}

void model_facts_begin(struct model_shop *shop) {
  struct model_facts *facts = shop->facts;
  facts->order_count = facts->operation_count = 0; /* slots are cleared as they are taken */
  memset(facts->purchase, 0, sizeof facts->purchase);
  memset(facts->replaying, 0, sizeof facts->replaying);
  facts->price_changed = facts->trouble = false;
  facts->restores_before = sim_world_counters(shop->world)->restores;
  facts->orders_disturbed_ns = -1;
}

struct model_order_fact *model_order_fact(struct model_shop *shop, int64_t order) {
  struct model_facts *facts = facts_of(shop);
  for (size_t i = 0; i < facts->order_count; i++) {
    if (facts->order[i].order == order) return &facts->order[i];
  }
  ENSURE(facts->order_count < MODEL_ORDERS_MAX);
  struct model_order_fact *fact = &facts->order[facts->order_count++];
  memset(fact, 0, sizeof *fact);
  fact->order = order;
  return fact;
}

struct model_operation_fact *model_operation_fact(struct model_shop *shop, uint64_t id) {
  struct model_facts *facts = facts_of(shop);
  for (size_t i = 0; i < facts->operation_count; i++) {
    if (facts->operation[i].id == id) return &facts->operation[i];
  }
  return NULL;
}

bool model_fact_charged_once(const struct model_shop *shop, int64_t order) {
  for (size_t i = 0; i < shop->gateway.charge_count; i++) {
    if (shop->gateway.ledger[i].order == order) return true;
  }
  return false;
}

bool model_fact_restored(const struct model_shop *shop) { return sim_world_counters(shop->world)->restores > shop->facts->restores_before; }

bool model_request_may_land(const struct model_shop *shop, const struct model_order_fact *fact) {
  int64_t final_after_ns = shop->config->request_lifetime_ns + MODEL_GATEWAY_PROCESSING_MAX_NS;
  return sim_world_now(shop->world) - fact->open_since_ns < final_after_ns;
}

/* ---- the environment ---- */

static bool of_registrations(const struct model_shop *shop) { return shop->config->workflow == MODEL_WORKFLOW_REGISTRATION; }

void model_fact_wanted(struct model_shop *shop, int64_t purchase, int64_t order, int64_t amount_minor) {
  struct model_order_fact *fact = model_order_fact(shop, order);
  fact->purchase = purchase;
  fact->amount_minor = amount_minor;
  facts_of(shop)->purchase[purchase].wanted = true;
}

void model_fact_declined(struct model_shop *shop, int64_t order, int64_t card) {
  if (of_registrations(shop)) {
    saga_fact_declined(shop, order, card);
    return;
  }
  if (card >= 1 && card <= MODEL_CARDS_MAX) model_order_fact(shop, order)->by_card[card].gateway_declined = true;
}

void model_fact_price_changed(struct model_shop *shop) { facts_of(shop)->price_changed = true; }

void model_fact_charged(struct model_shop *shop, const struct model_charge *charge) {
  if (of_registrations(shop)) {
    saga_fact_charged(shop, charge);
    return;
  }
  model_check_charge(shop, charge);
  model_check_amount(shop, charge);
}

void model_fact_mailed(struct model_shop *shop, const struct model_mail_sent *sent) {
  model_order_fact(shop, sent->order)->mails[sent->step]++;
  model_check_mail(shop, sent);
}

void model_fact_collected(struct model_shop *shop, const struct model_parcel *parcel) {
  model_order_fact(shop, parcel->order)->parcels++;
  model_check_parcel(shop, parcel);
}

void model_fact_refunded(struct model_shop *shop, const struct model_refund *refund) {
  if (of_registrations(shop)) {
    saga_fact_refunded(shop, refund);
    return;
  }
  model_order_fact(shop, refund->order)->refunds++;
  model_check_refund(shop, refund);
}

void model_fact_reversed(struct model_shop *shop, const struct model_charge *charge) {
  if (of_registrations(shop)) {
    saga_fact_reversed(shop, charge);
    return;
  }
  struct model_purchase_fact *purchase = &shop->facts->purchase[charge->purchase];
  purchase->charges--;
  for (size_t i = shop->gateway.charge_count; i > 0; i--) {
    const struct model_charge *other = &shop->gateway.ledger[i - 1];
    if (other->purchase == charge->purchase && !other->refunded) purchase->first_charge = other->id;
  }
}

bool model_fact_parked(const struct model_shop *shop, size_t service, size_t table, int64_t order, enum model_step step) {
  for (size_t i = 0; i < sim_durable_count(shop->world, service, table); i++) {
    const struct sim_row *row = sim_durable_row(shop->world, service, table, i);
    if (row->cell[EFFECT_ORDER].number == order && row->cell[EFFECT_STEP].number == (int64_t)step &&
        row->cell[EFFECT_STATUS].number == STATE_PARKED)
      return true;
  }
  return false;
}

/* ---- durable rows ---- */

static int64_t cell(const struct sim_row *row, int column) { return row->cell[column].number; }

static uint64_t cell_hash(const struct sim_row *row, int column) {
  uint64_t hash;
  memcpy(&hash, &row->cell[column].number, sizeof hash);
  return row->cell[column].text == NULL || row->cell[column].text[0] == '\0' ? 0 : hash;
}

static enum model_state state_after(enum model_event event) {
  static const enum model_state state[] = {
      STATE_NOT_REQUESTED,
#define EVENT(id, name, state) STATE_##state,
#include "model/events.def"
#undef EVENT
  };
  return state[event];
}

/* What a durable event says about fulfilment. */
static void take_fulfilment(struct model_order_fact *fact, enum model_event event, const struct sim_row *row) {
  switch ((int)event) {
    case EVENT_PAYMENT_COMPLETED:
      fact->mail_owed[STEP_CONFIRMATION] = !fact->cancelled && !fact->cancel_noted;
      fact->mail_owed[STEP_CORRECTION] = fact->cancelled;
      return;
    case EVENT_CANCELLATION_REQUESTED:
      fact->cancelling = true;
      fact->cancel_noted = cell(row, EVENT_NUMBER) == 0;
      return;
    case EVENT_PICKLIST_ACCEPTED: fact->made_ready = true; return;
    case EVENT_CANCELLATION_REFUSED: fact->cancelling = false; return;
    case EVENT_ORDER_CANCELLED:
      fact->cancelling = false;
      fact->cancelled = true;
      fact->mail_owed[STEP_CORRECTION] = fact->state == STATE_COMPLETED;
      return;
    case EVENT_ORDER_SHIPPED:
      fact->shipped = true;
      fact->mail_owed[STEP_SHIPPING] = !fact->cancelled;
      return;
    case EVENT_REFUND_REQUESTED: fact->refund_minor = cell(row, EVENT_NUMBER); return;
    case EVENT_REFUND_COMPLETED:
      fact->refunded_minor = fact->refund_minor;
      fact->refund_failed = false;
      return;
    case EVENT_REFUND_FAILED: fact->refund_failed = true; return;
    default: return;
  }
}

/* Take an event row into the order's facts; `judge` is false when facts are only rebuilt. */
static void take_event(struct model_shop *shop, const struct sim_row *row, bool judge) {
  struct model_order_fact *fact = model_order_fact(shop, cell(row, EVENT_ORDER));
  enum model_event event = (enum model_event)cell(row, EVENT_TYPE);
  if (judge) {
    shop->move_count[fact->state][event]++;
    fact->settled_ns = cell(row, EVENT_AT);
    if (event == EVENT_ORDER_PLACED) fact->placed_ns = fact->settled_ns;
    model_check_transition(shop, fact, event);
  }
  take_fulfilment(fact, event, row);
  if (judge && event == EVENT_REFUND_REQUESTED) model_check_refund_requested(shop, fact);
  if (event != EVENT_ORDER_PLACED && state_after(event) != STATE_KEPT) fact->state = state_after(event);
  if (event == EVENT_ORDER_PLACED) fact->placed = true;
  if (event == EVENT_PAYMENT_REQUESTED) {
    fact->requested = true;
    fact->operation = cell_hash(row, EVENT_OPERATION);
    fact->card = cell(row, EVENT_CARD);
    fact->payment = 0;
  }
  if (event == EVENT_PAYMENT_COMPLETED) {
    fact->payment = cell(row, EVENT_PAYMENT);
    if (judge) model_check_completed(shop, "orders", fact->order, fact->payment, cell_hash(row, EVENT_OPERATION));
  }
  if (event == EVENT_PAYMENT_FAILED) {
    if (judge) model_check_unknown_failed(shop, "orders", fact);
    if (fact->card >= 1 && fact->card <= MODEL_CARDS_MAX) {
      fact->by_card[fact->card].ended = true;
      if (cell(row, EVENT_PAYMENT) == 0) fact->by_card[fact->card].declined = true;
    }
  }
}

static void rebuild_order(struct model_shop *shop, int64_t order) {
  struct model_order_fact *fact = model_order_fact(shop, order);
  fact->placed = fact->requested = false;
  fact->state = STATE_NOT_REQUESTED;
  fact->operation = 0;
  fact->cancelling = fact->cancel_noted = fact->cancelled = fact->shipped = fact->made_ready = fact->refund_failed = false;
  fact->refund_minor = fact->refunded_minor = 0;
  memset(fact->mail_owed, 0, sizeof fact->mail_owed);
  for (size_t c = 0; c <= MODEL_CARDS_MAX; c++) fact->by_card[c].declined = fact->by_card[c].ended = false;
  for (int64_t seq = 1; seq < MODEL_EVENTS_MAX; seq++) {
    for (size_t i = 0; i < sim_durable_count(shop->world, SERVICE_ORDERS, TABLE_EVENTS); i++) {
      const struct sim_row *row = sim_durable_row(shop->world, SERVICE_ORDERS, TABLE_EVENTS, i);
      if (cell(row, EVENT_ORDER) == order && cell(row, EVENT_SEQ) == seq) take_event(shop, row, false);
    }
  }
  for (size_t i = 0; i < shop->facts->operation_count; i++) {
    const struct model_operation_fact *operation = &shop->facts->operation[i];
    if (!operation->durable || operation->order != order || operation->status != STATE_FAILED) continue;
    if (operation->card < 1 || operation->card > MODEL_CARDS_MAX) continue;
    fact->by_card[operation->card].ended = true;
    if (operation->declined) fact->by_card[operation->card].declined = true;
  }
}

static void observe_event(struct model_shop *shop, enum sim_change change, const struct sim_row *row) {
  if (change == SIM_ROW_INSERTED) {
    take_event(shop, row, true);
    return;
  }
  int64_t seq = cell(row, EVENT_SEQ);
  struct model_order_fact *fact = model_order_fact(shop, cell(row, EVENT_ORDER));
  if (seq >= 0 && seq < MODEL_EVENTS_MAX) fact->live_hash[seq] = 0;
  rebuild_order(shop, fact->order);
}

static void observe_operation(struct model_shop *shop, enum sim_change change, const struct sim_row *row) {
  struct model_facts *facts = facts_of(shop);
  uint64_t id = cell_hash(row, OPERATION_ID);
  struct model_operation_fact *fact = model_operation_fact(shop, id);
  if (change == SIM_ROW_DELETED) {
    if (fact != NULL) fact->durable = false;
    if (fact != NULL) rebuild_order(shop, fact->order);
    return;
  }
  if (fact == NULL) {
    if (facts->operation_count == MODEL_OPERATIONS_MAX) {
      sim_world_exhausted(shop->world, "MODEL_OPERATIONS_MAX");
      return;
    }
    fact = &facts->operation[facts->operation_count++];
    memset(fact, 0, sizeof *fact);
    fact->id = id;
    strncpy(fact->text, row->cell[OPERATION_ID].text, sizeof fact->text - 1);
  }
  enum model_state before = fact->durable ? fact->status : STATE_NOT_REQUESTED;
  fact->durable = true;
  fact->order = cell(row, OPERATION_ORDER);
  fact->card = cell(row, OPERATION_CARD);
  fact->amount_minor = cell(row, OPERATION_AMOUNT);
  fact->payment = cell(row, OPERATION_PAYMENT);
  fact->status = (enum model_state)cell(row, OPERATION_STATUS);
  fact->attempts = cell(row, OPERATION_ATTEMPTS);
  fact->asks = cell(row, OPERATION_ASKS);
  fact->created_ns = cell(row, OPERATION_CREATED);
  const char *last_error = row->cell[OPERATION_LAST_ERROR].text;
  fact->declined = fact->status == STATE_FAILED && last_error != NULL && strcmp(last_error, "declined") == 0;
  if (fact->status == before) return;
  if (change == SIM_ROW_UPDATED && !sim_durable_settling(shop->world)) model_check_sticky(shop, fact, before);
  struct model_order_fact *order = model_order_fact(shop, fact->order);
  if (fact->status == STATE_COMPLETED) model_check_completed(shop, "payments", fact->order, fact->payment, id);
  if (fact->status == STATE_FAILED) {
    model_check_unknown_failed(shop, "payments", order);
    const char *error = row->cell[OPERATION_LAST_ERROR].text;
    if (fact->card >= 1 && fact->card <= MODEL_CARDS_MAX) {
      order->by_card[fact->card].ended = true;
      if (error != NULL && strcmp(error, "declined") == 0) order->by_card[fact->card].declined = true;
    }
  }
  if (fact->status == STATE_COMPLETED || fact->status == STATE_FAILED) order->definite_mask = 0;
}

static void on_row(struct sim_world *world, size_t service, size_t table, enum sim_change change, const struct sim_row *row) {
  struct model_shop *shop = sim_world_model(world);
  if (service == SERVICE_ORDERS && table == TABLE_EVENTS) observe_event(shop, change, row);
  if (service == SERVICE_PAYMENTS && table == TABLE_OPERATIONS) observe_operation(shop, change, row);
  if (service == SERVICE_ORDERS && table == TABLE_OUTBOX) {
    sim_danger(world, INVARIANT_OUTBOX_DRAINS);
    if (change == SIM_ROW_INSERTED) model_check_letter_waits(shop, row);
  }
}

/* ---- what leaves, what comes back ---- */

static void on_leaves(struct sim_node *node, const struct sim_message *message) {
  struct model_shop *shop = model_shop_of(node);
  if (message->call != NULL) shop->call_count++;
  model_check_replay_leaves(node, message);
  switch ((int)message->kind) {
    case KIND_CHARGE: {
      model_check_intent_leaves(node, message);
      model_check_declined_leaves(node, message);
      model_check_unknown_leaves(node, message);
      model_check_operation_id(node, message); /* after it: this one remembers the reference */
      struct model_order_fact *fact = model_order_fact(shop, message->subject);
      fact->open = true;
      fact->open_since_ns = sim_world_now(shop->world);
      memcpy(&fact->open_operation, &message->value[VALUE_OPERATION], sizeof fact->open_operation);
      fact->definite_mask = 0;
      fact->reopened = false;
      return;
    }
    case KIND_LOOK_UP: model_check_polling(node, message); return;
    case KIND_SEND_EMAIL:
    case KIND_SEND_PICKLIST:
    case KIND_STOP_PICKLIST:
    case KIND_REFUND_PAYMENT: model_check_letter_leaves(node, message); return;
    case KIND_ORDER_CANCELLED:
    case KIND_CANCEL_REFUSED: model_check_cancel_reply(node, message); return;
    case KIND_NOTICE_ACK: model_check_notice_acked(node, message); return;
    case KIND_DELIVER_MAIL: model_check_mail_leaves(node, message); return;
    case KIND_MAKE_REFUND: model_check_refund_leaves(node, message); return;
    case KIND_PICKLIST_ACCEPTED: model_check_picklist_accepted(node, message); return;
    case KIND_ACK:
    case KIND_ORDER_ACCEPTED: model_check_ack(node, message); return;
    case KIND_ORDER_PAID:
    case KIND_PAYMENT_REFUSED:
    case KIND_PAYMENT_PENDING:
    case KIND_PAYMENT_ALREADY_COMPLETED: model_check_reply(node, message); return;
    default: return;
  }
}

/* Which of the customer's cards a request is about; 0 for none that the facts follow. */
static size_t card_of(const struct sim_message *request) {
  int64_t card = request->value[VALUE_CARD];
  return card >= 1 && card <= MODEL_CARDS_MAX ? (size_t)card : 0;
}

/* Is the gateway's "failed" its last word, so long after the request? */
static bool failed_is_final(const struct model_shop *shop, int64_t age_ns) {
  return age_ns >= shop->config->gateway.failed_final_after_ns;
}

static bool is_definite(const struct model_shop *shop, const struct model_order_fact *fact, const struct sim_message *request,
                        const struct sim_message *answer) {
  switch ((enum model_gateway_status)answer->value[VALUE_STATUS]) {
    case GATEWAY_OK: return true;
    case GATEWAY_DECLINED: return request->kind != KIND_LOOK_UP || failed_is_final(shop, request->sent_ns - fact->open_since_ns);
    case GATEWAY_DUPLICATE: return answer->value[VALUE_PAYMENT] != 0;
    case GATEWAY_NOT_FOUND: /* worth something only about the reference that the charge left under */
      if (fact->by_card[card_of(request)].reference != request->id.hash) return false;
      return request->sent_ns - fact->open_since_ns >=
             shop->config->request_lifetime_ns + shop->config->gateway.look_up_lag_ns + MODEL_GATEWAY_PROCESSING_MAX_NS;
    case GATEWAY_REFUSED:
    case GATEWAY_ERROR:
    case GATEWAY_IN_FLIGHT:
    case GATEWAY_UNSUPPORTED: return false;
  }
  return false;
}

/* This process knows how the operation ended; is that durable, too? */
static void learn(struct model_shop *shop, const struct sim_node *node, struct model_order_fact *fact, uint64_t id) {
  if (id != fact->open_operation) return; /* late news of an operation before the last */
  const struct model_operation_fact *operation = model_operation_fact(shop, id);
  bool durable = operation != NULL && operation->durable && (operation->status == STATE_COMPLETED || operation->status == STATE_FAILED);
  fact->open = false;
  fact->definite_mask = durable ? 0 : fact->definite_mask | 1U << sim_node_instance(node);
}

static void on_answered(struct sim_node *node, const struct sim_message *request, const struct sim_message *answer) {
  struct model_shop *shop = model_shop_of(node);
  if (request->kind != KIND_CHARGE && request->kind != KIND_LOOK_UP && request->kind != KIND_REVERSE) return;
  struct model_order_fact *fact = model_order_fact(shop, request->subject);
  int64_t card = request->value[VALUE_CARD];
  if (answer != NULL && answer->value[VALUE_STATUS] == GATEWAY_DECLINED && card >= 1 && card <= MODEL_CARDS_MAX) {
    fact->by_card[card].declined_lives[sim_node_instance(node)] = sim_node_life(node);
    sim_danger(shop->world, INVARIANT_DECLINED_NOT_RETRIED);
  }
  uint64_t id;
  memcpy(&id, &request->value[VALUE_OPERATION], sizeof id);
  if (answer != NULL && is_definite(shop, fact, request, answer)) {
    learn(shop, node, fact, id);
    return;
  }
  sim_danger(shop->world, INVARIANT_UNKNOWN_IS_NOT_FAILED);
  sim_danger(shop->world, INVARIANT_PARKS_ONLY_IF_UNDECIDABLE);
}

static void notice_delivered(struct model_shop *shop, const struct sim_node *node, const struct sim_message *notice) {
  struct model_order_fact *fact = model_order_fact(shop, notice->subject);
  const struct model_operation_fact *operation = model_operation_fact(shop, fact->open_operation);
  if (operation != NULL && (operation->status == STATE_COMPLETED || operation->status == STATE_FAILED))
    sim_danger(shop->world, INVARIANT_TERMINAL_IS_STICKY);
  bool declined = notice->value[VALUE_STATUS] == GATEWAY_DECLINED;
  bool definite = notice->value[VALUE_STATUS] == GATEWAY_OK || (declined && shop->config->gateway.failed_final_after_ns == 0);
  if (definite && notice->id.hash == fact->by_card[card_of(notice)].reference) learn(shop, node, fact, fact->open_operation);
}

/* What the statement says of a charge is definite; that it says nothing, when nothing could land any more as of then. */
static void statement_delivered(struct model_shop *shop, const struct sim_node *node, const struct sim_message *stated) {
  struct model_order_fact *fact = model_order_fact(shop, stated->subject);
  int64_t age_ns = stated->value[VALUE_AS_OF] - fact->open_since_ns;
  bool absent =
      stated->value[VALUE_STATUS] == GATEWAY_NOT_FOUND && age_ns >= shop->config->request_lifetime_ns + MODEL_GATEWAY_PROCESSING_MAX_NS;
  if (fact->open_operation == stated->id.hash && (absent || stated->value[VALUE_STATUS] == GATEWAY_OK))
    learn(shop, node, fact, stated->id.hash);
}

static void on_delivered(struct sim_node *node, const struct sim_message *message) {
  struct model_shop *shop = model_shop_of(node);
  int64_t purchase = message->value[VALUE_PURCHASE];
  bool may_charge = message->kind == KIND_PROCESS_PAYMENT || message->kind == KIND_CHARGE_PAYMENT || message->kind == KIND_RESOLVE_PAYMENT;
  if (may_charge && purchase >= 1 && purchase <= MODEL_PURCHASES_MAX && facts_of(shop)->purchase[purchase].charges > 0)
    sim_danger(shop->world, INVARIANT_AT_MOST_ONE_CHARGE);
  if (message->kind == KIND_PAYMENT_NOTICE) notice_delivered(shop, node, message);
  if (message->kind == KIND_CHARGE_STATED && sim_node_service(node) == SERVICE_PAYMENTS) statement_delivered(shop, node, message);
  if (message->kind == KIND_OPERATOR_SAYS) { /* a definite answer, out of the ledger itself */
    struct model_order_fact *fact = model_order_fact(shop, message->subject);
    if (fact->open_operation == message->id.hash) learn(shop, node, fact, message->id.hash);
  }
  if (sim_node_service(node) == SERVICE_ORDERS) model_check_redelivery(node, message);
  if (message->kind == KIND_REFUND_PAYMENT && model_order_fact(shop, message->subject)->refunds > 0)
    sim_danger(shop->world, INVARIANT_REFUND_AT_MOST_ONCE);
  if (message->kind == KIND_SEND_EMAIL && model_order_fact(shop, message->subject)->mails[message->value[VALUE_STEP]] > 0)
    sim_danger(shop->world, INVARIANT_EMAIL_AT_MOST_ONCE);
  if (message->kind == KIND_SEND_PICKLIST || message->kind == KIND_ORDER_SHIPPED) model_check_fulfilment_redelivery(node, message);
}

static void excuse_orders(struct model_facts *facts, int64_t until_ns) {
  if (facts->orders_disturbed_ns < until_ns) facts->orders_disturbed_ns = until_ns;
}

static void on_paused(struct sim_node *node, int64_t until_ns) {
  if (sim_node_service(node) == SERVICE_ORDERS) excuse_orders(facts_of(model_shop_of(node)), until_ns);
}

static void on_crashed(struct sim_node *node) {
  struct model_shop *shop = model_shop_of(node);
  struct model_facts *facts = facts_of(shop);
  facts->trouble = true;
  if (sim_node_service(node) == SERVICE_ORDERS) excuse_orders(facts, model_now(node));
  if (sim_node_service(node) == SERVICE_ORDERS) facts->replaying[sim_node_instance(node)] = 0;
  uint32_t bit = 1U << sim_node_instance(node);
  for (size_t i = 0; i < facts->order_count && sim_node_service(node) == SERVICE_PAYMENTS; i++) {
    if ((facts->order[i].definite_mask & bit) == 0) continue;
    facts->order[i].definite_mask &= ~bit;
    if (facts->order[i].definite_mask == 0)
      facts->order[i].open = facts->order[i].reopened = true; /* the answer died with the last process that had it */
  }
}

static void on_recovered(struct sim_node *node) {
  struct model_shop *shop = model_shop_of(node);
  if (model_fact_restored(shop)) return;
  model_check_intent_recovered(shop);
  model_check_acked_recovered(shop);
  if (sim_node_service(node) == SERVICE_WAREHOUSE) model_check_picklists_recovered(shop);
}

static enum model_ending ending_of(const struct model_shop *shop, const struct model_order_fact *fact) {
  bool whole = shop->config->workflow == MODEL_WORKFLOW_ORDER;
  if (fact->state == STATE_PARKED) return ENDING_OPEN;
  if (fact->refund_failed) return ENDING_OPEN;
  if (fact->cancelled && fact->refunds > 0) return ENDING_REFUNDED; /* by the ledger */
  if (fact->cancelled && fact->state != STATE_COMPLETED) return ENDING_CANCELLED;
  if (fact->state == STATE_FAILED) return ENDING_REFUSED;
  if (fact->state == STATE_COMPLETED && (!whole || fact->parcels > 0)) return ENDING_FULFILLED;
  return fact->state == STATE_NOT_REQUESTED ? ENDING_UNPAID : ENDING_UNDECIDED;
}

static void on_judge(struct sim_world *world) {
  struct model_shop *shop = sim_world_model(world);
  for (size_t i = 0; i < facts_of(shop)->order_count; i++) {
    const struct model_order_fact *fact = &facts_of(shop)->order[i];
    shop->ending_count[ending_of(shop, fact)]++;
    shop->settling_ms_sum += (uint64_t)((fact->settled_ns - fact->placed_ns) / SIM_MS);
  }
  model_judge_resolves(shop);
  model_judge_endings(shop);
  model_judge_parking(shop);
  model_judge_quiet(shop);
  model_judge_commands(shop);
  model_judge_charges(shop);
  model_judge_ledgers(shop);
  model_judge_queue(shop);
  if (shop->config->gateway.notifies) model_judge_notices(shop);
  if (shop->config->workflow == MODEL_WORKFLOW_PAYMENT) return;
  model_judge_mails(shop);
  model_judge_picklists(shop);
  model_judge_outbox(shop);
  model_judge_overdue(shop);
}

const struct sim_observer model_observer = {.row = on_row,
                                            .leaves = on_leaves,
                                            .answered = on_answered,
                                            .delivered = on_delivered,
                                            .crashed = on_crashed,
                                            .paused = on_paused,
                                            .recovered = on_recovered,
                                            .judge = on_judge};

/* ---- the actor runtime ---- */

void model_fact_replay_started(struct sim_node *node, int64_t order) {
  struct model_shop *shop = model_shop_of(node);
  facts_of(shop)->replaying[sim_node_instance(node)] = order;
  sim_danger(shop->world, INVARIANT_REPLAY_IS_PURE);
  sim_danger(shop->world, INVARIANT_REPLAY_EQUALS_LIVE);
}

void model_fact_recovery_completed(struct sim_node *node, int64_t order) {
  (void)order;
  facts_of(model_shop_of(node))->replaying[sim_node_instance(node)] = 0;
}
