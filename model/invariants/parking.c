/* parks_only_if_undecidable: no open case whose outcome the profile would have told within its stated lag and bounds.
   manual_queue_is_complete: each parked payment is in the queue with id, amount and last confirmed result, and nothing
   else is. */
#include <inttypes.h>
#include <string.h>

#include "model/facts.h"

static const struct sim_row *case_of(const struct model_shop *shop, uint64_t id) {
  for (size_t i = 0; i < sim_durable_count(shop->world, SERVICE_PAYMENTS, TABLE_OPEN_CASES); i++) {
    const struct sim_row *row = sim_durable_row(shop->world, SERVICE_PAYMENTS, TABLE_OPEN_CASES, i);
    if (memcmp(&row->cell[CASE_OPERATION].number, &id, sizeof id) == 0) return row;
  }
  return NULL;
}

void model_judge_parking(struct model_shop *shop) {
  const struct model_config *config = shop->config;
  bool mute = !config->gateway.looks_up && !config->gateway.takes_keys;
  for (size_t i = 0; i < shop->facts->operation_count; i++) {
    const struct model_operation_fact *operation = &shop->facts->operation[i];
    if (!operation->durable || operation->status != STATE_PARKED || mute) continue;
    sim_danger(shop->world, INVARIANT_PARKS_ONLY_IF_UNDECIDABLE);
    bool bounds_used_up = operation->attempts + operation->asks > config->resolve_attempts;
    /* A key too old to be sent again when the case was opened, and nobody to ask: what happened cannot be known. */
    const struct sim_row *row = case_of(shop, operation->id);
    int64_t age_ns = row != NULL ? row->cell[CASE_OPENED].number - operation->created_ns : 0;
    bool aged =
        config->gateway.takes_keys && !config->gateway.looks_up && age_ns >= config->gateway.key_retention_ns - config->request_lifetime_ns;
    if (aged) continue;
    bool resubmitted = !config->gateway.takes_keys && operation->attempts >= 2;
    if (bounds_used_up || resubmitted) continue;
    sim_violated(shop->world, INVARIANT_PARKS_ONLY_IF_UNDECIDABLE,
                 "%s is parked after %" PRId64 " requests and %" PRId64 " look-ups; the gateway would have told.", operation->text,
                 operation->attempts, operation->asks);
  }
}

void model_judge_queue(struct model_shop *shop) {
  size_t parked = 0;
  for (size_t i = 0; i < shop->facts->operation_count; i++) {
    const struct model_operation_fact *operation = &shop->facts->operation[i];
    if (!operation->durable || operation->status != STATE_PARKED) continue;
    parked++;
    sim_danger(shop->world, INVARIANT_MANUAL_QUEUE_IS_COMPLETE);
    const struct sim_row *row = case_of(shop, operation->id);
    bool complete = row != NULL && row->cell[CASE_AMOUNT].number == operation->amount_minor && row->cell[CASE_LAST_RESULT].text != NULL &&
                    row->cell[CASE_LAST_RESULT].text[0] != '\0';
    if (!complete)
      sim_violated(shop->world, INVARIANT_MANUAL_QUEUE_IS_COMPLETE, "%s is parked, but the human's queue %s.", operation->text,
                   row ? "lacks its amount or last result" : "does not list it");
  }
  for (size_t i = 0; i < shop->facts->order_count; i++) {
    const struct model_order_fact *fact = &shop->facts->order[i];
    const struct model_operation_fact *operation = fact->state == STATE_PARKED ? model_operation_fact(shop, fact->operation) : NULL;
    if (fact->state == STATE_PARKED && (operation == NULL || !operation->durable || operation->status != STATE_PARKED))
      sim_violated(shop->world, INVARIANT_MANUAL_QUEUE_IS_COMPLETE,
                   "order:%" PRId64 " is parked, but the payment service has no such open case.", fact->order);
  }
  for (size_t i = 0; i < sim_durable_count(shop->world, SERVICE_PAYMENTS, TABLE_REFUNDS); i++) {
    const struct sim_row *refund = sim_durable_row(shop->world, SERVICE_PAYMENTS, TABLE_REFUNDS, i);
    if (refund->cell[EFFECT_STATUS].number != STATE_PARKED) continue;
    parked++;
    uint64_t id;
    memcpy(&id, &refund->cell[EFFECT_ID].number, sizeof id);
    sim_danger(shop->world, INVARIANT_MANUAL_QUEUE_IS_COMPLETE);
    if (case_of(shop, id) == NULL)
      sim_violated(shop->world, INVARIANT_MANUAL_QUEUE_IS_COMPLETE, "%s is parked, but the human's queue does not list it.",
                   refund->cell[EFFECT_ID].text);
  }
  if (sim_durable_count(shop->world, SERVICE_PAYMENTS, TABLE_OPEN_CASES) > parked)
    sim_violated(shop->world, INVARIANT_MANUAL_QUEUE_IS_COMPLETE, "The human's queue lists a case whose payment is not parked.");
}
