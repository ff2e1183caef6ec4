/* declined_not_retried: a declined card is never charged again by an incarnation that received the refusal, nor by anybody
   after it was persisted. */
#include <inttypes.h>

#include "model/facts.h"

void model_check_declined_leaves(struct sim_node *node, const struct sim_message *request) {
  struct model_shop *shop = model_shop_of(node);
  const struct model_order_fact *fact = model_order_fact(shop, request->subject);
  int64_t card = request->value[VALUE_CARD];
  if (card < 1 || card > MODEL_CARDS_MAX) return;
  bool received = fact->by_card[card].declined_lives[sim_node_instance(node)] == sim_node_life(node);
  if (!received && model_fact_restored(shop)) return;
  if (!received && !fact->by_card[card].declined) return;
  sim_violated(shop->world, INVARIANT_DECLINED_NOT_RETRIED, "Card %" PRId64 " of order:%" PRId64 " is charged again by %s, which %s.", card,
               request->subject, sim_node_name(node),
               received ? "was told that it is declined" : "can read in its tables that it was declined");
}
