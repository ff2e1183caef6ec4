/* The operator: a person who works off the human's queue. Told of a case, he may leave it, or look a day or some days later
   at the provider's own ledger, and then say what it says: it was done, or it was not. A mail that was not sent he has sent
   again; a refund that was not made he makes at the gateway's own desk. He looks at the screen whether his word has arrived,
   and says it again if not. */
#include <string.h>

#include "model/facts.h"
#include "model/shop.h"
#include "sim/check.h"

enum { LEAVES, WORKS_OFF, DAYS_LATER };
enum { TRIES_MAX = 30 };
static const int64_t DAY_NS = SIM_DAY;
static const int64_t AGAIN_NS = SIM_HOUR;

static int ask(struct model_shop *shop, const struct sim_message *told) {
  struct sim_subject subject = {.id = &told->id, .what = sim_world_kind(shop->world, KIND_CASE_OPENED), .step = "at the queue"};
  return model_ask(shop, "operator.acts", &subject);
}

static enum model_step step_of(const struct sim_message *about) { return (enum model_step)(about->value[VALUE_CASE] - 1); }
static bool about_a_charge(const struct sim_message *about) { return about->value[VALUE_CASE] == 0; }
static bool about_a_refund(const struct sim_message *about) { return !about_a_charge(about) && step_of(about) == STEP_REFUND; }

static enum model_service owner_of(const struct sim_message *about) {
  return about_a_charge(about) || about_a_refund(about) ? SERVICE_PAYMENTS : SERVICE_MAILS;
}

/* Does the order know that its refund is made, or has it none to wait for? */
static bool order_knows(const struct model_shop *shop, int64_t order) {
  int64_t seq = 0, type = 0;
  for (size_t i = 0; i < sim_durable_count(shop->world, SERVICE_ORDERS, TABLE_EVENTS); i++) {
    const struct sim_cell *cell = sim_durable_row(shop->world, SERVICE_ORDERS, TABLE_EVENTS, i)->cell;
    int64_t each = cell[EVENT_TYPE].number;
    bool of_refund = each == EVENT_REFUND_REQUESTED || each == EVENT_REFUND_FAILED || each == EVENT_REFUND_COMPLETED;
    if (cell[EVENT_ORDER].number != order || !of_refund || cell[EVENT_SEQ].number < seq) continue;
    seq = cell[EVENT_SEQ].number;
    type = cell[EVENT_TYPE].number;
  }
  return type == 0 || type == EVENT_REFUND_COMPLETED;
}

/* Is the case still on the screen, or its order not told yet? */
static bool is_open(const struct model_shop *shop, const struct sim_message *about) {
  enum model_service service = owner_of(about);
  if (about_a_refund(about) && !order_knows(shop, about->subject)) return true;
  size_t table = service == SERVICE_PAYMENTS ? (size_t)TABLE_OPEN_CASES : (size_t)TABLE_MAIL_CASES;
  for (size_t i = 0; i < sim_durable_count(shop->world, service, table); i++) {
    const struct sim_row *row = sim_durable_row(shop->world, service, table, i);
    if (strcmp(row->cell[CASE_OPERATION].text, about->id.text) == 0) return true;
  }
  return false;
}

/* The provider's own number of what the case is about; 0: its ledger has no such entry. */
static int64_t in_ledger(const struct model_shop *shop, const struct sim_message *about) {
  if (about_a_charge(about)) {
    for (size_t i = 0; i < shop->gateway.charge_count; i++) {
      const struct model_charge *charge = &shop->gateway.ledger[i];
      if (charge->operation == about->id.hash && !charge->refunded) return charge->id;
    }
  } else if (about_a_refund(about)) {
    for (size_t i = 0; i < shop->gateway.refund_count; i++) {
      if (shop->gateway.refund[i].operation == about->id.hash) return (int64_t)i + 1;
    }
  } else {
    for (size_t i = 0; i < shop->mailer.sent_count; i++) {
      if (sim_id_same(&shop->mailer.ledger[i].reference, &about->id)) return (int64_t)i + 1;
    }
  }
  return 0;
}

static void set_timer(struct sim_node *node, const struct sim_message *about, uint32_t tries, int64_t delay_ns) {
  struct sim_message timer = *about;
  timer.kind = KIND_WORK_OFF;
  timer.attempt = tries;
  sim_timer_set(node, delay_ns, &timer);
}

static void case_opened(struct sim_node *node, const struct sim_message *told) {
  struct model_shop *shop = model_shop_of(node);
  for (size_t i = 0; i < shop->case_count; i++) {
    if (shop->case_known[i] == told->id.hash) return; /* told again */
  }
  if (shop->case_count == MODEL_OPERATIONS_MAX) return;
  shop->case_known[shop->case_count++] = told->id.hash;
  int acts = ask(shop, told);
  if (acts != LEAVES) set_timer(node, told, 1, acts == WORKS_OFF ? DAY_NS : 5 * DAY_NS);
}

static void work_off(struct sim_node *node, const struct sim_message *about) {
  struct model_shop *shop = model_shop_of(node);
  if (!is_open(shop, about)) return;
  int64_t entry = in_ledger(shop, about);
  if (entry == 0 && about_a_refund(about)) entry = model_gateway_refund_at_desk(shop, about);
  struct sim_message says = *about;
  says.kind = KIND_OPERATOR_SAYS;
  says.value[VALUE_STATUS] = entry != 0 ? GATEWAY_OK : GATEWAY_NOT_FOUND;
  says.value[VALUE_PAYMENT] = entry;
  sim_send(node, owner_of(about), &says, AGAIN_NS);
  if (about->attempt < TRIES_MAX) set_timer(node, about, about->attempt + 1, model_back_off(AGAIN_NS, DAY_NS, about->attempt));
}

void model_operator_handle(struct sim_node *node, const struct sim_message *message) {
  if (message->kind == KIND_CASE_OPENED) case_opened(node, message);
  else if (message->kind == KIND_WORK_OFF) work_off(node, message);
  else UNREACHABLE("a message no operator gets");
}
