#include "tests/sim/toy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults/catalogue.h"
#include "sim/check.h"
#include "tests/support.h"

static const int64_t RETRY_NS = 20 * SIM_SECOND;
static const int64_t AGAIN_NS = 40 * SIM_SECOND;
static const int64_t ASK_TIMEOUT_NS = 10 * SIM_SECOND;
enum { RETRIES_MAX = 1000 };

/* Doubling every other time, up to 64-fold: a toy that is down for days must not fill a run with tries. */
static int64_t backed_off(int64_t delay_ns, uint32_t attempt) { return delay_ns << (attempt / 2 < 6 ? attempt / 2 : 6); }

static const char *const kinds[TOY_KIND_COUNT] = {"Go", "Ping", "Pong", "Ask", "Told", "Done", "Note", "Retry", "Again"};

static struct toy *toy_of(const struct sim_node *node) { return sim_world_model(sim_node_world(node)); }

static void log_line(struct sim_node *node, const char *what, const char *about) {
  struct toy *toy = toy_of(node);
  if (toy->line_count == TOY_LOG_MAX) return;
  struct toy_line *line = &toy->line[toy->line_count++];
  line->time_ns = sim_world_now(toy->world);
  snprintf(line->text, sizeof line->text, "%s.%" PRIu32 " %s%s%s", sim_node_name(node), sim_node_life(node), what, about[0] ? " " : "",
           about);
}

static void must(struct sim_node *node, bool good, const char *what) {
  if (good) return;
  log_line(node, "BROKEN", what);
  toy_of(node)->broken = true;
}

static struct sim_message message_of(enum toy_kind kind, int64_t number, uint32_t attempt) {
  return (struct sim_message){.kind = (uint16_t)kind, .subject = number, .attempt = attempt, .id = sim_id_join("job:", number, "")};
}

/* ---- ping ---- */

static const char ping_schema[] =
    "CREATE TABLE jobs(id TEXT PRIMARY KEY, number INTEGER NOT NULL, state INTEGER NOT NULL);"
    "CREATE TABLE notes(id TEXT NOT NULL, attempt INTEGER NOT NULL, PRIMARY KEY(id, attempt));";
static const char *const ping_table[] = {"jobs", "notes"};
enum { JOB_INSERT, JOB_STATE, JOB_MOVE, JOB_OPEN, NOTE_INSERT, PING_STATEMENT_COUNT };
static const char *const ping_statement[PING_STATEMENT_COUNT] = {
    "INSERT INTO jobs VALUES(?, ?, 1)",
    "SELECT state FROM jobs WHERE id=?",
    "UPDATE jobs SET state=? WHERE id=? AND state=?",
    "SELECT number FROM jobs WHERE state<3 ORDER BY number",
    "INSERT OR IGNORE INTO notes VALUES(?, ?)",
};

struct ping_memory {
  uint32_t handled;
};

static int64_t stored_state(struct sim_node *node, const struct sim_id *id) {
  sqlite3_stmt *row = sim_sql_query(node, JOB_STATE, "s", id->text);
  int64_t state = row == NULL ? 0 : sqlite3_column_int64(row, 0);
  sim_sql_done(row);
  sim_sql_looked(node, "state read");
  return state;
}

/* Move a job from one state to the next; returns whether it was there to be moved. */
static bool move(struct sim_node *node, const struct sim_id *id, int64_t from, int64_t to, const char *step) {
  sim_sql_begin(node);
  int moved = sim_sql_run(node, JOB_MOVE, "isi", to, id->text, from);
  if (moved == 0) {
    sim_sql_rollback(node);
    return false;
  }
  if (sim_sql_commit(node, step) != SIM_COMMIT_DONE) {
    log_line(node, "commit failed", id->text);
    sim_node_stop(node);
  }
  return true;
}

static void retry_later(struct sim_node *node, int64_t number, uint32_t attempt) {
  if (attempt >= RETRIES_MAX) return;
  struct sim_message retry = message_of(TOY_RETRY, number, attempt + 1);
  sim_timer_set(node, backed_off(RETRY_NS, attempt), &retry);
}

static void tell_driver(struct sim_node *node, int64_t number, uint32_t attempt) {
  struct sim_message done = message_of(TOY_DONE, number, attempt);
  sim_send(node, TOY_DRIVER, &done, 0);
  log_line(node, "told driver", done.id.text);
}

static void ask_oracle(struct sim_node *node, int64_t number, uint32_t attempt) {
  struct sim_message ask = message_of(TOY_ASK, number, attempt);
  struct sim_message answer;
  enum sim_call_end end = sim_call(node, TOY_ORACLE, &ask, ASK_TIMEOUT_NS, &answer);
  log_line(node, end == SIM_CALL_ANSWERED ? "answered" : "unanswered", ask.id.text);
  if (end == SIM_CALL_UNANSWERED || answer.value[0] == 0) {
    retry_later(node, number, attempt);
    return;
  }
  if (move(node, &ask.id, TOY_PONGED, TOY_FINISHED, "job finished")) tell_driver(node, number, attempt);
}

static void go_on(struct sim_node *node, int64_t number, uint32_t attempt, int64_t state) {
  if (state == TOY_FINISHED) tell_driver(node, number, attempt);
  if (state == TOY_PONGED) ask_oracle(node, number, attempt);
  if (state != TOY_STORED) return;
  struct sim_message ping = message_of(TOY_PING_SENT, number, attempt);
  retry_later(node, number, attempt);
  sim_send(node, TOY_PONG, &ping, backed_off(RETRY_NS, attempt));
  log_line(node, "sent Ping", ping.id.text);
}

static void ping_go(struct sim_node *node, const struct sim_message *message) {
  sim_sql_begin(node);
  if (sim_sql_run(node, JOB_INSERT, "si", message->id.text, message->subject) < 0) {
    sim_sql_rollback(node);
    if (stored_state(node, &message->id) == TOY_FINISHED) tell_driver(node, message->subject, message->attempt);
    return;
  }
  if (sim_sql_commit(node, "job stored") != SIM_COMMIT_DONE) {
    log_line(node, "commit failed", message->id.text);
    sim_node_stop(node);
  }
  log_line(node, "stored", message->id.text);
  go_on(node, message->subject, message->attempt, TOY_STORED);
}

static void ping_note(struct sim_node *node, const struct sim_message *message) {
  sim_sql_begin(node);
  int kept = sim_sql_run(node, NOTE_INSERT, "si", message->id.text, (int64_t)message->attempt);
  if (kept == 0) {
    sim_sql_rollback(node);
    return;
  }
  if (sim_sql_commit(node, "note kept") != SIM_COMMIT_DONE) sim_node_stop(node);
}

static void ping_handle(struct sim_node *node, const struct sim_message *message) {
  struct ping_memory *memory = sim_node_memory(node);
  must(node, memory != NULL, "no memory");
  memory->handled++;
  log_line(node, kinds[message->kind], message->id.text);
  if (message->kind == TOY_GO) ping_go(node, message);
  if (message->kind == TOY_NOTE) ping_note(node, message);
  if (message->kind == TOY_RETRY) go_on(node, message->subject, message->attempt, stored_state(node, &message->id));
  if (message->kind == TOY_PONG_SENT && move(node, &message->id, TOY_STORED, TOY_PONGED, "job ponged"))
    ask_oracle(node, message->subject, message->attempt);
  log_line(node, "end of", message->id.text);
}

static void ping_start(struct sim_node *node) {
  struct toy *toy = toy_of(node);
  int64_t number[TOY_JOBS_MAX];
  size_t count = 0;
  must(node, sim_node_memory(node) == NULL, "memory outlived its node");
  sim_node_set_memory(node, sim_arena_take(sim_world_arena(toy->world), sizeof(struct ping_memory)));
  toy->starts++;
  log_line(node, "starts", "");
  if (sim_node_life(node) > 1 && toy->start_takes_ns > 0) sim_sleep(node, toy->start_takes_ns);
  sqlite3_stmt *row = sim_sql_query(node, JOB_OPEN, "");
  for (bool more = row != NULL; more; more = sim_sql_next(row)) number[count++] = sqlite3_column_int64(row, 0);
  sim_sql_done(row);
  sim_sql_looked(node, "open jobs read");
  for (size_t i = 0; i < count; i++) retry_later(node, number[i], 0);
}

/* ---- pong ---- */

static const char pong_schema[] = "CREATE TABLE seen(id TEXT PRIMARY KEY, times INTEGER NOT NULL);";
static const char *const pong_table[] = {"seen"};
static const char *const pong_statement[] = {"INSERT INTO seen VALUES(?, 1) ON CONFLICT(id) DO UPDATE SET times=times+1"};

static void pong_handle(struct sim_node *node, const struct sim_message *message) {
  log_line(node, kinds[message->kind], message->id.text);
  sim_sql_begin(node);
  sim_sql_run(node, 0, "s", message->id.text);
  if (sim_sql_commit(node, "ping seen") != SIM_COMMIT_DONE) sim_node_stop(node);
  struct sim_message pong = message_of(TOY_PONG_SENT, message->subject, message->attempt);
  sim_send(node, TOY_PING, &pong, 0);
  log_line(node, "sent Pong", message->id.text);
}

/* ---- outsiders ---- */

static void oracle_handle(struct sim_node *node, const struct sim_message *message) {
  struct toy *toy = toy_of(node);
  struct sim_world *world = toy->world;
  const struct sim_point *point = sim_world_point(world, "gateway.look_up");
  struct sim_subject subject = {
      .what = sim_world_kind(world, message->kind), .id = &message->id, .attempt = message->attempt, .step = "asked"};
  log_line(node, "asked", message->id.text);
  struct sim_message answer = message_of(TOY_TOLD, message->subject, message->attempt);
  answer.value[0] = sim_decide(sim_world_decisions(world), point, &subject, sim_point_all(point)) == 0;
  if (answer.value[0] != 0) {
    uint32_t times = ++toy->asked[message->subject];
    sim_note(world, 1, (uint64_t)message->subject, times);
    if (times > 1) sim_violated(world, TOY_ASKED_ONCE, "job %" PRId64 " was asked about %" PRIu32 " times", message->subject, times);
    struct sim_message note = message_of(TOY_NOTE, message->subject, 1);
    if (times == 1) sim_notify(node, TOY_PING, &note);
  }
  sim_answer(node, message->call, &answer);
}

static void send_go(struct sim_node *node, int64_t number, uint32_t attempt) {
  struct sim_message go = message_of(TOY_GO, number, attempt);
  struct sim_message again = message_of(TOY_AGAIN, number, attempt + 1);
  sim_send(node, TOY_PING, &go, backed_off(AGAIN_NS, attempt));
  if (attempt < RETRIES_MAX) sim_timer_set(node, backed_off(AGAIN_NS, attempt), &again);
}

static bool all_done(const struct toy *toy) {
  for (int job = 1; job <= toy->job_count; job++) {
    if (!toy->done[job]) return false;
  }
  return true;
}

static void driver_handle(struct sim_node *node, const struct sim_message *message) {
  struct toy *toy = toy_of(node);
  log_line(node, kinds[message->kind], message->id.text);
  if (message->kind == TOY_DONE) {
    toy->done[message->subject] = true;
    if (all_done(toy)) sim_world_workload_done(toy->world);
  }
  if (message->kind == TOY_AGAIN && !toy->done[message->subject]) send_go(node, message->subject, message->attempt);
}

static const struct sim_service services[TOY_SERVICE_COUNT] = {
    [TOY_DRIVER] = {.name = "driver", .outside = true, .handle = driver_handle},
    [TOY_PING] = {.name = "ping",
                  .actor = true,
                  .schema = ping_schema,
                  .table = ping_table,
                  .table_count = 2,
                  .statement = ping_statement,
                  .statement_count = PING_STATEMENT_COUNT,
                  .start = ping_start,
                  .handle = ping_handle},
    [TOY_PONG] = {.name = "pong",
                  .schema = pong_schema,
                  .table = pong_table,
                  .table_count = 1,
                  .statement = pong_statement,
                  .statement_count = 1,
                  .handle = pong_handle},
    [TOY_ORACLE] = {.name = "oracle", .outside = true, .handle = oracle_handle},
};

/* ---- observing ---- */

static void on_row(struct sim_world *world, size_t service, size_t table, enum sim_change change, const struct sim_row *row) {
  struct toy *toy = sim_world_model(world);
  struct toy_row *mirror = toy->mirror[service][table];
  size_t *count = &toy->mirror_count[service][table];
  size_t at = 0;
  while (at < *count && mirror[at].rowid != row->rowid) at++;
  if (sim_durable_settling(world)) toy->settled_rows++;
  if (change == SIM_ROW_DELETED) {
    if (at == *count) toy->broken = true;
    else mirror[at] = mirror[--*count];
    return;
  }
  if (change == SIM_ROW_UPDATED && at == *count) toy->broken = true;
  if (at == *count) ++*count;
  mirror[at] = (struct toy_row){row->rowid, row->hash};
}

static void on_leaves(struct sim_node *node, const struct sim_message *message) {
  (void)message;
  toy_of(node)->left++;
}

static void on_answered(struct sim_node *node, const struct sim_message *request, const struct sim_message *answer) {
  struct toy *toy = toy_of(node);
  must(node, answer == NULL || answer->subject == request->subject, "an answer to another call");
  if (answer == NULL) toy->unanswered++;
  else toy->answered++;
}

static void on_delivered(struct sim_node *node, const struct sim_message *message) {
  (void)message;
  must(node, sim_node_up(node), "delivered to a node that is down");
  toy_of(node)->delivered++;
}

static void on_crashed(struct sim_node *node) {
  toy_of(node)->crashes++;
  log_line(node, "crashes", "");
}

static void on_paused(struct sim_node *node, int64_t until_ns) { toy_of(node)->paused_until_ns = until_ns; }

static void on_recovered(struct sim_node *node) { toy_of(node)->recoveries++; }

/* The observer was told exactly of the rows that are durable. */
static bool mirror_is_true(const struct toy *toy, size_t service, size_t table) {
  size_t count = sim_durable_count(toy->world, service, table);
  if (count != toy->mirror_count[service][table]) return false;
  for (size_t i = 0; i < count; i++) {
    const struct sim_row *row = sim_durable_row(toy->world, service, table, i);
    bool found = false;
    for (size_t m = 0; m < count; m++)
      found = found || (toy->mirror[service][table][m].rowid == row->rowid && toy->mirror[service][table][m].hash == row->hash);
    if (!found) return false;
  }
  return true;
}

static void on_judge(struct sim_world *world) {
  struct toy *toy = sim_world_model(world);
  for (size_t s = 0; s < TOY_SERVICE_COUNT; s++) {
    for (size_t t = 0; t < services[s].table_count; t++) {
      if (!mirror_is_true(toy, s, t)) toy->broken = true;
    }
  }
  for (int job = 1; job <= toy->job_count; job++) {
    if (!toy->done[job]) sim_violated(world, TOY_ALL_DONE, "job %d was never done", job);
    if (toy->done[job] && toy->asked[job] == 0) toy->broken = true;
  }
}

static const struct sim_observer observer = {
    .row = on_row,
    .leaves = on_leaves,
    .answered = on_answered,
    .delivered = on_delivered,
    .crashed = on_crashed,
    .paused = on_paused,
    .recovered = on_recovered,
    .judge = on_judge,
};

/* ---- running ---- */

void toy_reset(struct toy *toy) {
  toy->setup = (struct sim_setup){.scenario = "toy",
                                  .scenario_seed = 42,
                                  .instance_count = {1, 1, 1, 1},
                                  .durability = SIM_DURABILITY_FULL,
                                  .request_lifetime_ns = 10 * SIM_MINUTE,
                                  .lease_ns = SIM_MINUTE,
                                  .retry_window_ns = SIM_HOUR,
                                  .dedup_retention_ns = SIM_DAY,
                                  .faults_until_ns = 2 * SIM_HOUR,
                                  .resolve_within_ns = 30 * SIM_DAY,
                                  .observer = &observer,
                                  .model = toy};
  toy->plan = (struct sim_plan){0};
  toy->job_count = 3;
  toy->job_gap_ns = SIM_SECOND;
  toy->start_takes_ns = 0;
  toy->telling = toy->reopen_first = false;
}

void toy_open(struct toy *toy) {
  memset(toy, 0, sizeof *toy);
  toy->world = sim_world_create(fault_catalogue(), services, TOY_SERVICE_COUNT, kinds, TOY_KIND_COUNT);
  toy_reset(toy);
}

void toy_close(struct toy *toy) { sim_world_destroy(toy->world); }

static void run(struct toy *toy) {
  memset(toy->done, 0, sizeof toy->done);
  memset(toy->asked, 0, sizeof toy->asked);
  memset(toy->mirror_count, 0, sizeof toy->mirror_count);
  toy->starts = toy->crashes = toy->recoveries = toy->settled_rows = toy->answered = toy->unanswered = toy->delivered = toy->left = 0;
  toy->line_count = 0;
  toy->broken = false;
  sim_world_begin(toy->world, &toy->setup, toy->telling);
  if (toy->reopen_first) sim_world_reopen(toy->world);
  struct sim_node *driver = sim_world_node(toy->world, TOY_DRIVER, 0);
  for (int job = 1; job <= toy->job_count; job++) {
    struct sim_message first = message_of(TOY_AGAIN, job, 1);
    sim_timer_set(driver, (job - 1) * toy->job_gap_ns, &first);
  }
  toy->end = sim_world_run(toy->world);
  toy->digest = sim_world_digest(toy->world);
  toy->history = sim_world_trace(toy->world)->history;
  toy->violated = sim_world_judgement(toy->world)->violated;
}

void toy_run_seed(struct toy *toy, uint64_t seed) {
  sim_decisions_begin_seed(sim_world_decisions(toy->world), &toy->plan, seed);
  run(toy);
}

void toy_run_list(struct toy *toy, struct sim_fault *list, size_t count) {
  sim_decisions_begin_list(sim_world_decisions(toy->world), &toy->plan, list, count);
  run(toy);
}

const char *toy_run_words(struct toy *toy, const char *const *words, size_t count) {
  ENSURE(count <= TOY_FAULTS_MAX);
  for (size_t i = 0; i < count; i++) {
    const char *why = sim_fault_parse(fault_catalogue(), words[i], &toy->list[i]);
    if (why != NULL) return why;
  }
  toy->list_count = count;
  toy_run_list(toy, toy->list, count);
  return NULL;
}

const char *toy_not_reached(const struct toy *toy) {
  for (size_t i = 0; i < toy->list_count; i++) {
    if (!toy->list[i].reached) return toy->list[i].words;
  }
  return NULL;
}

/* ---- reading the log ---- */

int toy_place(const struct toy *toy, const char *text) {
  for (size_t i = 0; i < toy->line_count; i++) {
    if (strcmp(toy->line[i].text, text) == 0) return (int)i;
  }
  return -1;
}

int64_t toy_time(const struct toy *toy, const char *text) {
  int at = toy_place(toy, text);
  return at < 0 ? -1 : toy->line[at].time_ns;
}

size_t toy_count(const struct toy *toy, const char *text) {
  size_t count = 0;
  for (size_t i = 0; i < toy->line_count; i++) count += strcmp(toy->line[i].text, text) == 0;
  return count;
}

size_t toy_count_prefix(const struct toy *toy, const char *prefix) {
  size_t count = 0;
  for (size_t i = 0; i < toy->line_count; i++) count += strncmp(toy->line[i].text, prefix, strlen(prefix)) == 0;
  return count;
}

void toy_print(const struct toy *toy) {
  for (size_t i = 0; i < toy->line_count; i++) print_message("%14" PRId64 " ms  %s\n", toy->line[i].time_ns / SIM_MS, toy->line[i].text);
}

int64_t toy_job_state(const struct toy *toy, int number) {
  for (size_t i = 0; i < sim_durable_count(toy->world, TOY_PING, TOY_JOBS); i++) {
    const struct sim_row *row = sim_durable_row(toy->world, TOY_PING, TOY_JOBS, i);
    if (row->cell[TOY_JOB_NUMBER].number == number) return row->cell[TOY_JOB_STATE].number;
  }
  return 0;
}
