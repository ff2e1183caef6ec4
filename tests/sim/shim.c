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

static void strike(void) {
  if (shim.strike == SHIM_POWER_LOSS) shim.disk->dead = true;
  if (shim.strike == SHIM_PROCESS_DIES) shim.disk->dead_handle_mask |= shim.handle_mask;
  shim.struck = true;
}

/* Count a mutating operation; is it the one to be struck? Strikes at once when nothing of it is to be done. */
static bool is_struck(void) {
  shim.operation_count++;
  if (shim.struck || shim.operation_count != shim.at || (shim.strike != SHIM_POWER_LOSS && shim.strike != SHIM_PROCESS_DIES)) return false;
  if (shim.moment == SHIM_BEFORE) strike();
  return true;
}

/* The result of an operation that is done; struck now if it was to be struck after it. */
static int outcome(bool struck, int rc) {
  if (!struck || shim.struck) return rc;
  strike();
  return SQLITE_IOERR;
}

static int shim_write(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 offset) {
  bool struck = is_struck();
  return outcome(struck, methods_below->xWrite(file, bytes, size, offset));
}

static int shim_truncate(sqlite3_file *file, sqlite3_int64 size) {
  bool struck = is_struck();
  return outcome(struck, methods_below->xTruncate(file, size));
}

static int shim_sync(sqlite3_file *file, int flags) {
  bool struck = is_struck();
  shim.sync_count++;
  if (shim.strike == SHIM_SYNC_ERROR && !shim.struck && shim.sync_count == shim.at) {
    shim.struck = true;
    return SQLITE_IOERR_FSYNC;
  }
  return outcome(struck, shim.syncs_lie ? SQLITE_OK : methods_below->xSync(file, flags));
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
  bool struck = exists == 0 && (flags & SQLITE_OPEN_CREATE) != 0 && is_struck();
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
  return outcome(struck, SQLITE_OK);
}

static int shim_delete(sqlite3_vfs *vfs, const char *path, int sync_directory) {
  (void)vfs;
  bool struck = is_struck();
  bool unsynced = shim.syncs_lie || (struck && shim.moment == SHIM_HALF);
  return outcome(struck, below->xDelete(below, path, unsynced ? 0 : sync_directory));
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
