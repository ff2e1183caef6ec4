#include "model/effect.h"

#include <string.h>

#include "model/facts.h"
#include "sim/check.h"

static const int64_t CALL_TIMEOUT_NS = 10 * SIM_SECOND;

static struct model_capabilities capabilities_of(const struct sim_node *node, const struct effect_class *class) {
  return class->capabilities(model_shop_of(node)->config);
}

/* ---- what this process is doing ---- */

static bool work_begins(struct sim_node *node, const struct sim_id *id, bool several) {
  struct effect_memory *memory = sim_node_memory(node);
  for (size_t i = 0; i < memory->working_count && !several; i++) {
    if (memory->working[i] == id->hash) return false;
  }
  ENSURE(memory->working_count < sizeof memory->working / sizeof memory->working[0]);
  memory->working[memory->working_count++] = id->hash;
  return true;
}

static void work_ends(struct sim_node *node, const struct sim_id *id) {
  struct effect_memory *memory = sim_node_memory(node);
  for (size_t i = 0; i < memory->working_count; i++) {
    if (memory->working[i] != id->hash) continue;
    memory->working[i] = memory->working[--memory->working_count];
    return;
  }
}

static bool remembered(struct sim_node *node, const struct sim_id *id) {
  struct effect_memory *memory = sim_node_memory(node);
  for (size_t i = 0; i < memory->seen_count; i++) {
    if (memory->seen[i] == id->hash) return true;
  }
  if (memory->seen_count < MODEL_OPERATIONS_MAX) memory->seen[memory->seen_count++] = id->hash;
  else sim_world_exhausted(sim_node_world(node), "MODEL_OPERATIONS_MAX");
  return false;
}

/* ---- rows ---- */

static struct effect effect_of(const struct sim_node *node, const struct sim_message *command) {
  return (struct effect){.id = command->id,
                         .order = command->subject,
                         .target = command->value[VALUE_PAYMENT],
                         .step = (enum model_step)command->value[VALUE_STEP],
                         .amount_minor = command->value[VALUE_AMOUNT],
                         .status = STATE_PENDING,
                         .attempts = 1,
                         .known_attempts = 1,
                         .created_ns = model_now(node),
                         .last_attempt_ns = model_now(node),
                         .owner = model_owner(node)};
}

static bool read_effect(struct sim_node *node, const struct effect_class *class, const struct sim_id *id, struct effect *out) {
  sqlite3_stmt *row = sim_sql_query(node, class->statement + EFFECT_READ, "s", id->text);
  if (row == NULL) return false;
  *out = (struct effect){.id = *id,
                         .order = sqlite3_column_int64(row, 0),
                         .target = sqlite3_column_int64(row, 1),
                         .step = (enum model_step)sqlite3_column_int(row, 2),
                         .amount_minor = sqlite3_column_int64(row, 3),
                         .status = (enum model_state)sqlite3_column_int(row, 4),
                         .result = sqlite3_column_int64(row, 5),
                         .attempts = sqlite3_column_int64(row, 6),
                         .known_attempts = sqlite3_column_int64(row, 6),
                         .asks = sqlite3_column_int64(row, 7),
                         .created_ns = sqlite3_column_int64(row, 8),
                         .last_attempt_ns = sqlite3_column_int64(row, 9),
                         .owner = sqlite3_column_int64(row, 10)};
  sim_sql_done(row);
  return true;
}

/* Write the intent. Returns true when this handler is the one to call. */
static bool write_intent(struct sim_node *node, const struct effect_class *class, const struct effect *effect) {
  enum effect_dedup dedup = class->dedup(model_design_of(node));
  struct effect seen;
  if (dedup == EFFECT_IN_MEMORY && remembered(node, &effect->id)) return false;
  if (dedup == EFFECT_CHECK_THEN_INSERT) {
    if (read_effect(node, class, &effect->id, &seen)) return false;
    sim_sql_looked(node, "row looked up");
  }
  sim_sql_begin(node);
  int changed =
      sim_sql_run(node, class->statement + (dedup == EFFECT_UNIQUE_ROW ? EFFECT_INSERT : EFFECT_REPLACE), "siiiiii", effect->id.text,
                  effect->order, effect->target, (int64_t)effect->step, effect->amount_minor, effect->created_ns, effect->owner);
  if (changed != 1) {
    sim_sql_rollback(node);
    return false;
  }
  model_commit(node, class->intent);
  return true;
}

static void tell_operator(struct sim_node *node, const struct effect *effect) {
  struct sim_message message = {.kind = KIND_CASE_OPENED, .attempt = 1, .subject = effect->order, .id = effect->id};
  message.value[VALUE_AMOUNT] = effect->amount_minor;
  message.value[VALUE_STATUS] = effect->target;
  message.value[VALUE_CASE] = 1 + (int64_t)effect->step;
  sim_send(node, SERVICE_OPERATOR, &message, 0);
}

/* Record the status unless the row is final, or somebody else has made a further attempt (then only success is news); in
   that case take over what the row says. */
static void record(struct sim_node *node, const struct effect_class *class, struct effect *effect) {
  sim_sql_begin(node);
  int changed = sim_sql_run(node, class->statement + EFFECT_RECORD, "iiisi", (int64_t)effect->status, effect->result, effect->asks,
                            effect->id.text, effect->known_attempts);
  if (changed == 1 && effect->status == STATE_PARKED) {
    sim_sql_run(node, class->statement + EFFECT_CASE, "siissi", effect->id.text, effect->order, effect->amount_minor,
                effect->refused ? "refused" : "sent, no definite answer",
                effect->refused                         ? "the provider refuses it for good"
                : capabilities_of(node, class).looks_up ? "asked and repeated within its bounds"
                                                        : "the provider answers no look-up",
                model_now(node));
  }
  if (changed == 1 && effect->reopened && effect->status == STATE_COMPLETED)
    sim_sql_run(node, class->statement + EFFECT_CLOSE_CASE, "s", effect->id.text);
  if (changed == 1) {
    model_commit(node, class->result[effect->status]);
    if (effect->status == STATE_PARKED) tell_operator(node, effect);
    return;
  }
  sim_sql_rollback(node);
  struct effect row;
  if (read_effect(node, class, &effect->id, &row)) *effect = row;
}

static void finish(struct sim_node *node, const struct effect_class *class, struct effect *effect, enum model_state status) {
  effect->status = status;
  if (status == STATE_UNKNOWN && class->on_unknown(model_design_of(node)) == EFFECT_GIVE_UP) effect->status = STATE_FAILED;
  record(node, class, effect);
  class->report(node, effect, 1);
}

/* ---- the provider ---- */

static bool key_lives(const struct sim_node *node, const struct effect_class *class, const struct effect *effect) {
  struct model_capabilities provider = capabilities_of(node, class);
  if (!provider.takes_keys) return false;
  if (!class->ages(model_design_of(node))) return true;
  return model_now(node) - effect->created_ns < provider.key_retention_ns - model_shop_of(node)->config->request_lifetime_ns;
}

static bool absence_is_definite(const struct sim_node *node, const struct effect_class *class, const struct effect *effect) {
  const struct model_config *config = model_shop_of(node)->config;
  int64_t final_after_ns =
      config->lease_ns + config->request_lifetime_ns + capabilities_of(node, class).look_up_lag_ns + MODEL_GATEWAY_PROCESSING_MAX_NS;
  return effect->asked_ns - effect->last_attempt_ns >= final_after_ns;
}

static enum model_gateway_status call(struct sim_node *node, const struct effect_class *class, struct effect *effect,
                                      enum model_kind kind) {
  struct sim_message answer;
  struct sim_message request = {.kind = (uint16_t)kind,
                                .attempt = (uint32_t)(kind == class->query ? effect->asks : effect->attempts),
                                .subject = effect->order,
                                .id = class->key(node, effect)};
  request.value[VALUE_STEP] = effect->step;
  request.value[VALUE_AMOUNT] = effect->amount_minor;
  request.value[VALUE_PAYMENT] = effect->target;
  memcpy(&request.value[VALUE_OPERATION], &effect->id.hash, sizeof effect->id.hash);
  if (sim_call(node, class->outsider, &request, CALL_TIMEOUT_NS, &answer) != SIM_CALL_ANSWERED) return GATEWAY_ERROR;
  enum model_gateway_status status = (enum model_gateway_status)answer.value[VALUE_STATUS];
  if (status == GATEWAY_OK) effect->result = answer.value[VALUE_PAYMENT];
  if (status != GATEWAY_DUPLICATE) return status;
  return class->on_unknown(model_design_of(node)) == EFFECT_RESOLVE ? GATEWAY_OK : GATEWAY_ERROR; /* an earlier one was taken on */
}

static enum model_state refused(const struct effect_class *class, struct effect *effect) {
  effect->refused = true;
  return class->refusal_is_a_case ? STATE_PARKED : STATE_FAILED;
}

static void execute(struct sim_node *node, const struct effect_class *class, struct effect *effect) {
  if (model_now(node) - effect->last_attempt_ns > model_shop_of(node)->config->lease_ns) {
    sim_tell(sim_node_world(node), sim_node_name(node), "finds its own intent too old and leaves %s alone", effect->id.text);
    return;
  }
  enum model_gateway_status status = call(node, class, effect, class->request);
  finish(node, class, effect, status == GATEWAY_OK ? STATE_COMPLETED : status == GATEWAY_DECLINED ? refused(class, effect) : STATE_UNKNOWN);
}

static void repeat(struct sim_node *node, const struct effect_class *class, struct effect *effect) {
  effect->attempts++;
  effect->last_attempt_ns = model_now(node);
  sim_sql_begin(node);
  int changed = sim_sql_run(node, class->statement + EFFECT_ATTEMPT, "iiiisi", effect->attempts, effect->asks, effect->last_attempt_ns,
                            model_owner(node), effect->id.text, effect->known_attempts);
  if (changed != 1) {
    sim_sql_rollback(node);
    return;
  }
  effect->known_attempts = effect->attempts;
  model_commit(node, class->attempt);
  execute(node, class, effect);
}

/* No row tells whether this repeat was sent before: the provider's word, as of now, decides. */
static void ask_before_sending(struct sim_node *node, const struct effect_class *class, struct effect *effect) {
  enum model_gateway_status status = call(node, class, effect, class->query);
  if (status == GATEWAY_OK) finish(node, class, effect, STATE_COMPLETED);
  else if (status == GATEWAY_NOT_FOUND) execute(node, class, effect);
  else finish(node, class, effect, STATE_UNKNOWN);
}

static void ask(struct sim_node *node, const struct effect_class *class, struct effect *effect) {
  struct model_capabilities provider = capabilities_of(node, class);
  effect->asks++;
  effect->asked_ns = model_now(node);
  enum model_gateway_status status = call(node, class, effect, class->query);
  if (status == GATEWAY_OK) finish(node, class, effect, STATE_COMPLETED);
  else if (status == GATEWAY_DECLINED) finish(node, class, effect, refused(class, effect));
  else if (status != GATEWAY_NOT_FOUND) finish(node, class, effect, STATE_UNKNOWN);
  else if (key_lives(node, class, effect)) repeat(node, class, effect);
  else if (!absence_is_definite(node, class, effect)) finish(node, class, effect, STATE_UNKNOWN);
  else if (effect->attempts < 2 || provider.takes_keys || provider.keys_may_fail) repeat(node, class, effect);
  else finish(node, class, effect, STATE_PARKED);
}

/* One step towards a definite answer. */
static void resolve(struct sim_node *node, const struct effect_class *class, struct effect *effect) {
  struct model_capabilities provider = capabilities_of(node, class);
  if (class->on_unknown(model_design_of(node)) == EFFECT_AGAIN) {
    repeat(node, class, effect);
    return;
  }
  if (effect->asks + effect->attempts > model_shop_of(node)->config->resolve_attempts) finish(node, class, effect, STATE_PARKED);
  else if (provider.looks_up) ask(node, class, effect);
  else if (key_lives(node, class, effect)) repeat(node, class, effect);
  else finish(node, class, effect, STATE_PARKED);
}

/* ---- commands ---- */

static void known_effect(struct sim_node *node, const struct effect_class *class, struct effect *effect, uint32_t tries) {
  if (effect->status == STATE_UNKNOWN) {
    resolve(node, class, effect);
    return;
  }
  if (effect->status != STATE_PENDING) {
    class->report(node, effect, tries);
    return;
  }
  bool owner_dead = model_owner_is_dead(node, effect->owner);
  bool stale = model_now(node) - effect->last_attempt_ns > model_shop_of(node)->config->lease_ns;
  if (!owner_dead && !stale) return; /* in progress: the command will come again */
  sim_sql_begin(node);
  if (sim_sql_run(node, class->statement + EFFECT_TAKE_OVER, "isi", model_owner(node), effect->id.text, effect->owner) != 1) {
    sim_sql_rollback(node);
    return;
  }
  model_commit(node, class->taken_over);
  effect->owner = model_owner(node);
  resolve(node, class, effect);
}

/* Try a parked effect again, under the same id, because a person has looked and it is not there. */
static void reopen(struct sim_node *node, const struct effect_class *class, struct effect *effect) {
  effect->status = STATE_UNKNOWN;
  effect->attempts++;
  effect->last_attempt_ns = model_now(node);
  sim_sql_begin(node);
  if (sim_sql_run(node, class->statement + EFFECT_REOPEN, "iiisi", effect->attempts, effect->last_attempt_ns, model_owner(node),
                  effect->id.text, effect->known_attempts) != 1) {
    sim_sql_rollback(node);
    return;
  }
  effect->known_attempts = effect->attempts;
  model_commit(node, class->attempt);
  execute(node, class, effect);
}

/* The case stays open until it has been done: should this process die, it is still on the operator's screen. */
void model_effect_operator(struct sim_node *node, const struct effect_class *class, const struct sim_message *says) {
  struct effect row;
  if (says->value[VALUE_STATUS] == GATEWAY_OK) {
    model_effect_found(node, class, says);
    return;
  }
  if (!work_begins(node, &says->id, false)) return;
  if (read_effect(node, class, &says->id, &row)) {
    row.reopened = true;
    if (row.status == STATE_PARKED) reopen(node, class, &row);
    else if (row.status == STATE_UNKNOWN) resolve(node, class, &row);
  }
  work_ends(node, &says->id);
}

void model_effect_found(struct sim_node *node, const struct effect_class *class, const struct sim_message *says) {
  struct effect row;
  sim_sql_begin(node);
  if (sim_sql_run(node, class->statement + EFFECT_FOUND, "is", says->value[VALUE_PAYMENT], says->id.text) == 1) {
    sim_sql_run(node, class->statement + EFFECT_CLOSE_CASE, "s", says->id.text);
    model_commit(node, class->found);
  } else {
    sim_sql_rollback(node);
  }
  if (read_effect(node, class, &says->id, &row)) class->report(node, &row, says->attempt);
}

/* A command that may have been sent before, and no row to tell: where rows prove nothing, the provider is asked first. */
static bool repeated_without_memory(const struct sim_node *node, const struct effect_class *class, const struct sim_message *command) {
  enum effect_dedup dedup = class->dedup(model_design_of(node));
  return command->value[VALUE_REPEATED] != 0 && (dedup == EFFECT_NO_DEDUP || dedup == EFFECT_IN_MEMORY) &&
         capabilities_of(node, class).looks_up;
}

void model_effect_command(struct sim_node *node, const struct effect_class *class, const struct sim_message *command) {
  bool no_dedup = class->dedup(model_design_of(node)) == EFFECT_NO_DEDUP;
  if (!work_begins(node, &command->id, no_dedup)) return; /* in progress here */
  struct effect effect = effect_of(node, command);
  if (write_intent(node, class, &effect)) {
    if (repeated_without_memory(node, class, command)) ask_before_sending(node, class, &effect);
    else execute(node, class, &effect);
  } else {
    struct effect seen;
    if (read_effect(node, class, &command->id, &seen)) known_effect(node, class, &seen, command->attempt);
  }
  work_ends(node, &command->id);
}
