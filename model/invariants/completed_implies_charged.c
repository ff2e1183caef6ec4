/* completed_implies_charged: a completed payment names a charge that the ledger held at that moment, of that purchase, and
   no two completed payments name the same one. */
#include <inttypes.h>
#include <string.h>

#include "model/facts.h"

void model_check_completed(struct model_shop *shop, const char *who, int64_t order, int64_t payment, uint64_t operation) {
  const struct model_charge *charge = model_gateway_charge(&shop->gateway, payment);
  const struct model_order_fact *fact = model_order_fact(shop, order);
  sim_danger(shop->world, INVARIANT_COMPLETED_IMPLIES_CHARGED);
  if (charge == NULL) {
    sim_violated(shop->world, INVARIANT_COMPLETED_IMPLIES_CHARGED,
                 "The payment of order:%" PRId64 " is recorded as completed at %s, and names %s.", order, who,
                 payment == 0 ? "no charge" : "a charge that is not in the ledger");
    return;
  }
  if (charge->purchase != fact->purchase) {
    sim_violated(shop->world, INVARIANT_COMPLETED_IMPLIES_CHARGED,
                 "The payment of order:%" PRId64 " is recorded as completed by payment %" PRId64 ", which is purchase %" PRId64 "'s.",
                 order, payment, charge->purchase);
    return;
  }
  /* At the order the row's operation is its present one; which operation the payment was for, the service knows. */
  bool at_payments = strcmp(who, "payments") == 0;
  for (size_t i = 0; i < shop->facts->operation_count && at_payments; i++) {
    const struct model_operation_fact *other = &shop->facts->operation[i];
    if (!other->durable || other->id == operation || other->status != STATE_COMPLETED || other->payment != payment) continue;
    sim_violated(shop->world, INVARIANT_COMPLETED_IMPLIES_CHARGED,
                 "Payment %" PRId64 " of order:%" PRId64 " completes two operations; one of them is %s.", payment, order, other->text);
  }
  for (size_t i = 0; i < shop->facts->order_count; i++) {
    const struct model_order_fact *other = &shop->facts->order[i];
    if (other->order == order || other->state != STATE_COMPLETED || other->payment != payment) continue;
    sim_violated(shop->world, INVARIANT_COMPLETED_IMPLIES_CHARGED,
                 "order:%" PRId64 " and order:%" PRId64 " are both completed by payment %" PRId64 ".", other->order, order, payment);
  }
}
