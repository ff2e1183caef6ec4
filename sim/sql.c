/* Method. Each (service, journal mode, page size) keeps its connections and prepared statements open for the life of the
   process; a run swaps the disk image underneath and resets the page cache (0.1 us against 250 for a new schema). A crash
   makes the connection's file handles dead, so that its ROLLBACK changes nothing, settles the disk, and lets the next
   statement do the genuine hot-journal rollback or log recovery. `reopen_at_crash` closes and reopens instead, as a
   cross-check.

   Rows reach the durable copy through the preupdate hook: collected during the transaction, published when COMMIT has
   returned OK, and compared with a full read at each restart and at the end of the run. */
#include "sim/sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/check.h"
#include "sim/internal.h"
#include "sim/vfs.h"

enum { COMMIT_CRASH_BEFORE = 1, COMMIT_POWER_LOST_UNSYNCED, COMMIT_POWER_KEPT, COMMIT_POWER_INSIDE, COMMIT_IO_ERROR, COMMIT_DISK_FULL };
enum { BACKUP_INTERVAL_NS_HOURS = 1 };
static const int64_t BUSY_WAIT_NS = 50 * SIM_MS;

/* ---- the log for bench/ ---- */

static struct sim_sql_entry *log_entry(struct sim_node *node, enum sim_sql_op op) {
  struct sim_sql_log *log = node->world->sql_log;
  if (log->count == log->capacity) {
    log->capacity = log->capacity == 0 ? 1024 : 2 * log->capacity;
    log->entry = realloc(log->entry, log->capacity * sizeof log->entry[0]);
    ENSURE(log->entry != NULL);
  }
  struct sim_sql_entry *entry = &log->entry[log->count++];
  *entry = (struct sim_sql_entry){.op = op, .service = (uint8_t)node->service_index, .instance = (uint8_t)node->instance};
  return entry;
}

static void log_statement(struct sim_node *node, size_t index, const char *format, va_list arguments) {
  struct sim_sql_entry *entry = log_entry(node, SIM_SQL_STATEMENT);
  entry->index = (uint8_t)index;
  ENSURE(strlen(format) < sizeof entry->format);
  strcpy(entry->format, format);
  for (size_t i = 0; format[i] != '\0'; i++) {
    if (format[i] == 'i') entry->number[i] = va_arg(arguments, int64_t);
    if (format[i] == 's') entry->text[i] = strdup(va_arg(arguments, const char *));
  }
}

/* ---- opening ---- */

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql) {
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) != SQLITE_OK) {
    fprintf(stderr, "oncesim: %s\n  in: %s\n", sqlite3_errmsg(db), sql);
    UNREACHABLE("a statement of the model does not prepare");
  }
  return statement;
}

static void execute(sqlite3 *db, const char *sql) {
  char *message = NULL;
  if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) {
    fprintf(stderr, "oncesim: %s\n  in: %s\n", message, sql);
    UNREACHABLE("SQL of the model does not run");
  }
}

static void set_durability(struct sim_connection *connection, enum sim_durability durability) {
  if (connection->durability == durability) return;
  connection->durability = durability;
  bool wal = connection->storage->wal;
  if (durability == SIM_DURABILITY_FULL) execute(connection->db, wal ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=EXTRA");
  else execute(connection->db, wal ? "PRAGMA synchronous=NORMAL" : "PRAGMA synchronous=FULL");
}

static void prepare_all(struct sim_connection *connection) {
  const struct sim_service *service = &connection->world->service[connection->service];
  connection->begin = prepare(connection->db, "BEGIN IMMEDIATE");
  connection->commit = prepare(connection->db, "COMMIT");
  connection->rollback = prepare(connection->db, "ROLLBACK");
  connection->probe = prepare(connection->db, "SELECT count(*) FROM sqlite_schema");
  for (size_t i = 0; i < service->statement_count; i++) connection->statement[i] = prepare(connection->db, service->statement[i]);
  for (size_t t = 0; t < service->table_count; t++) {
    char sql[128];
    snprintf(sql, sizeof sql, "SELECT rowid, * FROM %s ORDER BY rowid", service->table[t]);
    connection->scan[t] = prepare(connection->db, sql);
    size_t columns = (size_t)sqlite3_column_count(connection->scan[t]) - 1;
    ENSURE(columns <= SIM_COLUMNS_MAX);
    connection->storage->column_count[t] = (uint8_t)columns;
    connection->table_pointer[t] = NULL;
  }
}

static void open_connection(struct sim_connection *connection) {
  struct sim_storage *storage = connection->storage;
  ENSURE(sqlite3_open_v2(storage->disk.name, &connection->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "oncesim") == SQLITE_OK);
  connection->handle_bit = sim_vfs_last_handle_bit();
  execute(connection->db, "PRAGMA temp_store=MEMORY");
  execute(connection->db, "PRAGMA wal_autocheckpoint=10");
  connection->durability = SIM_DURABILITY_RELAXED;
  set_durability(connection, SIM_DURABILITY_FULL);
  /* Before any statement is prepared: without a hook SQLite deletes all rows of a table at once, telling nobody. */
  sqlite3_preupdate_hook(connection->db, sim_sql__on_row, connection);
  prepare_all(connection);
}

static void close_connection(struct sim_connection *connection) {
  const struct sim_service *service = &connection->world->service[connection->service];
  sqlite3_finalize(connection->begin);
  sqlite3_finalize(connection->commit);
  sqlite3_finalize(connection->rollback);
  sqlite3_finalize(connection->probe);
  for (size_t i = 0; i < service->statement_count; i++) sqlite3_finalize(connection->statement[i]);
  for (size_t t = 0; t < service->table_count; t++) sqlite3_finalize(connection->scan[t]);
  ENSURE(sqlite3_close(connection->db) == SQLITE_OK);
  connection->db = NULL;
}

/* Build the settled image from which runs start. In WAL mode its log holds one committed frame, so that recovery reloads
   the salts and the checkpoint counter that a kept connection would otherwise carry from run to run. */
static void make_image(struct sim_storage *storage, const char *schema) {
  sqlite3 *db = NULL;
  char pragma[64];
  sim_vfs_seed(1);
  ENSURE(sqlite3_open_v2(storage->disk.name, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "oncesim") == SQLITE_OK);
  snprintf(pragma, sizeof pragma, "PRAGMA page_size=%d", storage->page_size);
  execute(db, pragma);
  execute(db, storage->wal ? "PRAGMA journal_mode=WAL" : "PRAGMA journal_mode=DELETE");
  execute(db, storage->wal ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=EXTRA");
  execute(db, schema);
  if (storage->wal) {
    execute(db, "CREATE TABLE sim_settled(n INTEGER)");
    execute(db, "PRAGMA wal_checkpoint(TRUNCATE)");
    execute(db, "INSERT INTO sim_settled VALUES(1)");
  }
  sim_disk_copy(&storage->disk, &storage->image);
  ENSURE(sqlite3_close(db) == SQLITE_OK);
  sim_disk_load(&storage->disk, &storage->image);
}

static struct sim_storage *make_storage(struct sim_world *world, size_t service, bool wal, int page_size) {
  static unsigned made;
  struct sim_storage *storage = calloc(1, sizeof *storage);
  ENSURE(storage != NULL);
  char name[64];
  snprintf(name, sizeof name, "/%s-%u.db", world->service[service].name, made++);
  storage->wal = wal;
  storage->page_size = page_size;
  sim_disk_init(&storage->disk, name);
  sim_vfs_add(&storage->disk);
  make_image(storage, world->service[service].schema);
  return storage;
}

static struct sim_connection *connection_of(struct sim_world *world, struct sim_storage *storage, size_t service, size_t instance) {
  while (storage->connection_count <= instance) {
    struct sim_connection *connection = &storage->connection[storage->connection_count++];
    connection->storage = storage;
    connection->world = world;
    connection->service = service;
    connection->change = calloc(SIM_CHANGES_MAX, sizeof *connection->change);
    ENSURE(connection->change != NULL);
    open_connection(connection);
    sim_disk_load(&storage->disk, &storage->image);
    for (size_t i = 0; i < storage->connection_count; i++)
      sqlite3_file_control(storage->connection[i].db, "main", SQLITE_FCNTL_RESET_CACHE, NULL);
  }
  return &storage->connection[instance];
}

static void release_storage(struct sim_storage *storage) {
  for (size_t i = 0; i < storage->connection_count; i++) {
    close_connection(&storage->connection[i]);
    free(storage->connection[i].change);
  }
  sim_vfs_remove(&storage->disk);
  sim_image_release(&storage->image);
  sim_disk_release(&storage->disk);
  free(storage);
}

void sim_sql__release(struct sim_world *world) {
  for (size_t s = 0; s < world->service_count; s++) {
    for (size_t c = 0; c < SIM_STORAGE_CONFIGS; c++) {
      if (world->storage[s][c] != NULL) release_storage(world->storage[s][c]);
    }
    if (world->database[s].backup_taken) sim_image_release(&world->database[s].backup);
  }
}

/* ---- reset, crash, power loss ---- */

/* Leave no statement half-stepped and no transaction open, whatever the run was doing. */
static void quiesce(struct sim_connection *connection) {
  for (sqlite3_stmt *each = sqlite3_next_stmt(connection->db, NULL); each != NULL; each = sqlite3_next_stmt(connection->db, each)) {
    if (sqlite3_stmt_busy(each)) sqlite3_reset(each);
  }
  sqlite3_reset(connection->commit);
  if (!sqlite3_get_autocommit(connection->db)) {
    sqlite3_step(connection->rollback);
    sqlite3_reset(connection->rollback);
  }
  connection->change_count = 0;
}

static void forget_cache(struct sim_connection *connection) {
  ENSURE(sqlite3_get_autocommit(connection->db));
  sqlite3_file_control(connection->db, "main", SQLITE_FCNTL_RESET_CACHE, NULL);
}

/* A kept connection carries the log's checkpoint counter from run to run unless it does the log's recovery itself; with
   several connections only the first reader would. So each does it once, on shared memory that is blank again. */
static void forget_checkpoints(struct sim_storage *storage, size_t instance_count) {
  for (size_t i = 0; i < instance_count; i++) {
    sim_disk_forget_shm(&storage->disk);
    ENSURE(sqlite3_step(storage->connection[i].probe) == SQLITE_ROW);
    sqlite3_reset(storage->connection[i].probe);
    forget_cache(&storage->connection[i]);
  }
  sim_disk_forget_shm(&storage->disk);
}

void sim_sql__begin_run(struct sim_world *world, size_t service, size_t instance_count, bool wal, int page_size) {
  size_t config = (wal ? 1U : 0U) + (page_size == 512 ? 0U : 2U);
  if (world->storage[service][config] == NULL) world->storage[service][config] = make_storage(world, service, wal, page_size);
  struct sim_storage *storage = world->storage[service][config];
  struct sim_database *database = &world->database[service];
  database->storage = storage;
  database->in_doubt = database->commit_failed = false;
  database->backup_time_ns = 0;
  if (database->backup_taken) sim_image_release(&database->backup);
  database->backup_taken = false;
  for (size_t t = 0; t < world->service[service].table_count; t++) {
    database->table[t].count = 0;
    database->table[t].sum = 0;
  }
  for (size_t i = 0; i < instance_count; i++) world->node[service][i].connection = connection_of(world, storage, service, i);
  for (size_t i = 0; i < storage->connection_count; i++) {
    struct sim_connection *connection = &storage->connection[i];
    if (connection->used) quiesce(connection);
  }
  storage->disk.digest = NULL;
  sim_disk_reset(&storage->disk, &storage->image);
  for (size_t i = 0; i < storage->connection_count; i++) {
    struct sim_connection *connection = &storage->connection[i];
    if (connection->used) forget_cache(connection);
    connection->used = i < instance_count;
    if (i < instance_count) set_durability(connection, world->setup->durability);
  }
  if (wal && instance_count > 1) forget_checkpoints(storage, instance_count);
  storage->disk.digest = &world->disk_digest;
}

void sim_sql__end_run(struct sim_world *world) {
  for (size_t s = 0; s < world->service_count; s++) {
    if (world->database[s].storage == NULL) continue;
    world->database[s].storage->disk.digest = NULL;
    world->database[s].storage = NULL;
  }
}

static void reopen_or_forget(struct sim_connection *connection, bool reopen) {
  if (!reopen) {
    forget_cache(connection);
    return;
  }
  enum sim_durability durability = connection->durability;
  open_connection(connection);
  set_durability(connection, durability);
}

void sim_sql__crash_connection(struct sim_node *node, bool last_alive) {
  struct sim_connection *connection = node->connection;
  struct sim_disk *disk = &connection->storage->disk;
  bool reopen = node->world->setup->reopen_at_crash;
  if (node->world->sql_log != NULL) log_entry(node, SIM_SQL_CRASH);
  disk->dead_handle_mask |= connection->handle_bit;
  uint32_t bit = connection->handle_bit;
  quiesce(connection);
  if (reopen) close_connection(connection);
  disk->dead_handle_mask &= ~bit;
  disk->injected = false;
  disk->fuse = SIM_FUSE_NONE;
  if (last_alive) sim_disk_forget_shm(disk);
  reopen_or_forget(connection, reopen);
}

void sim_sql__power_loss(struct sim_world *world, size_t service, enum sim_fate fate, uint64_t die) {
  struct sim_database *database = &world->database[service];
  struct sim_storage *storage = database->storage;
  bool reopen = world->setup->reopen_at_crash;
  size_t count = world->setup->instance_count[service];
  storage->disk.dead = true;
  for (size_t i = 0; i < count; i++) {
    quiesce(&storage->connection[i]);
    if (reopen) close_connection(&storage->connection[i]);
  }
  sim_disk_settle(&storage->disk, fate, die);
  sim_disk_forget_shm(&storage->disk);
  storage->disk.dead = storage->disk.injected = false;
  storage->disk.fuse = SIM_FUSE_NONE;
  for (size_t i = 0; i < count; i++) reopen_or_forget(&storage->connection[i], reopen);
  database->in_doubt = true;
}

void sim_sql__restore(struct sim_world *world, size_t service) {
  struct sim_database *database = &world->database[service];
  sim_disk_load(&database->storage->disk, database->backup_taken ? &database->backup : &database->storage->image);
  for (size_t i = 0; i < world->setup->instance_count[service]; i++) forget_cache(&database->storage->connection[i]);
  database->in_doubt = true;
}

void sim_sql__reopen(struct sim_world *world, size_t service) {
  struct sim_storage *storage = world->database[service].storage;
  for (size_t i = 0; i < storage->connection_count; i++) {
    enum sim_durability durability = storage->connection[i].durability;
    close_connection(&storage->connection[i]);
    open_connection(&storage->connection[i]);
    set_durability(&storage->connection[i], durability);
  }
}

/* Keep an older copy for a later restore; only where the plan may ask for one. */
static void back_up(struct sim_world *world, struct sim_database *database) {
  enum { RESTORED = 3 };
  const struct sim_point *restart = world->point.restart;
  bool offered = restart->answer_count > RESTORED;
  bool armed = offered && (world->decisions->from_list || world->decisions->plan->odds[restart->index][RESTORED].denominator != 0);
  if (!armed || world->now_ns - database->backup_time_ns < BACKUP_INTERVAL_NS_HOURS * SIM_HOUR) return;
  if (database->backup_taken) sim_image_release(&database->backup);
  sim_disk_copy(&database->storage->disk, &database->backup);
  database->backup_taken = true;
  database->backup_time_ns = world->now_ns;
}

/* ---- the durable copy ---- */

static uint64_t cell_from_value(struct sim_world *world, sqlite3_value *value, struct sim_cell *cell, uint64_t hash) {
  switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
      cell->number = sqlite3_value_int64(value);
      cell->text = NULL;
      return sim_mix(hash, (uint64_t)cell->number);
    case SQLITE_TEXT: {
      const char *text = (const char *)sqlite3_value_text(value);
      uint64_t text_hash = sim_hash_text(text);
      memcpy(&cell->number, &text_hash, sizeof text_hash);
      cell->text = sim_arena_text(&world->arena, text);
      return sim_mix(hash, text_hash);
    }
    case SQLITE_BLOB: {
      uint64_t blob_hash = sim_hash_bytes(sqlite3_value_blob(value), (size_t)sqlite3_value_bytes(value));
      *cell = (struct sim_cell){.number = (int64_t)(blob_hash >> 1)};
      return sim_mix(hash, blob_hash);
    }
    case SQLITE_FLOAT: UNREACHABLE("a REAL column: the durable copy follows integers, text and blobs");
    default: *cell = (struct sim_cell){0}; return sim_mix(hash, 0x4E);
  }
}

static size_t table_index(struct sim_connection *connection, const char *name) {
  const struct sim_service *service = &connection->world->service[connection->service];
  for (size_t t = 0; t < service->table_count; t++) {
    if (connection->table_pointer[t] == name && strcmp(service->table[t], name) == 0) return t;
  }
  for (size_t t = 0; t < service->table_count; t++) {
    if (strcmp(service->table[t], name) != 0) continue;
    connection->table_pointer[t] = name;
    return t;
  }
  return SIM_TABLES_MAX;
}

void sim_sql__on_row(void *context, sqlite3 *db, int operation, char const *database, char const *table, sqlite3_int64 old_rowid,
                     sqlite3_int64 new_rowid) {
  struct sim_connection *connection = context;
  (void)database;
  size_t index = table_index(connection, table);
  if (index == SIM_TABLES_MAX) return;
  ENSURE(connection->change_count < SIM_CHANGES_MAX);
  struct sim_change_record *record = &connection->change[connection->change_count++];
  record->table = (uint8_t)index;
  record->kind = operation == SQLITE_INSERT ? SIM_ROW_INSERTED : operation == SQLITE_UPDATE ? SIM_ROW_UPDATED : SIM_ROW_DELETED;
  if (operation == SQLITE_UPDATE && old_rowid != new_rowid) { /* the row moves: gone there, new here */
    record->kind = SIM_ROW_DELETED;
    record->row.rowid = old_rowid;
    ENSURE(connection->change_count < SIM_CHANGES_MAX);
    record = &connection->change[connection->change_count++];
    record->table = (uint8_t)index;
    record->kind = SIM_ROW_INSERTED;
  }
  record->row.rowid = operation == SQLITE_DELETE ? old_rowid : new_rowid;
  record->row.hash = sim_mix(index + 1, (uint64_t)record->row.rowid);
  if (operation == SQLITE_DELETE) return;
  for (int c = 0; c < connection->storage->column_count[index]; c++) {
    sqlite3_value *value = NULL;
    ENSURE(sqlite3_preupdate_new(db, c, &value) == SQLITE_OK);
    record->row.hash = cell_from_value(connection->world, value, &record->row.cell[c], record->row.hash);
  }
}

static void put_row(struct sim_world *world, size_t service, size_t table, enum sim_change kind, const struct sim_row *row) {
  struct sim_durable_table *durable = &world->database[service].table[table];
  size_t at = durable->count;
  while (at > 0 && durable->row[at - 1]->rowid != row->rowid) at--;
  if (kind == SIM_ROW_DELETED) {
    if (at == 0) return;
    struct sim_row *gone = durable->row[at - 1];
    durable->sum -= gone->hash;
    memmove(&durable->row[at - 1], &durable->row[at], (durable->count - at) * sizeof durable->row[0]);
    durable->count--;
    row = gone;
  } else if (at > 0) {
    durable->sum += row->hash - durable->row[at - 1]->hash;
    *durable->row[at - 1] = *row;
  } else {
    ENSURE(durable->count < SIM_ROWS_MAX);
    struct sim_row *copy = sim_arena_take(&world->arena, sizeof *copy);
    *copy = *row;
    durable->row[durable->count++] = copy;
    durable->sum += row->hash;
  }
  sim_trace_add(&world->trace, world->now_ns, SIM_TRACE_ROW, service * SIM_TABLES_MAX + table, (uint64_t)kind, row->hash);
  const struct sim_observer *observer = world->setup->observer;
  if (observer != NULL && observer->row != NULL) observer->row(world, service, table, kind, row);
}

static void publish(struct sim_connection *connection) {
  for (size_t i = 0; i < connection->change_count; i++) {
    const struct sim_change_record *record = &connection->change[i];
    put_row(connection->world, connection->service, record->table, record->kind, &record->row);
  }
  connection->change_count = 0;
}

static int step_read(struct sim_node *node, sqlite3_stmt *statement);

/* Settle one table of the durable copy to what was read. */
static void settle_table(struct sim_world *world, size_t service, size_t table, struct sim_row *const *read, size_t read_count) {
  struct sim_durable_table *durable = &world->database[service].table[table];
  for (size_t i = durable->count; i > 0; i--) {
    bool found = false;
    for (size_t r = 0; r < read_count && !found; r++) found = read[r]->rowid == durable->row[i - 1]->rowid;
    if (!found) put_row(world, service, table, SIM_ROW_DELETED, durable->row[i - 1]);
  }
  for (size_t r = 0; r < read_count; r++) {
    bool same = false;
    bool known = false;
    for (size_t i = 0; i < durable->count && !known; i++) {
      known = durable->row[i]->rowid == read[r]->rowid;
      same = known && durable->row[i]->hash == read[r]->hash;
    }
    if (!same) put_row(world, service, table, known ? SIM_ROW_UPDATED : SIM_ROW_INSERTED, read[r]);
  }
}

static size_t read_table(struct sim_node *node, size_t table, struct sim_row **read, uint64_t *sum_out) {
  struct sim_world *world = node->world;
  struct sim_connection *connection = node->connection;
  sqlite3_stmt *scan = connection->scan[table];
  size_t count = 0;
  uint64_t sum = 0;
  while (step_read(node, scan) == SQLITE_ROW) {
    ENSURE(count < SIM_ROWS_MAX);
    struct sim_row *row = sim_arena_take(&world->arena, sizeof *row);
    row->rowid = sqlite3_column_int64(scan, 0);
    row->hash = sim_mix(table + 1, (uint64_t)row->rowid);
    for (int c = 0; c < connection->storage->column_count[table]; c++) {
      row->hash = cell_from_value(world, sqlite3_column_value(scan, c + 1), &row->cell[c], row->hash);
    }
    sum += row->hash;
    read[count++] = row;
  }
  sqlite3_reset(scan);
  *sum_out = sum;
  return count;
}

void sim_sql__check_durable(struct sim_node *node) {
  struct sim_world *world = node->world;
  struct sim_database *database = &world->database[node->service_index];
  for (size_t t = 0; t < node->service->table_count; t++) {
    struct sim_row *read[SIM_ROWS_MAX];
    uint64_t sum;
    size_t count = read_table(node, t, read, &sum);
    if (count == database->table[t].count && sum == database->table[t].sum) continue;
    ENSURE(database->in_doubt && "the durable copy differs from the database without a commit in doubt");
    world->settling = true;
    settle_table(world, node->service_index, t, read, count);
    world->settling = false;
  }
  database->in_doubt = database->commit_failed;
}

bool sim_durable_settling(const struct sim_world *world) { return world->settling; }

size_t sim_durable_count(const struct sim_world *world, size_t service, size_t table) {
  return world->database[service].table[table].count;
}

const struct sim_row *sim_durable_row(const struct sim_world *world, size_t service, size_t table, size_t index) {
  REQUIRE(index < world->database[service].table[table].count);
  return world->database[service].table[table].row[index];
}

/* ---- steps of a handler ---- */

static void wait_busy(struct sim_node *node, unsigned *tries) {
  node->world->counters.busy++;
  ENSURE(++*tries < SIM_BUSY_TRIES_MAX);
  sim_node__wait(node, BUSY_WAIT_NS);
}

/* An error that we did not cause is a bug of ours. */
static void must_be_injected(struct sim_node *node, int rc) {
  if (node->connection->storage->disk.injected) return;
  fprintf(stderr, "oncesim: SQLite says %s on %s\n", sqlite3_errmsg(node->connection->db), node->name.text);
  (void)rc;
  UNREACHABLE("an SQLite error that no fault caused");
}

static int step_read(struct sim_node *node, sqlite3_stmt *statement) {
  unsigned tries = 0;
  for (;;) {
    int rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW || rc == SQLITE_DONE) return rc;
    sqlite3_reset(statement);
    if ((rc & 0xFF) != SQLITE_BUSY) must_be_injected(node, rc);
    if (node->world->current == NULL) return SQLITE_BUSY;
    wait_busy(node, &tries);
  }
}

void sim_sql_begin(struct sim_node *node) {
  struct sim_world *world = node->world;
  struct sim_task *task = world->current;
  REQUIRE(task != NULL && task->node == node && !task->in_transaction);
  sim_node__gap_before(node);
  unsigned tries = 0;
  for (;;) {
    int rc = SQLITE_BUSY;
    if (node->transaction_owner == NULL) {
      rc = sqlite3_step(node->connection->begin);
      sqlite3_reset(node->connection->begin);
    }
    if (rc == SQLITE_DONE) break;
    if ((rc & 0xFF) != SQLITE_BUSY) must_be_injected(node, rc);
    wait_busy(node, &tries);
  }
  if (world->sql_log != NULL) log_entry(node, SIM_SQL_BEGIN);
  node->transaction_owner = task;
  task->in_transaction = true;
  node->connection->change_count = 0;
  if (world->setup->instance_count[node->service_index] < 2) return;
  const struct sim_queue_item *next = sim_world__next(world);
  if (next == NULL || next->time_ns > world->now_ns) return;
  task->subject.step = "inside a transaction";
  if (sim_world__ask(world, world->point.transaction, &task->subject, sim_point_all(world->point.transaction)) != 0) {
    sim_tell(world, node->name.text, "is overtaken inside its transaction");
    sim_node__wait(node, 0);
  }
}

static void end_transaction(struct sim_node *node) {
  node->world->current->in_transaction = false;
  node->transaction_owner = NULL;
}

void sim_sql_rollback(struct sim_node *node) {
  REQUIRE(node->world->current->in_transaction);
  if (node->world->sql_log != NULL) log_entry(node, SIM_SQL_ROLLBACK);
  sqlite3_step(node->connection->rollback);
  sqlite3_reset(node->connection->rollback);
  node->connection->change_count = 0;
  end_transaction(node);
}

static int ask_commit(struct sim_node *node, const char *step) {
  struct sim_world *world = node->world;
  struct sim_disk *disk = &node->connection->storage->disk;
  struct sim_task *task = world->current;
  task->subject.step = step;
  int answer = sim_world__ask(world, world->point.commit, &task->subject, sim_point_all(world->point.commit));
  if (answer == COMMIT_CRASH_BEFORE) {
    sim_tell(world, node->name.text, "CRASHES before \"%s\" commits", step);
    task->in_transaction = false;
    sim_node__crash_self(node, SIM_CRASH_NODE, SIM_FATE_KEPT, 0);
  }
  if (answer == COMMIT_POWER_INSIDE) {
    int position = sim_world__ask(world, world->point.position, &task->subject, sim_point_all(world->point.position));
    disk->fuse = (enum sim_fuse)(SIM_FUSE_JOURNAL_WRITTEN + position);
  }
  if (answer == COMMIT_IO_ERROR) disk->fuse = SIM_FUSE_IO_ERROR;
  if (answer == COMMIT_DISK_FULL) disk->fuse = SIM_FUSE_DISK_FULL;
  return answer;
}

_Noreturn static void lose_power(struct sim_node *node, enum sim_fate fate, const char *step) {
  struct sim_world *world = node->world;
  struct sim_task *task = world->current;
  uint64_t die = sim_subject_address(world->point.unsynced, &task->subject);
  sim_tell(world, node->name.text, "LOSES POWER at \"%s\"; what was not synced is %s", step,
           fate == SIM_FATE_LOST   ? "gone"
           : fate == SIM_FATE_KEPT ? "there all the same"
                                   : "torn");
  task->in_transaction = false;
  sim_node__crash_self(node, SIM_CRASH_POWER, fate, die);
}

/* The statement COMMIT, waiting out readers in rollback mode. */
static int step_commit(struct sim_node *node) {
  unsigned tries = 0;
  for (;;) {
    int rc = sqlite3_step(node->connection->commit);
    sqlite3_reset(node->connection->commit);
    if ((rc & 0xFF) != SQLITE_BUSY) return rc;
    wait_busy(node, &tries);
  }
}

static enum sim_commit commit_failed(struct sim_node *node, int rc, const char *step) {
  struct sim_world *world = node->world;
  must_be_injected(node, rc);
  node->connection->storage->disk.injected = false;
  node->connection->change_count = 0;
  world->database[node->service_index].in_doubt = world->database[node->service_index].commit_failed = true;
  world->counters.commit_errors++;
  if (!sqlite3_get_autocommit(node->connection->db)) {
    sqlite3_step(node->connection->rollback);
    sqlite3_reset(node->connection->rollback);
  }
  end_transaction(node);
  sim_trace_add(&world->trace, world->now_ns, SIM_TRACE_COMMIT_FAILED, node->name.hash, sim_hash_text(step), 0);
  sim_tell(world, node->name.text, "is told that the commit of \"%s\" FAILED", step);
  return SIM_COMMIT_FAILED;
}

enum sim_commit sim_sql_commit(struct sim_node *node, const char *step) {
  struct sim_world *world = node->world;
  struct sim_disk *disk = &node->connection->storage->disk;
  REQUIRE(world->current != NULL && world->current->in_transaction);
  int answer = ask_commit(node, step);
  int rc = step_commit(node);
  disk->fuse = SIM_FUSE_NONE;
  if (disk->dead || answer == COMMIT_POWER_INSIDE) {
    world->current->subject.step = step;
    int fate = sim_world__ask(world, world->point.unsynced, &world->current->subject, sim_point_all(world->point.unsynced));
    if (rc == SQLITE_DONE) publish(node->connection);
    lose_power(node, (enum sim_fate)fate, step);
  }
  if (rc != SQLITE_DONE) return commit_failed(node, rc, step);
  disk->injected = false;
  end_transaction(node);
  if (world->sql_log != NULL) log_entry(node, SIM_SQL_COMMIT);
  world->counters.transactions++;
  sim_trace_add(&world->trace, world->now_ns, SIM_TRACE_COMMIT, node->name.hash, sim_hash_text(step), 0);
  sim_tell(world, node->name.text, "commits \"%s\"", step);
  publish(node->connection);
  back_up(world, &world->database[node->service_index]);
  if (answer == COMMIT_POWER_LOST_UNSYNCED) lose_power(node, SIM_FATE_LOST, step);
  if (answer == COMMIT_POWER_KEPT) lose_power(node, SIM_FATE_KEPT, step);
  sim_node__gap(node, step);
  return SIM_COMMIT_DONE;
}

static void bind(sqlite3_stmt *statement, const char *format, va_list arguments) {
  int at = 1;
  for (const char *each = format; *each != '\0'; each++, at++) {
    int rc = SQLITE_MISUSE;
    if (*each == 'i') rc = sqlite3_bind_int64(statement, at, va_arg(arguments, int64_t));
    if (*each == 's') rc = sqlite3_bind_text(statement, at, va_arg(arguments, const char *), -1, SQLITE_STATIC);
    if (*each == 'n') rc = sqlite3_bind_null(statement, at);
    ENSURE(rc == SQLITE_OK);
  }
  ENSURE(sqlite3_bind_parameter_count(statement) == at - 1); /* an unbound parameter would keep the last run's value */
}

int sim_sql_run(struct sim_node *node, size_t index, const char *format, ...) {
  REQUIRE(node->transaction_owner != NULL && node->transaction_owner == node->world->current);
  sqlite3_stmt *statement = node->connection->statement[index];
  va_list arguments;
  if (node->world->sql_log != NULL) {
    va_start(arguments, format);
    log_statement(node, index, format, arguments);
    va_end(arguments);
  }
  va_start(arguments, format);
  bind(statement, format, arguments);
  va_end(arguments);
  size_t change_count = node->connection->change_count;
  int rc = sqlite3_step(statement);
  sqlite3_reset(statement);
  if ((rc & 0xFF) == SQLITE_CONSTRAINT) {
    node->connection->change_count = change_count;
    return -1;
  }
  if (rc != SQLITE_DONE) must_be_injected(node, rc);
  return sqlite3_changes(node->connection->db);
}

sqlite3_stmt *sim_sql_query(struct sim_node *node, size_t index, const char *format, ...) {
  sqlite3_stmt *statement = node->connection->statement[index];
  node->world->counters.reads++;
  if (node->world->sql_log != NULL) {
    va_list logged;
    va_start(logged, format);
    log_statement(node, index, format, logged);
    va_end(logged);
  }
  /* Other handlers of this node may use the same statement while this one waits, so it is bound anew at each try. */
  for (unsigned tries = 0;; wait_busy(node, &tries)) {
    if (node->transaction_owner != NULL && node->transaction_owner != node->world->current) continue;
    va_list arguments;
    va_start(arguments, format);
    bind(statement, format, arguments);
    va_end(arguments);
    int rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW) return statement;
    sqlite3_reset(statement);
    if (rc == SQLITE_DONE) return NULL;
    if ((rc & 0xFF) != SQLITE_BUSY) must_be_injected(node, rc);
  }
}

bool sim_sql_next(sqlite3_stmt *statement) {
  int rc = sqlite3_step(statement);
  ENSURE(rc == SQLITE_ROW || rc == SQLITE_DONE);
  return rc == SQLITE_ROW;
}

void sim_sql_done(sqlite3_stmt *statement) {
  if (statement != NULL) sqlite3_reset(statement);
}

void sim_sql_looked(struct sim_node *node, const char *step) { sim_node__gap(node, step); }
