/* unknown_is_not_failed: while the outcome of the last call is unknown there is no new operation and no "failed". */
#include <inttypes.h>

#include "model/facts.h"

void model_check_unknown_leaves(struct sim_node *node, const struct sim_message *request) {
  struct model_shop *shop = model_shop_of(node);
  uint64_t operation;
  __builtin_memcpy(&operation, &request->value[VALUE_OPERATION], sizeof operation);
  int64_t card = request->value[VALUE_CARD] >= 1 && request->value[VALUE_CARD] <= MODEL_CARDS_MAX ? request->value[VALUE_CARD] : 0;
  const struct model_order_fact *mine = model_order_fact(shop, request->subject);
  for (size_t i = 0; i < shop->facts->order_count; i++) {
    const struct model_order_fact *fact = &shop->facts->order[i];
    if (fact->purchase != mine->purchase || !fact->open) continue;
    bool same = fact->order == request->subject && fact->open_operation == operation;
    bool same_key = fact->order == request->subject && fact->by_card[card].reference == request->id.hash;
    if (same && same_key) continue;
    sim_violated(shop->world, INVARIANT_UNKNOWN_IS_NOT_FAILED,
                 "A new charge for purchase %" PRId64 " leaves under %s while the outcome of the last call for order:%" PRId64
                 " is unknown.",
                 mine->purchase, request->id.text, fact->order);
  }
}

void model_check_unknown_failed(struct model_shop *shop, const char *who, struct model_order_fact *fact) {
  if (fact->open && fact->reopened && sim_durable_settling(shop->world)) {
    fact->open = fact->reopened = false; /* the commit in doubt had landed: its writer knew */
  }
  if (!fact->open) return;
  bool about_an_older_one = model_fact_restored(shop) && fact->open_operation != fact->operation;
  if (about_an_older_one) return; /* the copy that came back knows nothing of the last call */
  sim_violated(shop->world, INVARIANT_UNKNOWN_IS_NOT_FAILED,
               "The payment of order:%" PRId64 " is recorded as failed at %s while the outcome of its last call is unknown.", fact->order,
               who);
}
