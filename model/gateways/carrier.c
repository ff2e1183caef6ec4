#include "model/gateways/carrier.h"

#include <string.h>

#include "model/facts.h"
#include "model/shop.h"
#include "sim/check.h"

enum { COLLECT_ERROR_BEFORE = 1, COLLECT_ERROR_AFTER };

static void answer(struct sim_node *node, const struct sim_message *request, enum model_gateway_status status) {
  struct sim_message message = {.kind = KIND_COLLECTED, .subject = request->subject, .id = request->id};
  memcpy(message.value, request->value, sizeof message.value);
  message.value[VALUE_STATUS] = status;
  sim_answer(node, request->call, &message);
}

static bool collected(const struct model_carrier *carrier, const struct sim_id *label) {
  for (size_t i = 0; i < carrier->parcel_count; i++) {
    if (sim_id_same(&carrier->ledger[i].label, label)) return true;
  }
  return false;
}

static void collect(struct model_shop *shop, const struct sim_message *request) {
  struct model_carrier *carrier = &shop->carrier;
  if (carrier->parcel_count == MODEL_PARCELS_MAX) {
    sim_world_exhausted(shop->world, "MODEL_PARCELS_MAX");
    return;
  }
  struct model_parcel *parcel = &carrier->ledger[carrier->parcel_count++];
  *parcel = (struct model_parcel){
      .label = request->id, .order = request->subject, .lines = request->value[VALUE_AMOUNT], .time_ns = sim_world_now(shop->world)};
  sim_note(shop->world, sim_hash_text("parcel"), parcel->label.hash, (uint64_t)parcel->order);
  sim_tell(shop->world, "carrier", "LEDGER: parcel %s of order:%lld is collected", parcel->label.text, (long long)parcel->order);
  model_fact_collected(shop, parcel);
}

void model_carrier_handle(struct sim_node *node, const struct sim_message *message) {
  struct model_shop *shop = model_shop_of(node);
  REQUIRE(message->kind == KIND_COLLECT);
  struct sim_subject subject = {
      .what = sim_world_kind(shop->world, KIND_COLLECT), .id = &message->id, .attempt = message->attempt, .step = "at the carrier"};
  int fate = model_ask(shop, "carrier.collect", &subject);
  if (fate == COLLECT_ERROR_BEFORE) {
    answer(node, message, GATEWAY_ERROR);
    return;
  }
  if (!collected(&shop->carrier, &message->id)) collect(shop, message);
  answer(node, message, fate == COLLECT_ERROR_AFTER ? GATEWAY_ERROR : GATEWAY_OK);
}
