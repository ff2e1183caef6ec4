/* SQLite's way to the simulated disk: a VFS registered as the *default* one, because SQLite draws its internal
   randomness from the default VFS. Process-wide; call once before anything else of SQLite. */
#ifndef SIM_VFS_H
#define SIM_VFS_H

#include <stdint.h>

struct sim_disk;

/* Configure SQLite (single thread, no memory statistics) and register the VFS. Safe to call again. */
void sim_vfs_init(void);
/* Make a disk reachable under its name, or forget it. */
void sim_vfs_add(struct sim_disk *disk);
void sim_vfs_remove(struct sim_disk *disk);
/* Restart SQLite's internal randomness from this value: every run begins alike. */
void sim_vfs_seed(uint64_t seed);
/* The bit that marks the locks of the database handle opened last; read right after sqlite3_open_v2. */
uint32_t sim_vfs_last_handle_bit(void);

#endif
