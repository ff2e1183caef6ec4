/* overdue_is_alerted: an order that has not ended by its last date is in the human's queue, judged at the end. */
#include <inttypes.h>

#include "model/facts.h"

bool model_fact_overdue_case(const struct model_shop *shop, int64_t order) {
  for (size_t i = 0; i < sim_durable_count(shop->world, SERVICE_ORDERS, TABLE_ORDER_CASES); i++) {
    if (sim_durable_row(shop->world, SERVICE_ORDERS, TABLE_ORDER_CASES, i)->cell[CASE_ORDER].number == order) return true;
  }
  return false;
}

static bool has_ended(const struct model_order_fact *fact) {
  if (fact->cancelled) return fact->refund_minor == fact->refunded_minor && !fact->refund_failed;
  return fact->state == STATE_FAILED || (fact->state == STATE_COMPLETED && fact->shipped);
}

void model_judge_overdue(struct model_shop *shop) {
  int64_t after_ns = shop->config->overdue_after_ns;
  for (size_t i = 0; i < shop->facts->order_count && after_ns > 0; i++) {
    const struct model_order_fact *fact = &shop->facts->order[i];
    bool due = fact->placed && sim_world_now(shop->world) > fact->placed_ns + after_ns;
    if (!due || has_ended(fact)) continue;
    sim_danger(shop->world, INVARIANT_OVERDUE_IS_ALERTED);
    if (model_fact_overdue_case(shop, fact->order)) continue;
    sim_violated(shop->world, INVARIANT_OVERDUE_IS_ALERTED, "order:%" PRId64 " has not ended, its last date is past, and nobody was told.",
                 fact->order);
  }
}
