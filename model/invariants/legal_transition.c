/* legal_transition: NotRequested -> Pending -> Completed | Failed | Unknown | Parked; Unknown -> Completed | Failed | Parked;
   Parked -> Completed | Failed (a late definite answer); Failed -> Pending (a new operation) | Completed (late success).
   An order is cancelled when its payment has ended or was never asked for, and asks for none after that. */
#include <inttypes.h>

#include "model/facts.h"

static const uint8_t allowed_from[MODEL_STATE_COUNT] = {
    [STATE_NOT_REQUESTED] = 1U << STATE_PENDING,
    [STATE_PENDING] = 1U << STATE_COMPLETED | 1U << STATE_FAILED | 1U << STATE_UNKNOWN | 1U << STATE_PARKED,
    [STATE_UNKNOWN] = 1U << STATE_COMPLETED | 1U << STATE_FAILED | 1U << STATE_PARKED,
    [STATE_PARKED] = 1U << STATE_COMPLETED | 1U << STATE_FAILED,
    [STATE_FAILED] = 1U << STATE_PENDING | 1U << STATE_COMPLETED,
    [STATE_COMPLETED] = 0,
};

void model_check_transition(struct model_shop *shop, const struct model_order_fact *fact, enum model_event event) {
  static const enum model_state after[] = {
      STATE_NOT_REQUESTED,
#define EVENT(id, name, state) STATE_##state,
#include "model/events.def"
#undef EVENT
  };
  enum model_state to = after[event];
  bool undecided = fact->state == STATE_PENDING || fact->state == STATE_UNKNOWN || fact->state == STATE_PARKED;
  if (event == EVENT_PAYMENT_REQUESTED && fact->cancelled)
    sim_violated(shop->world, INVARIANT_LEGAL_TRANSITION, "A payment is requested for order:%" PRId64 ", which is cancelled.", fact->order);
  if (event == EVENT_ORDER_CANCELLED && undecided)
    sim_violated(shop->world, INVARIANT_LEGAL_TRANSITION, "order:%" PRId64 " is cancelled while its payment is %s.", fact->order,
                 model_state_name(fact->state));
  if (event == EVENT_ORDER_PLACED) {
    if (fact->placed) sim_violated(shop->world, INVARIANT_LEGAL_TRANSITION, "order:%" PRId64 " is placed a second time.", fact->order);
    return;
  }
  if (to == STATE_KEPT) return;
  sim_danger(shop->world, INVARIANT_LEGAL_TRANSITION);
  if ((allowed_from[fact->state] >> to & 1U) != 0) return;
  sim_violated(shop->world, INVARIANT_LEGAL_TRANSITION, "The payment of order:%" PRId64 " goes from %s to %s.", fact->order,
               model_state_name(fact->state), model_state_name(to));
}
