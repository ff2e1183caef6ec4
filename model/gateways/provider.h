/* What providers of one-shot effects (a mail, a refund) have in common: they remember requests by the caller's reference,
   recognise repeats where the profile takes keys, and answer look-ups where it answers any. What they do to the world is the
   owner's: `effect` makes an entry in a ledger that no fault touches. */
#ifndef MODEL_GATEWAYS_PROVIDER_H
#define MODEL_GATEWAYS_PROVIDER_H

#include "model/gateways/payment_gateway.h"

struct model_provider_request {
  struct sim_id reference;
  int64_t first_ns, decided_ns;
  enum model_gateway_status status; /* 0 while in flight, or when nothing was done */
  bool in_flight, refuses;
  int64_t result;
};

struct model_provider {
  struct model_provider_request request[MODEL_EFFECTS_MAX];
  size_t count;
};

struct model_shop;

/* Lifetime: process. */
struct model_provider_class {
  uint16_t request, answered, slow, query, known; /* enum model_kind */
  const char *point, *look_up_point;              /* fault points with the answers slow, error_before, error_after, refuse */
  /* Do it; returns the provider's id of it, 0 when it refuses for good. */
  int64_t (*effect)(struct model_shop *shop, const struct sim_message *request);
};

void model_provider_handle(struct sim_node *node, const struct model_provider_class *class, struct model_provider *provider,
                           const struct model_capabilities *can, const struct sim_message *message);

#endif
