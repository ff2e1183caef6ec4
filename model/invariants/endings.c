/* exactly_one_ending: per purchase fulfilled xor refunded xor refused xor open.
   charged_implies_fulfilled_or_refunded: every charge in the ledger is one of those, or refunded. */
#include <inttypes.h>

#include "model/facts.h"

void model_judge_endings(struct model_shop *shop) {
  for (int64_t p = 1; p <= shop->config->purchases; p++) {
    int64_t fulfilled = 0, open = 0, failed_last = 0;
    for (size_t i = 0; i < shop->facts->order_count; i++) {
      const struct model_order_fact *fact = &shop->facts->order[i];
      if (fact->purchase != p) continue;
      if (fact->state == STATE_COMPLETED && !fact->cancelled) fulfilled++;
      if (fact->parcels > 0 && fact->refunds > 0 && !model_fact_restored(shop))
        sim_violated(shop->world, INVARIANT_EXACTLY_ONE_ENDING, "order:%" PRId64 " is shipped and refunded.", fact->order);
      if (fact->state == STATE_PARKED) open++;
      failed_last = fact->state == STATE_FAILED;
    }
    if (fulfilled + open + failed_last > 0) sim_danger(shop->world, INVARIANT_EXACTLY_ONE_ENDING);
    if (fulfilled + open > 1)
      sim_violated(shop->world, INVARIANT_EXACTLY_ONE_ENDING,
                   "Purchase %" PRId64 " has %" PRId64 " fulfilled orders and %" PRId64 " open cases.", p, fulfilled, open);
  }
}

void model_judge_charges(struct model_shop *shop) {
  for (size_t i = 0; i < shop->gateway.charge_count; i++) {
    const struct model_charge *charge = &shop->gateway.ledger[i];
    const struct model_order_fact *fact = model_order_fact(shop, charge->order);
    sim_danger(shop->world, INVARIANT_CHARGED_IMPLIES_FULFILLED_OR_REFUNDED);
    bool mine = fact->state == STATE_COMPLETED && fact->payment == charge->id;
    bool given_back = charge->refunded_minor > 0 || model_fact_parked(shop, SERVICE_PAYMENTS, TABLE_REFUNDS, fact->order, STEP_REFUND);
    bool handed_over = shop->config->workflow == MODEL_WORKFLOW_PAYMENT || fact->parcels > 0;
    bool fulfilled = mine && (fact->cancelled ? given_back : handed_over);
    bool parked = fact->state == STATE_PARKED && fact->operation == charge->operation;
    bool a_case = model_fact_case(shop, charge->operation) || model_fact_overdue_case(shop, charge->order);
    if (fulfilled || charge->refunded || parked || a_case) continue;
    char amount[40];
    model_amount_words(shop->config, charge->amount_minor, amount, sizeof amount);
    sim_violated(shop->world, INVARIANT_CHARGED_IMPLIES_FULFILLED_OR_REFUNDED,
                 "Payment %" PRId64 " (%s) of order:%" PRId64 " is in the ledger, but the order ends %s.", charge->id, amount, fact->order,
                 mine && fact->cancelled          ? "cancelled, and nothing was given back"
                 : mine                           ? "with its goods never handed over"
                 : fact->state == STATE_COMPLETED ? "with another payment"
                                                  : model_state_name(fact->state));
  }
}
