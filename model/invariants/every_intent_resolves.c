/* every_intent_resolves: fulfilled, refused, or an open case. */
#include <inttypes.h>

#include "model/facts.h"

void model_judge_resolves(struct model_shop *shop) {
  for (size_t i = 0; i < shop->facts->order_count; i++) {
    const struct model_order_fact *fact = &shop->facts->order[i];
    if (fact->requested && (shop->facts->trouble || fact->told_pending || fact->open))
      sim_danger(shop->world, INVARIANT_EVERY_INTENT_RESOLVES);
    bool undecided = fact->state == STATE_PENDING || fact->state == STATE_UNKNOWN;
    if (undecided)
      sim_violated(shop->world, INVARIANT_EVERY_INTENT_RESOLVES,
                   "The payment of order:%" PRId64 " is still %s at the end: neither paid nor refused nor an open case.", fact->order,
                   model_state_name(fact->state));
  }
  for (size_t i = 0; i < shop->facts->order_count; i++) {
    const struct model_order_fact *fact = &shop->facts->order[i];
    if (fact->cancelling && fact->state != STATE_PARKED)
      sim_violated(shop->world, INVARIANT_EVERY_INTENT_RESOLVES, "The cancellation of order:%" PRId64 " is still undecided at the end.",
                   fact->order);
    if (fact->refund_minor > 0 && fact->refunded_minor == 0 && !fact->refund_failed)
      sim_violated(shop->world, INVARIANT_EVERY_INTENT_RESOLVES,
                   "The refund for order:%" PRId64 " is still under way at the end: neither made nor an open case.", fact->order);
  }
  for (int64_t p = 1; p <= shop->config->purchases; p++) {
    if (model_customer_done(shop, p)) continue;
    sim_violated(shop->world, INVARIANT_EVERY_INTENT_RESOLVES,
                 "The customer of purchase %" PRId64 " is still without an answer at the end.", p);
  }
}
