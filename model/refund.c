/* Refunds, at the payment service: a row a refund (refund_operations), with its own id, state and retries. */
#include "model/effect.h"

#include <stdio.h>

#include "model/facts.h"
#include "model/payment.h"
#include "sim/check.h"

static enum effect_dedup dedup(const struct model_design *design) {
  (void)design;
  return EFFECT_UNIQUE_ROW;
}

static enum effect_on_unknown on_unknown(const struct model_design *design) {
  if (MODEL_CHOSEN(design, REFUND_ON_UNKNOWN, REFUND_AGAIN)) return EFFECT_AGAIN;
  return MODEL_CHOSEN(design, REFUND_ON_UNKNOWN, FAILED) ? EFFECT_GIVE_UP : EFFECT_RESOLVE;
}

static struct model_capabilities capabilities(const struct model_config *config) { return model_gateway_capabilities(&config->gateway); }
static bool ages(const struct model_design *design) { return !MODEL_CHOSEN(design, PAYMENT_KEY_AGE, IGNORED); }

/* refund.on_unknown=refund_again: another try is another refund. */
static struct sim_id key(const struct sim_node *node, const struct effect *effect) {
  const struct model_design *design = model_design_of(node);
  if (MODEL_CHOSEN(design, REFUND_IDENTITY, CHARGE_ID)) return model_operation_id(effect->order, 1);
  if (!MODEL_CHOSEN(design, REFUND_ON_UNKNOWN, REFUND_AGAIN) || effect->attempts == 1) return effect->id;
  char text[2 * SIM_ID_SIZE];
  snprintf(text, sizeof text, "%s/%d", effect->id.text, (int)effect->attempts);
  return sim_id_of(text);
}

static void report(struct sim_node *node, const struct effect *effect, uint32_t tries) {
  if (effect->status == STATE_PENDING || effect->status == STATE_UNKNOWN) return;
  struct sim_message message = {.kind = KIND_REFUND_RESULT, .attempt = tries, .subject = effect->order, .id = effect->id};
  message.value[VALUE_STEP] = STEP_REFUND;
  message.value[VALUE_STATUS] = effect->status;
  message.value[VALUE_AMOUNT] = effect->amount_minor;
  message.value[VALUE_PAYMENT] = effect->result;
  sim_send(node, SERVICE_ORDERS, &message, 0);
}

static const struct effect_class refund = {.statement = REFUND_STATEMENTS,
                                           .outsider = SERVICE_GATEWAY,
                                           .request = KIND_MAKE_REFUND,
                                           .query = KIND_ASK_REFUND,
                                           .intent = "refund intent",
                                           .attempt = "next refund attempt",
                                           .taken_over = "refund taken over",
                                           .found = "refund found",
                                           .result = {[STATE_COMPLETED] = "refund result: made",
                                                      [STATE_FAILED] = "refund result: failed",
                                                      [STATE_UNKNOWN] = "refund result: unknown",
                                                      [STATE_PARKED] = "refund result: parked"},
                                           .dedup = dedup,
                                           .on_unknown = on_unknown,
                                           .capabilities = capabilities,
                                           .ages = ages,
                                           .key = key,
                                           .refusal_is_a_case = true,
                                           .report = report};

void model_refund_handle(struct sim_node *node, const struct sim_message *message) { model_effect_command(node, &refund, message); }

void model_refund_found(struct sim_node *node, const struct sim_message *stated) { model_effect_found(node, &refund, stated); }

void model_refund_operator(struct sim_node *node, const struct sim_message *says) { model_effect_operator(node, &refund, says); }
