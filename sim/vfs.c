#include "sim/vfs.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "sim/check.h"
#include "sim/disk.h"
#include "sim/hash.h"

struct vfs_file {
  sqlite3_file base;
  struct sim_disk *disk;
  enum sim_file_kind kind;
  uint32_t handle_bit;
  int lock_level;
};

static struct sim_disk *first_disk;
static uint64_t random_state;
static uint32_t opened_last_bit;

static bool is_file_of(const struct sim_disk *disk, const char *path, enum sim_file_kind *kind_out) {
  size_t size = disk->name_size;
  if (strncmp(path, disk->name, size) != 0) return false;
  if (path[size] == '\0') *kind_out = SIM_FILE_DATABASE;
  else if (strcmp(path + size, "-journal") == 0) *kind_out = SIM_FILE_JOURNAL;
  else if (strcmp(path + size, "-wal") == 0) *kind_out = SIM_FILE_WAL;
  else return false;
  return true;
}

/* SQLite asks after the journal at each transaction, mostly of the disk it asked about before: that one is kept in front. */
static struct sim_disk *find_disk(const char *path, enum sim_file_kind *kind_out) {
  for (struct sim_disk **at = &first_disk; *at != NULL; at = &(*at)->next) {
    struct sim_disk *disk = *at;
    if (!is_file_of(disk, path, kind_out)) continue;
    *at = disk->next;
    disk->next = first_disk;
    first_disk = disk;
    return disk;
  }
  return NULL;
}

static int file_close(sqlite3_file *base) {
  struct vfs_file *file = (struct vfs_file *)base;
  if (file->kind == SIM_FILE_DATABASE) {
    sim_disk_unlock(file->disk, file->handle_bit, SQLITE_LOCK_NONE);
    file->disk->handle_mask &= ~file->handle_bit;
  }
  return SQLITE_OK;
}

static int file_read(sqlite3_file *base, void *out, int size, sqlite3_int64 offset) {
  struct vfs_file *file = (struct vfs_file *)base;
  const struct sim_file *bytes = &file->disk->file[file->kind];
  size_t wanted = (size_t)size;
  size_t from = (size_t)offset;
  size_t have = from >= bytes->size ? 0 : bytes->size - from;
  if (have > wanted) have = wanted;
  if (have > 0) memcpy(out, bytes->bytes + from, have);
  if (have == wanted) return SQLITE_OK;
  memset((char *)out + have, 0, wanted - have);
  return SQLITE_IOERR_SHORT_READ;
}

static int file_write(sqlite3_file *base, const void *bytes, int size, sqlite3_int64 offset) {
  struct vfs_file *file = (struct vfs_file *)base;
  return sim_disk_write(file->disk, file->kind, file->handle_bit, bytes, (size_t)size, (size_t)offset);
}

static int file_truncate(sqlite3_file *base, sqlite3_int64 size) {
  struct vfs_file *file = (struct vfs_file *)base;
  return sim_disk_truncate(file->disk, file->kind, file->handle_bit, (size_t)size);
}

static int file_sync(sqlite3_file *base, int flags) {
  struct vfs_file *file = (struct vfs_file *)base;
  (void)flags;
  return sim_disk_sync(file->disk, file->kind, file->handle_bit);
}

static int file_size(sqlite3_file *base, sqlite3_int64 *size_out) {
  struct vfs_file *file = (struct vfs_file *)base;
  *size_out = (sqlite3_int64)file->disk->file[file->kind].size;
  return SQLITE_OK;
}

static int file_lock(sqlite3_file *base, int level) {
  struct vfs_file *file = (struct vfs_file *)base;
  if (level <= file->lock_level) return SQLITE_OK;
  int rc = sim_disk_lock(file->disk, file->handle_bit, level);
  if (rc == SQLITE_OK) file->lock_level = level;
  else if (level == SQLITE_LOCK_EXCLUSIVE && (file->disk->pending_mask & file->handle_bit) != 0) file->lock_level = SQLITE_LOCK_PENDING;
  return rc;
}

static int file_unlock(sqlite3_file *base, int level) {
  struct vfs_file *file = (struct vfs_file *)base;
  if (level >= file->lock_level) return SQLITE_OK;
  sim_disk_unlock(file->disk, file->handle_bit, level);
  file->lock_level = level;
  return SQLITE_OK;
}

static int file_check_reserved(sqlite3_file *base, int *out) {
  struct vfs_file *file = (struct vfs_file *)base;
  *out = sim_disk_reserved(file->disk);
  return SQLITE_OK;
}

static int file_control(sqlite3_file *base, int operation, void *argument) {
  (void)base;
  (void)operation;
  (void)argument;
  return SQLITE_NOTFOUND;
}

static int file_sector_size(sqlite3_file *base) {
  (void)base;
  return 512;
}

static int file_characteristics(sqlite3_file *base) {
  (void)base;
  return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static int file_shm_map(sqlite3_file *base, int region, int size, int extend, void volatile **out) {
  struct vfs_file *file = (struct vfs_file *)base;
  ENSURE(region < SIM_SHM_REGIONS_MAX && size == SIM_SHM_REGION_SIZE);
  if (file->disk->shm[region] == NULL && extend) {
    file->disk->shm[region] = malloc((size_t)size);
    ENSURE(file->disk->shm[region] != NULL);
    memset(file->disk->shm[region], 0, (size_t)size);
  }
  *out = file->disk->shm[region];
  return SQLITE_OK;
}

static int file_shm_lock(sqlite3_file *base, int slot, int count, int flags) {
  struct vfs_file *file = (struct vfs_file *)base;
  if ((flags & SQLITE_SHM_UNLOCK) != 0) {
    sim_disk_shm_unlock(file->disk, file->handle_bit, slot, count);
    return SQLITE_OK;
  }
  return sim_disk_shm_lock(file->disk, file->handle_bit, slot, count, (flags & SQLITE_SHM_EXCLUSIVE) != 0);
}

static void file_shm_barrier(sqlite3_file *base) { (void)base; }

static int file_shm_unmap(sqlite3_file *base, int remove) {
  struct vfs_file *file = (struct vfs_file *)base;
  sim_disk_shm_unlock(file->disk, file->handle_bit, 0, SIM_SHM_SLOTS);
  if (remove) sim_disk_forget_shm(file->disk);
  return SQLITE_OK;
}

static const sqlite3_io_methods file_methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector_size,
    .xDeviceCharacteristics = file_characteristics,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
};

static uint32_t free_handle_bit(const struct sim_disk *disk) {
  for (uint32_t i = 0; i < 32; i++) {
    if ((disk->handle_mask & (UINT32_C(1) << i)) == 0) return UINT32_C(1) << i;
  }
  UNREACHABLE("more than 32 connections of one database");
}

/* A journal or log belongs to the connection whose database handle SQLite names for that path. */
static uint32_t owner_bit(const char *path) {
  const struct vfs_file *database = (const struct vfs_file *)sqlite3_database_file_object(path);
  return database->handle_bit;
}

static int vfs_open(sqlite3_vfs *vfs, sqlite3_filename path, sqlite3_file *base, int flags, int *flags_out) {
  struct vfs_file *file = (struct vfs_file *)base;
  (void)vfs;
  memset(file, 0, sizeof *file);
  if (path == NULL) return SQLITE_CANTOPEN;
  file->disk = find_disk(path, &file->kind);
  if (file->disk == NULL) return SQLITE_CANTOPEN;
  if (file->kind == SIM_FILE_DATABASE) {
    file->handle_bit = free_handle_bit(file->disk);
    file->disk->handle_mask |= file->handle_bit;
    opened_last_bit = file->handle_bit;
  } else {
    file->handle_bit = owner_bit(path);
  }
  if (!file->disk->file[file->kind].exists) {
    if ((flags & SQLITE_OPEN_CREATE) == 0) return SQLITE_CANTOPEN;
    if (file->disk->dead || (file->disk->dead_handle_mask & file->handle_bit) != 0) return SQLITE_IOERR;
    sim_disk_create_file(file->disk, file->kind);
  }
  file->base.pMethods = &file_methods;
  if (flags_out != NULL) *flags_out = flags;
  return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int sync_directory) {
  enum sim_file_kind kind;
  struct sim_disk *disk = find_disk(path, &kind);
  (void)vfs;
  if (disk == NULL || !disk->file[kind].exists) return SQLITE_IOERR_DELETE_NOENT;
  return sim_disk_remove(disk, kind, owner_bit(path), sync_directory != 0);
}

static int vfs_access(sqlite3_vfs *vfs, const char *path, int flags, int *out) {
  enum sim_file_kind kind;
  struct sim_disk *disk = find_disk(path, &kind);
  (void)vfs;
  *out = disk != NULL && disk->file[kind].exists && (flags != SQLITE_ACCESS_EXISTS || disk->file[kind].size > 0);
  return SQLITE_OK;
}

static int vfs_full_pathname(sqlite3_vfs *vfs, const char *path, int size, char *out) {
  (void)vfs;
  ENSURE((int)strlen(path) < size);
  strcpy(out, path);
  return SQLITE_OK;
}

static int vfs_randomness(sqlite3_vfs *vfs, int size, char *out) {
  (void)vfs;
  for (int i = 0; i < size; i++) {
    if (i % 8 == 0) random_state = sim_finish(random_state + UINT64_C(0x9E3779B97F4A7C15));
    out[i] = (char)(random_state >> (8 * (i % 8)));
  }
  return size;
}

static int vfs_sleep(sqlite3_vfs *vfs, int microseconds) {
  (void)vfs;
  return microseconds;
}

static int vfs_current_time(sqlite3_vfs *vfs, double *out) {
  (void)vfs;
  *out = 2460000.5;
  return SQLITE_OK;
}

static int vfs_last_error(sqlite3_vfs *vfs, int size, char *out) {
  (void)vfs;
  (void)size;
  (void)out;
  return 0;
}

static sqlite3_vfs sim_vfs = {
    .iVersion = 1,
    .szOsFile = sizeof(struct vfs_file),
    .mxPathname = 128,
    .zName = "oncesim",
    .xOpen = vfs_open,
    .xDelete = vfs_delete,
    .xAccess = vfs_access,
    .xFullPathname = vfs_full_pathname,
    .xRandomness = vfs_randomness,
    .xSleep = vfs_sleep,
    .xCurrentTime = vfs_current_time,
    .xGetLastError = vfs_last_error,
};

void sim_vfs_init(void) {
  static bool done;
  if (done) return;
  done = true;
  ENSURE(sqlite3_config(SQLITE_CONFIG_SINGLETHREAD) == SQLITE_OK);
  ENSURE(sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) == SQLITE_OK);
  ENSURE(sqlite3_initialize() == SQLITE_OK);
  ENSURE(sqlite3_vfs_register(&sim_vfs, 1) == SQLITE_OK);
}

void sim_vfs_add(struct sim_disk *disk) {
  disk->next = first_disk;
  first_disk = disk;
}

void sim_vfs_remove(struct sim_disk *disk) {
  for (struct sim_disk **at = &first_disk; *at != NULL; at = &(*at)->next) {
    if (*at != disk) continue;
    *at = disk->next;
    return;
  }
}

void sim_vfs_seed(uint64_t seed) {
  random_state = seed;
  sqlite3_randomness(0, NULL);
}

uint32_t sim_vfs_last_handle_bit(void) { return opened_last_bit; }
