/* The warehouse: a picklist is made ready when SendPicklist first comes and its delivery id has been recorded
   (processed_deliveries), acknowledged after that and again for each repeat; an hour later it is picked and handed to the
   carrier under the picklist's own label, and OrderShipped is sent until it is acknowledged. A stop that comes first wins,
   also over a SendPicklist that comes late.

     SendPicklist -> Created -> Picking -> Shipped          StopPicklist: Created -> Stopped, nothing yet -> Stopped        */
#include <stdio.h>
#include <string.h>

#include "model/facts.h"
#include "model/shop.h"
#include "sim/check.h"

enum warehouse_statement {
  WAREHOUSE_BOOT,
  INSERT_DELIVERY,
  REPLACE_DELIVERY,
  FORGET_DELIVERIES,
  INSERT_PICKLIST,
  READ_PICKLIST,
  READ_BY_DELIVERY,
  SET_STATUS,
  STOP_IF_CREATED,
  ACKNOWLEDGE_SHIPPED,
  READ_UNFINISHED,
};

struct picklist {
  int64_t number, order, lines, status, pick_ns;
  bool acknowledged;
};

struct warehouse_memory {
  uint64_t seen[MODEL_PARCELS_MAX]; /* picklist.dedup=memory */
  size_t seen_count;
};

static const int64_t PICK_AFTER_NS = SIM_HOUR;
static const int64_t CALL_TIMEOUT_NS = 10 * SIM_SECOND;
static const int64_t AGAIN_NS = 30 * SIM_SECOND;
static const int64_t AGAIN_MAX_NS = 6 * SIM_HOUR;
static const int64_t SHORT_RETENTION_NS = SIM_DAY; /* dedup.retention=short */

static int64_t back_off(uint32_t tries) { return model_back_off(AGAIN_NS, AGAIN_MAX_NS, tries); }

static void set_timer(struct sim_node *node, enum model_kind kind, int64_t order, int64_t number, int64_t delay_ns, uint32_t tries) {
  struct sim_message timer = {.kind = (uint16_t)kind, .attempt = tries, .subject = order, .id = sim_id_join("picklist:", number, "")};
  timer.value[VALUE_NUMBER] = number;
  sim_timer_set(node, delay_ns, &timer);
}

static bool take_row(sqlite3_stmt *row, struct picklist *out) {
  if (row == NULL) return false;
  *out = (struct picklist){.number = sqlite3_column_int64(row, 0),
                           .order = sqlite3_column_int64(row, 1),
                           .lines = sqlite3_column_int64(row, 2),
                           .status = sqlite3_column_int64(row, 3),
                           .pick_ns = sqlite3_column_int64(row, 4),
                           .acknowledged = sqlite3_column_int(row, 5) != 0};
  sim_sql_done(row);
  return true;
}

static bool read_picklist(struct sim_node *node, int64_t number, struct picklist *out) {
  return take_row(sim_sql_query(node, READ_PICKLIST, "i", number), out);
}
static bool read_by_delivery(struct sim_node *node, const struct sim_id *delivery, struct picklist *out) {
  return take_row(sim_sql_query(node, READ_BY_DELIVERY, "s", delivery->text), out);
}

static void answer_orders(struct sim_node *node, const struct sim_message *command, enum model_kind kind) {
  struct sim_message message = {.kind = (uint16_t)kind, .attempt = command->attempt, .subject = command->subject, .id = command->id};
  message.value[VALUE_STEP] = command->value[VALUE_STEP];
  sim_send(node, SERVICE_ORDERS, &message, 0);
}

/* ---- picklists ---- */

static bool remembered(struct sim_node *node, const struct sim_id *id) {
  struct warehouse_memory *memory = sim_node_memory(node);
  for (size_t i = 0; i < memory->seen_count; i++) {
    if (memory->seen[i] == id->hash) return true;
  }
  if (memory->seen_count < MODEL_PARCELS_MAX) memory->seen[memory->seen_count++] = id->hash;
  else sim_world_exhausted(sim_node_world(node), "MODEL_PARCELS_MAX");
  return false;
}

/* Record the delivery and its picklist in one transaction. Returns false when the delivery was known. */
static bool create(struct sim_node *node, const struct sim_message *message, const struct sim_id *delivery, enum picklist_status status) {
  const struct model_design *design = model_design_of(node);
  bool persisted = MODEL_CHOSEN(design, PICKLIST_DEDUP, PERSISTED);
  if (MODEL_CHOSEN(design, PICKLIST_DEDUP, MEMORY) && remembered(node, delivery)) return false;
  sim_sql_begin(node);
  if (MODEL_CHOSEN(design, DEDUP_RETENTION, SHORT)) sim_sql_run(node, FORGET_DELIVERIES, "i", model_now(node) - SHORT_RETENTION_NS);
  if (sim_sql_run(node, persisted ? INSERT_DELIVERY : REPLACE_DELIVERY, "si", delivery->text, model_now(node)) != 1) {
    sim_sql_rollback(node);
    return false;
  }
  sim_sql_run(node, INSERT_PICKLIST, "siiii", delivery->text, message->subject, message->value[VALUE_AMOUNT], (int64_t)status,
              model_now(node) + PICK_AFTER_NS);
  model_commit(node, status == PICKLIST_STOPPED ? "picklist stopped beforehand" : "PicklistCreated");
  return true;
}

static void send_picklist(struct sim_node *node, const struct sim_message *message) {
  const struct model_design *design = model_design_of(node);
  bool early = MODEL_CHOSEN(design, PICKLIST_ACK, BEFORE_PERSIST);
  if (early) answer_orders(node, message, KIND_PICKLIST_ACCEPTED);
  bool news = create(node, message, &message->id, PICKLIST_CREATED);
  struct picklist row;
  if (news && read_by_delivery(node, &message->id, &row)) set_timer(node, KIND_PICK, message->subject, row.number, PICK_AFTER_NS, 1);
  if (!news && MODEL_CHOSEN(design, PICKLIST_REACK, SILENT)) return;
  if (!early) answer_orders(node, message, KIND_PICKLIST_ACCEPTED);
}

static void stop_picklist(struct sim_node *node, const struct sim_message *message) {
  struct sim_id delivery = model_step_id(message->subject, STEP_PICKLIST);
  struct picklist row;
  if (!create(node, message, &delivery, PICKLIST_STOPPED)) {
    sim_sql_begin(node);
    sim_sql_run(node, STOP_IF_CREATED, "s", delivery.text);
    model_commit(node, "picklist stopped");
  }
  bool known = read_by_delivery(node, &delivery, &row);
  answer_orders(node, message, known && row.status != PICKLIST_STOPPED ? KIND_PICKLIST_TOO_LATE : KIND_PICKLIST_STOPPED);
}

/* ---- shipping ---- */

static void report_shipped(struct sim_node *node, const struct picklist *row, uint32_t tries) {
  struct sim_message message = {
      .kind = KIND_ORDER_SHIPPED, .attempt = tries, .subject = row->order, .id = sim_id_join("picklist:", row->number, "")};
  message.value[VALUE_NUMBER] = row->number;
  set_timer(node, KIND_SHIPPED_AGAIN, row->order, row->number, back_off(tries), tries + 1);
  sim_send(node, SERVICE_ORDERS, &message, back_off(tries));
}

static bool set_status(struct sim_node *node, const struct picklist *row, enum picklist_status from, enum picklist_status to,
                       const char *step) {
  sim_sql_begin(node);
  if (sim_sql_run(node, SET_STATUS, "iii", (int64_t)to, row->number, (int64_t)from) != 1) {
    sim_sql_rollback(node);
    return false;
  }
  model_commit(node, step);
  return true;
}

static void pick(struct sim_node *node, const struct sim_message *message) {
  struct picklist row;
  if (!read_picklist(node, message->value[VALUE_NUMBER], &row)) return;
  if (row.status == PICKLIST_CREATED && !set_status(node, &row, PICKLIST_CREATED, PICKLIST_PICKING, "picking")) return;
  if (row.status != PICKLIST_CREATED && row.status != PICKLIST_PICKING) return;
  struct sim_message answer;
  struct sim_message request = {
      .kind = KIND_COLLECT, .attempt = message->attempt, .subject = row.order, .id = sim_id_join("picklist:", row.number, "")};
  request.value[VALUE_AMOUNT] = row.lines;
  bool answered = sim_call(node, SERVICE_CARRIER, &request, CALL_TIMEOUT_NS, &answer) == SIM_CALL_ANSWERED;
  if (!answered || answer.value[VALUE_STATUS] != GATEWAY_OK) { /* the label makes a repeat safe */
    set_timer(node, KIND_PICK, row.order, row.number, back_off(message->attempt), message->attempt + 1);
    return;
  }
  if (set_status(node, &row, PICKLIST_PICKING, PICKLIST_SHIPPED, "shipped")) report_shipped(node, &row, 1);
}

static void shipped_again(struct sim_node *node, const struct sim_message *message) {
  struct picklist row;
  bool known = read_picklist(node, message->value[VALUE_NUMBER], &row);
  if (known && row.status == PICKLIST_SHIPPED && !row.acknowledged) report_shipped(node, &row, message->attempt);
}

static void shipped_acknowledged(struct sim_node *node, const struct sim_message *message) {
  sim_sql_begin(node);
  if (sim_sql_run(node, ACKNOWLEDGE_SHIPPED, "s", message->id.text) != 1) {
    sim_sql_rollback(node);
    return;
  }
  model_commit(node, "OrderShipped acknowledged");
}

void model_warehouse_handle(struct sim_node *node, const struct sim_message *message) {
  switch ((int)message->kind) {
    case KIND_SEND_PICKLIST: send_picklist(node, message); return;
    case KIND_STOP_PICKLIST: stop_picklist(node, message); return;
    case KIND_PICK: pick(node, message); return;
    case KIND_SHIPPED_AGAIN: shipped_again(node, message); return;
    case KIND_SHIPPED_ACK: shipped_acknowledged(node, message); return;
    default: UNREACHABLE("a message the warehouse does not know");
  }
}

void model_warehouse_start(struct sim_node *node) {
  sim_node_set_memory(node, sim_arena_take(sim_world_arena(sim_node_world(node)), sizeof(struct warehouse_memory)));
  model_sync_before_recovery(node, WAREHOUSE_BOOT);
  sqlite3_stmt *row = sim_sql_query(node, READ_UNFINISHED, "");
  for (bool more = row != NULL; more; more = sim_sql_next(row)) {
    int64_t number = sqlite3_column_int64(row, 0), order = sqlite3_column_int64(row, 1), pick_ns = sqlite3_column_int64(row, 3);
    int64_t delay_ns = pick_ns > model_now(node) ? pick_ns - model_now(node) : 0;
    if (sqlite3_column_int64(row, 2) == PICKLIST_SHIPPED) set_timer(node, KIND_SHIPPED_AGAIN, order, number, AGAIN_NS, 1);
    else set_timer(node, KIND_PICK, order, number, delay_ns, 1);
  }
  sim_sql_done(row);
}
