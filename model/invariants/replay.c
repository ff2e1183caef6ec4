/* replay_is_pure: per activation nothing leaves from its first replayed event to RecoveryCompleted.
   replay_equals_live: per order and sequence number the state hash after replay equals the one taken live; where a commit
   was in doubt no live hash was taken, so the event may be there or not. */
#include <inttypes.h>

#include "model/facts.h"

void model_check_replay_leaves(struct sim_node *node, const struct sim_message *message) {
  struct model_shop *shop = model_shop_of(node);
  if (sim_node_service(node) != SERVICE_ORDERS || shop->facts == NULL) return;
  int64_t order = shop->facts->replaying[sim_node_instance(node)];
  if (order == 0) return;
  sim_violated(shop->world, INVARIANT_REPLAY_IS_PURE, "%s %s leaves %s while order:%" PRId64 " is being replayed.",
               sim_world_kind(shop->world, message->kind)->text, message->id.text, sim_node_name(node), order);
}

void model_fact_applied(struct sim_node *node, int64_t order, int64_t seq, uint64_t state_hash) {
  struct model_order_fact *fact = model_order_fact(model_shop_of(node), order);
  if (seq >= 0 && seq < MODEL_EVENTS_MAX) fact->live_hash[seq] = state_hash;
}

void model_fact_replayed(struct sim_node *node, int64_t order, int64_t seq, uint64_t state_hash) {
  struct model_shop *shop = model_shop_of(node);
  struct model_order_fact *fact = model_order_fact(shop, order);
  if (seq < 0 || seq >= MODEL_EVENTS_MAX || fact->live_hash[seq] == 0 || fact->live_hash[seq] == state_hash) return;
  sim_violated(shop->world, INVARIANT_REPLAY_EQUALS_LIVE,
               "After replaying event %" PRId64 " order:%" PRId64 " is in another state than when that event was first applied.", seq,
               order);
}

void model_fact_snapshot_used(struct sim_node *node, int64_t order, int64_t seq, uint64_t state_hash) {
  struct model_shop *shop = model_shop_of(node);
  struct model_order_fact *fact = model_order_fact(shop, order);
  sim_danger(shop->world, INVARIANT_SNAPSHOT_EQUALS_REPLAY);
  if (seq < 0 || seq >= MODEL_EVENTS_MAX || fact->live_hash[seq] == 0 || fact->live_hash[seq] == state_hash) return;
  sim_violated(shop->world, INVARIANT_SNAPSHOT_EQUALS_REPLAY,
               "With its snapshot order:%" PRId64 " is in another state than it was after event %" PRId64 ".", order, seq);
}
