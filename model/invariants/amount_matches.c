/* amount_matches: the amount charged is the amount the customer agreed to. */
#include <inttypes.h>

#include "model/facts.h"

void model_check_amount(struct model_shop *shop, const struct model_charge *charge) {
  const struct model_order_fact *fact = model_order_fact(shop, charge->order);
  if (shop->facts->price_changed) sim_danger(shop->world, INVARIANT_AMOUNT_MATCHES);
  if (charge->amount_minor == fact->amount_minor) return;
  char charged[40], agreed[40];
  model_amount_words(shop->config, charge->amount_minor, charged, sizeof charged);
  model_amount_words(shop->config, fact->amount_minor, agreed, sizeof agreed);
  sim_violated(shop->world, INVARIANT_AMOUNT_MATCHES, "order:%" PRId64 " is charged %s; the customer agreed to %s.", charge->order, charged,
               agreed);
}
