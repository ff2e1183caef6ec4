/* polling_is_bounded, redelivery_is_bounded: counts within the scenario's limits. A redelivery counts only when it was sent
   after the receiver, up and awake, had the one before: what piled up while it was frozen is one delivery. */
#include <inttypes.h>

#include "model/facts.h"

void model_check_polling(struct sim_node *node, const struct sim_message *request) {
  struct model_shop *shop = model_shop_of(node);
  struct model_order_fact *fact = model_order_fact(shop, request->subject);
  int64_t card = request->value[VALUE_CARD];
  if (card < 1 || card > MODEL_CARDS_MAX) return;
  uint32_t polls = ++fact->by_card[card].polls;
  if (polls > 1) sim_danger(shop->world, INVARIANT_POLLING_IS_BOUNDED);
  if (polls > (uint32_t)shop->config->polls_max)
    sim_violated(shop->world, INVARIANT_POLLING_IS_BOUNDED, "The gateway is asked about order:%" PRId64 " for the %" PRIu32 "th time.",
                 fact->order, polls);
}

void model_check_redelivery(struct sim_node *node, const struct sim_message *message) {
  struct model_shop *shop = model_shop_of(node);
  if (message->kind < KIND_PAYMENT_SUCCEEDED || message->kind > KIND_PAYMENT_PARKED || message->kind == KIND_PAYMENT_UNKNOWN) return;
  struct model_order_fact *fact = model_order_fact(shop, message->subject);
  size_t which = message->kind - KIND_PAYMENT_SUCCEEDED;
  if (fact->deliveries[which] > 0 && message->sent_ns <= fact->delivered_ns[which]) return;
  fact->delivered_ns[which] = sim_world_now(shop->world);
  uint32_t count = ++fact->deliveries[which];
  if (count > 1) sim_danger(shop->world, INVARIANT_REDELIVERY_IS_BOUNDED);
  if (count > (uint32_t)shop->config->redeliveries_max)
    sim_violated(shop->world, INVARIANT_REDELIVERY_IS_BOUNDED, "%s %s reaches the order for the %" PRIu32 "th time.",
                 sim_world_kind(shop->world, message->kind)->text, message->id.text, count);
}
