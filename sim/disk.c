/* Method. A file keeps two buffers, written and synced, and the list of ranges written since the last sync. A sync
   copies those ranges; a power loss copies none (lost), all (kept) or a choice of 64-byte pieces (torn) of them and then
   makes both buffers equal. A torn piece takes its bytes from the file as written, so where two unsynced writes overlap
   the later one wins; keeping the earlier one alone is not modelled. A file that was unlinked and made again is a new
   inode: its old synced bytes come back whole, or the new ones do, never a mix. */
#include "sim/disk.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "sim/check.h"
#include "sim/hash.h"

enum { TORN_SIZE = 64, WAL_INDEX_HEADER_SIZE = 136 };

void sim_disk_init(struct sim_disk *disk, const char *name) {
  memset(disk, 0, sizeof *disk);
  REQUIRE(strlen(name) < sizeof disk->name);
  strcpy(disk->name, name);
  disk->name_size = strlen(name);
  for (int k = 0; k < SIM_FILE_COUNT; k++) {
    disk->file[k].range = malloc(SIM_DISK_RANGES_MAX * sizeof *disk->file[k].range);
    ENSURE(disk->file[k].range != NULL);
  }
}

void sim_disk_release(struct sim_disk *disk) {
  for (int k = 0; k < SIM_FILE_COUNT; k++) {
    free(disk->file[k].bytes);
    free(disk->file[k].synced);
    free(disk->file[k].range);
  }
  for (int r = 0; r < SIM_SHM_REGIONS_MAX; r++) free(disk->shm[r]);
}

static void grow(unsigned char **bytes, size_t *capacity, size_t size) {
  if (size <= *capacity) return;
  size_t larger = *capacity == 0 ? 16384 : *capacity;
  while (larger < size) larger *= 2;
  *bytes = realloc(*bytes, larger);
  ENSURE(*bytes != NULL);
  memset(*bytes + *capacity, 0, larger - *capacity);
  *capacity = larger;
}

static void set_size(unsigned char **bytes, size_t *capacity, size_t *size, size_t new_size) {
  grow(bytes, capacity, new_size);
  if (new_size > *size) memset(*bytes + *size, 0, new_size - *size);
  *size = new_size;
}

void sim_disk_copy(const struct sim_disk *disk, struct sim_image *image_out) {
  for (int k = 0; k < SIM_FILE_COUNT; k++) {
    const struct sim_file *file = &disk->file[k];
    image_out->exists[k] = file->exists;
    image_out->size[k] = file->size;
    image_out->bytes[k] = malloc(file->size + 1);
    ENSURE(image_out->bytes[k] != NULL);
    if (file->size > 0) memcpy(image_out->bytes[k], file->bytes, file->size);
  }
}

void sim_image_release(struct sim_image *image) {
  for (int k = 0; k < SIM_FILE_COUNT; k++) free(image->bytes[k]);
  *image = (struct sim_image){0};
}

static void load_file(struct sim_file *file, const struct sim_image *image, int kind) {
  size_t size = image->size[kind];
  grow(&file->bytes, &file->capacity, size);
  grow(&file->synced, &file->synced_capacity, size);
  if (size > 0) {
    memcpy(file->bytes, image->bytes[kind], size);
    memcpy(file->synced, image->bytes[kind], size);
  }
  file->size = file->synced_size = size;
  file->exists = file->synced_exists = image->exists[kind];
  file->fresh = false;
  file->range_count = 0;
}

static void clear_faults(struct sim_disk *disk) {
  disk->dead = false;
  disk->dead_handle_mask = 0;
  disk->fuse = SIM_FUSE_NONE;
  disk->fuse_blown = false;
  disk->injected = false;
  disk->operation_count = 0;
}

void sim_disk_load(struct sim_disk *disk, const struct sim_image *image) {
  for (int k = 0; k < SIM_FILE_COUNT; k++) {
    load_file(&disk->file[k], image, k);
    disk->file[k].touched = true;
  }
  sim_disk_forget_shm(disk);
  clear_faults(disk);
}

void sim_disk_reset(struct sim_disk *disk, const struct sim_image *image) {
  for (int k = 0; k < SIM_FILE_COUNT; k++) {
    if (disk->file[k].touched) load_file(&disk->file[k], image, k);
    disk->file[k].touched = false;
  }
  sim_disk_forget_shm(disk);
  clear_faults(disk);
}

void sim_disk_forget_shm(struct sim_disk *disk) {
  /* The header alone decides: recovery zeroes each hash table before it fills it (walIndexAppend). */
  if (disk->shm[0] != NULL) memset(disk->shm[0], 0, WAL_INDEX_HEADER_SIZE);
}

static void copy_range(struct sim_file *file, size_t offset, size_t end) {
  if (end > file->size) end = file->size;
  if (offset >= end) return;
  if (end > file->synced_size) set_size(&file->synced, &file->synced_capacity, &file->synced_size, end);
  memcpy(file->synced + offset, file->bytes + offset, end - offset);
}

static void settle_written(struct sim_file *file) {
  if (file->fresh) {
    file->synced_size = 0;
    copy_range(file, 0, file->size);
    file->fresh = false;
  } else {
    for (size_t i = 0; i < file->range_count; i++)
      copy_range(file, file->range[i].offset, file->range[i].offset + (size_t)file->range[i].size);
  }
  set_size(&file->synced, &file->synced_capacity, &file->synced_size, file->size);
  file->synced_exists = file->exists;
  file->range_count = 0;
}

static void settle_torn(struct sim_file *file, uint64_t die) {
  if (file->fresh || file->exists != file->synced_exists) {
    if (sim_finish(sim_mix(die, 1)) & 1) settle_written(file);
    return;
  }
  size_t size = sim_finish(sim_mix(die, 2)) & 1 ? file->size : file->synced_size;
  for (size_t i = 0; i < file->range_count; i++) {
    size_t end = file->range[i].offset + (size_t)file->range[i].size;
    for (size_t at = file->range[i].offset; at < end;) {
      size_t next = (at / TORN_SIZE + 1) * TORN_SIZE;
      if (next > end) next = end;
      if (sim_finish(sim_mix(sim_mix(die, at), i + 3)) & 1) copy_range(file, at, next);
      at = next;
    }
  }
  if (size < file->synced_size || size == file->size) set_size(&file->synced, &file->synced_capacity, &file->synced_size, size);
}

void sim_disk_settle(struct sim_disk *disk, enum sim_fate fate, uint64_t die) {
  for (int k = 0; k < SIM_FILE_COUNT; k++) {
    struct sim_file *file = &disk->file[k];
    if (fate == SIM_FATE_KEPT) settle_written(file);
    if (fate == SIM_FATE_TORN) settle_torn(file, sim_mix(die, (uint64_t)k));
    set_size(&file->bytes, &file->capacity, &file->size, file->synced_size);
    if (file->size > 0) memcpy(file->bytes, file->synced, file->size);
    file->exists = file->synced_exists;
    file->fresh = false;
    file->range_count = 0;
    file->touched = true;
  }
}

bool sim_disk_unsynced(const struct sim_disk *disk) {
  for (int k = 0; k < SIM_FILE_COUNT; k++) {
    const struct sim_file *file = &disk->file[k];
    if (file->range_count > 0 || file->exists != file->synced_exists || file->size != file->synced_size) return true;
  }
  return false;
}

static bool is_dead(const struct sim_disk *disk, uint32_t handle_bit) { return disk->dead || (disk->dead_handle_mask & handle_bit) != 0; }

static void digest(struct sim_disk *disk, uint64_t kind, uint64_t offset, uint64_t content) {
  disk->operation_count++;
  if (disk->digest != NULL) *disk->digest = sim_mix(sim_mix(*disk->digest, kind ^ (offset << 8)), content);
}

int sim_disk_write(struct sim_disk *disk, enum sim_file_kind kind, uint32_t handle_bit, const void *bytes, size_t size, size_t offset) {
  struct sim_file *file = &disk->file[kind];
  if (is_dead(disk, handle_bit)) return SQLITE_IOERR_WRITE;
  if (disk->fuse == SIM_FUSE_DISK_FULL) {
    disk->fuse = SIM_FUSE_NONE;
    disk->fuse_blown = disk->injected = true;
    return SQLITE_FULL;
  }
  grow(&file->bytes, &file->capacity, offset + size);
  if (offset + size > file->size) set_size(&file->bytes, &file->capacity, &file->size, offset + size);
  memcpy(file->bytes + offset, bytes, size);
  file->touched = true;
  if (!file->fresh) {
    struct sim_range *last = file->range_count > 0 ? &file->range[file->range_count - 1] : NULL;
    if (last != NULL && last->offset + last->size == offset) {
      last->size += (uint32_t)size;
    } else {
      ENSURE(file->range_count < SIM_DISK_RANGES_MAX);
      file->range[file->range_count++] = (struct sim_range){(uint32_t)offset, (uint32_t)size};
    }
  }
  digest(disk, (uint64_t)kind + 16, offset, disk->digest ? sim_hash_bytes(bytes, size) : 0);
  return SQLITE_OK;
}

int sim_disk_truncate(struct sim_disk *disk, enum sim_file_kind kind, uint32_t handle_bit, size_t size) {
  struct sim_file *file = &disk->file[kind];
  if (is_dead(disk, handle_bit)) return SQLITE_IOERR_TRUNCATE;
  if (size < file->size) file->size = size;
  file->touched = true;
  digest(disk, (uint64_t)kind + 32, size, 0);
  return SQLITE_OK;
}

static void power_goes(struct sim_disk *disk) {
  disk->fuse = SIM_FUSE_NONE;
  disk->fuse_blown = disk->injected = disk->dead = true;
}

int sim_disk_sync(struct sim_disk *disk, enum sim_file_kind kind, uint32_t handle_bit) {
  if (is_dead(disk, handle_bit)) return SQLITE_IOERR_FSYNC;
  bool database = kind == SIM_FILE_DATABASE;
  if (disk->fuse == SIM_FUSE_IO_ERROR) {
    disk->fuse = SIM_FUSE_NONE;
    disk->fuse_blown = disk->injected = true;
    return SQLITE_IOERR_FSYNC;
  }
  if ((disk->fuse == SIM_FUSE_JOURNAL_WRITTEN && !database) || (disk->fuse == SIM_FUSE_DATABASE_WRITTEN && database)) {
    power_goes(disk);
    return SQLITE_IOERR_FSYNC;
  }
  settle_written(&disk->file[kind]);
  digest(disk, (uint64_t)kind + 48, 0, 0);
  if ((disk->fuse == SIM_FUSE_JOURNAL_SYNCED && !database) || (disk->fuse == SIM_FUSE_DATABASE_SYNCED && database)) {
    power_goes(disk);
    return SQLITE_IOERR_FSYNC;
  }
  return SQLITE_OK;
}

int sim_disk_remove(struct sim_disk *disk, enum sim_file_kind kind, uint32_t handle_bit, bool sync_directory) {
  struct sim_file *file = &disk->file[kind];
  if (is_dead(disk, handle_bit)) return SQLITE_IOERR_DELETE;
  file->exists = false;
  file->size = 0;
  file->range_count = 0;
  file->touched = true;
  if (sync_directory || file->fresh) {
    /* A fresh file that was never synced leaves no durable trace of itself; what was durable before it stays. */
    if (sync_directory) {
      file->synced_exists = false;
      file->synced_size = 0;
    }
    file->fresh = false;
  }
  digest(disk, (uint64_t)kind + 64, sync_directory, 0);
  if (disk->fuse == SIM_FUSE_JOURNAL_GONE) {
    power_goes(disk);
    return SQLITE_IOERR_DELETE;
  }
  return SQLITE_OK;
}

void sim_disk_create_file(struct sim_disk *disk, enum sim_file_kind kind) {
  struct sim_file *file = &disk->file[kind];
  file->exists = true;
  file->fresh = true;
  file->size = 0;
  file->range_count = 0;
  file->touched = true;
}

int sim_disk_lock(struct sim_disk *disk, uint32_t handle_bit, int level) {
  uint32_t others = ~handle_bit;
  if (level == SQLITE_LOCK_SHARED) {
    if (((disk->pending_mask | disk->exclusive_mask) & others) != 0) return SQLITE_BUSY;
    disk->shared_mask |= handle_bit;
    return SQLITE_OK;
  }
  if (((disk->reserved_mask | disk->pending_mask | disk->exclusive_mask) & others) != 0) return SQLITE_BUSY;
  if (level == SQLITE_LOCK_RESERVED) {
    disk->reserved_mask |= handle_bit;
    return SQLITE_OK;
  }
  disk->pending_mask |= handle_bit;
  if (level == SQLITE_LOCK_PENDING) return SQLITE_OK;
  if ((disk->shared_mask & others) != 0) return SQLITE_BUSY;
  disk->exclusive_mask |= handle_bit;
  return SQLITE_OK;
}

void sim_disk_unlock(struct sim_disk *disk, uint32_t handle_bit, int level) {
  disk->reserved_mask &= ~handle_bit;
  disk->pending_mask &= ~handle_bit;
  disk->exclusive_mask &= ~handle_bit;
  if (level == SQLITE_LOCK_NONE) disk->shared_mask &= ~handle_bit;
}

bool sim_disk_reserved(const struct sim_disk *disk) { return (disk->reserved_mask | disk->pending_mask | disk->exclusive_mask) != 0; }

int sim_disk_shm_lock(struct sim_disk *disk, uint32_t handle_bit, int slot, int count, bool exclusive) {
  for (int i = slot; i < slot + count; i++) {
    if ((disk->shm_exclusive[i] & ~handle_bit) != 0) return SQLITE_BUSY;
    if (exclusive && (disk->shm_shared[i] & ~handle_bit) != 0) return SQLITE_BUSY;
  }
  for (int i = slot; i < slot + count; i++) {
    if (exclusive) disk->shm_exclusive[i] |= handle_bit;
    else disk->shm_shared[i] |= handle_bit;
  }
  return SQLITE_OK;
}

void sim_disk_shm_unlock(struct sim_disk *disk, uint32_t handle_bit, int slot, int count) {
  for (int i = slot; i < slot + count; i++) {
    disk->shm_exclusive[i] &= ~handle_bit;
    disk->shm_shared[i] &= ~handle_bit;
  }
}
