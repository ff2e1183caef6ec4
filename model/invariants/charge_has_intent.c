/* charge_has_intent: when a charge request leaves, the order's PaymentRequested and the operation row are committed; after
   every recovery both are still there for each charge in the ledger. */
#include <inttypes.h>

#include "model/facts.h"

void model_check_intent_leaves(struct sim_node *node, const struct sim_message *request) {
  struct model_shop *shop = model_shop_of(node);
  const struct model_order_fact *order = model_order_fact(shop, request->subject);
  uint64_t id;
  __builtin_memcpy(&id, &request->value[VALUE_OPERATION], sizeof id);
  const struct model_operation_fact *operation = model_operation_fact(shop, id);
  if (shop->facts->trouble || request->attempt > 1) sim_danger(shop->world, INVARIANT_CHARGE_HAS_INTENT);
  bool owner = order->requested;
  bool executor = operation != NULL && operation->durable;
  if ((owner && executor) || model_fact_restored(shop)) return;
  sim_violated(shop->world, INVARIANT_CHARGE_HAS_INTENT, "A charge request for order:%" PRId64 " leaves %s while %s.", request->subject,
               sim_node_name(node), !owner ? "the order has no durable PaymentRequested" : "no operation row is committed");
}

void model_check_intent_recovered(struct model_shop *shop) {
  for (size_t i = 0; i < shop->gateway.charge_count; i++) {
    const struct model_charge *charge = &shop->gateway.ledger[i];
    const struct model_operation_fact *operation = model_operation_fact(shop, charge->operation);
    const struct model_order_fact *order = model_order_fact(shop, charge->order);
    sim_danger(shop->world, INVARIANT_CHARGE_HAS_INTENT);
    if (order->requested && operation != NULL && operation->durable) continue;
    sim_violated(shop->world, INVARIANT_CHARGE_HAS_INTENT,
                 "After recovery payment %" PRId64 " of order:%" PRId64 " has lost its intent: %s.", charge->id, charge->order,
                 order->requested ? "the operation row is gone" : "PaymentRequested is gone");
  }
}
