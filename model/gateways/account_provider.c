#include "model/gateways/account_provider.h"

#include <string.h>

#include "model/registration/registration.h"
#include "model/shop.h"
#include "sim/check.h"

static const struct model_account_profile profiles[] = {
#define PROFILE(name, about, ...) {name, about, __VA_ARGS__},
#include "model/gateways/account_profiles.def"
#undef PROFILE
};

size_t model_account_profile_count(void) { return sizeof profiles / sizeof profiles[0]; }
const struct model_account_profile *model_account_profile_at(size_t index) { return &profiles[index]; }

const struct model_account_profile *model_account_profile_find(const char *name) {
  for (size_t i = 0; i < model_account_profile_count(); i++) {
    if (strcmp(profiles[i].name, name) == 0) return &profiles[i];
  }
  return NULL;
}

static int64_t open_account(struct model_shop *shop, const struct sim_message *request) {
  struct model_account_provider *xyz = &shop->xyz;
  ENSURE(xyz->account_count < MODEL_EFFECTS_MAX);
  struct model_account *account = &xyz->ledger[xyz->account_count++];
  *account = (struct model_account){.reference = request->id, .registration = request->subject, .time_ns = sim_world_now(shop->world)};
  sim_note(shop->world, sim_hash_text("account"), account->reference.hash, (uint64_t)account->registration);
  sim_tell(shop->world, "xyz", "LEDGER: account %zu is opened for registration:%lld under %s", xyz->account_count,
           (long long)account->registration, account->reference.text);
  saga_fact_account(shop, account->registration, false);
  return (int64_t)xyz->account_count;
}

static int64_t disable_account(struct model_shop *shop, const struct sim_message *request) {
  int64_t number = request->value[VALUE_PAYMENT];
  bool known = number >= 1 && (size_t)number <= shop->xyz.account_count;
  if (!known || !shop->config->accounts.undoes) return 0;
  struct model_account *account = &shop->xyz.ledger[number - 1];
  if (!account->disabled) {
    account->disabled = true;
    sim_note(shop->world, sim_hash_text("account disabled"), (uint64_t)number, 0);
    sim_tell(shop->world, "xyz", "LEDGER: account %lld of registration:%lld is disabled", (long long)number,
             (long long)account->registration);
    saga_fact_account(shop, account->registration, true);
  }
  return number;
}

static const struct model_provider_class creation = {.request = KIND_CREATE_ACCOUNT,
                                                     .answered = KIND_ACCOUNT_ANSWERED,
                                                     .slow = KIND_SLOW_ACCOUNT,
                                                     .query = KIND_ASK_ACCOUNT,
                                                     .known = KIND_ACCOUNT_KNOWN,
                                                     .point = "xyz.create",
                                                     .look_up_point = "xyz.look_up",
                                                     .effect = open_account};
static const struct model_provider_class disabling = {.request = KIND_DISABLE,
                                                      .answered = KIND_DISABLE_ANSWERED,
                                                      .slow = KIND_SLOW_DISABLE,
                                                      .query = KIND_ASK_DISABLE,
                                                      .known = KIND_DISABLE_KNOWN,
                                                      .point = "xyz.disable",
                                                      .look_up_point = "xyz.look_up",
                                                      .effect = disable_account};

void model_account_provider_handle(struct sim_node *node, const struct sim_message *message) {
  struct model_shop *shop = model_shop_of(node);
  const struct model_capabilities *can = &shop->config->accounts.can;
  bool about_disabling = message->kind == KIND_DISABLE || message->kind == KIND_SLOW_DISABLE || message->kind == KIND_ASK_DISABLE;
  if (about_disabling) model_provider_handle(node, &disabling, &shop->xyz.disablings, can, message);
  else model_provider_handle(node, &creation, &shop->xyz.creations, can, message);
}
