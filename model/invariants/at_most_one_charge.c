/* at_most_one_charge: per purchase at most one captured, unrefunded charge. Judged at each ledger entry. */
#include <inttypes.h>

#include "model/facts.h"

void model_check_charge(struct model_shop *shop, const struct model_charge *charge) {
  if (charge->purchase < 1 || charge->purchase > MODEL_PURCHASES_MAX) return; /* an order that lost its own first event names no purchase */
  struct model_purchase_fact *purchase = &shop->facts->purchase[charge->purchase];
  purchase->charges++;
  if (purchase->charges == 1) {
    purchase->first_charge = charge->id;
    return;
  }
  sim_danger(shop->world, INVARIANT_AT_MOST_ONE_CHARGE);
  /* That variant waives this half of the invariant; charged_implies_fulfilled_or_refunded and ledgers_reconcile hold it to
     refunding what was charged too often. */
  const struct model_gateway_profile *gateway = &shop->config->gateway;
  bool in_force = !gateway->takes_keys && gateway->looks_up;
  if (in_force && MODEL_CHOSEN(&shop->config->design, PAYMENT_NO_KEY_GATEWAY, REFUND_THE_DOUBLE)) return;
  const struct model_charge *first = model_gateway_charge(&shop->gateway, purchase->first_charge);
  char one[40], two[40];
  model_amount_words(shop->config, first->amount_minor, one, sizeof one);
  model_amount_words(shop->config, charge->amount_minor, two, sizeof two);
  sim_violated(shop->world, INVARIANT_AT_MOST_ONE_CHARGE,
               "Purchase %" PRId64 " is charged twice: payment %" PRId64 " (%s under %s) and payment %" PRId64 " (%s under %s).",
               charge->purchase, first->id, one, first->reference.text, charge->id, two, charge->reference.text);
}
