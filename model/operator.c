/* The operator: a person who works off the human's queue. Told of a case, he may leave it, or look a day or some days later
   at the gateway's own ledger, and then say what it says: charged, or not. He looks at the screen whether it has arrived, and
   says it again if not. */
#include <string.h>

#include "model/facts.h"
#include "model/shop.h"
#include "sim/check.h"

enum { LEAVES, WORKS_OFF, DAYS_LATER };
enum { TRIES_MAX = 12 };
static const int64_t DAY_NS = SIM_DAY;
static const int64_t AGAIN_NS = SIM_HOUR;

static int ask(struct model_shop *shop, const struct sim_message *told) {
  struct sim_subject subject = {.id = &told->id, .what = sim_world_kind(shop->world, KIND_CASE_OPENED), .step = "at the queue"};
  return model_ask(shop, "operator.acts", &subject);
}

/* Is the case still on the screen? */
static bool is_open(const struct model_shop *shop, const struct sim_id *id) {
  for (size_t i = 0; i < sim_durable_count(shop->world, SERVICE_PAYMENTS, TABLE_OPEN_CASES); i++) {
    const struct sim_row *row = sim_durable_row(shop->world, SERVICE_PAYMENTS, TABLE_OPEN_CASES, i);
    if (strcmp(row->cell[CASE_OPERATION].text, id->text) == 0) return true;
  }
  return false;
}

static const struct model_charge *in_ledger(const struct model_shop *shop, const struct sim_id *operation) {
  for (size_t i = 0; i < shop->gateway.charge_count; i++) {
    if (shop->gateway.ledger[i].operation == operation->hash) return &shop->gateway.ledger[i];
  }
  return NULL;
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
  if (!is_open(shop, &about->id)) return;
  const struct model_charge *charge = in_ledger(shop, &about->id);
  struct sim_message says = *about;
  says.kind = KIND_OPERATOR_SAYS;
  says.value[VALUE_STATUS] = charge != NULL ? GATEWAY_OK : GATEWAY_NOT_FOUND;
  says.value[VALUE_PAYMENT] = charge != NULL ? charge->id : 0;
  sim_send(node, SERVICE_PAYMENTS, &says, AGAIN_NS);
  if (about->attempt < TRIES_MAX) set_timer(node, about, about->attempt + 1, AGAIN_NS);
}

void model_operator_handle(struct sim_node *node, const struct sim_message *message) {
  if (message->kind == KIND_CASE_OPENED) case_opened(node, message);
  else if (message->kind == KIND_WORK_OFF) work_off(node, message);
  else UNREACHABLE("a message no operator gets");
}
