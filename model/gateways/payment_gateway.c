#include "model/gateways/payment_gateway.h"

#include <string.h>

#include "model/facts.h"
#include "model/gateways/provider.h"
#include "model/shop.h"
#include "sim/check.h"

enum { CHARGE_SLOW = 1, CHARGE_ERROR_BEFORE, CHARGE_ERROR_AFTER, CHARGE_DECLINE };
static const int64_t SLOW_NS = 45 * SIM_SECOND; /* past the caller's timeout, within MODEL_GATEWAY_PROCESSING_MAX_NS */

static const struct model_gateway_profile profiles[] = {
#define PROFILE(name, about, ...) {name, about, __VA_ARGS__},
#define ALIAS(alias, name)
#include "model/gateways/profiles.def"
#undef PROFILE
#undef ALIAS
};

static const struct {
  const char *alias, *name;
} aliases[] = {
#define PROFILE(...)
#define ALIAS(alias, name) {alias, name},
#include "model/gateways/profiles.def"
#undef PROFILE
#undef ALIAS
};

bool model_gateway_repeats_safely(const struct model_gateway_profile *profile) { return profile->takes_keys && !profile->error_frees_key; }

size_t model_gateway_profile_count(void) { return sizeof profiles / sizeof profiles[0]; }
const struct model_gateway_profile *model_gateway_profile_at(size_t index) { return &profiles[index]; }

const struct model_gateway_profile *model_gateway_profile_find(const char *name) {
  for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++) {
    if (strcmp(aliases[i].alias, name) == 0) name = aliases[i].name;
  }
  for (size_t i = 0; i < model_gateway_profile_count(); i++) {
    if (strcmp(profiles[i].name, name) == 0) return &profiles[i];
  }
  return NULL;
}

const struct model_charge *model_gateway_charge(const struct model_gateway *gateway, int64_t payment_id) {
  return payment_id >= 1 && (size_t)payment_id <= gateway->charge_count ? &gateway->ledger[payment_id - 1] : NULL;
}

const char *model_gateway_status_words(enum model_gateway_status status) {
  switch (status) {
    case GATEWAY_OK: return "charged";
    case GATEWAY_DECLINED: return "declined";
    case GATEWAY_REFUSED: return "refused: other parameters under a known key";
    case GATEWAY_ERROR: return "5xx";
    case GATEWAY_IN_FLIGHT: return "409: in flight";
    case GATEWAY_NOT_FOUND: return "not found";
    case GATEWAY_UNSUPPORTED: return "no look-up here";
  }
  return "nothing";
}

/* Keep an answer only where the profile takes keys; without keys a request is remembered for look-ups alone. */
static struct model_request *remember(struct model_gateway *gateway, const struct sim_message *message, int64_t now_ns) {
  ENSURE(gateway->request_count < MODEL_REQUESTS_MAX);
  struct model_request *request = &gateway->request[gateway->request_count++];
  *request = (struct model_request){
      .reference = message->id, .first_ns = now_ns, .amount_minor = message->value[VALUE_AMOUNT], .card = message->value[VALUE_CARD]};
  return request;
}

static struct model_request *known_key(struct model_shop *shop, const struct sim_id *key, int64_t now_ns) {
  const struct model_gateway_profile *profile = &shop->config->gateway;
  if (!profile->takes_keys) return NULL;
  for (size_t i = shop->gateway.request_count; i > 0; i--) {
    struct model_request *request = &shop->gateway.request[i - 1];
    if (!sim_id_same(&request->reference, key)) continue;
    return now_ns - request->first_ns < profile->key_retention_ns ? request : NULL;
  }
  return NULL;
}

static void charge_now(struct sim_node *node, const struct sim_message *message, struct model_request *request) {
  struct model_shop *shop = model_shop_of(node);
  struct model_gateway *gateway = &shop->gateway;
  ENSURE(gateway->charge_count < MODEL_CHARGES_MAX);
  struct model_charge *charge = &gateway->ledger[gateway->charge_count++];
  uint64_t operation;
  memcpy(&operation, &message->value[VALUE_OPERATION], sizeof operation);
  *charge = (struct model_charge){.id = (int64_t)gateway->charge_count,
                                  .reference = message->id,
                                  .operation = operation,
                                  .order = message->subject,
                                  .purchase = message->value[VALUE_PURCHASE],
                                  .amount_minor = message->value[VALUE_AMOUNT],
                                  .card = message->value[VALUE_CARD],
                                  .time_ns = sim_world_now(shop->world)};
  gateway->entry[gateway->entry_count++] = (struct model_entry){.number = gateway->charge_count};
  request->charge = charge->id;
  sim_note(shop->world, sim_hash_text("ledger"), charge->reference.hash, (uint64_t)charge->amount_minor);
  if (sim_telling(shop->world)) {
    char amount[40];
    model_amount_words(shop->config, charge->amount_minor, amount, sizeof amount);
    sim_tell(shop->world, "gateway", "LEDGER: payment %lld charges %s for purchase %lld (order:%lld) under %s", (long long)charge->id,
             amount, (long long)charge->purchase, (long long)charge->order, charge->reference.text);
  }
  model_fact_charged(shop, charge);
}

static void answer(struct sim_node *node, const struct sim_message *request, enum model_kind kind, enum model_gateway_status status,
                   int64_t payment) {
  struct sim_message message = {.kind = (uint16_t)kind, .subject = request->subject, .id = request->id};
  memcpy(message.value, request->value, sizeof message.value);
  message.value[VALUE_STATUS] = status;
  message.value[VALUE_PAYMENT] = payment;
  sim_answer(node, request->call, &message);
}

static void settle(struct sim_node *node, struct model_request *request, enum model_gateway_status status) {
  request->in_flight = false;
  request->status = status;
  request->decided_ns = sim_world_now(sim_node_world(node));
}

/* ---- notices ---- */

static void send_notice(struct sim_node *node, size_t number, uint32_t tries) {
  static const int64_t again_ns = SIM_MINUTE;
  enum { TRIES_MAX = 6 };
  const struct model_notice *notice = &model_shop_of(node)->gateway.notice[number];
  struct sim_message message = {.kind = KIND_PAYMENT_NOTICE, .attempt = tries, .subject = notice->order, .id = notice->reference};
  message.value[VALUE_PURCHASE] = notice->purchase;
  message.value[VALUE_AMOUNT] = notice->amount_minor;
  message.value[VALUE_CARD] = notice->card;
  message.value[VALUE_STATUS] = notice->status;
  message.value[VALUE_PAYMENT] = notice->payment;
  message.value[VALUE_EVENT] = (int64_t)number;
  sim_notify(node, SERVICE_PAYMENTS, &message);
  if (tries == TRIES_MAX) return; /* it is given up */
  message.kind = KIND_NOTICE_AGAIN;
  sim_timer_set(node, again_ns << (2 * (tries - 1)), &message);
}

/* Tell the payment service how a request stands. */
static void notify(struct sim_node *node, const struct sim_message *request, enum model_gateway_status status, int64_t payment) {
  struct model_gateway *gateway = &model_shop_of(node)->gateway;
  if (!model_shop_of(node)->config->gateway.notifies || model_shop_of(node)->config->workflow == MODEL_WORKFLOW_REGISTRATION)
    return; /* the saga takes no notices yet */
  if (gateway->notice_count == MODEL_NOTICES_MAX) {
    sim_world_exhausted(sim_node_world(node), "MODEL_NOTICES_MAX");
    return;
  }
  gateway->notice[gateway->notice_count++] = (struct model_notice){.order = request->subject,
                                                                   .purchase = request->value[VALUE_PURCHASE],
                                                                   .amount_minor = request->value[VALUE_AMOUNT],
                                                                   .card = request->value[VALUE_CARD],
                                                                   .payment = payment,
                                                                   .reference = request->id,
                                                                   .status = status};
  send_notice(node, gateway->notice_count - 1, 1);
}

static void notice_again(struct sim_node *node, const struct sim_message *message) {
  size_t number = (size_t)message->value[VALUE_EVENT];
  if (!model_shop_of(node)->gateway.notice[number].acknowledged) send_notice(node, number, message->attempt + 1);
}

/* A repeat under a key that lives: no second effect, whatever happens. Returns true when it was one. */
static bool answer_repeat(struct sim_node *node, const struct sim_message *message) {
  struct model_shop *shop = model_shop_of(node);
  struct model_request *request = known_key(shop, &message->id, sim_world_now(shop->world));
  if (request == NULL) return false;
  bool same = request->amount_minor == message->value[VALUE_AMOUNT] && request->card == message->value[VALUE_CARD];
  if (!same && shop->config->gateway.other_parameters == MODEL_OTHER_REFUSED) {
    answer(node, message, KIND_CHARGED, GATEWAY_REFUSED, 0);
    return true;
  }
  if (request->in_flight) {
    answer(node, message, KIND_CHARGED, GATEWAY_IN_FLIGHT, 0);
    return true;
  }
  if (request->status == 0) return false; /* a 5xx that is not kept: the same key runs again */
  answer(node, message, KIND_CHARGED, request->status, request->status == GATEWAY_OK ? request->charge : 0);
  return true;
}

static void handle_charge(struct sim_node *node, const struct sim_message *message) {
  struct model_shop *shop = model_shop_of(node);
  if (answer_repeat(node, message)) return;
  static const struct sim_point *point;
  if (point == NULL) point = sim_world_point(shop->world, "gateway.charge");
  struct sim_subject subject = {.who = NULL,
                                .what = sim_world_kind(shop->world, KIND_CHARGE),
                                .id = &message->id,
                                .attempt = message->attempt,
                                .step = "at the gateway"};
  int fate = sim_decide(sim_world_decisions(shop->world), point, &subject, sim_point_all(point));
  bool stores_errors = shop->config->gateway.stores_errors;
  struct model_request *request = remember(&shop->gateway, message, sim_world_now(shop->world));
  if (fate != CHARGE_ERROR_BEFORE) notify(node, message, GATEWAY_IN_FLIGHT, 0);
  switch (fate) {
    case CHARGE_SLOW: {
      struct sim_message timer = *message;
      timer.kind = KIND_SLOW_CHARGE;
      timer.value[VALUE_STATUS] = (int64_t)(request - shop->gateway.request);
      request->in_flight = true;
      sim_timer_set(node, SLOW_NS, &timer);
      return;
    }
    case CHARGE_ERROR_BEFORE:
      settle(node, request, stores_errors ? GATEWAY_ERROR : 0);
      answer(node, message, KIND_CHARGED, GATEWAY_ERROR, 0);
      return;
    case CHARGE_ERROR_AFTER:
      charge_now(node, message, request);
      notify(node, message, GATEWAY_OK, request->charge);
      settle(node, request, stores_errors ? GATEWAY_ERROR : shop->config->gateway.error_frees_key ? 0 : GATEWAY_OK);
      answer(node, message, KIND_CHARGED, GATEWAY_ERROR, 0);
      return;
    case CHARGE_DECLINE:
      settle(node, request, GATEWAY_DECLINED);
      notify(node, message, GATEWAY_DECLINED, 0);
      model_fact_declined(shop, message->subject, message->value[VALUE_CARD]);
      answer(node, message, KIND_CHARGED, GATEWAY_DECLINED, 0);
      return;
    default:
      charge_now(node, message, request);
      notify(node, message, GATEWAY_OK, request->charge);
      settle(node, request, GATEWAY_OK);
      answer(node, message, KIND_CHARGED, GATEWAY_OK, request->charge);
  }
}

static void handle_slow(struct sim_node *node, const struct sim_message *message) {
  struct model_shop *shop = model_shop_of(node);
  struct model_request *request = &shop->gateway.request[message->value[VALUE_STATUS]];
  charge_now(node, message, request);
  notify(node, message, GATEWAY_OK, request->charge);
  settle(node, request, GATEWAY_OK);
  answer(node, message, KIND_CHARGED, GATEWAY_OK, request->charge);
}

static void handle_look_up(struct sim_node *node, const struct sim_message *message) {
  struct model_shop *shop = model_shop_of(node);
  const struct model_gateway_profile *profile = &shop->config->gateway;
  int64_t now_ns = sim_world_now(shop->world);
  if (!profile->looks_up) {
    answer(node, message, KIND_LOOKED_UP, GATEWAY_UNSUPPORTED, 0);
    return;
  }
  static const struct sim_point *point;
  if (point == NULL) point = sim_world_point(shop->world, "gateway.look_up");
  struct sim_subject subject = {
      .what = sim_world_kind(shop->world, KIND_LOOK_UP), .id = &message->id, .attempt = message->attempt, .step = "at the gateway"};
  if (sim_decide(sim_world_decisions(shop->world), point, &subject, sim_point_all(point)) != 0) {
    answer(node, message, KIND_LOOKED_UP, GATEWAY_ERROR, 0);
    return;
  }
  enum model_gateway_status status = GATEWAY_NOT_FOUND;
  int64_t payment = 0;
  for (size_t i = 0; i < shop->gateway.request_count; i++) {
    const struct model_request *request = &shop->gateway.request[i];
    if (!sim_id_same(&request->reference, &message->id)) continue;
    if (request->in_flight) {
      if (payment == 0) status = GATEWAY_IN_FLIGHT;
      continue;
    }
    if (now_ns - request->decided_ns < profile->look_up_lag_ns) continue;
    /* A look-up that names a payment asks for another one under the same reference. */
    bool wanted = request->charge != message->value[VALUE_PAYMENT] && (request->charge == 0 || message->value[VALUE_PAYMENT] == 0 ||
                                                                       !model_gateway_charge(&shop->gateway, request->charge)->refunded);
    if (request->charge != 0 && payment == 0 && wanted) {
      status = GATEWAY_OK;
      payment = request->charge;
    } else if (request->status == GATEWAY_DECLINED && payment == 0) {
      status = GATEWAY_DECLINED;
    }
  }
  answer(node, message, KIND_LOOKED_UP, status, payment);
}

/* Refund a charge in full; a charge can be refunded once, so repeating is safe. */
static void handle_refund(struct sim_node *node, const struct sim_message *message) {
  struct model_shop *shop = model_shop_of(node);
  int64_t payment = message->value[VALUE_PAYMENT];
  ENSURE(model_gateway_charge(&shop->gateway, payment) != NULL);
  struct model_charge *charge = &shop->gateway.ledger[payment - 1];
  if (!charge->refunded) {
    charge->refunded = true;
    charge->refunded_minor = charge->amount_minor;
    sim_note(shop->world, sim_hash_text("refund"), (uint64_t)charge->id, (uint64_t)charge->amount_minor);
    sim_tell(shop->world, "gateway", "LEDGER: payment %lld is refunded", (long long)charge->id);
  }
  answer(node, message, KIND_REFUNDED, GATEWAY_OK, payment);
}

/* A refund of an amount: an entry in the ledger, at most what was charged. */
static int64_t make_refund(struct model_shop *shop, const struct sim_message *request) {
  struct model_gateway *gateway = &shop->gateway;
  int64_t payment = request->value[VALUE_PAYMENT];
  int64_t amount_minor = request->value[VALUE_AMOUNT];
  const struct model_charge *found = model_gateway_charge(gateway, payment);
  if (found == NULL || (shop->config->gateway.limits_refunds && found->refunded_minor + amount_minor > found->amount_minor)) return 0;
  struct model_charge *charge = &gateway->ledger[payment - 1];
  charge->refunded_minor += amount_minor;
  ENSURE(gateway->refund_count < MODEL_EFFECTS_MAX);
  struct model_refund *refund = &gateway->refund[gateway->refund_count++];
  *refund = (struct model_refund){.charge = payment,
                                  .reference = request->id,
                                  .order = request->subject,
                                  .amount_minor = amount_minor,
                                  .time_ns = sim_world_now(shop->world)};
  memcpy(&refund->operation, &request->value[VALUE_OPERATION], sizeof refund->operation);
  gateway->entry[gateway->entry_count++] = (struct model_entry){.refund = true, .number = gateway->refund_count};
  sim_note(shop->world, sim_hash_text("refund"), (uint64_t)payment, (uint64_t)amount_minor);
  if (sim_telling(shop->world)) {
    char amount[40];
    model_amount_words(shop->config, amount_minor, amount, sizeof amount);
    sim_tell(shop->world, "gateway", "LEDGER: refund %zu gives %s of payment %lld (order:%lld) back under %s", gateway->refund_count,
             amount, (long long)payment, (long long)refund->order, refund->reference.text);
  }
  model_fact_refunded(shop, refund);
  return (int64_t)gateway->refund_count;
}

int64_t model_gateway_refund_at_desk(struct model_shop *shop, const struct sim_message *about) {
  struct sim_message request = *about;
  request.value[VALUE_PAYMENT] = about->value[VALUE_STATUS];
  memcpy(&request.value[VALUE_OPERATION], &about->id.hash, sizeof about->id.hash);
  return make_refund(shop, &request);
}

static const struct model_provider_class refunds = {.request = KIND_MAKE_REFUND,
                                                    .answered = KIND_REFUND_MADE,
                                                    .slow = KIND_SLOW_REFUND,
                                                    .query = KIND_ASK_REFUND,
                                                    .known = KIND_REFUND_KNOWN,
                                                    .point = "gateway.refund",
                                                    .look_up_point = "gateway.look_up",
                                                    .effect = make_refund};

static bool is_about_a_refund(enum model_kind kind) {
  return kind == KIND_MAKE_REFUND || kind == KIND_SLOW_REFUND || kind == KIND_ASK_REFUND;
}

static void handle_refunds(struct sim_node *node, const struct sim_message *message) {
  struct model_shop *shop = model_shop_of(node);
  const struct model_gateway_profile *profile = &shop->config->gateway;
  const struct model_capabilities can = {profile->takes_keys, profile->key_retention_ns, profile->looks_up, profile->look_up_lag_ns};
  const struct model_request *charge = message->kind == KIND_MAKE_REFUND ? known_key(shop, &message->id, sim_world_now(shop->world)) : NULL;
  if (charge != NULL && charge->status != 0) { /* keys of charges and refunds are of one kind: this one was used before */
    answer(node, message, KIND_REFUND_MADE, charge->status, charge->charge);
    return;
  }
  model_provider_handle(node, &refunds, shop->gateway.refunds, &can, message);
}

/* One line of the statement, by its number from 1, in the order in which the entries were made. A line of a refund names no
   purchase. */
static void handle_statement(struct sim_node *node, const struct sim_message *request) {
  const struct model_gateway *gateway = &model_shop_of(node)->gateway;
  size_t number = (size_t)request->value[VALUE_NUMBER];
  struct sim_message line = {.kind = KIND_STATEMENT_LINE, .id = request->id};
  line.value[VALUE_STATUS] = number <= gateway->entry_count ? GATEWAY_OK : GATEWAY_NOT_FOUND;
  const struct model_entry *entry = number <= gateway->entry_count ? &gateway->entry[number - 1] : NULL;
  if (entry != NULL && !entry->refund) {
    const struct model_charge *charge = &gateway->ledger[entry->number - 1];
    line.subject = charge->order;
    line.id = charge->reference;
    line.value[VALUE_PURCHASE] = charge->purchase;
    line.value[VALUE_AMOUNT] = charge->amount_minor;
    line.value[VALUE_CARD] = charge->card;
    line.value[VALUE_PAYMENT] = charge->id;
    line.value[VALUE_REFUNDED] = charge->refunded_minor;
  } else if (entry != NULL) {
    const struct model_refund *refund = &gateway->refund[entry->number - 1];
    line.subject = refund->order;
    line.id = refund->reference;
    line.value[VALUE_AMOUNT] = refund->amount_minor;
    line.value[VALUE_PAYMENT] = (int64_t)entry->number;
  }
  sim_answer(node, request->call, &line);
}

void model_gateway_handle(struct sim_node *node, const struct sim_message *message) {
  if (is_about_a_refund((enum model_kind)message->kind)) {
    handle_refunds(node, message);
    return;
  }
  if (message->kind == KIND_NOTICE_AGAIN) {
    notice_again(node, message);
    return;
  }
  if (message->kind == KIND_NOTICE_ACK) {
    model_shop_of(node)->gateway.notice[message->value[VALUE_EVENT]].acknowledged = true;
    return;
  }
  if (message->kind == KIND_CHARGE) handle_charge(node, message);
  else if (message->kind == KIND_SLOW_CHARGE) handle_slow(node, message);
  else if (message->kind == KIND_LOOK_UP) handle_look_up(node, message);
  else if (message->kind == KIND_ASK_STATEMENT) handle_statement(node, message);
  else if (message->kind == KIND_REFUND_CHARGE) handle_refund(node, message);
  else UNREACHABLE("a message the gateway does not know");
}
