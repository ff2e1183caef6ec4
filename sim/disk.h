/* The simulated disk of one database: three files (database, journal, write-ahead log) and the shared memory of the
   write-ahead log. Each file has bytes as written and bytes as synced; a power loss decides what becomes of the
   difference. Locks are real and held per connection. SQLite reaches it through sim/vfs.h.

   Mechanism only: *whether* something is lost is decided elsewhere (sim/sql.c asks the decisions). */
#ifndef SIM_DISK_H
#define SIM_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/limits.h"

enum sim_file_kind { SIM_FILE_DATABASE, SIM_FILE_JOURNAL, SIM_FILE_WAL, SIM_FILE_COUNT };

struct sim_range {
  uint32_t offset;
  uint32_t size;
};

struct sim_file {
  unsigned char *bytes;  /* as written */
  unsigned char *synced; /* as it would be after a power loss that loses all that is unsynced */
  size_t size, synced_size;
  size_t capacity, synced_capacity;
  bool exists, synced_exists; /* directory entry, as seen and as durable */
  bool fresh;                 /* created since the last durable directory entry: a new inode, never mixed with the old */
  bool touched;               /* differs from the template */
  size_t range_count;         /* writes since the last sync */
  struct sim_range *range;    /* SIM_DISK_RANGES_MAX */
};

/* Where inside a commit the power goes, or what fails; one shot. */
enum sim_fuse {
  SIM_FUSE_NONE,
  SIM_FUSE_JOURNAL_WRITTEN,  /* before the first sync of journal or log */
  SIM_FUSE_JOURNAL_SYNCED,   /* after it */
  SIM_FUSE_DATABASE_WRITTEN, /* before the first sync of the database file */
  SIM_FUSE_DATABASE_SYNCED,
  SIM_FUSE_JOURNAL_GONE, /* after the journal was deleted */
  SIM_FUSE_IO_ERROR,     /* the next sync reports an error */
  SIM_FUSE_DISK_FULL,    /* the next write that grows a file reports a full disk */
};

/* What becomes of unsynced writes at a power loss. */
enum sim_fate { SIM_FATE_LOST, SIM_FATE_KEPT, SIM_FATE_TORN };

enum { SIM_SHM_SLOTS = 8, SIM_SHM_REGIONS_MAX = 4, SIM_SHM_REGION_SIZE = 32768 };

struct sim_disk {
  char name[64]; /* file name of the database, process-unique */
  size_t name_size;
  struct sim_file file[SIM_FILE_COUNT];
  unsigned char *shm[SIM_SHM_REGIONS_MAX];

  /* Locks of the database file, by open handle number (bit mask), as SQLite's file locking protocol names them. */
  uint32_t shared_mask;
  uint32_t reserved_mask;
  uint32_t pending_mask;
  uint32_t exclusive_mask;
  uint32_t shm_shared[SIM_SHM_SLOTS];
  uint32_t shm_exclusive[SIM_SHM_SLOTS];
  uint32_t handle_mask; /* open handles of the database file */

  bool dead;                 /* power is gone: every mutating call fails and changes nothing */
  uint32_t dead_handle_mask; /* the same for one connection's handles */
  enum sim_fuse fuse;
  bool fuse_blown;
  bool injected; /* an error that we caused is under way */

  uint64_t *digest; /* where disk operations are folded in; NULL for none */
  uint64_t operation_count;
  struct sim_disk *next; /* registry of sim/vfs.c */
};

void sim_disk_init(struct sim_disk *disk, const char *name);
void sim_disk_release(struct sim_disk *disk);

/* Copy of a settled database, from which runs start. */
struct sim_image {
  unsigned char *bytes[SIM_FILE_COUNT];
  size_t size[SIM_FILE_COUNT];
  bool exists[SIM_FILE_COUNT];
};
void sim_disk_copy(const struct sim_disk *disk, struct sim_image *image_out);
void sim_image_release(struct sim_image *image);
/* Set the disk to an image, everything synced, shared memory unset. No connection may be inside a transaction. */
void sim_disk_load(struct sim_disk *disk, const struct sim_image *image);
/* As sim_disk_load, skipping files that were not touched since the last load of the same image. */
void sim_disk_reset(struct sim_disk *disk, const struct sim_image *image);

/* Power loss: settle what was unsynced by `fate`; `die` decides which pieces survive for SIM_FATE_TORN. */
void sim_disk_settle(struct sim_disk *disk, enum sim_fate fate, uint64_t die);
/* Is anything written that a power loss could take? */
bool sim_disk_unsynced(const struct sim_disk *disk);
/* Forget the shared memory (only when no connection lives). */
void sim_disk_forget_shm(struct sim_disk *disk);

/* File operations, used by the VFS. Return an SQLite result code. */
int sim_disk_write(struct sim_disk *disk, enum sim_file_kind kind, uint32_t handle_bit, const void *bytes, size_t size, size_t offset);
int sim_disk_truncate(struct sim_disk *disk, enum sim_file_kind kind, uint32_t handle_bit, size_t size);
int sim_disk_sync(struct sim_disk *disk, enum sim_file_kind kind, uint32_t handle_bit);
int sim_disk_remove(struct sim_disk *disk, enum sim_file_kind kind, uint32_t handle_bit, bool sync_directory);
void sim_disk_create_file(struct sim_disk *disk, enum sim_file_kind kind);

/* Locks. `level` is SQLITE_LOCK_SHARED … SQLITE_LOCK_EXCLUSIVE. */
int sim_disk_lock(struct sim_disk *disk, uint32_t handle_bit, int level);
void sim_disk_unlock(struct sim_disk *disk, uint32_t handle_bit, int level);
bool sim_disk_reserved(const struct sim_disk *disk);
int sim_disk_shm_lock(struct sim_disk *disk, uint32_t handle_bit, int slot, int count, bool exclusive);
void sim_disk_shm_unlock(struct sim_disk *disk, uint32_t handle_bit, int slot, int count);

#endif
