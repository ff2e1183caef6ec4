/* One real SQLite database on a simulated disk, without a world around it: what the storage tests work on. Connections
   are kept open from run to run by the recipe of storage.md (R4), the disk image is swapped beneath them.

   Every run starts from the same image: tables `t(k, v)` and `state(id, n)`, empty but for state's one row (1, 0). */
#ifndef TESTS_SIM_STORAGE_H
#define TESTS_SIM_STORAGE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim/disk.h"

enum storage_mode { STORAGE_DELETE_EXTRA, STORAGE_WAL_FULL, STORAGE_DELETE_FULL, STORAGE_WAL_NORMAL, STORAGE_TRUNCATE_FULL };

enum { STORAGE_CONNECTIONS_MAX = 2 };

struct storage_connection {
  sqlite3 *db;
  uint32_t handle_bit;
  sqlite3_stmt *begin, *commit, *rollback, *insert, *count, *read_t, *read_state;
};

struct storage {
  struct sim_disk disk;
  struct sim_image image;
  enum storage_mode mode;
  int page_size;
  struct storage_connection connection[STORAGE_CONNECTIONS_MAX];
  int connection_count;
  uint64_t digest; /* of all disk operations of this run */
};

const char *storage_mode_name(enum storage_mode mode);
bool storage_is_wal(const struct storage *storage);

/* Make the image and open the connections through SHIM_VFS. */
void storage_open(struct storage *storage, enum storage_mode mode, int page_size, int connection_count);
void storage_close(struct storage *storage);
/* Start a run: statements reset, image swapped, caches forgotten, randomness reseeded, shim cleared. */
void storage_begin_run(struct storage *storage, uint64_t seed);

/* Step a statement of a connection to its first result and reset it; returns SQLite's code. */
int storage_step(sqlite3_stmt *statement);
/* Insert (key, value) inside or outside a transaction. */
int storage_insert(struct storage *storage, int connection, int64_t key, const char *value);
/* A hash over all rows as this connection reads them; false when it cannot. */
bool storage_read(struct storage *storage, int connection, uint64_t *hash_out);
/* How many rows `t` has; -1 when it cannot be read. */
int64_t storage_count(struct storage *storage, int connection);
bool storage_is_sound(struct storage *storage, int connection); /* PRAGMA integrity_check */

/* The power goes, comes back, and every connection is as after a boot; kept open, or closed and opened anew. */
void storage_power_loss(struct storage *storage, enum sim_fate fate, uint64_t die, bool reopen);
/* The process behind one connection dies; the disk stays. */
void storage_process_crash(struct storage *storage, int connection, bool last_alive, bool reopen);

#endif
