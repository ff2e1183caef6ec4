/* Method. The shim hands sim's VFS the same memory SQLite gave it for a file and then replaces the method table, so that
   sim's file stands where it expects to stand: at the address SQLite names for a database. */
#include "tests/sim/shim.h"

#include <sqlite3.h>
#include <stddef.h>

#include "sim/check.h"
#include "sim/vfs.h"

struct shim shim;

static sqlite3_vfs *below;
static const sqlite3_io_methods *methods_below;

/* Count a mutating operation and strike if it is the one. */
static void operation(void) {
  shim.operation_count++;
  if (shim.struck || shim.operation_count != shim.at) return;
  if (shim.strike == SHIM_POWER_LOSS) shim.disk->dead = true;
  else if (shim.strike == SHIM_PROCESS_DIES) shim.disk->dead_handle_mask |= shim.handle_mask;
  else return;
  shim.struck = true;
}

static int shim_write(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 offset) {
  operation();
  return methods_below->xWrite(file, bytes, size, offset);
}

static int shim_truncate(sqlite3_file *file, sqlite3_int64 size) {
  operation();
  return methods_below->xTruncate(file, size);
}

static int shim_sync(sqlite3_file *file, int flags) {
  operation();
  shim.sync_count++;
  if (shim.strike == SHIM_SYNC_ERROR && !shim.struck && shim.sync_count == shim.at) {
    shim.struck = true;
    return SQLITE_IOERR_FSYNC;
  }
  return shim.syncs_lie ? SQLITE_OK : methods_below->xSync(file, flags);
}

static int shim_lock(sqlite3_file *file, int level) { return shim.no_locks ? SQLITE_OK : methods_below->xLock(file, level); }

static int shim_unlock(sqlite3_file *file, int level) { return shim.no_locks ? SQLITE_OK : methods_below->xUnlock(file, level); }

static int shim_check_reserved(sqlite3_file *file, int *out) {
  if (!shim.no_locks) return methods_below->xCheckReservedLock(file, out);
  *out = 0;
  return SQLITE_OK;
}

static int shim_shm_lock(sqlite3_file *file, int slot, int count, int flags) {
  return shim.no_locks ? SQLITE_OK : methods_below->xShmLock(file, slot, count, flags);
}

static sqlite3_io_methods shim_methods;

static int shim_open(sqlite3_vfs *vfs, sqlite3_filename path, sqlite3_file *file, int flags, int *flags_out) {
  (void)vfs;
  int exists = 0;
  if (path != NULL) below->xAccess(below, path, SQLITE_ACCESS_READWRITE, &exists);
  if (exists == 0 && (flags & SQLITE_OPEN_CREATE) != 0) operation();
  int rc = below->xOpen(below, path, file, flags, flags_out);
  if (rc != SQLITE_OK) return rc;
  if (methods_below == NULL) {
    methods_below = file->pMethods;
    shim_methods = *methods_below;
    shim_methods.xWrite = shim_write;
    shim_methods.xTruncate = shim_truncate;
    shim_methods.xSync = shim_sync;
    shim_methods.xLock = shim_lock;
    shim_methods.xUnlock = shim_unlock;
    shim_methods.xCheckReservedLock = shim_check_reserved;
    shim_methods.xShmLock = shim_shm_lock;
  }
  file->pMethods = &shim_methods;
  return SQLITE_OK;
}

static int shim_delete(sqlite3_vfs *vfs, const char *path, int sync_directory) {
  (void)vfs;
  operation();
  return below->xDelete(below, path, shim.syncs_lie ? 0 : sync_directory);
}

void shim_init(void) {
  static sqlite3_vfs vfs;
  if (below != NULL) return;
  sim_vfs_init();
  below = sqlite3_vfs_find("oncesim");
  ENSURE(below != NULL);
  vfs = *below;
  vfs.pNext = NULL;
  vfs.zName = SHIM_VFS;
  vfs.xOpen = shim_open;
  vfs.xDelete = shim_delete;
  ENSURE(sqlite3_vfs_register(&vfs, 0) == SQLITE_OK);
}
