/* What a step says to other people's systems, and what their answers mean: capabilities, keys, requests, questions. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/registration/step.h"
#include "sim/check.h"

static const int64_t CALL_TIMEOUT_NS = 10 * SIM_SECOND;

static const struct model_gateway_profile *gateway_of(const struct sim_node *node) { return &model_shop_of(node)->config->gateway; }

struct model_capabilities saga_step__capabilities(const struct sim_node *node, enum saga_step step) {
  if (saga_step_info(step)->outsider == SERVICE_XYZ) return model_shop_of(node)->config->accounts.can;
  return model_gateway_capabilities(gateway_of(node));
}

static struct sim_id numbered(const struct sim_id *id, const char *mark, int64_t number) {
  char text[2 * SIM_ID_SIZE];
  snprintf(text, sizeof text, "%s%s%" PRId64, id->text, mark, number);
  return sim_id_of(text);
}

/* saga.payment_key, external.key, compensation.key: what the provider sees as the caller's reference. */
static struct sim_id key_of(const struct sim_node *node, const struct step *step) {
  const struct model_design *design = model_design_of(node);
  bool payment = saga_is_payment(step->step);
  bool account = step->step == SAGA_ACCOUNT;
  bool refund = saga_is_refund(step->step);
  bool per_execution = (payment && MODEL_CHOSEN(design, SAGA_PAYMENT_KEY, PER_EXECUTION)) ||
                       (account && MODEL_CHOSEN(design, EXTERNAL_KEY, PER_EXECUTION)) ||
                       (refund && MODEL_CHOSEN(design, COMPENSATION_KEY, FRESH));
  bool correlation =
      (payment && MODEL_CHOSEN(design, SAGA_PAYMENT_KEY, CORRELATION)) || (account && MODEL_CHOSEN(design, EXTERNAL_KEY, CORRELATION));
  if (correlation) return sim_id_join("registration:", step->registration, "");
  if (per_execution) return numbered(&step->id, "#", step->attempts + (refund ? step->asks : 0));
  return step->id;
}

bool saga_step__key_lives(const struct sim_node *node, const struct step *step) {
  struct model_capabilities can = saga_step__capabilities(node, step->step);
  if (saga_is_refund(step->step) && MODEL_CHOSEN(model_design_of(node), COMPENSATION_KEY, NONE)) return false;
  bool has_its_receipt =
      saga_is_payment(step->step) && gateway_of(node)->repeat == MODEL_REPEAT_RECEIPT && step->reason == REASON_TAKEN_ON;
  bool young = model_now(node) - step->created_ns < can.key_retention_ns - model_shop_of(node)->config->request_lifetime_ns;
  return can.takes_keys && young && !has_its_receipt;
}

bool saga_step__absence_is_definite(const struct sim_node *node, const struct step *step) {
  const struct model_config *config = model_shop_of(node)->config;
  int64_t lag_ns = saga_step__capabilities(node, step->step).look_up_lag_ns;
  int64_t final_after_ns = config->lease_ns + config->request_lifetime_ns + lag_ns + MODEL_GATEWAY_PROCESSING_MAX_NS;
  return step->asked_ns - step->last_attempt_ns >= final_after_ns;
}

static int64_t failed_final_ns(const struct sim_node *node, const struct step *step) {
  return step->last_attempt_ns + model_shop_of(node)->config->request_lifetime_ns + gateway_of(node)->failed_final_after_ns;
}

int64_t saga_step__decided_ns(const struct sim_node *node, const struct step *step) {
  if (!saga_is_payment(step->step)) return 0;
  if (step->reason == REASON_TAKEN_ON) return step->last_attempt_ns + gateway_of(node)->decides_after_ns;
  return step->reason == REASON_CALLED_FAILED ? failed_final_ns(node, step) : 0;
}

/* One call about this step. */
static bool call(struct sim_node *node, const struct step *step, struct sim_message *request, struct sim_message *answer_out) {
  request->subject = step->registration;
  request->value[VALUE_PURCHASE] = saga_purchase(step->registration, step->step);
  memcpy(&request->value[VALUE_OPERATION], &step->id.hash, sizeof step->id.hash);
  bool waits = MODEL_CHOSEN(model_design_of(node), SAGA_HANDLER_WAIT, LONG);
  return sim_call(node, saga_step_info(step->step)->outsider, request, waits ? SIM_HOUR : CALL_TIMEOUT_NS, answer_out) == SIM_CALL_ANSWERED;
}

/* What an answer about a request says; a conflict that names the first payment is as good as that payment's own answer. */
static enum model_gateway_status heard(struct step *step, const struct sim_message *answer) {
  enum model_gateway_status status = (enum model_gateway_status)answer->value[VALUE_STATUS];
  if (status == GATEWAY_DUPLICATE && answer->value[VALUE_PAYMENT] != 0) status = GATEWAY_OK;
  if (status == GATEWAY_OK) step->result = answer->value[VALUE_PAYMENT];
  if (saga_is_payment(step->step) && status == GATEWAY_IN_FLIGHT) step->reason = REASON_TAKEN_ON;
  return status;
}

static struct sim_message message_about(const struct sim_node *node, const struct step *step, enum model_kind kind, int64_t attempt) {
  struct sim_message message = {.kind = (uint16_t)kind, .attempt = (uint32_t)attempt, .id = key_of(node, step)};
  message.value[VALUE_AMOUNT] = step->amount_minor;
  message.value[VALUE_CARD] = step->card;
  return message;
}

enum model_gateway_status saga_step__request(struct sim_node *node, struct step *step) {
  struct sim_message answer;
  struct sim_message request = message_about(node, step, saga_step_info(step->step)->request, step->attempts);
  request.value[VALUE_PAYMENT] = step->target;
  step->reason = REASON_NONE;
  return call(node, step, &request, &answer) ? heard(step, &answer) : GATEWAY_ERROR;
}

static void note_question(struct sim_node *node, struct step *step) {
  step->asks++;
  step->asked_ns = model_now(node);
}

enum model_gateway_status saga_step__look_up(struct sim_node *node, struct step *step) {
  struct sim_message answer;
  bool payment = saga_is_payment(step->step);
  note_question(node, step);
  struct sim_message request = message_about(node, step, saga_step_info(step->step)->query, step->asks);
  if (payment && MODEL_CHOSEN(model_design_of(node), SAGA_VERIFY_KEY, OTHER)) request.id = numbered(&step->id, "/verify-", step->asks);
  request.value[VALUE_PAYMENT] = payment ? 0 : step->target;
  if (!call(node, step, &request, &answer)) return GATEWAY_ERROR;
  bool early = payment && gateway_of(node)->failed_final_after_ns > 0 && step->asked_ns < failed_final_ns(node, step);
  if (answer.value[VALUE_STATUS] != GATEWAY_DECLINED || !early) return heard(step, &answer);
  step->reason = REASON_CALLED_FAILED;
  return GATEWAY_ERROR;
}

enum model_gateway_status saga_step__read_statement(struct sim_node *node, struct step *step) {
  struct sim_id reference = key_of(node, step);
  note_question(node, step);
  for (int64_t number = 1;; number++) {
    struct sim_message line;
    struct sim_message request = message_about(node, step, KIND_ASK_STATEMENT, step->asks * 1000 + number);
    request.value[VALUE_NUMBER] = number;
    if (!call(node, step, &request, &line)) return GATEWAY_ERROR;
    if (line.value[VALUE_STATUS] != GATEWAY_OK) return (enum model_gateway_status)line.value[VALUE_STATUS];
    if (sim_id_same(&line.id, &reference)) return heard(step, &line);
  }
}

/* Once that is answered, the charge was not executed, and will not be. */
enum model_gateway_status saga_step__reverse(struct sim_node *node, struct step *step) {
  struct sim_message answer;
  struct sim_message request = message_about(node, step, KIND_REVERSE, step->attempts);
  if (!call(node, step, &request, &answer)) return GATEWAY_ERROR;
  return (enum model_gateway_status)answer.value[VALUE_STATUS];
}
