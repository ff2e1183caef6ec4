/* The mail service: a row a message (email_deliveries), whose id is the outbox's message id. */
#include "model/effect.h"

#include "model/facts.h"
#include "sim/check.h"

static enum effect_dedup dedup(const struct model_design *design) {
  if (MODEL_CHOSEN(design, EMAIL_DEDUP, CHECK_THEN_INSERT)) return EFFECT_CHECK_THEN_INSERT;
  if (MODEL_CHOSEN(design, EMAIL_DEDUP, MEMORY)) return EFFECT_IN_MEMORY;
  return MODEL_CHOSEN(design, EMAIL_DEDUP, NONE) ? EFFECT_NO_DEDUP : EFFECT_UNIQUE_ROW;
}

static enum effect_on_unknown on_unknown(const struct model_design *design) {
  if (MODEL_CHOSEN(design, EMAIL_ON_UNKNOWN, RESEND)) return EFFECT_AGAIN;
  return MODEL_CHOSEN(design, EMAIL_ON_UNKNOWN, DROP) ? EFFECT_GIVE_UP : EFFECT_RESOLVE;
}

static struct model_capabilities capabilities(const struct model_config *config) { return config->mail.can; }
static bool ages(const struct model_design *design) { return !MODEL_CHOSEN(design, PAYMENT_KEY_AGE, IGNORED); }

static struct sim_id key(const struct sim_node *node, const struct effect *effect) {
  (void)node;
  return effect->id;
}

/* Tell the order once it is final; until then the outbox sends the command again. */
static void report(struct sim_node *node, const struct effect *effect, uint32_t tries) {
  if (effect->status == STATE_PENDING || effect->status == STATE_UNKNOWN) return;
  struct sim_message message = {.kind = KIND_EMAIL_RESULT, .attempt = tries, .subject = effect->order, .id = effect->id};
  message.value[VALUE_STEP] = effect->step;
  message.value[VALUE_STATUS] = effect->status;
  sim_send(node, SERVICE_ORDERS, &message, 0);
}

static const struct effect_class mail = {.statement = 0,
                                         .outsider = SERVICE_MAILER,
                                         .request = KIND_DELIVER_MAIL,
                                         .query = KIND_ASK_MAIL,
                                         .intent = "mail intent",
                                         .attempt = "next mail attempt",
                                         .taken_over = "mail taken over",
                                         .found = "mail found",
                                         .result = {[STATE_COMPLETED] = "mail result: sent",
                                                    [STATE_FAILED] = "mail result: given up",
                                                    [STATE_UNKNOWN] = "mail result: unknown",
                                                    [STATE_PARKED] = "mail result: outcome unknown for good"},
                                         .dedup = dedup,
                                         .on_unknown = on_unknown,
                                         .capabilities = capabilities,
                                         .ages = ages,
                                         .key = key,
                                         .report = report};

void model_mail_handle(struct sim_node *node, const struct sim_message *message) {
  if (message->kind == KIND_OPERATOR_SAYS) {
    model_effect_operator(node, &mail, message);
    return;
  }
  REQUIRE(message->kind == KIND_SEND_EMAIL);
  if (model_shop_of(node)->address_broken[model_purchase_of(message->subject)]) {
    struct sim_message rejected = {
        .kind = KIND_EMAIL_REJECTED, .attempt = message->attempt, .subject = message->subject, .id = message->id};
    rejected.value[VALUE_STEP] = message->value[VALUE_STEP];
    sim_send(node, SERVICE_ORDERS, &rejected, 0);
    return;
  }
  model_effect_command(node, &mail, message);
}

void model_mail_start(struct sim_node *node) {
  sim_node_set_memory(node, sim_arena_take(sim_world_arena(sim_node_world(node)), sizeof(struct effect_memory)));
  model_sync_before_recovery(node, EFFECT_STATEMENT_COUNT);
}
