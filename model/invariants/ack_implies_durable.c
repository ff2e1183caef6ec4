/* ack_implies_durable: what an acknowledgement vouches for is durable when it leaves, and still after every recovery. */
#include <inttypes.h>

#include "model/facts.h"

void model_check_ack(struct sim_node *node, const struct sim_message *message) {
  struct model_shop *shop = model_shop_of(node);
  struct model_order_fact *fact = model_order_fact(shop, message->subject);
  sim_danger(shop->world, INVARIANT_ACK_IMPLIES_DURABLE);
  if (message->kind == KIND_ORDER_ACCEPTED) {
    sim_danger(shop->world, INVARIANT_NO_LOST_COMMAND);
    fact->told_accepted = true;
    if (!fact->placed)
      sim_violated(shop->world, INVARIANT_ACK_IMPLIES_DURABLE, "order:%" PRId64 " is accepted before OrderPlaced is durable.", fact->order);
    return;
  }
  bool about_this = fact->operation == message->id.hash;
  bool undecided = fact->state == STATE_PENDING || fact->state == STATE_NOT_REQUESTED;
  bool unknown_for_final = fact->state == STATE_UNKNOWN && message->value[VALUE_STATUS] != STATE_UNKNOWN;
  if (about_this && (undecided || unknown_for_final)) {
    sim_violated(shop->world, INVARIANT_ACK_IMPLIES_DURABLE, "orders acknowledges \"%s\" of %s while the order is durably %s.",
                 model_state_name((enum model_state)message->value[VALUE_STATUS]), message->id.text, model_state_name(fact->state));
    return;
  }
  if (about_this && message->value[VALUE_STATUS] == STATE_COMPLETED) fact->acked_durable = true;
}

void model_check_acked_recovered(struct model_shop *shop) {
  for (size_t i = 0; i < shop->facts->order_count; i++) {
    const struct model_order_fact *fact = &shop->facts->order[i];
    if (fact->told_accepted && !fact->placed)
      sim_violated(shop->world, INVARIANT_ACK_IMPLIES_DURABLE, "After recovery order:%" PRId64 " is gone, though it was accepted.",
                   fact->order);
    if (fact->acked_durable && fact->state != STATE_COMPLETED)
      sim_violated(shop->world, INVARIANT_ACK_IMPLIES_DURABLE,
                   "After recovery order:%" PRId64 " is %s, though its payment's completion was acknowledged.", fact->order,
                   model_state_name(fact->state));
  }
}
