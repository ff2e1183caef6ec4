/* email_at_most_once: per owed mail (order and purpose), whatever id it carried, in the provider's ledger.
   email_tells_truth: judged when the request leaves. email_at_least_once: judged at the end.
   Mails that are parked are open cases; manual_queue_is_complete and parks_only_if_undecidable hold for them too. */
#include <inttypes.h>

#include "model/facts.h"

void model_check_mail(struct model_shop *shop, const struct model_mail_sent *sent) {
  const struct model_order_fact *fact = model_order_fact(shop, sent->order);
  if (fact->mails[sent->step] < 2) return;
  sim_danger(shop->world, INVARIANT_EMAIL_AT_MOST_ONCE);
  sim_violated(shop->world, INVARIANT_EMAIL_AT_MOST_ONCE, "The %s of order:%" PRId64 " is sent a second time, under %s.",
               model_step_name((enum model_step)sent->step), sent->order, sent->reference.text);
}

void model_check_mail_leaves(struct sim_node *node, const struct sim_message *request) {
  struct model_shop *shop = model_shop_of(node);
  const struct model_order_fact *fact = model_order_fact(shop, request->subject);
  enum model_step step = (enum model_step)request->value[VALUE_STEP];
  if (fact->mails[step] > 0) sim_danger(shop->world, INVARIANT_EMAIL_AT_MOST_ONCE);
  sim_danger(shop->world, INVARIANT_EMAIL_TELLS_TRUTH);
  bool charged = model_gateway_charge(&shop->gateway, fact->payment) != NULL;
  bool true_now = step == STEP_CONFIRMATION ? fact->state == STATE_COMPLETED && charged
                  : step == STEP_SHIPPING   ? fact->shipped && fact->parcels > 0
                                            : fact->cancelled;
  if (true_now || model_fact_restored(shop)) return;
  sim_violated(shop->world, INVARIANT_EMAIL_TELLS_TRUTH, "The %s of order:%" PRId64 " leaves while the order is durably %s.",
               model_step_name(step), fact->order,
               step == STEP_CONFIRMATION
                   ? (fact->state == STATE_COMPLETED ? "paid by no charge in the ledger" : model_state_name(fact->state))
               : step == STEP_SHIPPING ? "not shipped"
                                       : "not cancelled");
}

static const struct sim_row *case_of(const struct model_shop *shop, const struct sim_row *delivery) {
  for (size_t i = 0; i < sim_durable_count(shop->world, SERVICE_MAILS, TABLE_MAIL_CASES); i++) {
    const struct sim_row *row = sim_durable_row(shop->world, SERVICE_MAILS, TABLE_MAIL_CASES, i);
    if (row->cell[CASE_OPERATION].number == delivery->cell[EFFECT_ID].number) return row;
  }
  return NULL;
}

static void judge_parked(struct model_shop *shop) {
  const struct model_capabilities *can = &shop->config->mail.can;
  for (size_t i = 0; i < sim_durable_count(shop->world, SERVICE_MAILS, TABLE_DELIVERIES); i++) {
    const struct sim_row *row = sim_durable_row(shop->world, SERVICE_MAILS, TABLE_DELIVERIES, i);
    if (row->cell[EFFECT_STATUS].number != STATE_PARKED) continue;
    shop->mail_case_count++;
    sim_danger(shop->world, INVARIANT_PARKS_ONLY_IF_UNDECIDABLE);
    sim_danger(shop->world, INVARIANT_MANUAL_QUEUE_IS_COMPLETE);
    int64_t tries = row->cell[EFFECT_ATTEMPTS].number + row->cell[EFFECT_ASKS].number;
    bool bounds_used_up = tries > shop->config->resolve_attempts;
    bool resubmitted = !can->takes_keys && row->cell[EFFECT_ATTEMPTS].number >= 2;
    shop->undecided_count[MODEL_OF_MAILER] += !bounds_used_up;
    const struct sim_row *its_case = case_of(shop, row);
    int64_t age_ns = its_case != NULL ? its_case->cell[CASE_OPENED].number - row->cell[EFFECT_CREATED].number : 0;
    bool aged = can->takes_keys && !can->looks_up && age_ns >= can->key_retention_ns - shop->config->request_lifetime_ns;
    if ((can->takes_keys || can->looks_up) && !bounds_used_up && !resubmitted && !aged)
      sim_violated(shop->world, INVARIANT_PARKS_ONLY_IF_UNDECIDABLE,
                   "%s is parked after %" PRId64 " tries; the mail provider would have told.", row->cell[EFFECT_ID].text, tries);
    if (its_case == NULL)
      sim_violated(shop->world, INVARIANT_MANUAL_QUEUE_IS_COMPLETE, "%s is parked, but the human's queue does not list it.",
                   row->cell[EFFECT_ID].text);
  }
}

static bool put_aside(const struct model_shop *shop, int64_t order, enum model_step step) {
  for (size_t i = 0; i < sim_durable_count(shop->world, SERVICE_ORDERS, TABLE_OUTBOX); i++) {
    const struct sim_row *row = sim_durable_row(shop->world, SERVICE_ORDERS, TABLE_OUTBOX, i);
    if (row->cell[OUTBOX_ORDER].number == order && row->cell[OUTBOX_STEP].number == (int64_t)step)
      return row->cell[OUTBOX_STATUS].number == OUTBOX_PARKED;
  }
  return false;
}

void model_judge_mails(struct model_shop *shop) {
  for (size_t i = 0; i < shop->facts->order_count; i++) {
    const struct model_order_fact *fact = &shop->facts->order[i];
    for (int s = 0; s < MODEL_STEP_COUNT; s++) {
      if (!fact->mail_owed[s]) continue;
      if (shop->facts->trouble || sim_world_fault_count(shop->world) > 0) sim_danger(shop->world, INVARIANT_EMAIL_AT_LEAST_ONCE);
      shop->mail_case_count += put_aside(shop, fact->order, (enum model_step)s);
      if (fact->mails[s] > 0 || put_aside(shop, fact->order, (enum model_step)s) ||
          model_fact_parked(shop, SERVICE_MAILS, TABLE_DELIVERIES, fact->order, (enum model_step)s))
        continue;
      sim_violated(shop->world, INVARIANT_EMAIL_AT_LEAST_ONCE, "The %s of order:%" PRId64 " was never sent, and is no open case.",
                   model_step_name((enum model_step)s), fact->order);
    }
  }
  judge_parked(shop);
}
