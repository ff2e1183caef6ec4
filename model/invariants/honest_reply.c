/* honest_reply: judged against ledger and durable state at the moment the words leave; unknown is said to be unknown. */
#include <inttypes.h>

#include "model/facts.h"

/* The first charge of this very order that was not taken back: a new cart of the same purchase has its own. */
static const struct model_charge *charge_of(const struct model_shop *shop, int64_t order) {
  for (size_t i = 0; i < shop->gateway.charge_count; i++) {
    if (shop->gateway.ledger[i].order == order && !shop->gateway.ledger[i].refunded) return &shop->gateway.ledger[i];
  }
  return NULL;
}

void model_check_reply(struct sim_node *node, const struct sim_message *message) {
  struct model_shop *shop = model_shop_of(node);
  struct model_order_fact *fact = model_order_fact(shop, message->subject);
  const struct model_purchase_fact *purchase = &shop->facts->purchase[fact->purchase];
  if (model_fact_restored(shop)) return;
  sim_danger(shop->world, INVARIANT_HONEST_REPLY);
  switch ((int)message->kind) {
    case KIND_PAYMENT_PENDING: fact->told_pending = true; return;
    case KIND_ORDER_PAID:
    case KIND_PAYMENT_ALREADY_COMPLETED:
      fact->told_paid = true;
      if (purchase->charges == 0)
        sim_violated(shop->world, INVARIANT_HONEST_REPLY, "The customer of order:%" PRId64 " is told \"paid\"; the ledger holds no charge.",
                     fact->order);
      else if (fact->state != STATE_COMPLETED)
        sim_violated(shop->world, INVARIANT_HONEST_REPLY,
                     "The customer of order:%" PRId64 " is told \"paid\" while its payment is durably %s.", fact->order,
                     model_state_name(fact->state));
      return;
    default: break;
  }
  fact->told_failed = true;
  int64_t card = message->value[VALUE_CARD];
  if (message->value[VALUE_STATUS] == REFUSAL_DECLINED && card >= 1 && card <= MODEL_CARDS_MAX && !fact->by_card[card].gateway_declined)
    sim_violated(shop->world, INVARIANT_HONEST_REPLY,
                 "The customer of order:%" PRId64 " is told that card %" PRId64 " was declined; the gateway never said so.", fact->order,
                 card);
  const struct model_charge *charge = charge_of(shop, fact->order);
  if (charge != NULL)
    sim_violated(shop->world, INVARIANT_HONEST_REPLY,
                 "The customer of order:%" PRId64 " is told \"%s\"; payment %" PRId64 " is in the ledger.", fact->order,
                 message->value[VALUE_STATUS] == REFUSAL_DECLINED ? "declined" : "failed", charge->id);
  else if (fact->open && model_request_may_land(shop, fact))
    sim_violated(shop->world, INVARIANT_HONEST_REPLY,
                 "The customer of order:%" PRId64 " is told \"failed\" while the last request may still be charged.", fact->order);
}

void model_check_cancel_reply(struct sim_node *node, const struct sim_message *message) {
  struct model_shop *shop = model_shop_of(node);
  const struct model_order_fact *fact = model_order_fact(shop, message->subject);
  bool told_cancelled = message->kind == KIND_ORDER_CANCELLED;
  if (model_fact_restored(shop)) return;
  sim_danger(shop->world, INVARIANT_HONEST_REPLY);
  if (told_cancelled == fact->cancelled) return;
  sim_violated(shop->world, INVARIANT_HONEST_REPLY, "The customer of order:%" PRId64 " is told that it %s cancelled; durably it is%s.",
               fact->order, told_cancelled ? "is" : "cannot be", fact->cancelled ? "" : " not");
}
