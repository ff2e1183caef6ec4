/* A carrier: it collects parcels at the warehouse. A parcel bears the label of its picklist and exists once, so a second
   call for the same label collects nothing more; two picklists are two parcels. */
#ifndef MODEL_GATEWAYS_CARRIER_H
#define MODEL_GATEWAYS_CARRIER_H

#include "model/limits.h"
#include "sim/id.h"
#include "sim/world.h"

struct model_parcel { /* one ledger entry */
  struct sim_id label;
  int64_t order, lines;
  int64_t time_ns;
};

struct model_carrier {
  struct model_parcel ledger[MODEL_PARCELS_MAX];
  size_t parcel_count;
};

void model_carrier_handle(struct sim_node *node, const struct sim_message *message);

#endif
