/* The outbox: rows committed with the events that cause them, and the dispatcher that sends them. A claim is an intent: the
   row is *sending* before the message leaves, and a claim that has expired says that its outcome is unknown; then the same
   message goes again under the same id, marked as a repeat, until its result has been recorded with the order. A row that
   does not get through blocks nobody: it backs off, and others that are due go first. */
#include <stdio.h>
#include <string.h>

#include "model/facts.h"
#include "model/order.h"
#include "sim/check.h"

static const int64_t BACK_OFF_NS = 30 * SIM_SECOND;
static const int64_t BACK_OFF_MAX_NS = 6 * SIM_HOUR;

struct outbox_row {
  char id[SIM_ID_SIZE];
  struct order_letter letter;
  int64_t order, status, attempts, next_ns, life;
  bool claimed;
};

enum { OUTBOX_CLAIMED_MAX = 16 }; /* rows of one round: an order has three at once at most */

void model_outbox__enqueue(struct sim_node *node, const struct order *order, const struct order_letter *letter) {
  struct sim_id id = model_step_id(order->id, letter->step);
  sim_sql_run(node, ENQUEUE, "siiiiii", id.text, (int64_t)letter->step, order->id, letter->amount_minor, letter->payment, model_now(node),
              (int64_t)sim_node_life(node));
}

void model_outbox__end(struct sim_node *node, const struct order *order, enum model_step step, bool parked) {
  struct sim_id id = model_step_id(order->id, step);
  sim_sql_run(node, OUTBOX_END, "si", id.text, (int64_t)(parked ? OUTBOX_PARKED : OUTBOX_ROW_DONE));
}

static void wake_at(struct sim_node *node, int64_t time_ns) {
  struct order_memory *memory = sim_node_memory(node);
  if (time_ns < model_now(node)) time_ns = model_now(node); /* the process was frozen since it looked */
  bool armed = memory->dispatch.number != 0;
  if (armed && MODEL_CHOSEN(model_design_of(node), OUTBOX_WAKE, NEXT_TIMER)) return;
  if (armed && memory->dispatch_ns <= time_ns && memory->dispatch_ns >= model_now(node)) return;
  struct sim_message timer = {.kind = KIND_DISPATCH, .attempt = 1, .subject = MODEL_OUTBOX_SUBJECT};
  sim_timer_cancel(node, &memory->dispatch);
  memory->dispatch_ns = time_ns;
  memory->dispatch = sim_timer_set(node, time_ns - model_now(node), &timer);
}

void model_outbox__wake(struct sim_node *node) { wake_at(node, model_now(node)); }

/* ---- sending ---- */

/* email.message_id and picklist.delivery_id: the id that the receiver sees. */
static struct sim_id sent_id(const struct sim_node *node, int64_t order, enum model_step step, uint32_t tries) {
  const struct model_design *design = model_design_of(node);
  struct sim_id id = model_step_id(order, step);
  bool mail = step == STEP_CONFIRMATION || step == STEP_SHIPPING || step == STEP_CORRECTION;
  if (mail && MODEL_CHOSEN(design, EMAIL_MESSAGE_ID, SHARED)) return sim_id_join("order:", order, ":email");
  bool fresh = (mail && MODEL_CHOSEN(design, EMAIL_MESSAGE_ID, FRESH)) ||
               (step == STEP_PICKLIST && MODEL_CHOSEN(design, PICKLIST_DELIVERY_ID, FRESH)) ||
               (step == STEP_REFUND && MODEL_CHOSEN(design, REFUND_IDENTITY, FRESH));
  if (!fresh) return id;
  char text[2 * SIM_ID_SIZE];
  snprintf(text, sizeof text, "%s#%u-%u", id.text, sim_node_life(node), tries);
  return sim_id_of(text);
}

void model_outbox__send(struct sim_node *node, int64_t order, const struct order_letter *letter, uint32_t tries, bool repeated) {
  static const struct {
    enum model_service to;
    enum model_kind kind;
  } address[MODEL_STEP_COUNT] = {
      [STEP_CONFIRMATION] = {SERVICE_MAILS, KIND_SEND_EMAIL}, [STEP_SHIPPING] = {SERVICE_MAILS, KIND_SEND_EMAIL},
      [STEP_CORRECTION] = {SERVICE_MAILS, KIND_SEND_EMAIL},   [STEP_PICKLIST] = {SERVICE_WAREHOUSE, KIND_SEND_PICKLIST},
      [STEP_STOP] = {SERVICE_WAREHOUSE, KIND_STOP_PICKLIST},  [STEP_REFUND] = {SERVICE_PAYMENTS, KIND_REFUND_PAYMENT},
  };
  struct sim_message message = {
      .kind = (uint16_t)address[letter->step].kind, .attempt = tries, .subject = order, .id = sent_id(node, order, letter->step, tries)};
  message.value[VALUE_STEP] = letter->step;
  message.value[VALUE_AMOUNT] = letter->amount_minor;
  message.value[VALUE_PAYMENT] = letter->payment;
  message.value[VALUE_REPEATED] = repeated;
  sim_send(node, address[letter->step].to, &message, BACK_OFF_NS);
}

/* picklist.lines: what the receiver is told to do, as agreed or as of today. */
static int64_t amount_of(struct sim_node *node, const struct order_letter *letter) {
  if (letter->step != STEP_PICKLIST || !MODEL_CHOSEN(model_design_of(node), PICKLIST_LINES, RECOMPUTED)) return letter->amount_minor;
  sqlite3_stmt *row = sim_sql_query(node, READ_PRICE, "");
  int64_t amount_minor = row != NULL ? sqlite3_column_int64(row, 0) : letter->amount_minor;
  sim_sql_done(row);
  return amount_minor;
}

/* ---- the dispatcher ---- */

static int64_t back_off(const struct sim_node *node, int64_t attempts) {
  int64_t delay_ns = model_back_off(BACK_OFF_NS, BACK_OFF_MAX_NS, attempts);
  int64_t lease_ns = model_shop_of(node)->config->lease_ns;
  return delay_ns > lease_ns ? delay_ns : lease_ns; /* a living owner is not overtaken */
}

/* resume.steps: which of the rows left by an earlier life are taken up again. */
static bool taken_up(const struct sim_node *node, const struct outbox_row *row) {
  const struct model_design *design = model_design_of(node);
  if (row->life == sim_node_life(node)) return true;
  if (MODEL_CHOSEN(design, RESUME_STEPS, PAYMENT_ONLY)) return row->letter.step == STEP_REFUND;
  if (MODEL_CHOSEN(design, RESUME_STEPS, CONFIRMATION_ONLY))
    return row->letter.step == STEP_CONFIRMATION || row->letter.step == STEP_REFUND;
  if (MODEL_CHOSEN(design, RESUME_STEPS, WAIT_FOR_WAREHOUSE)) return row->letter.step != STEP_PICKLIST;
  return true;
}

static bool may_be_sent(const struct sim_node *node, const struct outbox_row *row) {
  const struct model_design *design = model_design_of(node);
  bool picklist_once = row->letter.step == STEP_PICKLIST && MODEL_CHOSEN(design, PICKLIST_DELIVERY, AT_MOST_ONCE);
  bool never_expires = MODEL_CHOSEN(design, OUTBOX_CLAIM, NO_EXPIRY);
  if (row->status == OUTBOX_SENDING && (picklist_once || never_expires)) return false;
  return taken_up(node, row);
}

/* The rows that are due; `later_ns_out`: when the next one will be (0: never). Returns how many are due. */
static size_t rows_due(struct sim_node *node, struct outbox_row out[OUTBOX_CLAIMED_MAX], int64_t *later_ns_out) {
  bool head_only = MODEL_CHOSEN(model_design_of(node), OUTBOX_ORDER, HEAD_BLOCKS);
  size_t count = 0;
  *later_ns_out = 0;
  sqlite3_stmt *row = sim_sql_query(node, READ_OUTBOX, "");
  for (bool more = row != NULL; more; more = !head_only && sim_sql_next(row)) {
    struct outbox_row each = {
        .letter = {(enum model_step)sqlite3_column_int(row, 1), sqlite3_column_int64(row, 3), sqlite3_column_int64(row, 4)},
        .order = sqlite3_column_int64(row, 2),
        .status = sqlite3_column_int64(row, 5),
        .attempts = sqlite3_column_int64(row, 6),
        .next_ns = sqlite3_column_int64(row, 7),
        .life = sqlite3_column_int64(row, 8)};
    strncpy(each.id, (const char *)sqlite3_column_text(row, 0), sizeof each.id - 1);
    if (!may_be_sent(node, &each)) continue;
    bool due = each.next_ns <= model_now(node) && count < OUTBOX_CLAIMED_MAX;
    if (due) out[count++] = each;
    else if (*later_ns_out == 0 || each.next_ns < *later_ns_out) *later_ns_out = each.next_ns;
  }
  sim_sql_done(row);
  return count;
}

/* Claim a row, inside the transaction under way, unless another dispatcher was faster. Returns when it is due again; 0: not
   claimed, or done with. */
static int64_t claim(struct sim_node *node, struct outbox_row *row) {
  const struct model_design *design = model_design_of(node);
  bool before_send = MODEL_CHOSEN(design, OUTBOX_MARK, BEFORE_SEND);
  bool guarded = !MODEL_CHOSEN(design, OUTBOX_GUARD, NONE) && !MODEL_CHOSEN(design, OUTBOX_CLAIM, NONE);
  int64_t next_ns = model_now(node) + back_off(node, row->attempts + 1);
  int64_t status = before_send ? OUTBOX_ROW_DONE : OUTBOX_SENDING;
  row->claimed = sim_sql_run(node, guarded ? CLAIM_ROW : CLAIM_ROW_UNGUARDED, "iiisi", status, row->attempts + 1, next_ns, row->id,
                             row->attempts) == 1;
  row->status = status;
  return row->claimed && may_be_sent(node, row) && !before_send ? next_ns : 0;
}

static int64_t earlier(int64_t a, int64_t b) { return a == 0 || (b != 0 && b < a) ? b : a; }

/* A claim that has gone stale while this process was frozen is somebody else's by now. */
static bool still_mine(const struct sim_node *node, int64_t claimed_ns) {
  return model_now(node) - claimed_ns <= model_shop_of(node)->config->lease_ns;
}

/* One round: claim what is due, then send it. Returns false when nothing was due. */
static bool dispatch_due(struct sim_node *node, int64_t *later_ns) {
  const struct model_design *design = model_design_of(node);
  struct outbox_row row[OUTBOX_CLAIMED_MAX];
  size_t count = rows_due(node, row, later_ns);
  if (count == 0) return false;
  int64_t claimed_ns = model_now(node);
  sim_sql_begin(node);
  for (size_t i = 0; i < count; i++) *later_ns = earlier(*later_ns, claim(node, &row[i]));
  model_commit(node, MODEL_CHOSEN(design, OUTBOX_MARK, BEFORE_SEND) ? "marked as sent" : "claimed");
  for (size_t i = 0; i < count; i++) {
    if (!row[i].claimed) continue;
    if (!still_mine(node, claimed_ns) && MODEL_CHOSEN(design, OUTBOX_CLAIM, LEASE_THEN_UNKNOWN)) return true;
    bool repeated = row[i].attempts > 0 && !MODEL_CHOSEN(design, OUTBOX_CLAIM, LEASE_THEN_RESEND);
    row[i].letter.amount_minor = amount_of(node, &row[i].letter);
    model_outbox__send(node, row[i].order, &row[i].letter, (uint32_t)row[i].attempts + 1, repeated);
  }
  return true;
}

void model_outbox__dispatch(struct sim_node *node) {
  int64_t later_ns = 0;
  ((struct order_memory *)sim_node_memory(node))->dispatch = (struct sim_timer){0};
  dispatch_due(node, &later_ns);
  if (later_ns != 0) wake_at(node, later_ns);
}
