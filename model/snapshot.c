/* Snapshots of an order's state, every few events, each in a transaction of its own. They only shorten recovery: one that is
   missing, old or unreadable costs a longer replay and nothing else.

   A snapshot is the state as one line of text: the numbers in the order of fields(), then the operation id. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/facts.h"
#include "model/order.h"
#include "sim/check.h"

enum { FIELDS_MAX = 24, TEXT_SIZE = 400 };

/* The numbers of a state, to be written or read; returns how many. */
static size_t fields(struct order *order, int64_t **out) {
  size_t count = 0;
  out[count++] = &order->number;
  out[count++] = &order->purchase;
  out[count++] = &order->amount_minor;
  out[count++] = &order->card;
  out[count++] = &order->payment;
  out[count++] = &order->refund_minor;
  out[count++] = &order->reminder_ns;
  return count;
}

static int64_t flags_of(const struct order *order) {
  int64_t flags = (int64_t)order->placed | (int64_t)order->shipped << 1 | (int64_t)order->cancelling << 2 | (int64_t)order->cancelled << 3;
  flags |= (int64_t)order->state << 4 | (int64_t)order->refund_failed << 24;
  for (int s = 0; s < MODEL_STEP_COUNT; s++) flags |= (int64_t)order->step[s] << (8 + 2 * s);
  return flags;
}

static void take_flags(struct order *order, int64_t flags) {
  order->placed = flags & 1;
  order->shipped = flags >> 1 & 1;
  order->cancelling = flags >> 2 & 1;
  order->cancelled = flags >> 3 & 1;
  order->refund_failed = flags >> 24 & 1;
  order->state = (enum model_state)(flags >> 4 & 15);
  for (int s = 0; s < MODEL_STEP_COUNT; s++) order->step[s] = (uint8_t)(flags >> (8 + 2 * s) & 3);
}

static int ask(struct sim_node *node, const char *name, const struct order *order) {
  struct sim_id id = sim_id_join("order:", order->id, "");
  struct sim_subject subject = {.id = &id, .attempt = (uint32_t)order->seq, .life = sim_node_life(node), .step = "snapshot"};
  return model_ask(model_shop_of(node), name, &subject);
}

void model_snapshot__write(struct sim_node *node, struct order *order, int64_t seq_before) {
  const struct model_design *design = model_design_of(node);
  int64_t every = model_shop_of(node)->config->snapshot_every;
  bool due = every > 0 && order->seq / every != seq_before / every;
  int64_t seq = order->seq;
  if (MODEL_CHOSEN(design, SNAPSHOT_USE, ALIASED)) { /* what was due then is written now, as the object is now */
    int64_t pending = order->snapshot_pending;
    order->snapshot_pending = due ? seq : 0;
    due = pending != 0;
    seq = pending;
  }
  if (!due) return;
  if (ask(node, "snapshot.write", order) != 0) {
    sim_tell(sim_node_world(node), sim_node_name(node), "CANNOT write the snapshot of order:%lld", (long long)order->id);
    return;
  }
  char text[TEXT_SIZE];
  int64_t *field[FIELDS_MAX];
  size_t used = (size_t)snprintf(text, sizeof text, "%" PRId64, flags_of(order));
  size_t count = fields(order, field);
  for (size_t i = 0; i < count; i++) used += (size_t)snprintf(text + used, sizeof text - used, " %" PRId64, *field[i]);
  snprintf(text + used, sizeof text - used, " %s", order->operation.text);
  sim_sql_begin(node);
  sim_sql_run(node, WRITE_SNAPSHOT, "iis", order->id, seq, text);
  model_commit(node, "snapshot");
}

bool model_snapshot__read(struct sim_node *node, struct order *order) {
  if (model_shop_of(node)->config->snapshot_every == 0) return false;
  if (ask(node, "snapshot.read", order) != 0) {
    sim_tell(sim_node_world(node), sim_node_name(node), "CANNOT read the snapshot of order:%lld", (long long)order->id);
    return false;
  }
  sqlite3_stmt *row = sim_sql_query(node, READ_SNAPSHOT, "i", order->id);
  if (row == NULL) return false;
  char text[TEXT_SIZE];
  snprintf(text, sizeof text, "%s", (const char *)sqlite3_column_text(row, 1));
  order->seq = sqlite3_column_int64(row, 0);
  sim_sql_done(row);
  int64_t *field[FIELDS_MAX];
  int64_t flags = 0;
  int at = 0;
  size_t count = fields(order, field);
  ENSURE(sscanf(text, "%" SCNd64 "%n", &flags, &at) == 1);
  take_flags(order, flags);
  for (size_t i = 0; i < count; i++) {
    int size = 0;
    ENSURE(sscanf(text + at, "%" SCNd64 "%n", field[i], &size) == 1);
    at += size;
  }
  order->operation = sim_id_of(text + at + 1);
  return true;
}
