/* picklist_at_most_once, picklist_matches_order, shipped_implies_paid: judged at each entry of the carrier's ledger.
   picklist_at_least_once: judged at the end. The warehouse's acknowledgement is judged by ack_implies_durable. */
#include <inttypes.h>

#include "model/facts.h"

void model_check_parcel(struct model_shop *shop, const struct model_parcel *parcel) {
  const struct model_order_fact *fact = model_order_fact(shop, parcel->order);
  sim_danger(shop->world, INVARIANT_PICKLIST_MATCHES_ORDER);
  sim_danger(shop->world, INVARIANT_SHIPPED_IMPLIES_PAID);
  if (fact->parcels > 1)
    sim_violated(shop->world, INVARIANT_PICKLIST_AT_MOST_ONCE, "The goods of order:%" PRId64 " are handed over a second time, as %s.",
                 parcel->order, parcel->label.text);
  if (parcel->lines != fact->amount_minor)
    sim_violated(shop->world, INVARIANT_PICKLIST_MATCHES_ORDER, "The parcel of order:%" PRId64 " holds other goods than were ordered.",
                 parcel->order);
  const struct model_charge *charge = model_gateway_charge(&shop->gateway, fact->payment);
  if (model_fact_restored(shop) ? !model_fact_charged_once(shop, parcel->order) : fact->state != STATE_COMPLETED || charge == NULL)
    sim_violated(shop->world, INVARIANT_SHIPPED_IMPLIES_PAID, "The goods of order:%" PRId64 " leave while its payment is durably %s.",
                 parcel->order, model_state_name(fact->state));
}

static bool made_ready(const struct model_shop *shop, int64_t order) {
  for (size_t i = 0; i < sim_durable_count(shop->world, SERVICE_WAREHOUSE, TABLE_PICKLISTS); i++) {
    if (sim_durable_row(shop->world, SERVICE_WAREHOUSE, TABLE_PICKLISTS, i)->cell[PICKLIST_ORDER].number == order) return true;
  }
  return false;
}

void model_check_picklist_accepted(struct sim_node *node, const struct sim_message *message) {
  struct model_shop *shop = model_shop_of(node);
  sim_danger(shop->world, INVARIANT_ACK_IMPLIES_DURABLE);
  if (made_ready(shop, message->subject)) {
    model_order_fact(shop, message->subject)->accepted_durable = true;
    return;
  }
  sim_violated(shop->world, INVARIANT_ACK_IMPLIES_DURABLE, "The warehouse accepts the picklist of order:%" PRId64 " before it is durable.",
               message->subject);
}

void model_check_picklists_recovered(struct model_shop *shop) {
  for (size_t i = 0; i < shop->facts->order_count; i++) {
    const struct model_order_fact *fact = &shop->facts->order[i];
    if (fact->accepted_durable && !made_ready(shop, fact->order))
      sim_violated(shop->world, INVARIANT_ACK_IMPLIES_DURABLE,
                   "After recovery the picklist of order:%" PRId64 " is gone, though the warehouse had accepted it.", fact->order);
  }
}

void model_check_fulfilment_redelivery(struct sim_node *node, const struct sim_message *message) {
  struct model_shop *shop = model_shop_of(node);
  struct model_order_fact *fact = model_order_fact(shop, message->subject);
  size_t which = message->kind == KIND_ORDER_SHIPPED;
  if (which == 0 && made_ready(shop, message->subject)) sim_danger(shop->world, INVARIANT_PICKLIST_AT_MOST_ONCE);
  if (fact->redelivered[which] > 0 && message->sent_ns <= fact->redelivered_ns[which]) return; /* piled up: one delivery */
  fact->redelivered_ns[which] = sim_world_now(shop->world);
  uint32_t count = ++fact->redelivered[which];
  if (count > 1) sim_danger(shop->world, INVARIANT_REDELIVERY_IS_BOUNDED);
  if (count > (uint32_t)shop->config->redeliveries_max)
    sim_violated(shop->world, INVARIANT_REDELIVERY_IS_BOUNDED, "%s of order:%" PRId64 " comes for the %" PRIu32 "th time.",
                 sim_world_kind(shop->world, message->kind)->text, message->subject, count);
}

void model_judge_picklists(struct model_shop *shop) {
  for (size_t i = 0; i < shop->facts->order_count; i++) {
    const struct model_order_fact *fact = &shop->facts->order[i];
    if (fact->state != STATE_COMPLETED || fact->cancelled) continue;
    if (shop->facts->trouble || sim_world_fault_count(shop->world) > 0) sim_danger(shop->world, INVARIANT_PICKLIST_AT_LEAST_ONCE);
    if (fact->parcels > 0 || model_fact_overdue_case(shop, fact->order)) continue;
    sim_violated(shop->world, INVARIANT_PICKLIST_AT_LEAST_ONCE,
                 "order:%" PRId64 " is paid and was not cancelled; its goods were never handed over.", fact->order);
  }
}
