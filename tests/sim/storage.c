#include "tests/sim/storage.h"

#include <stdio.h>
#include <string.h>

#include "sim/check.h"
#include "sim/hash.h"
#include "sim/vfs.h"
#include "tests/sim/shim.h"

static const struct {
  const char *name, *journal, *synchronous;
} modes[] = {
    [STORAGE_DELETE_EXTRA] = {"DELETE+EXTRA", "PRAGMA journal_mode=DELETE", "PRAGMA synchronous=EXTRA"},
    [STORAGE_WAL_FULL] = {"WAL+FULL", "PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL"},
    [STORAGE_DELETE_FULL] = {"DELETE+FULL", "PRAGMA journal_mode=DELETE", "PRAGMA synchronous=FULL"},
    [STORAGE_WAL_NORMAL] = {"WAL+NORMAL", "PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL"},
    [STORAGE_TRUNCATE_FULL] = {"TRUNCATE+FULL", "PRAGMA journal_mode=TRUNCATE", "PRAGMA synchronous=FULL"},
};

const char *storage_mode_name(enum storage_mode mode) { return modes[mode].name; }

bool storage_is_wal(const struct storage *storage) { return storage->mode == STORAGE_WAL_FULL || storage->mode == STORAGE_WAL_NORMAL; }

static void execute(sqlite3 *db, const char *sql) {
  if (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK) return;
  fprintf(stderr, "%s\n  in: %s\n", sqlite3_errmsg(db), sql);
  UNREACHABLE("SQL of a test does not run");
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql) {
  sqlite3_stmt *statement = NULL;
  ENSURE(sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) == SQLITE_OK);
  return statement;
}

static void open_connection(struct storage *storage, struct storage_connection *connection) {
  ENSURE(sqlite3_open_v2(storage->disk.name, &connection->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, SHIM_VFS) == SQLITE_OK);
  connection->handle_bit = sim_vfs_last_handle_bit();
  sqlite3 *db = connection->db;
  execute(db, "PRAGMA temp_store=MEMORY");
  execute(db, "PRAGMA wal_autocheckpoint=10");
  if (storage->mode == STORAGE_TRUNCATE_FULL) execute(db, modes[storage->mode].journal); /* not kept in the file */
  execute(db, modes[storage->mode].synchronous);
  connection->begin = prepare(db, "BEGIN IMMEDIATE");
  connection->commit = prepare(db, "COMMIT");
  connection->rollback = prepare(db, "ROLLBACK");
  connection->insert = prepare(db, "INSERT INTO t VALUES(?, ?)");
  connection->count = prepare(db, "SELECT count(*) FROM t");
  connection->read_t = prepare(db, "SELECT k, v FROM t ORDER BY k");
  connection->read_state = prepare(db, "SELECT id, n FROM state ORDER BY id");
}

static void close_connection(struct storage_connection *connection) {
  for (sqlite3_stmt *each; (each = sqlite3_next_stmt(connection->db, NULL)) != NULL;) sqlite3_finalize(each);
  ENSURE(sqlite3_close(connection->db) == SQLITE_OK);
  *connection = (struct storage_connection){0};
}

static void make_image(struct storage *storage) {
  sqlite3 *db = NULL;
  char pragma[64];
  sim_vfs_seed(1);
  ENSURE(sqlite3_open_v2(storage->disk.name, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, SHIM_VFS) == SQLITE_OK);
  snprintf(pragma, sizeof pragma, "PRAGMA page_size=%d", storage->page_size);
  execute(db, pragma);
  execute(db, modes[storage->mode].journal);
  execute(
      db,
      "CREATE TABLE t(k INTEGER PRIMARY KEY, v TEXT); CREATE TABLE state(id INTEGER PRIMARY KEY, n INTEGER); INSERT INTO state VALUES(1, 0)");
  if (storage_is_wal(storage)) {
    execute(db, "CREATE TABLE settled(n INTEGER)");
    execute(db, "PRAGMA wal_checkpoint(TRUNCATE)");
    execute(db, "INSERT INTO settled VALUES(1)");
  }
  sim_disk_copy(&storage->disk, &storage->image);
  ENSURE(sqlite3_close(db) == SQLITE_OK);
  sim_disk_load(&storage->disk, &storage->image);
}

void storage_open(struct storage *storage, enum storage_mode mode, int page_size, int connection_count) {
  static unsigned made;
  char name[32];
  shim_init();
  shim = (struct shim){0};
  memset(storage, 0, sizeof *storage);
  storage->mode = mode;
  storage->page_size = page_size;
  storage->connection_count = connection_count;
  snprintf(name, sizeof name, "/test-%u.db", made++);
  sim_disk_init(&storage->disk, name);
  sim_vfs_add(&storage->disk);
  make_image(storage);
  for (int c = 0; c < connection_count; c++) open_connection(storage, &storage->connection[c]);
}

void storage_close(struct storage *storage) {
  storage->disk.dead = false;
  storage->disk.dead_handle_mask = 0;
  for (int c = 0; c < storage->connection_count; c++) close_connection(&storage->connection[c]);
  sim_vfs_remove(&storage->disk);
  sim_image_release(&storage->image);
  sim_disk_release(&storage->disk);
}

/* Leave no statement half-stepped and no transaction open. */
static void quiesce(struct storage_connection *connection) {
  for (sqlite3_stmt *each = sqlite3_next_stmt(connection->db, NULL); each != NULL; each = sqlite3_next_stmt(connection->db, each))
    sqlite3_reset(each);
  if (!sqlite3_get_autocommit(connection->db)) storage_step(connection->rollback);
}

static void forget_cache(struct storage_connection *connection) {
  ENSURE(sqlite3_get_autocommit(connection->db));
  sqlite3_file_control(connection->db, "main", SQLITE_FCNTL_RESET_CACHE, NULL);
}

void storage_begin_run(struct storage *storage, uint64_t seed) {
  storage->disk.digest = NULL;
  shim = (struct shim){.disk = &storage->disk};
  for (int c = 0; c < storage->connection_count; c++) quiesce(&storage->connection[c]);
  sim_disk_reset(&storage->disk, &storage->image);
  for (int c = 0; c < storage->connection_count; c++) forget_cache(&storage->connection[c]);
  sim_vfs_seed(seed);
  storage->digest = 0;
  storage->disk.digest = &storage->digest;
  shim = (struct shim){.disk = &storage->disk};
}

int storage_step(sqlite3_stmt *statement) {
  int rc = sqlite3_step(statement);
  sqlite3_reset(statement);
  return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}

int storage_insert(struct storage *storage, int connection, int64_t key, const char *value) {
  sqlite3_stmt *insert = storage->connection[connection].insert;
  ENSURE(sqlite3_bind_int64(insert, 1, key) == SQLITE_OK);
  ENSURE(sqlite3_bind_text(insert, 2, value, -1, SQLITE_TRANSIENT) == SQLITE_OK);
  return storage_step(insert);
}

/* Fold the rows of a query into a hash. */
static bool fold_rows(sqlite3_stmt *query, uint64_t *hash) {
  int rc;
  while ((rc = sqlite3_step(query)) == SQLITE_ROW) {
    *hash = sim_mix(*hash, (uint64_t)sqlite3_column_int64(query, 0));
    const char *text = (const char *)sqlite3_column_text(query, 1);
    *hash = sim_mix(*hash, sim_hash_text(text == NULL ? "" : text));
  }
  sqlite3_reset(query);
  return rc == SQLITE_DONE;
}

bool storage_read(struct storage *storage, int connection, uint64_t *hash_out) {
  *hash_out = 0;
  bool read = fold_rows(storage->connection[connection].read_t, hash_out);
  return fold_rows(storage->connection[connection].read_state, hash_out) && read;
}

int64_t storage_count(struct storage *storage, int connection) {
  sqlite3_stmt *count = storage->connection[connection].count;
  int64_t rows = sqlite3_step(count) == SQLITE_ROW ? sqlite3_column_int64(count, 0) : -1;
  sqlite3_reset(count);
  return rows;
}

static int on_check(void *context, int columns, char **value, char **name) {
  (void)columns;
  (void)name;
  *(bool *)context = value[0] != NULL && strcmp(value[0], "ok") == 0;
  return 0;
}

bool storage_is_sound(struct storage *storage, int connection) {
  bool sound = false;
  return sqlite3_exec(storage->connection[connection].db, "PRAGMA integrity_check", on_check, &sound, NULL) == SQLITE_OK && sound;
}

void storage_power_loss(struct storage *storage, enum sim_fate fate, uint64_t die, bool reopen) {
  storage->disk.dead = true;
  for (int c = 0; c < storage->connection_count; c++) {
    quiesce(&storage->connection[c]);
    if (reopen) close_connection(&storage->connection[c]);
  }
  sim_disk_settle(&storage->disk, fate, die);
  sim_disk_forget_shm(&storage->disk);
  storage->disk.dead = storage->disk.injected = false;
  storage->disk.dead_handle_mask = 0;
  storage->disk.fuse = SIM_FUSE_NONE;
  for (int c = 0; c < storage->connection_count; c++) {
    if (reopen) open_connection(storage, &storage->connection[c]);
    else forget_cache(&storage->connection[c]);
  }
}

void storage_process_crash(struct storage *storage, int connection, bool last_alive, bool reopen) {
  struct storage_connection *dying = &storage->connection[connection];
  uint32_t bit = dying->handle_bit;
  storage->disk.dead_handle_mask |= bit;
  quiesce(dying);
  if (reopen) close_connection(dying);
  storage->disk.dead_handle_mask &= ~bit;
  if (last_alive) sim_disk_forget_shm(&storage->disk);
  if (reopen) open_connection(storage, dying);
  else forget_cache(dying);
}
