/* operation_id_stable: one id per order and purpose until its outcome is definite. */
#include <inttypes.h>
#include <string.h>

#include "model/facts.h"

void model_check_operation_id(struct sim_node *node, const struct sim_message *request) {
  struct model_shop *shop = model_shop_of(node);
  struct model_order_fact *fact = model_order_fact(shop, request->subject);
  int64_t card = request->value[VALUE_CARD];
  if (card < 1 || card > MODEL_CARDS_MAX) return;
  uint32_t before = fact->by_card[card].requests++;
  uint64_t last = fact->by_card[card].reference;
  if (before > 0) {
    sim_danger(shop->world, INVARIANT_OPERATION_ID_STABLE);
    if (shop->facts->purchase[fact->purchase].charges > 0) sim_danger(shop->world, INVARIANT_AT_MOST_ONE_CHARGE);
  }
  if (before > 0 && last != request->id.hash && !fact->by_card[card].ended) {
    sim_violated(shop->world, INVARIANT_OPERATION_ID_STABLE,
                 "The payment of order:%" PRId64 " with card %" PRId64
                 " is sent to the provider under %s after %s, with no definite outcome in between.",
                 request->subject, card, request->id.text, fact->by_card[card].reference_text);
  }
  fact->by_card[card].reference = request->id.hash;
  memcpy(fact->by_card[card].reference_text, request->id.text, SIM_ID_SIZE);
}
