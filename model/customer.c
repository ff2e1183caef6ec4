/* Customers: they order, pay, resubmit until answered, click twice, correct a declined card, and start a new cart of the
   same purchase only when they were told "failed". They are people: no fault of ours touches them. */
#include <string.h>

#include "model/facts.h"
#include "model/shop.h"
#include "sim/check.h"

enum customer_step { CUSTOMER_AWAY, CUSTOMER_PLACING, CUSTOMER_PAYING, CUSTOMER_CANCELLING, CUSTOMER_WAITING, CUSTOMER_DONE };

struct customer {
  enum customer_step step;
  int64_t purchase, cart, card;
  uint32_t tries;
  bool tried_other_card, told_noted;
  enum cancels { CANCEL_NEVER, CANCEL_AT_ONCE, CANCEL_WHEN_PAID, CANCEL_LATER } cancels; /* as the catalogue's answers */
  struct sim_id id;                                                                      /* "purchase:1" */
  struct sim_timer resubmit;
};

struct model_customers {
  struct customer customer[MODEL_PURCHASES_MAX];
  int64_t count;
  int64_t busy;
};

/* The second card's tries count from 51, those of cancelling from 501, so that addresses rarely repeat. */
enum { TRIES_OF_A_CARD = 50, TRIES_OF_CANCELLING = 500 };
static const int64_t RECONSIDER_NS = SIM_HOUR;
static const int64_t RESUBMIT_NS = 40 * SIM_SECOND;
static const int64_t RESUBMIT_MAX_NS = 6 * SIM_HOUR;

static int64_t back_off(uint32_t tries) {
  return model_back_off(RESUBMIT_NS, RESUBMIT_MAX_NS, tries > TRIES_OF_CANCELLING ? tries - TRIES_OF_CANCELLING : tries);
}

static struct sim_message message_of(const struct model_shop *shop, const struct customer *customer, enum model_kind kind) {
  int64_t order = model_order_number(customer->purchase, customer->cart);
  struct sim_message message = {.kind = (uint16_t)kind,
                                .attempt = customer->tries + (uint32_t)(customer->card - 1) * TRIES_OF_A_CARD,
                                .subject = order,
                                .id = sim_id_join("order:", order, "")};
  message.value[VALUE_PURCHASE] = customer->purchase;
  message.value[VALUE_AMOUNT] = shop->config->amount_minor;
  message.value[VALUE_CARD] = customer->card;
  return message;
}

static int ask(struct model_shop *shop, const char *name, const struct customer *customer, const char *step) {
  struct sim_subject subject = {.id = &customer->id,
                                .attempt = (uint32_t)(customer->cart * 10 + customer->card),
                                .step = step,
                                .what = sim_world_kind(shop->world, KIND_ARRIVE)};
  return model_ask(shop, name, &subject);
}

/* Submit the present step again if no answer has come by then. */
static void arm_resubmit(struct sim_node *node, struct customer *customer) {
  struct model_shop *shop = model_shop_of(node);
  struct sim_message timer = message_of(shop, customer, KIND_RESUBMIT);
  sim_timer_cancel(node, &customer->resubmit);
  customer->resubmit = sim_timer_set(node, back_off(customer->tries), &timer);
}

static void submit(struct sim_node *node, struct customer *customer) {
  struct model_shop *shop = model_shop_of(node);
  customer->tries++;
  enum model_kind kind = customer->step == CUSTOMER_PLACING      ? KIND_PLACE_ORDER
                         : customer->step == CUSTOMER_CANCELLING ? KIND_CANCEL_ORDER
                                                                 : KIND_PROCESS_PAYMENT;
  struct sim_message message = message_of(shop, customer, kind);
  sim_send(node, SERVICE_ORDERS, &message, back_off(customer->tries));
  arm_resubmit(node, customer);
}

static bool is_busy(const struct customer *customer) {
  return customer->step == CUSTOMER_PLACING || customer->step == CUSTOMER_PAYING || customer->step == CUSTOMER_CANCELLING;
}

static void finish(struct sim_node *node, struct customer *customer, enum customer_step step) {
  struct model_shop *shop = model_shop_of(node);
  sim_timer_cancel(node, &customer->resubmit);
  bool was_busy = is_busy(customer);
  customer->step = step;
  if (was_busy && --shop->customers->busy == 0) sim_world_workload_done(shop->world);
}

/* A customer who had finished starts again. */
static void back_to_work(struct model_shop *shop, const struct customer *customer) {
  if (customer->step == CUSTOMER_WAITING || customer->step == CUSTOMER_DONE) shop->customers->busy++;
}

static void place(struct sim_node *node, struct customer *customer, int64_t cart) {
  struct model_shop *shop = model_shop_of(node);
  customer->cart = cart;
  customer->card = 1;
  customer->tries = 0;
  back_to_work(shop, customer);
  customer->step = CUSTOMER_PLACING;
  model_fact_wanted(shop, customer->purchase, model_order_number(customer->purchase, cart), shop->config->amount_minor);
  submit(node, customer);
}

static void pay(struct sim_node *node, struct customer *customer, int64_t card) {
  struct model_shop *shop = model_shop_of(node);
  customer->card = card;
  customer->tries = 0;
  back_to_work(shop, customer);
  customer->step = CUSTOMER_PAYING;
  submit(node, customer);
  if (ask(shop, "customer.pays", customer, "pay") != 0) submit(node, customer);
}

static void cancel(struct sim_node *node, struct customer *customer) {
  struct model_shop *shop = model_shop_of(node);
  customer->cancels = CANCEL_NEVER;
  customer->tries = TRIES_OF_CANCELLING;
  back_to_work(shop, customer);
  customer->step = CUSTOMER_CANCELLING;
  submit(node, customer);
}

static void reconsider(struct sim_node *node, struct customer *customer) {
  if (customer->cancels == CANCEL_LATER) cancel(node, customer);
}

/* Ask again. A customer who was told "noted" wants to know how it ended, for a day or so. */
static void resubmit(struct sim_node *node, struct customer *customer) {
  enum { ASKS_MAX = 12 };
  if (!is_busy(customer)) return;
  bool enough = customer->told_noted && customer->tries >= TRIES_OF_CANCELLING + ASKS_MAX;
  if (customer->step == CUSTOMER_CANCELLING && enough) finish(node, customer, CUSTOMER_WAITING);
  else submit(node, customer);
}

/* The shop has lost the order: place it again, or be content if it was to be cancelled. */
static void not_known(struct sim_node *node, struct customer *customer) {
  if (customer->step == CUSTOMER_CANCELLING) finish(node, customer, CUSTOMER_DONE);
  if (customer->step != CUSTOMER_PAYING) return;
  customer->step = CUSTOMER_PLACING;
  customer->tries = 0;
  submit(node, customer);
}

static void paid(struct sim_node *node, struct customer *customer) {
  if (customer->step == CUSTOMER_CANCELLING) return; /* old news: the answer to the cancellation is waited for */
  if (customer->cancels == CANCEL_WHEN_PAID) cancel(node, customer);
  else finish(node, customer, CUSTOMER_DONE);
}

/* Does this customer cancel? Then some time hence, or later by the events that come. */
static void think(struct sim_node *node, struct customer *customer) {
  struct model_shop *shop = model_shop_of(node);
  if (shop->config->workflow != MODEL_WORKFLOW_ORDER || customer->cart > 1) return;
  shop->address_broken[customer->purchase] = ask(shop, "customer.address", customer, "order placed") != 0;
  customer->cancels = (enum cancels)ask(shop, "customer.cancels", customer, "order placed");
  if (customer->cancels != CANCEL_LATER) return;
  struct sim_message timer = message_of(shop, customer, KIND_RECONSIDER);
  sim_timer_set(node, RECONSIDER_NS, &timer);
}

static void accepted(struct sim_node *node, struct customer *customer) {
  struct model_shop *shop = model_shop_of(node);
  if (customer->step != CUSTOMER_PLACING) return;
  if (ask(shop, "price.changes", customer, "order placed") != 0) {
    struct sim_message news = message_of(shop, customer, KIND_PRICE_CHANGED);
    news.value[VALUE_AMOUNT] = shop->config->amount_minor + shop->config->amount_minor / 10 + 1;
    news.attempt = 1;
    model_fact_price_changed(shop);
    sim_send(node, SERVICE_ORDERS, &news, 0);
  }
  think(node, customer);
  pay(node, customer, 1);
  if (customer->cancels == CANCEL_AT_ONCE) cancel(node, customer);
}

static void refused(struct sim_node *node, struct customer *customer, enum model_refusal refusal) {
  struct model_shop *shop = model_shop_of(node);
  if (customer->step != CUSTOMER_PAYING && customer->step != CUSTOMER_WAITING) return;
  if (refusal == REFUSAL_DECLINED && customer->card < MODEL_CARDS_MAX && ask(shop, "customer.declined", customer, "told declined") == 0) {
    pay(node, customer, customer->card + 1);
    return;
  }
  if (refusal == REFUSAL_FAILED && customer->cart < MODEL_CARTS_MAX && ask(shop, "customer.failed", customer, "told failed") == 0) {
    place(node, customer, customer->cart + 1);
    return;
  }
  finish(node, customer, CUSTOMER_DONE);
}

static void pending(struct sim_node *node, struct customer *customer) {
  struct model_shop *shop = model_shop_of(node);
  if (customer->step != CUSTOMER_PAYING) return;
  if (!customer->tried_other_card && customer->card < MODEL_CARDS_MAX && ask(shop, "customer.pending", customer, "told pending") != 0) {
    customer->tried_other_card = true;
    pay(node, customer, customer->card + 1);
    return;
  }
  finish(node, customer, CUSTOMER_WAITING);
}

static struct customer *customer_of(struct model_shop *shop, const struct sim_message *message) {
  int64_t purchase = message->value[VALUE_PURCHASE];
  bool known = purchase >= 1 && purchase <= MODEL_PURCHASES_MAX; /* an order that lost its own first event names nobody */
  return known ? &shop->customers->customer[purchase - 1] : NULL;
}

void model_customer_handle(struct sim_node *node, const struct sim_message *message) {
  struct model_shop *shop = model_shop_of(node);
  struct customer *customer = customer_of(shop, message);
  if (customer == NULL) return;
  if (message->kind == KIND_ARRIVE) {
    place(node, customer, 1);
    return;
  }
  if (message->subject != model_order_number(customer->purchase, customer->cart)) return; /* about a cart of the past */
  switch ((int)message->kind) {
    case KIND_RESUBMIT: resubmit(node, customer); return;
    case KIND_ORDER_ACCEPTED: accepted(node, customer); return;
    case KIND_ORDER_PAID:
    case KIND_PAYMENT_ALREADY_COMPLETED: paid(node, customer); return;
    case KIND_PAYMENT_REFUSED:
      if (message->value[VALUE_CARD] == customer->card) refused(node, customer, (enum model_refusal)message->value[VALUE_STATUS]);
      return;
    case KIND_PAYMENT_PENDING:
      if (message->value[VALUE_CARD] == customer->card || customer->tried_other_card) pending(node, customer);
      return;
    case KIND_ORDER_NOT_KNOWN: not_known(node, customer); return;
    case KIND_RECONSIDER: reconsider(node, customer); return;
    case KIND_ORDER_CANCELLED:
    case KIND_CANCEL_REFUSED: finish(node, customer, CUSTOMER_DONE); return;
    case KIND_CANCEL_NOTED: customer->told_noted = true; return;
    default: UNREACHABLE("a message no customer gets");
  }
}

void model_customers_begin(struct model_shop *shop) {
  struct sim_node *node = sim_world_node(shop->world, SERVICE_CUSTOMERS, 0);
  struct model_customers *customers = sim_arena_take(sim_world_arena(shop->world), sizeof *customers);
  shop->customers = customers;
  int64_t at_ns = 0;
  for (int64_t p = 1; p <= shop->config->purchases; p++) {
    struct customer *customer = &customers->customer[p - 1];
    customer->purchase = p;
    customer->cart = customer->card = 1;
    customer->id = sim_id_join("purchase:", p, "");
    if (p > 1 && ask(shop, "customer.comes", customer, "arrival") == 0) continue;
    if (p > 1) {
      int arrival = ask(shop, "customer.arrives", customer, "arrival");
      at_ns += arrival == 1 ? 0 : arrival == 2 ? SIM_HOUR : SIM_SECOND;
    }
    struct sim_message arrive = message_of(shop, customer, KIND_ARRIVE);
    arrive.attempt = 1;
    customers->count++;
    sim_timer_set(node, at_ns, &arrive);
  }
  customers->busy = customers->count;
  for (int64_t p = 0; p < MODEL_PURCHASES_MAX; p++) customers->customer[p].step = CUSTOMER_AWAY;
}

bool model_customer_done(const struct model_shop *shop, int64_t purchase) {
  enum customer_step step = shop->customers->customer[purchase - 1].step;
  return step == CUSTOMER_AWAY || step == CUSTOMER_WAITING || step == CUSTOMER_DONE;
}
