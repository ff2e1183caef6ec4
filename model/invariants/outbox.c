/* outbox_is_prompt: a row leaves for the first time within a minute of its commit, unless an instance of the order service
   crashed or froze in between. outbox_drains: at the end no row of the outbox waits or is being sent; one that was put aside is a case for a human. */
#include <inttypes.h>

#include "model/facts.h"

void model_judge_outbox(struct model_shop *shop) {
  for (size_t i = 0; i < sim_durable_count(shop->world, SERVICE_ORDERS, TABLE_OUTBOX); i++) {
    const struct sim_row *row = sim_durable_row(shop->world, SERVICE_ORDERS, TABLE_OUTBOX, i);
    if (row->cell[OUTBOX_STATUS].number >= OUTBOX_ROW_DONE) continue;
    sim_violated(shop->world, INVARIANT_OUTBOX_DRAINS, "%s is still in the outbox at the end.", row->cell[OUTBOX_ID].text);
  }
}

void model_check_letter_waits(struct model_shop *shop, const struct sim_row *row) {
  struct model_order_fact *fact = model_order_fact(shop, row->cell[OUTBOX_ORDER].number);
  fact->letter_waits[row->cell[OUTBOX_STEP].number] = true;
  fact->letter_ns[row->cell[OUTBOX_STEP].number] = sim_world_now(shop->world);
}

void model_check_letter_leaves(struct sim_node *node, const struct sim_message *message) {
  struct model_shop *shop = model_shop_of(node);
  struct model_order_fact *fact = model_order_fact(shop, message->subject);
  enum model_step step = (enum model_step)message->value[VALUE_STEP];
  if (!fact->letter_waits[step]) return;
  fact->letter_waits[step] = false;
  int64_t waited_ns = model_now(node) - fact->letter_ns[step];
  sim_danger(shop->world, INVARIANT_OUTBOX_IS_PROMPT);
  if (waited_ns <= SIM_MINUTE || shop->facts->orders_disturbed_ns >= fact->letter_ns[step]) return;
  sim_violated(shop->world, INVARIANT_OUTBOX_IS_PROMPT, "The %s of order:%" PRId64 " leaves the outbox only after %" PRId64 " s.",
               model_step_name(step), fact->order, waited_ns / SIM_SECOND);
}
