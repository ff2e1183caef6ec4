/* A mail provider: what it has sent is in its outgoing ledger, and cannot be called back. */
#ifndef MODEL_GATEWAYS_MAIL_PROVIDER_H
#define MODEL_GATEWAYS_MAIL_PROVIDER_H

#include "model/gateways/provider.h"

struct model_mail_profile {
  const char *name;
  const char *about;
  struct model_capabilities can; /* takes_keys: it recognises a message id it has sent before */
  enum model_row orders; /* stated, before any run */
};

struct model_mail_sent { /* one ledger entry */
  struct sim_id reference;
  int64_t order, step; /* enum model_step: which mail */
  int64_t time_ns;
};

struct model_mail_provider {
  struct model_provider provider;
  struct model_mail_sent ledger[MODEL_EFFECTS_MAX];
  size_t sent_count;
};

const struct model_mail_profile *model_mail_profile_find(const char *name);
size_t model_mail_profile_count(void);
const struct model_mail_profile *model_mail_profile_at(size_t index);
void model_mail_provider_handle(struct sim_node *node, const struct sim_message *message);

#endif
