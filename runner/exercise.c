/* Which invariants a campaign must bring into danger, if the scenario does not say: those whose danger its live faults can
   produce. */
#include "faults/catalogue.h"
#include "runner/scenario.h"

static bool live(const struct runner_scenario *scenario, const char *point_name, const char *answer_name) {
  const struct sim_point *point = sim_catalogue_find(fault_catalogue(), point_name);
  for (int a = 1; a < point->answer_count; a++) {
    if (answer_name != NULL && __builtin_strcmp(point->answer[a].text, answer_name) != 0) continue;
    if (scenario->plan.odds[point->index][a].denominator != 0) return true;
  }
  return false;
}

#define BIT(id) (UINT64_C(1) << (INVARIANT_##id))

uint64_t runner_exercisable(const struct runner_scenario *scenario) {
  bool crash = live(scenario, "gap", "crash");
  bool unknown = live(scenario, "request", NULL) || live(scenario, "answer", NULL) || live(scenario, "gateway.charge", "error_after");
  uint64_t mask = BIT(COMPLETED_IMPLIES_CHARGED) | BIT(LEGAL_TRANSITION) | BIT(HONEST_REPLY) | BIT(ACK_IMPLIES_DURABLE) |
                  BIT(NO_LOST_COMMAND) | BIT(EXACTLY_ONE_ENDING) | BIT(CHARGED_IMPLIES_FULFILLED_OR_REFUNDED) | BIT(LEDGERS_RECONCILE) |
                  BIT(QUIET_RUN_COMPLETES);
  if (crash) mask |= BIT(CHARGE_HAS_INTENT) | BIT(REPLAY_IS_PURE) | BIT(REPLAY_EQUALS_LIVE) | BIT(EVERY_INTENT_RESOLVES);
  if (unknown) mask |= BIT(UNKNOWN_IS_NOT_FAILED) | BIT(PARKS_ONLY_IF_UNDECIDABLE) | BIT(EVERY_INTENT_RESOLVES);
  const struct model_gateway_profile *gateway = &scenario->config.gateway;
  bool safe = model_gateway_repeats_safely(gateway);
  if (unknown && (gateway->looks_up || safe)) mask |= BIT(AT_MOST_ONE_CHARGE);
  if (unknown && (safe || (gateway->looks_up && !gateway->takes_keys))) mask |= BIT(OPERATION_ID_STABLE); /* else nothing is repeated */
  if (unknown && gateway->looks_up) mask |= BIT(POLLING_IS_BOUNDED);
  if (unknown && !model_gateway_tells(gateway)) mask |= BIT(MANUAL_QUEUE_IS_COMPLETE);
  if (live(scenario, "gateway.charge", "decline")) mask |= BIT(DECLINED_NOT_RETRIED);
  if (live(scenario, "price.changes", NULL)) mask |= BIT(AMOUNT_MATCHES);
  if (live(scenario, "bus", NULL)) mask |= BIT(REDELIVERY_IS_BOUNDED);
  if (scenario->config.workflow == MODEL_WORKFLOW_PAYMENT) return mask;
  if (scenario->config.workflow == MODEL_WORKFLOW_REGISTRATION) {
    mask &= ~(BIT(REPLAY_IS_PURE) | BIT(REPLAY_EQUALS_LIVE) | BIT(MANUAL_QUEUE_IS_COMPLETE));
    mask |= BIT(OUTBOX_DRAINS) | BIT(ACCOUNT_IMPLIES_REGISTERED_OR_DISABLED) | BIT(AMOUNT_MATCHES);
    if (live(scenario, "user.begins", NULL)) mask |= BIT(ONE_SAGA_PER_REGISTRATION);
    if (live(scenario, "user.withdraws", NULL))
      mask |= BIT(COMPENSATE_ONLY_LANDED) | BIT(REFUND_WITHIN_CHARGE) | BIT(REFUND_FOLLOWS_CHARGE);
    return mask;
  }
  if (scenario->config.snapshot_every > 0 && crash) mask |= BIT(SNAPSHOT_EQUALS_REPLAY);
  if (scenario->config.gateway.notifies) mask |= BIT(TERMINAL_IS_STICKY);
  mask |= BIT(EMAIL_TELLS_TRUTH) | BIT(PICKLIST_MATCHES_ORDER) | BIT(SHIPPED_IMPLIES_PAID) | BIT(OUTBOX_DRAINS) | BIT(OUTBOX_IS_PROMPT);
  if (crash) mask |= BIT(EMAIL_AT_LEAST_ONCE) | BIT(PICKLIST_AT_LEAST_ONCE);
  if (live(scenario, "bus", NULL)) mask |= BIT(PICKLIST_AT_MOST_ONCE);
  bool mail_repeats = scenario->config.mail.can.takes_keys || scenario->config.mail.can.looks_up;
  if (live(scenario, "mailer.send", "error_after") && mail_repeats) mask |= BIT(EMAIL_AT_MOST_ONCE);
  if (!live(scenario, "customer.cancels", NULL)) return mask;
  mask |= BIT(REFUND_WITHIN_CHARGE) | BIT(REFUND_FOLLOWS_CHARGE) | BIT(REFUND_MATCHES_CANCELLATION);
  if (live(scenario, "gateway.refund", "error_after") && (safe || gateway->looks_up)) mask |= BIT(REFUND_AT_MOST_ONCE);
  return mask;
}
