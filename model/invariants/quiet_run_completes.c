/* quiet_run_completes: without faults every order is paid.
   no_lost_command: what was acknowledged to the customer has its event. */
#include <inttypes.h>

#include "model/facts.h"

void model_judge_quiet(struct model_shop *shop) {
  if (sim_world_fault_count(shop->world) > 0) return;
  sim_danger(shop->world, INVARIANT_QUIET_RUN_COMPLETES);
  for (size_t i = 0; i < shop->facts->order_count; i++) {
    const struct model_order_fact *fact = &shop->facts->order[i];
    bool whole = shop->config->workflow == MODEL_WORKFLOW_ORDER;
    if (whole && (fact->cancelled || shop->address_broken[fact->purchase])) continue;
    bool shipped = fact->parcels == 1 && fact->mails[STEP_CONFIRMATION] == 1 && fact->mails[STEP_SHIPPING] == 1;
    if (whole && fact->state == STATE_COMPLETED && !shipped)
      sim_violated(shop->world, INVARIANT_QUIET_RUN_COMPLETES,
                   "Nothing went wrong, yet order:%" PRId64 " was not shipped, or a mail is missing.", fact->order);
    if (fact->state == STATE_COMPLETED) continue;
    sim_violated(shop->world, INVARIANT_QUIET_RUN_COMPLETES, "Nothing went wrong, yet the payment of order:%" PRId64 " ends %s.",
                 fact->order, model_state_name(fact->state));
  }
}

void model_judge_commands(struct model_shop *shop) {
  if (model_fact_restored(shop)) return;
  for (size_t i = 0; i < shop->facts->order_count; i++) {
    const struct model_order_fact *fact = &shop->facts->order[i];
    if (fact->told_accepted && !fact->placed)
      sim_violated(shop->world, INVARIANT_NO_LOST_COMMAND, "order:%" PRId64 " was accepted; its OrderPlaced is nowhere.", fact->order);
  }
}
