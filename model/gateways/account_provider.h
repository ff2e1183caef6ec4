/* Somebody else's system in which accounts are opened; its ledger. A profile says what it can undo. */
#ifndef MODEL_GATEWAYS_ACCOUNT_PROVIDER_H
#define MODEL_GATEWAYS_ACCOUNT_PROVIDER_H

#include "model/gateways/provider.h"

struct model_account_profile {
  const char *name;
  const char *about;
  struct model_capabilities can;
  bool undoes;         /* an account can be disabled */
  enum model_row saga; /* stated, before any run */
};

struct model_account { /* one ledger entry */
  struct sim_id reference;
  int64_t registration, time_ns;
  bool disabled;
};

struct model_account_provider {
  struct model_account ledger[MODEL_EFFECTS_MAX];
  size_t account_count;
  struct model_provider creations, disablings;
};

size_t model_account_profile_count(void);
const struct model_account_profile *model_account_profile_at(size_t index);
const struct model_account_profile *model_account_profile_find(const char *name);
void model_account_provider_handle(struct sim_node *node, const struct sim_message *message);

#endif
