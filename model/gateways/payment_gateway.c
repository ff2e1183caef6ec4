#include "model/gateways/payment_gateway.h"

#include <string.h>

#include "model/facts.h"
#include "model/gateways/provider.h"
#include "model/shop.h"
#include "sim/check.h"

enum { CHARGE_SLOW = 1, CHARGE_ERROR_BEFORE, CHARGE_ERROR_AFTER, CHARGE_DECLINE };
static const int64_t SLOW_NS = 45 * SIM_SECOND; /* past the caller's timeout, within MODEL_GATEWAY_PROCESSING_MAX_NS */
static const int64_t CALLED_FAILED_NS = 10 * SIM_MINUTE; /* where a "failed" is not final: what has no end by then is called so */
static const int64_t LATE_END_NS = SIM_DAY;              /* ... and ends then all the same */

static const struct model_gateway_profile profiles[] = {
#define PROFILE(name, about, ...) {name, about, __VA_ARGS__},
#define ALIAS(alias, name)
#include "model/gateways/profiles.def"
#undef PROFILE
#undef ALIAS
};

static const struct model_alias aliases[] = {
#define PROFILE(...)
#define ALIAS(alias, name) {alias, name},
#include "model/gateways/profiles.def"
#undef PROFILE
#undef ALIAS
};

bool model_gateway_repeats_safely(const struct model_gateway_profile *profile) {
  bool twice = profile->error_frees_key || profile->knows_finished_only || profile->key_store == MODEL_KEYS_FAIL_OPEN;
  return profile->takes_keys && !twice;
}

struct model_capabilities model_gateway_capabilities(const struct model_gateway_profile *profile) {
  bool safe = model_gateway_repeats_safely(profile);
  return (struct model_capabilities){.takes_keys = safe,
                                     .keys_may_fail = profile->takes_keys && !safe,
                                     .key_retention_ns = profile->key_retention_ns,
                                     .looks_up = profile->looks_up,
                                     .look_up_lag_ns = profile->look_up_lag_ns};
}

bool model_gateway_tells(const struct model_gateway_profile *profile) {
  bool by_repeats = model_gateway_repeats_safely(profile) && profile->repeat != MODEL_REPEAT_RECEIPT;
  return profile->looks_up || profile->reverses || by_repeats;
}

size_t model_gateway_profile_count(void) { return sizeof profiles / sizeof profiles[0]; }
const struct model_gateway_profile *model_gateway_profile_at(size_t index) { return &profiles[index]; }

const struct model_gateway_profile *model_gateway_profile_find(const char *name) {
  name = model_name_of(name, aliases, sizeof aliases / sizeof aliases[0]);
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
    case GATEWAY_DUPLICATE: return "duplicate";
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
    if (profile->knows_finished_only && (request->in_flight || request->charge == 0)) continue;
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
  bool saga = model_shop_of(node)->config->workflow == MODEL_WORKFLOW_REGISTRATION;
  sim_notify(node, saga ? SERVICE_CHARGES : SERVICE_PAYMENTS, &message);
  if (tries == TRIES_MAX) return; /* it is given up */
  message.kind = KIND_NOTICE_AGAIN;
  sim_timer_set(node, again_ns << (2 * (tries - 1)), &message);
}

/* Tell the service that charges how a request stands. */
static void notify(struct sim_node *node, const struct sim_message *request, enum model_gateway_status status, int64_t payment) {
  struct model_gateway *gateway = &model_shop_of(node)->gateway;
  if (!model_shop_of(node)->config->gateway.notifies) return;
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

/* What a repeat under a known key gets; 0: it runs again. */
static enum model_gateway_status answer_for_repeat(const struct model_gateway_profile *profile, const struct model_request *request) {
  if (request->in_flight) return GATEWAY_IN_FLIGHT;
  if (request->status == 0) return 0; /* a 5xx that is not kept */
  bool charged = request->status == GATEWAY_OK;
  switch (profile->repeat) {
    case MODEL_REPEAT_RECEIPT: return GATEWAY_IN_FLIGHT;
    case MODEL_REPEAT_NAMES_FIRST:
    case MODEL_REPEAT_REFUSED: return charged ? GATEWAY_DUPLICATE : request->status;
    case MODEL_REPEAT_ANSWERED: break;
  }
  return request->status;
}

static int ask_at_gateway(struct model_shop *shop, const char *point, const struct sim_message *message) {
  struct sim_subject subject = {
      .what = sim_world_kind(shop->world, message->kind), .id = &message->id, .attempt = message->attempt, .step = "at the gateway"};
  return model_ask(shop, point, &subject);
}

/* A repeat under a key that lives has no second effect, as long as the memory of keys is up. Returns true when it was answered. */
static bool answer_repeat(struct sim_node *node, const struct sim_message *message) {
  struct model_shop *shop = model_shop_of(node);
  const struct model_gateway_profile *profile = &shop->config->gateway;
  struct model_request *request = known_key(shop, &message->id, sim_world_now(shop->world));
  if (request == NULL) return false;
  bool same = request->amount_minor == message->value[VALUE_AMOUNT] && request->card == message->value[VALUE_CARD];
  enum model_gateway_status status = answer_for_repeat(profile, request);
  if (!same && profile->other_parameters == MODEL_OTHER_REFUSED) status = GATEWAY_REFUSED;
  if (status == 0) return false;
  if (profile->key_store != MODEL_KEYS_ALWAYS_UP && ask_at_gateway(shop, "gateway.key_store", message) != 0) {
    if (profile->key_store == MODEL_KEYS_FAIL_OPEN) return false;
    status = GATEWAY_ERROR;
  }
  bool named = status == GATEWAY_OK || (status == GATEWAY_DUPLICATE && profile->repeat == MODEL_REPEAT_NAMES_FIRST);
  answer(node, message, KIND_CHARGED, status, named ? request->charge : 0);
  return true;
}

/* Has it charged the like of this not long ago? */
static bool looks_like_a_repeat(const struct model_shop *shop, const struct sim_message *message) {
  const struct model_gateway *gateway = &shop->gateway;
  int64_t window_ns = shop->config->gateway.lookalike_ns;
  for (size_t i = 0; i < gateway->charge_count && window_ns > 0; i++) {
    const struct model_charge *charge = &gateway->ledger[i];
    bool alike = sim_id_same(&charge->reference, &message->id) && charge->amount_minor == message->value[VALUE_AMOUNT] &&
                 charge->card == message->value[VALUE_CARD];
    if (alike && sim_world_now(shop->world) - charge->time_ns < window_ns) return true;
  }
  return false;
}

static bool is_reversed(const struct model_gateway *gateway, const struct sim_id *reference) {
  for (size_t i = 0; i < gateway->reversed_count; i++) {
    if (sim_id_same(&gateway->reversed[i], reference)) return true;
  }
  return false;
}

/* Charge, decline, or decide later; tell by notice. */
static void end_charge(struct sim_node *node, const struct sim_message *message, struct model_request *request, bool declines) {
  if (is_reversed(&model_shop_of(node)->gateway, &request->reference)) {
    settle(node, request, GATEWAY_REFUSED);
  } else if (declines) {
    settle(node, request, GATEWAY_DECLINED);
    notify(node, message, GATEWAY_DECLINED, 0);
    model_fact_declined(model_shop_of(node), message->subject, message->value[VALUE_CARD]);
  } else {
    charge_now(node, message, request);
    notify(node, message, GATEWAY_OK, request->charge);
    settle(node, request, GATEWAY_OK);
  }
}

static void decide_later(struct sim_node *node, const struct sim_message *message, struct model_request *request, int64_t delay_ns) {
  struct sim_message timer = *message;
  timer.kind = KIND_SLOW_CHARGE;
  timer.value[VALUE_STATUS] = (int64_t)(request - model_shop_of(node)->gateway.request);
  request->in_flight = true;
  sim_timer_set(node, delay_ns, &timer);
}

static void handle_charge(struct sim_node *node, const struct sim_message *message) {
  struct model_shop *shop = model_shop_of(node);
  const struct model_gateway_profile *profile = &shop->config->gateway;
  if (answer_repeat(node, message)) return;
  if (looks_like_a_repeat(shop, message) || is_reversed(&shop->gateway, &message->id)) {
    answer(node, message, KIND_CHARGED, GATEWAY_DUPLICATE, 0);
    return;
  }
  int fate = ask_at_gateway(shop, "gateway.charge", message);
  struct model_request *request = remember(&shop->gateway, message, sim_world_now(shop->world));
  if (fate == CHARGE_ERROR_BEFORE) {
    settle(node, request, profile->stores_errors ? GATEWAY_ERROR : 0);
    answer(node, message, KIND_CHARGED, GATEWAY_ERROR, 0);
    return;
  }
  notify(node, message, GATEWAY_IN_FLIGHT, 0);
  if (fate == CHARGE_SLOW) {
    decide_later(node, message, request, profile->failed_final_after_ns > 0 ? CALLED_FAILED_NS : profile->decides_after_ns + SLOW_NS);
    if (profile->decides_after_ns > 0) answer(node, message, KIND_CHARGED, GATEWAY_IN_FLIGHT, 0);
  } else if (profile->decides_after_ns > 0) {
    request->declines = fate == CHARGE_DECLINE;
    decide_later(node, message, request, profile->decides_after_ns);
    answer(node, message, KIND_CHARGED, fate == CHARGE_ERROR_AFTER ? GATEWAY_ERROR : GATEWAY_IN_FLIGHT, 0);
  } else {
    end_charge(node, message, request, fate == CHARGE_DECLINE);
    bool error = fate == CHARGE_ERROR_AFTER;
    answer(node, message, KIND_CHARGED, error ? GATEWAY_ERROR : request->status, error ? 0 : request->charge);
    if (error && (profile->stores_errors || profile->error_frees_key))
      request->status = profile->stores_errors ? GATEWAY_ERROR : 0;
  }
}

/* Where a "failed" is not final: no answer from the bank for so long is called failed, which is no end yet. */
static void call_it_failed(struct sim_node *node, const struct sim_message *message, struct model_request *request) {
  request->declines = true;
  notify(node, message, GATEWAY_DECLINED, 0);
  decide_later(node, message, request, LATE_END_NS - CALLED_FAILED_NS);
}

static void handle_slow(struct sim_node *node, const struct sim_message *message) {
  struct model_shop *shop = model_shop_of(node);
  struct model_request *request = &shop->gateway.request[message->value[VALUE_STATUS]];
  bool called_failed = shop->config->gateway.failed_final_after_ns > 0;
  if (called_failed && !request->declines) {
    call_it_failed(node, message, request);
    return;
  }
  end_charge(node, message, request, request->declines && !called_failed);
  answer(node, message, KIND_CHARGED, request->status, request->charge);
}

static void handle_look_up(struct sim_node *node, const struct sim_message *message) {
  struct model_shop *shop = model_shop_of(node);
  const struct model_gateway_profile *profile = &shop->config->gateway;
  int64_t now_ns = sim_world_now(shop->world);
  if (!profile->looks_up) {
    answer(node, message, KIND_LOOKED_UP, GATEWAY_UNSUPPORTED, 0);
    return;
  }
  if (ask_at_gateway(shop, "gateway.look_up", message) != 0) {
    answer(node, message, KIND_LOOKED_UP, GATEWAY_ERROR, 0);
    return;
  }
  enum model_gateway_status status = GATEWAY_NOT_FOUND;
  int64_t payment = 0;
  for (size_t i = 0; i < shop->gateway.request_count; i++) {
    const struct model_request *request = &shop->gateway.request[i];
    if (!sim_id_same(&request->reference, &message->id)) continue;
    if (request->in_flight) {
      bool called_failed = profile->failed_final_after_ns > 0 && request->declines;
      if (payment == 0) status = called_failed ? GATEWAY_DECLINED : GATEWAY_IN_FLIGHT;
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

static void give_back(struct model_shop *shop, struct model_charge *charge, const char *how) {
  if (charge->refunded) return;
  charge->refunded = true;
  charge->refunded_minor = charge->amount_minor;
  sim_note(shop->world, sim_hash_text("refund"), (uint64_t)charge->id, (uint64_t)charge->amount_minor);
  sim_tell(shop->world, "gateway", "LEDGER: payment %lld is %s", (long long)charge->id, how);
}

/* Refund a charge in full; a charge can be refunded once, so repeating is safe. */
static void handle_refund(struct sim_node *node, const struct sim_message *message) {
  struct model_shop *shop = model_shop_of(node);
  int64_t payment = message->value[VALUE_PAYMENT];
  ENSURE(model_gateway_charge(&shop->gateway, payment) != NULL);
  give_back(shop, &shop->gateway.ledger[payment - 1], "refunded");
  answer(node, message, KIND_REFUNDED, GATEWAY_OK, payment);
}

/* Void what was charged under this reference, and never charge under it again. */
static void handle_reversal(struct sim_node *node, const struct sim_message *message) {
  struct model_shop *shop = model_shop_of(node);
  struct model_gateway *gateway = &shop->gateway;
  if (!shop->config->gateway.reverses) {
    answer(node, message, KIND_REVERSED, GATEWAY_UNSUPPORTED, 0);
    return;
  }
  if (ask_at_gateway(shop, "gateway.look_up", message) != 0) {
    answer(node, message, KIND_REVERSED, GATEWAY_ERROR, 0);
    return;
  }
  if (!is_reversed(gateway, &message->id)) {
    ENSURE(gateway->reversed_count < MODEL_REQUESTS_MAX);
    gateway->reversed[gateway->reversed_count++] = message->id;
  }
  for (size_t i = 0; i < gateway->charge_count; i++) {
    struct model_charge *charge = &gateway->ledger[i];
    if (!sim_id_same(&charge->reference, &message->id) || charge->refunded) continue;
    give_back(shop, charge, "reversed");
    model_fact_reversed(shop, charge);
  }
  answer(node, message, KIND_REVERSED, GATEWAY_OK, 0);
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
  struct model_capabilities can = model_gateway_capabilities(profile);
  can.takes_keys = profile->takes_keys;
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
  else if (message->kind == KIND_REVERSE) handle_reversal(node, message);
  else UNREACHABLE("a message the gateway does not know");
}
