/* outbox_drains: at the end no row of the outbox waits or is being sent; one that was put aside is a case for a human. */
#include "model/facts.h"

void model_judge_outbox(struct model_shop *shop) {
  for (size_t i = 0; i < sim_durable_count(shop->world, SERVICE_ORDERS, TABLE_OUTBOX); i++) {
    const struct sim_row *row = sim_durable_row(shop->world, SERVICE_ORDERS, TABLE_OUTBOX, i);
    if (row->cell[OUTBOX_STATUS].number >= OUTBOX_ROW_DONE) continue;
    sim_violated(shop->world, INVARIANT_OUTBOX_DRAINS, "%s is still in the outbox at the end.", row->cell[OUTBOX_ID].text);
  }
}
