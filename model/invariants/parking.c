/* parks_only_if_undecidable: no open case whose outcome the profile would have told within its stated lag and bounds.
   manual_queue_is_complete: each parked payment is in the queue with id, amount and last confirmed result, and nothing
   else is. */
#include <inttypes.h>
#include <string.h>

#include "model/facts.h"

bool model_fact_case(const struct model_shop *shop, uint64_t operation) {
  for (size_t i = 0; i < sim_durable_count(shop->world, SERVICE_PAYMENTS, TABLE_OPEN_CASES); i++) {
    const struct sim_row *row = sim_durable_row(shop->world, SERVICE_PAYMENTS, TABLE_OPEN_CASES, i);
    if (memcmp(&row->cell[CASE_OPERATION].number, &operation, sizeof operation) == 0) return true;
  }
  return false;
}

static const struct sim_row *case_of(const struct model_shop *shop, uint64_t id) {
  for (size_t i = 0; i < sim_durable_count(shop->world, SERVICE_PAYMENTS, TABLE_OPEN_CASES); i++) {
    const struct sim_row *row = sim_durable_row(shop->world, SERVICE_PAYMENTS, TABLE_OPEN_CASES, i);
    if (memcmp(&row->cell[CASE_OPERATION].number, &id, sizeof id) == 0) return row;
  }
  return NULL;
}

/* A refund that was refused is a case whatever the gateway tells; one that is only unknown must have been undecidable. */
static void judge_refunds(struct model_shop *shop) {
  const struct model_gateway_profile *gateway = &shop->config->gateway;
  for (size_t i = 0; i < sim_durable_count(shop->world, SERVICE_PAYMENTS, TABLE_REFUNDS); i++) {
    const struct sim_row *refund = sim_durable_row(shop->world, SERVICE_PAYMENTS, TABLE_REFUNDS, i);
    if (refund->cell[EFFECT_STATUS].number != STATE_PARKED) continue;
    uint64_t id;
    memcpy(&id, &refund->cell[EFFECT_ID].number, sizeof id);
    const struct sim_row *row = case_of(shop, id);
    if (row == NULL || strcmp(row->cell[CASE_LAST_RESULT].text, "refused") == 0) continue;
    sim_danger(shop->world, INVARIANT_PARKS_ONLY_IF_UNDECIDABLE);
    int64_t tries = refund->cell[EFFECT_ATTEMPTS].number + refund->cell[EFFECT_ASKS].number;
    bool bounds_used_up = tries > shop->config->resolve_attempts;
    bool resubmitted = !gateway->takes_keys && refund->cell[EFFECT_ATTEMPTS].number >= 2;
    int64_t age_ns = row->cell[CASE_OPENED].number - refund->cell[EFFECT_CREATED].number;
    bool aged = gateway->takes_keys && !gateway->looks_up && age_ns >= gateway->key_retention_ns - shop->config->request_lifetime_ns;
    if (aged) continue;
    if (bounds_used_up || resubmitted || (!gateway->looks_up && !model_gateway_repeats_safely(gateway))) continue;
    sim_violated(shop->world, INVARIANT_PARKS_ONLY_IF_UNDECIDABLE, "%s is parked after %" PRId64 " tries; the gateway would have told.",
                 refund->cell[EFFECT_ID].text, tries);
  }
}

void model_judge_parking(struct model_shop *shop) {
  const struct model_config *config = shop->config;
  judge_refunds(shop);
  bool mute = !model_gateway_tells(&config->gateway);
  for (size_t i = 0; i < shop->facts->operation_count; i++) {
    const struct model_operation_fact *operation = &shop->facts->operation[i];
    if (!operation->durable || operation->status != STATE_PARKED) continue;
    shop->undecided_count[MODEL_OF_GATEWAY] += operation->attempts + operation->asks <= config->resolve_attempts;
    if (config->gateway.statements && config->reconcile_every_ns > 0) {
      sim_danger(shop->world, INVARIANT_PARKS_ONLY_IF_UNDECIDABLE);
      sim_violated(shop->world, INVARIANT_PARKS_ONLY_IF_UNDECIDABLE, "%s is parked at the end; the gateway's statement would have told.",
                   operation->text);
      continue;
    }
    if (mute) continue;
    sim_danger(shop->world, INVARIANT_PARKS_ONLY_IF_UNDECIDABLE);
    bool bounds_used_up = operation->attempts + operation->asks > config->resolve_attempts;
    /* A key too old to be sent again when the case was opened, and nobody to ask: what happened cannot be known. */
    const struct sim_row *row = case_of(shop, operation->id);
    int64_t age_ns = row != NULL ? row->cell[CASE_OPENED].number - operation->created_ns : 0;
    bool aged =
        config->gateway.takes_keys && !config->gateway.looks_up && !config->gateway.reverses && age_ns >= config->gateway.key_retention_ns - config->request_lifetime_ns;
    if (aged) continue;
    bool resubmitted = !config->gateway.takes_keys && operation->attempts >= 2;
    if (bounds_used_up || resubmitted) continue;
    sim_violated(shop->world, INVARIANT_PARKS_ONLY_IF_UNDECIDABLE,
                 "%s is parked after %" PRId64 " requests and %" PRId64 " look-ups; the gateway would have told.", operation->text,
                 operation->attempts, operation->asks);
  }
}

/* Cases about an entry of the ledger that the order's journal does not hold, or the other way round. */
static size_t unexplained_cases(const struct model_shop *shop) {
  size_t count = 0;
  if (!shop->config->gateway.statements) return 0;
  for (size_t i = 0; i < shop->gateway.charge_count; i++) {
    const struct model_charge *charge = &shop->gateway.ledger[i];
    const struct model_order_fact *fact = model_order_fact(sim_world_model(shop->world), charge->order);
    bool explained = fact->state == STATE_COMPLETED && fact->payment == charge->id;
    const struct model_operation_fact *operation = model_operation_fact(sim_world_model(shop->world), charge->operation);
    bool parked = operation != NULL && operation->durable && operation->status == STATE_PARKED;
    count += (!explained || model_fact_restored(shop)) && !parked && case_of(shop, charge->operation) != NULL;
  }
  for (size_t i = 0; i < shop->gateway.refund_count; i++) {
    const struct model_refund *refund = &shop->gateway.refund[i];
    const struct model_order_fact *fact = model_order_fact(sim_world_model(shop->world), refund->order);
    count += (fact->refund_minor == 0 || model_fact_restored(shop)) && case_of(shop, refund->operation) != NULL;
  }
  return count;
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
    uint64_t id;
    memcpy(&id, &refund->cell[EFFECT_ID].number, sizeof id);
    parked += refund->cell[EFFECT_STATUS].number == STATE_UNKNOWN && case_of(shop, id) != NULL; /* the operator has it tried again */
    if (refund->cell[EFFECT_STATUS].number != STATE_PARKED) continue;
    parked++;
    sim_danger(shop->world, INVARIANT_MANUAL_QUEUE_IS_COMPLETE);
    if (case_of(shop, id) == NULL)
      sim_violated(shop->world, INVARIANT_MANUAL_QUEUE_IS_COMPLETE, "%s is parked, but the human's queue does not list it.",
                   refund->cell[EFFECT_ID].text);
  }
  if (sim_durable_count(shop->world, SERVICE_PAYMENTS, TABLE_OPEN_CASES) > parked + unexplained_cases(shop))
    sim_violated(shop->world, INVARIANT_MANUAL_QUEUE_IS_COMPLETE, "The human's queue lists a case whose payment is not parked.");
}
