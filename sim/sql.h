/* SQL steps of a handler, on the node's own connection to its service's database.

   A transaction is BEGIN IMMEDIATE … COMMIT; SQLITE_BUSY is waited out in virtual time. A statement outside a
   transaction is one of its own: between two of them other instances interleave. The commit's fate is a decision; after
   a COMMIT that failed the outcome is unknown until the node has restarted and read again. */
#ifndef SIM_SQL_H
#define SIM_SQL_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

#include "sim/limits.h"
#include "sim/world.h"

/* One column of a row: an integer, or text (then `number` is its hash). NULL is number 0 without text. */
struct sim_cell {
  int64_t number;
  const char *text;
};

/* One durable row. Owner: the run. */
struct sim_row {
  int64_t rowid;
  uint64_t hash;
  struct sim_cell cell[SIM_COLUMNS_MAX];
};

void sim_sql_begin(struct sim_node *node);
/* After SIM_COMMIT_FAILED nobody knows what is on the disk: sim_node_stop is the right answer, and recovery reads again. */
enum sim_commit { SIM_COMMIT_DONE, SIM_COMMIT_FAILED };
/* Commit (a commit that changed no row syncs nothing); `step` names what is durable now ("intent committed"). A gap follows when it is done. */
enum sim_commit sim_sql_commit(struct sim_node *node, const char *step);
void sim_sql_rollback(struct sim_node *node);

/* Run statement `index` of the service to its end; `format` has a letter an argument: i int64_t, s const char*, n NULL.
   Returns the number of rows changed, or -1 when a uniqueness constraint refused it. Only inside a transaction. */
int sim_sql_run(struct sim_node *node, size_t index, const char *format, ...);
/* Bind and step a query once. Returns the statement standing on a row, or NULL when there is none. Step on with
   sim_sql_next; always end with sim_sql_done before the next step of the handler. */
sqlite3_stmt *sim_sql_query(struct sim_node *node, size_t index, const char *format, ...);
bool sim_sql_next(sqlite3_stmt *statement);
void sim_sql_done(sqlite3_stmt *statement);
/* A gap after an unprotected read whose answer the handler is about to act on. */
void sim_sql_looked(struct sim_node *node, const char *step);

/* Inside the observer's `row`: is this row read back at a recovery that settles a commit in doubt, rather than committed now? */
bool sim_durable_settling(const struct sim_world *world);
/* The durable copy: rows of a table as the last successful commit, or recovery, left them. */
size_t sim_durable_count(const struct sim_world *world, size_t service, size_t table);
const struct sim_row *sim_durable_row(const struct sim_world *world, size_t service, size_t table, size_t index);

#endif
