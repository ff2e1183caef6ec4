/* A VFS laid over sim's: it counts mutating operations (writes, truncations, syncs, deletions, creations) and strikes
   at the n-th of them. It also plays the disks that must not pass a test: one whose syncs lie, one without locks.

   Process-wide, like SQLite's VFS list. Open databases with SHIM_VFS; set `shim` anew for each run. */
#ifndef TESTS_SIM_SHIM_H
#define TESTS_SIM_SHIM_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/disk.h"

#define SHIM_VFS "shim"

enum shim_strike {
  SHIM_NOTHING,
  SHIM_POWER_LOSS,   /* the disk dies */
  SHIM_PROCESS_DIES, /* the handles in `handle_mask` die */
  SHIM_SYNC_ERROR,   /* the n-th *sync* reports an error and syncs nothing */
};

/* How much of the operation is done when it is struck; after it has begun the caller hears of an error all the same. */
enum shim_moment {
  SHIM_BEFORE,
  SHIM_HALF, /* a deletion is done but its directory is not synced; others as SHIM_AFTER */
  SHIM_AFTER,
};

struct shim {
  enum shim_strike strike;
  enum shim_moment moment;
  uint64_t at; /* strike at this operation (or at this sync), from 1 */
  struct sim_disk *disk;
  uint32_t handle_mask;
  bool struck;
  uint64_t operation_count; /* mutating operations that reached the disk or would have */
  uint64_t sync_count;
  bool syncs_lie; /* report success, sync nothing */
  bool no_locks;  /* grant every lock */
};
extern struct shim shim;

/* Register the VFS over sim's; safe to call again. */
void shim_init(void);

#endif
