/* ledgers_reconcile: our journal and the provider's ledger tell the same sums, open cases apart. */
#include <inttypes.h>

#include "model/facts.h"

static bool refund_is_a_case(const struct model_shop *shop, const struct model_charge *charge) {
  for (size_t i = 0; i < shop->gateway.refund_count; i++) {
    const struct model_refund *refund = &shop->gateway.refund[i];
    if (refund->charge == charge->id && model_fact_case(shop, refund->operation)) return true;
  }
  return false;
}

void model_judge_ledgers(struct model_shop *shop) {
  int64_t journal = 0;
  int64_t ledger = 0;
  for (size_t i = 0; i < shop->facts->order_count; i++) {
    const struct model_order_fact *fact = &shop->facts->order[i];
    const struct model_charge *charge = model_gateway_charge(&shop->gateway, fact->payment);
    if (fact->state == STATE_COMPLETED && charge != NULL) journal += fact->amount_minor - fact->refunded_minor;
  }
  for (size_t i = 0; i < shop->gateway.charge_count; i++) {
    const struct model_charge *charge = &shop->gateway.ledger[i];
    const struct model_order_fact *order = model_order_fact(shop, charge->order);
    bool parked = order->state == STATE_PARKED && order->operation == charge->operation;
    bool explained = order->state == STATE_COMPLETED && order->payment == charge->id;
    bool open_case = parked || (!explained && model_fact_case(shop, charge->operation));
    if (charge->refunded || open_case) continue;
    bool unrecorded = order->refunded_minor == 0 && refund_is_a_case(shop, charge);
    bool open_refund =
        charge->refunded_minor > 0 && (unrecorded || model_fact_parked(shop, SERVICE_PAYMENTS, TABLE_REFUNDS, charge->order, STEP_REFUND));
    ledger += charge->amount_minor - (open_refund ? 0 : charge->refunded_minor);
  }
  if (journal > 0 || ledger > 0) sim_danger(shop->world, INVARIANT_LEDGERS_RECONCILE);
  if (journal == ledger) return;
  char ours[40], theirs[40];
  model_amount_words(shop->config, journal, ours, sizeof ours);
  model_amount_words(shop->config, ledger, theirs, sizeof theirs);
  sim_violated(shop->world, INVARIANT_LEDGERS_RECONCILE, "Our journal says %s were paid, the gateway's ledger says %s.", ours, theirs);
}
