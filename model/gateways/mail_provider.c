#include "model/gateways/mail_provider.h"

#include <string.h>

#include "model/facts.h"
#include "model/shop.h"
#include "sim/check.h"

static const struct model_mail_profile profiles[] = {
#define PROFILE(name, about, ...) {name, about, __VA_ARGS__},
#define ALIAS(alias, name)
#include "model/gateways/mail_profiles.def"
#undef PROFILE
#undef ALIAS
};

static const struct model_alias aliases[] = {
#define PROFILE(...)
#define ALIAS(alias, name) {alias, name},
#include "model/gateways/mail_profiles.def"
#undef PROFILE
#undef ALIAS
};

size_t model_mail_profile_count(void) { return sizeof profiles / sizeof profiles[0]; }
const struct model_mail_profile *model_mail_profile_at(size_t index) { return &profiles[index]; }

const struct model_mail_profile *model_mail_profile_find(const char *name) {
  name = model_name_of(name, aliases, sizeof aliases / sizeof aliases[0]);
  for (size_t i = 0; i < model_mail_profile_count(); i++) {
    if (strcmp(profiles[i].name, name) == 0) return &profiles[i];
  }
  return NULL;
}

static int64_t send_mail(struct model_shop *shop, const struct sim_message *request) {
  struct model_mail_provider *mailer = &shop->mailer;
  ENSURE(mailer->sent_count < MODEL_EFFECTS_MAX);
  struct model_mail_sent *sent = &mailer->ledger[mailer->sent_count++];
  *sent = (struct model_mail_sent){
      .reference = request->id, .order = request->subject, .step = request->value[VALUE_STEP], .time_ns = sim_world_now(shop->world)};
  sim_note(shop->world, sim_hash_text("mail"), sent->reference.hash, (uint64_t)sent->step);
  sim_tell(shop->world, "mailer", "LEDGER: mail %zu, the %s of order:%lld, is sent under %s", mailer->sent_count,
           model_step_name((enum model_step)sent->step), (long long)sent->order, sent->reference.text);
  model_fact_mailed(shop, sent);
  return (int64_t)mailer->sent_count;
}

static const struct model_provider_class class = {.request = KIND_DELIVER_MAIL,
                                                  .answered = KIND_MAIL_ANSWERED,
                                                  .slow = KIND_SLOW_MAIL,
                                                  .query = KIND_ASK_MAIL,
                                                  .known = KIND_MAIL_KNOWN,
                                                  .point = "mailer.send",
                                                  .look_up_point = "mailer.look_up",
                                                  .effect = send_mail};

void model_mail_provider_handle(struct sim_node *node, const struct sim_message *message) {
  struct model_shop *shop = model_shop_of(node);
  model_provider_handle(node, &class, &shop->mailer.provider, &shop->config->mail.can, message);
}
