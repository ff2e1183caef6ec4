#include "model/gateways/provider.h"

#include <string.h>

#include "model/shop.h"
#include "sim/check.h"

enum { SEND_SLOW = 1, SEND_ERROR_BEFORE, SEND_ERROR_AFTER, SEND_REFUSE, SEND_REFUSE_LATE };
static const int64_t REFUSE_LATE_NS = 8 * SIM_HOUR;
static const int64_t SLOW_NS = 45 * SIM_SECOND; /* past the caller's timeout, within MODEL_GATEWAY_PROCESSING_MAX_NS */

static void answer(struct sim_node *node, const struct sim_message *request, uint16_t kind, enum model_gateway_status status,
                   int64_t result) {
  struct sim_message message = {.kind = kind, .subject = request->subject, .id = request->id};
  memcpy(message.value, request->value, sizeof message.value);
  message.value[VALUE_STATUS] = status;
  message.value[VALUE_PAYMENT] = result;
  sim_answer(node, request->call, &message);
}

static int ask(struct model_shop *shop, const char *name, const struct sim_message *message) {
  struct sim_subject subject = {
      .what = sim_world_kind(shop->world, message->kind), .id = &message->id, .attempt = message->attempt, .step = "at the provider"};
  return model_ask(shop, name, &subject);
}

static struct model_provider_request *known_request(struct model_provider *provider, const struct model_capabilities *can,
                                                    const struct sim_id *reference, int64_t now_ns) {
  for (size_t i = provider->count; i > 0 && can->takes_keys; i--) {
    struct model_provider_request *request = &provider->request[i - 1];
    if (!sim_id_same(&request->reference, reference)) continue;
    return now_ns - request->first_ns < can->key_retention_ns ? request : NULL;
  }
  return NULL;
}

/* A repeat under a key that lives has no second effect. Returns true when it was one. */
static bool answer_repeat(struct sim_node *node, const struct model_provider_class *class, struct model_provider *provider,
                          const struct model_capabilities *can, const struct sim_message *message) {
  struct model_provider_request *request = known_request(provider, can, &message->id, sim_world_now(sim_node_world(node)));
  if (request == NULL || (!request->in_flight && request->status == 0)) return false;
  bool refused = can->repeat_is_error && request->status == GATEWAY_OK;
  enum model_gateway_status status = request->in_flight ? GATEWAY_IN_FLIGHT : refused ? GATEWAY_DUPLICATE : request->status;
  answer(node, message, class->answered, status, refused ? 0 : request->result);
  return true;
}

static void carry_out(struct sim_node *node, const struct model_provider_class *class, struct model_provider_request *request,
                      const struct sim_message *message) {
  struct model_shop *shop = model_shop_of(node);
  request->result = class->effect(shop, message);
  request->status = request->result != 0 ? GATEWAY_OK : GATEWAY_DECLINED;
  request->in_flight = false;
  request->decided_ns = sim_world_now(shop->world);
}

/* What was taken on is carried out now, or refused. */
static void late(struct sim_node *node, const struct model_provider_class *class, struct model_provider_request *request,
                 const struct sim_message *message) {
  if (request->refuses) {
    request->status = GATEWAY_DECLINED;
    request->in_flight = false;
    request->decided_ns = sim_world_now(sim_node_world(node));
    return;
  }
  carry_out(node, class, request, message);
  answer(node, message, class->answered, request->status, request->result);
}

static void handle_request(struct sim_node *node, const struct model_provider_class *class, struct model_provider *provider,
                           const struct model_capabilities *can, const struct sim_message *message) {
  struct model_shop *shop = model_shop_of(node);
  if (answer_repeat(node, class, provider, can, message)) return;
  int fate = ask(shop, class->point, message);
  if (provider->count == MODEL_EFFECTS_MAX) {
    sim_world_exhausted(shop->world, "MODEL_EFFECTS_MAX");
    return;
  }
  struct model_provider_request *request = &provider->request[provider->count++];
  *request = (struct model_provider_request){
      .reference = message->id, .first_ns = sim_world_now(shop->world), .decided_ns = sim_world_now(shop->world)};
  if (fate == SEND_ERROR_BEFORE) {
    answer(node, message, class->answered, GATEWAY_ERROR, 0);
  } else if (fate == SEND_REFUSE) {
    request->status = GATEWAY_DECLINED;
    answer(node, message, class->answered, GATEWAY_DECLINED, 0);
  } else if (fate == SEND_SLOW || fate == SEND_REFUSE_LATE) {
    struct sim_message timer = *message;
    timer.kind = class->slow;
    timer.value[VALUE_STATUS] = (int64_t)(request - provider->request);
    request->in_flight = true;
    request->refuses = fate == SEND_REFUSE_LATE;
    sim_timer_set(node, request->refuses ? REFUSE_LATE_NS : SLOW_NS, &timer);
    if (request->refuses) answer(node, message, class->answered, GATEWAY_IN_FLIGHT, 0);
  } else {
    carry_out(node, class, request, message);
    answer(node, message, class->answered, fate == SEND_ERROR_AFTER ? GATEWAY_ERROR : request->status, request->result);
  }
}

static void handle_query(struct sim_node *node, const struct model_provider_class *class, const struct model_provider *provider,
                         const struct model_capabilities *can, const struct sim_message *message) {
  struct model_shop *shop = model_shop_of(node);
  enum model_gateway_status status = can->looks_up ? GATEWAY_NOT_FOUND : GATEWAY_UNSUPPORTED;
  int64_t result = 0;
  if (can->looks_up && ask(shop, class->look_up_point, message) != 0) {
    answer(node, message, class->known, GATEWAY_ERROR, 0);
    return;
  }
  for (size_t i = 0; i < provider->count && can->looks_up && status != GATEWAY_OK; i++) {
    const struct model_provider_request *request = &provider->request[i];
    if (!sim_id_same(&request->reference, &message->id)) continue;
    bool visible = sim_world_now(shop->world) - request->decided_ns >= can->look_up_lag_ns;
    if (request->in_flight) status = GATEWAY_IN_FLIGHT;
    else if (visible && request->status != 0) status = request->status;
    if (status == GATEWAY_OK) result = request->result;
  }
  answer(node, message, class->known, status, result);
}

void model_provider_handle(struct sim_node *node, const struct model_provider_class *class, struct model_provider *provider,
                           const struct model_capabilities *can, const struct sim_message *message) {
  if (message->kind == class->request) {
    handle_request(node, class, provider, can, message);
  } else if (message->kind == class->slow) {
    late(node, class, &provider->request[message->value[VALUE_STATUS]], message);
  } else if (message->kind == class->query) {
    handle_query(node, class, provider, can, message);
  } else {
    UNREACHABLE("a message this provider does not know");
  }
}
