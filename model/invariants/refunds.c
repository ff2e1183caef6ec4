/* refund_at_most_once, refund_within_charge: judged at each refund in the gateway's ledger.
   refund_follows_charge: judged when the request leaves. refund_matches_cancellation: when RefundRequested is durable. */
#include <inttypes.h>

#include "model/facts.h"

void model_check_refund(struct model_shop *shop, const struct model_refund *refund) {
  const struct model_order_fact *fact = model_order_fact(shop, refund->order);
  const struct model_charge *charge = model_gateway_charge(&shop->gateway, refund->charge);
  sim_danger(shop->world, INVARIANT_REFUND_WITHIN_CHARGE);
  if (fact->refunds > 1)
    sim_violated(shop->world, INVARIANT_REFUND_AT_MOST_ONCE, "The cancellation of order:%" PRId64 " is refunded a second time, under %s.",
                 refund->order, refund->reference.text);
  if (charge != NULL && charge->refunded_minor > charge->amount_minor)
    sim_violated(shop->world, INVARIANT_REFUND_WITHIN_CHARGE, "More is refunded of payment %" PRId64 " than was charged.", charge->id);
}

void model_check_refund_leaves(struct sim_node *node, const struct sim_message *request) {
  struct model_shop *shop = model_shop_of(node);
  const struct model_order_fact *fact = model_order_fact(shop, request->subject);
  sim_danger(shop->world, INVARIANT_REFUND_FOLLOWS_CHARGE);
  if (fact->refunds > 0) sim_danger(shop->world, INVARIANT_REFUND_AT_MOST_ONCE);
  if (fact->state == STATE_COMPLETED && fact->payment == request->value[VALUE_PAYMENT]) return;
  if (model_fact_restored(shop) && model_gateway_charge(&shop->gateway, request->value[VALUE_PAYMENT]) != NULL) return;
  sim_violated(shop->world, INVARIANT_REFUND_FOLLOWS_CHARGE, "A refund for order:%" PRId64 " is asked for while its payment is durably %s.",
               fact->order, model_state_name(fact->state));
}

void model_check_refund_requested(struct model_shop *shop, const struct model_order_fact *fact) {
  int64_t due_minor = fact->amount_minor - (fact->made_ready ? shop->config->restocking_fee_minor : 0);
  sim_danger(shop->world, INVARIANT_REFUND_MATCHES_CANCELLATION);
  if (fact->refund_minor == due_minor) return;
  char given[40], due[40];
  model_amount_words(shop->config, fact->refund_minor, given, sizeof given);
  model_amount_words(shop->config, due_minor, due, sizeof due);
  sim_violated(shop->world, INVARIANT_REFUND_MATCHES_CANCELLATION, "order:%" PRId64 " is to get %s back; %s are due.", fact->order, given,
               due);
}
