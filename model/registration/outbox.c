/* The outbox of the saga's services: what a handler decided and what it sends are one transaction; after it the messages leave,
   and their rows go. A service that comes up again sends what an earlier life left; receivers know repeats by their ids. */
#include <string.h>

#include "model/registration/registration.h"
#include "sim/check.h"

struct outbox_memory {
  int64_t rows; /* that this process has put into the outbox */
};

void saga_outbox_start(struct sim_node *node) {
  sim_node_set_memory(node, sim_arena_take(sim_world_arena(sim_node_world(node)), sizeof(struct outbox_memory)));
  model_sync_before_recovery(node, SAGA_BOOT);
  if (sim_node_life(node) > 1) saga_outbox_resume(node);
}

void saga_letters_add(struct saga_letters *letters, enum model_service to, const struct sim_message *message, int64_t delay_ns) {
  ENSURE(letters->count < SAGA_LETTERS_MAX);
  letters->letter[letters->count++] = (struct saga_letter){to, *message, delay_ns};
}

/* Numbers of rows are used once: a process that was frozen may come to delete what it sent long ago. */
static int64_t next_number(struct sim_node *node) {
  struct outbox_memory *memory = sim_node_memory(node);
  return model_owner(node) * 1000000 + ++memory->rows;
}

static void put(struct sim_node *node, const struct saga_letters *letters) {
  for (size_t i = 0; i < letters->count; i++) {
    const struct saga_letter *letter = &letters->letter[i];
    const int64_t *value = letter->message.value;
    sim_sql_run(node, OUTBOX_PUT, "iisiiiiiiiii", next_number(node), (int64_t)letter->message.kind, letter->message.id.text,
                letter->message.subject, (int64_t)letter->to, value[VALUE_AMOUNT], value[VALUE_CARD], value[VALUE_SAGA_STEP],
                value[VALUE_PAYMENT], value[VALUE_REASON], value[VALUE_PURCHASE], letter->delay_ns);
  }
}

static void leave(struct sim_node *node, const struct saga_letters *letters) {
  for (size_t i = 0; i < letters->count; i++) {
    const struct saga_letter *letter = &letters->letter[i];
    if (letter->delay_ns > 0) sim_send_later(node, letter->to, &letter->message, letter->delay_ns);
    else sim_send(node, letter->to, &letter->message, 0);
  }
}

/* Send some rows, and delete them. Returns whether there may be more. */
static bool send_some(struct sim_node *node) {
  struct saga_letters letters = {.count = 0};
  int64_t number[SAGA_LETTERS_MAX];
  sqlite3_stmt *row = sim_sql_query(node, OUTBOX_READ, "");
  for (bool more = row != NULL; more && letters.count < SAGA_LETTERS_MAX; more = sim_sql_next(row)) {
    struct sim_message message = {.kind = (uint16_t)sqlite3_column_int(row, 1),
                                  .attempt = 1,
                                  .subject = sqlite3_column_int64(row, 3),
                                  .id = sim_id_of((const char *)sqlite3_column_text(row, 2))};
    message.value[VALUE_AMOUNT] = sqlite3_column_int64(row, 5);
    message.value[VALUE_CARD] = sqlite3_column_int64(row, 6);
    message.value[VALUE_SAGA_STEP] = sqlite3_column_int64(row, 7);
    message.value[VALUE_PAYMENT] = sqlite3_column_int64(row, 8);
    message.value[VALUE_REASON] = sqlite3_column_int64(row, 9);
    message.value[VALUE_PURCHASE] = sqlite3_column_int64(row, 10);
    number[letters.count] = sqlite3_column_int64(row, 0);
    saga_letters_add(&letters, (enum model_service)sqlite3_column_int(row, 4), &message, sqlite3_column_int64(row, 11));
  }
  sim_sql_done(row);
  if (letters.count == 0) return false;
  leave(node, &letters);
  sim_sql_begin(node);
  for (size_t i = 0; i < letters.count; i++) sim_sql_run(node, OUTBOX_GONE, "i", number[i]);
  model_commit(node, "outbox sent");
  return letters.count == SAGA_LETTERS_MAX;
}

static void send_rows(struct sim_node *node) {
  while (send_some(node)) {}
}

/* Should a handler throw, or freeze and find its lease lost, nobody else would send its rows. A commit may be held up beyond the
   first look: there are three. */
static struct sim_timer sweep_later(struct sim_node *node, uint32_t look) {
  struct sim_message later = {.kind = KIND_DISPATCH, .attempt = look};
  return sim_timer_set(node, 2 * model_shop_of(node)->config->lease_ns, &later);
}

void saga_outbox_sweep(struct sim_node *node, const struct sim_message *timer) {
  enum { LOOKS = 3 };
  saga_outbox_resume(node);
  if (timer->attempt < LOOKS) sweep_later(node, timer->attempt + 1);
}

bool saga_commit(struct sim_node *node, const char *step, bool (*write)(struct sim_node *node, void *what), void *what,
                 const struct saga_letters *letters) {
  const struct model_design *design = model_design_of(node);
  bool on = MODEL_CHOSEN(design, SAGA_OUTBOX, ON);
  if (MODEL_CHOSEN(design, SAGA_OUTBOX, SEND_THEN_STATE)) leave(node, letters);
  struct sim_timer sweep = {0};
  if (on && letters->count > 0) sweep = sweep_later(node, 1);
  sim_sql_begin(node);
  if (write != NULL && !write(node, what)) {
    sim_sql_rollback(node);
    sim_timer_cancel(node, &sweep);
    return false;
  }
  bool apart = MODEL_CHOSEN(design, SAGA_ENLISTMENT, INDEPENDENT_CONNECTION); /* what was written is committed by itself */
  if (on && apart && write != NULL) {
    model_commit(node, step);
    if (letters->count == 0) return true;
    sim_sql_begin(node);
  }
  if (on) put(node, letters);
  model_commit(node, step);
  if (MODEL_CHOSEN(design, SAGA_OUTBOX, STATE_THEN_SEND)) leave(node, letters);
  if (on && letters->count > 0) {
    send_rows(node);
    sim_timer_cancel(node, &sweep);
  }
  return true;
}

void saga_outbox_resume(struct sim_node *node) {
  if (MODEL_CHOSEN(model_design_of(node), SAGA_OUTBOX, ON)) send_rows(node);
}
