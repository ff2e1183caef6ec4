/* terminal_is_sticky: a payment that has ended keeps its ending, but for a late success; judged as its row changes.
   A notice that was acknowledged has done its work: ack_implies_durable when the acknowledgement leaves, no_lost_command at
   the end. */
#include <inttypes.h>

#include "model/facts.h"

void model_check_sticky(struct model_shop *shop, const struct model_operation_fact *operation, enum model_state before) {
  if (before != STATE_COMPLETED && before != STATE_FAILED) return;
  sim_danger(shop->world, INVARIANT_TERMINAL_IS_STICKY);
  if (before == STATE_FAILED && operation->status == STATE_COMPLETED) return;
  sim_violated(shop->world, INVARIANT_TERMINAL_IS_STICKY, "%s had ended %s, and is %s again.", operation->text, model_state_name(before),
               model_state_name(operation->status));
}

static const struct model_operation_fact *completed_with(const struct model_shop *shop, int64_t payment) {
  for (size_t i = 0; i < shop->facts->operation_count; i++) {
    const struct model_operation_fact *operation = &shop->facts->operation[i];
    if (operation->durable && operation->status == STATE_COMPLETED && operation->payment == payment) return operation;
  }
  return NULL;
}

void model_check_notice_acked(struct sim_node *node, const struct sim_message *ack) {
  struct model_shop *shop = model_shop_of(node);
  if (ack->value[VALUE_STATUS] != GATEWAY_OK) return;
  struct model_order_fact *fact = model_order_fact(shop, ack->subject);
  sim_danger(shop->world, INVARIANT_ACK_IMPLIES_DURABLE);
  sim_danger(shop->world, INVARIANT_NO_LOST_COMMAND);
  fact->notice_acked = ack->value[VALUE_PAYMENT];
  if (completed_with(shop, fact->notice_acked) != NULL) return;
  sim_violated(shop->world, INVARIANT_ACK_IMPLIES_DURABLE,
               "The notice that payment %" PRId64 " of order:%" PRId64 " succeeded is acknowledged before that is durable.",
               fact->notice_acked, fact->order);
}

void model_judge_notices(struct model_shop *shop) {
  for (size_t i = 0; i < shop->facts->order_count; i++) {
    const struct model_order_fact *fact = &shop->facts->order[i];
    if (fact->notice_acked == 0 || completed_with(shop, fact->notice_acked) != NULL) continue;
    sim_violated(shop->world, INVARIANT_NO_LOST_COMMAND,
                 "The notice that payment %" PRId64 " of order:%" PRId64 " succeeded was acknowledged; no payment is recorded for it.",
                 fact->notice_acked, fact->order);
  }
}
