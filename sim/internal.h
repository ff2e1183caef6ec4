/* What the files of sim/ share; nobody else includes it. */
#ifndef SIM_INTERNAL_H
#define SIM_INTERNAL_H

#include <sqlite3.h>

#include "sim/arena.h"
#include "sim/disk.h"
#include "sim/fiber.h"
#include "sim/queue.h"
#include "sim/sql.h"
#include "sim/world.h"

enum sim_event_kind {
  SIM_EVENT_DELIVER,
  SIM_EVENT_NOTICE,
  SIM_EVENT_REQUEST,
  SIM_EVENT_ANSWER,
  SIM_EVENT_TIMEOUT,
  SIM_EVENT_RESUME,
  SIM_EVENT_TIMER,
  SIM_EVENT_BOOT,
  SIM_EVENT_LEASE,
  SIM_EVENT_REQUEUE
};

/* A message that the broker holds. */
struct sim_parcel {
  struct sim_message message;
  size_t service;
  enum { SIM_PARCEL_READY, SIM_PARCEL_WAITING, SIM_PARCEL_LEASED, SIM_PARCEL_DONE, SIM_PARCEL_IN_ERROR_QUEUE } state;
  uint32_t deliveries, thrown, requeued;
  struct sim_event *lease_end;
  struct sim_node *node; /* that handled it last, */
  int64_t done_ns;       /* and when */
};

/* What was sent to an endpoint not long ago, where the broker drops repeats. */
struct sim_sent {
  uint64_t content;
  int64_t at_ns;
};

struct sim_event {
  enum sim_event_kind kind;
  bool cancelled;
  bool asked; /* its fate was asked already */
  uint64_t number;
  struct sim_node *node;    /* whom it concerns; for messages chosen at delivery */
  struct sim_node *held_by; /* put off to the end of this node's pause */
  size_t service;           /* messages: to whom */
  uint32_t life;
  struct sim_message *message;
  struct sim_call *call;
  struct sim_task *task;
  struct sim_parcel *parcel; /* messages to an endpoint */
  uint32_t number_of_delivery;
};

/* A handler under way. */
struct sim_task {
  struct sim_node *node;
  uint32_t life;
  struct sim_fiber *fiber;
  struct sim_message message;
  bool booting;
  struct sim_call *awaited;
  struct sim_subject subject; /* what its gaps are about, but for the step */
  bool in_transaction;
  struct sim_parcel *parcel; /* of an endpoint */
  bool failed;               /* it has thrown */
};

struct sim_call {
  struct sim_task *task;
  struct sim_node *outsider;
  struct sim_message request;
  const struct sim_message *answer; /* set when it arrived */
  struct sim_event *timeout;
  bool waiting;
};

struct sim_mailbox {
  int64_t subject;
  bool busy;
  struct sim_letter *first, *last;
};

struct sim_letter {
  struct sim_message message;
  struct sim_parcel *parcel;
  struct sim_letter *next;
};

struct sim_connection {
  sqlite3 *db;
  struct sim_storage *storage;
  uint32_t handle_bit;
  enum sim_durability durability;
  sqlite3_stmt *begin, *commit, *rollback;
  sqlite3_stmt *probe; /* a read of the schema, for a connection to look at the database at all */
  sqlite3_stmt *scan[SIM_TABLES_MAX];
  sqlite3_stmt *statement[SIM_STATEMENTS_MAX];
  const char *table_pointer[SIM_TABLES_MAX]; /* SQLite's own copy of the name, to spare a comparison a row */
  bool used;
  struct sim_change_record *change; /* rows changed by the transaction under way */
  size_t change_count;
  struct sim_world *world;
  size_t service;
};

struct sim_change_record {
  uint8_t table;
  enum sim_change kind;
  struct sim_row row;
};

/* One service's database in one configuration; kept open from run to run. */
struct sim_storage {
  struct sim_disk disk;
  struct sim_image image;
  struct sim_connection connection[SIM_INSTANCES_MAX];
  size_t connection_count;
  bool wal;
  int page_size;
  uint8_t column_count[SIM_TABLES_MAX];
};

enum { SIM_STORAGE_CONFIGS = 4 };

struct sim_durable_table {
  struct sim_row *row[SIM_ROWS_MAX];
  size_t count;
  uint64_t sum; /* of the rows' hashes */
};

/* One service's database in this run. */
struct sim_database {
  struct sim_storage *storage;
  struct sim_durable_table table[SIM_TABLES_MAX];
  bool commit_failed; /* once: its frames may come back at any later recovery, while other instances keep the shared memory */
  bool in_doubt;      /* a commit failed, or power went: the next reading settles the durable copy */
  struct sim_image backup;
  bool backup_taken;
  int64_t backup_time_ns;
};

struct sim_node {
  struct sim_world *world;
  const struct sim_service *service;
  size_t service_index, instance;
  struct sim_name name;
  char name_text[32];
  bool up, starting;
  uint32_t life;
  int64_t paused_until_ns;
  void *memory;
  struct sim_task *task[SIM_FIBERS_MAX];
  size_t task_count;
  struct sim_mailbox mailbox[SIM_MAILBOXES_MAX];
  size_t mailbox_count;
  struct sim_letter *inbox_first, *inbox_last; /* waiting for the boot to end */
  struct sim_connection *connection;
  struct sim_task *transaction_owner;
  struct sim_event *boot; /* pending restart */
};

/* For bench/: the SQL of a run, to be replayed bare on the same disk. */
enum sim_sql_op { SIM_SQL_BEGIN, SIM_SQL_COMMIT, SIM_SQL_ROLLBACK, SIM_SQL_STATEMENT, SIM_SQL_CRASH };
struct sim_sql_entry {
  enum sim_sql_op op;
  uint8_t service, instance, index;
  uint8_t rows; /* statement: how often it was stepped onto a row */
  char format[16];
  int64_t number[16];
  char *text[16]; /* malloc'd by the log */
};
struct sim_sql_log {
  struct sim_sql_entry *entry;
  size_t count, capacity;
};

enum sim_crash_kind { SIM_CRASH_NONE, SIM_CRASH_NODE, SIM_CRASH_POWER, SIM_CRASH_TASK };

struct sim_points { /* looked up once */
#define SIM_POINT(field, name, answers) const struct sim_point *field;
#include "sim/points.def"
#undef SIM_POINT
};

struct sim_world {
  const struct sim_catalogue *catalogue;
  const struct sim_service *service;
  size_t service_count;
  struct sim_name service_name[SIM_SERVICES_MAX];
  struct sim_name *kind;
  const char **kind_sent; /* "Printed sent": steps of gaps */
  const char **kind_answered;
  size_t kind_count;
  struct sim_points point;
  struct sim_decisions *decisions;
  struct sim_fiber_pool *fibers;
  struct sim_arena arena;
  struct sim_queue queue;
  struct sim_trace trace;
  uint64_t disk_digest;
  struct sim_judgement judgement;
  struct sim_counters counters;
  const struct sim_setup *setup;
  struct sim_node node[SIM_SERVICES_MAX][SIM_INSTANCES_MAX];
  struct sim_storage *storage[SIM_SERVICES_MAX][SIM_STORAGE_CONFIGS];
  struct sim_database database[SIM_SERVICES_MAX];
  int64_t now_ns;
  int64_t disturbed_ns; /* when a fault last fell, or an outsider's message last arrived */
  uint64_t steps;
  bool workload_done;
  bool stuck;
  bool settling;
  uint32_t workload_fault_count;
  struct sim_task *current;
  struct sim_sql_log *sql_log; /* NULL but in bench/ */
  /* What the running fiber asks of the scheduler when it ends itself. */
  enum sim_crash_kind crash;
  struct sim_parcel *waiting[SIM_PARCELS_MAX]; /* for a node of their service to come up */
  size_t waiting_count;
  struct sim_parcel *handled[SIM_PARCELS_MAX]; /* not long ago, where a crash brings it again; the oldest makes room */
  size_t handled_count;
  struct sim_sent sent[SIM_PARCELS_MAX];
  size_t sent_count;
  size_t error_count[SIM_SERVICES_MAX];
  struct sim_node *crash_node;
  bool restored; /* a database came back as an older copy in this run */
  enum sim_fate crash_fate;
  uint64_t crash_die;
};

/* world.c */
struct sim_event *sim_world__event(struct sim_world *world, enum sim_event_kind kind);
void sim_world__push(struct sim_world *world, int64_t time_ns, struct sim_event *event);
/* The next event that can still change something; NULL when there is none. Those before it that cannot are dropped. */
const struct sim_queue_item *sim_world__next(struct sim_world *world);
int sim_world__ask(struct sim_world *world, const struct sim_point *point, const struct sim_subject *subject, uint8_t offered);

/* node.c */
void sim_node__gap(struct sim_node *node, const char *step);
/* For tests only: the same gap asked again from the other side (SIM_ASK_GAPS_TWICE). */
void sim_node__gap_before(struct sim_node *node);
void sim_node__block(struct sim_node *node);
/* Wait in virtual time without a gap and without a story. */
void sim_node__wait(struct sim_node *node, int64_t delay_ns);
void sim_node__handle(struct sim_node *node, const struct sim_message *message, struct sim_parcel *parcel);
void sim_node__run_task(struct sim_task *task);
void sim_node__resume(struct sim_task *task);
_Noreturn void sim_node__crash_self(struct sim_node *node, enum sim_crash_kind kind, enum sim_fate fate, uint64_t die);
void sim_node__boot(struct sim_node *node);
void sim_node__wake_all(struct sim_world *world);

/* link.c */
void sim_link__deliver(struct sim_world *world, struct sim_event *event);
void sim_link__request(struct sim_world *world, struct sim_event *event);
void sim_link__answer(struct sim_world *world, struct sim_event *event);

/* sql.c */
void sim_sql__begin_run(struct sim_world *world, size_t service, size_t instance_count, bool wal, int page_size);
void sim_sql__end_run(struct sim_world *world);
void sim_sql__crash_connection(struct sim_node *node, bool last_alive);
void sim_sql__power_loss(struct sim_world *world, size_t service, enum sim_fate fate, uint64_t die);
void sim_sql__restore(struct sim_world *world, size_t service);
/* Compare the durable copy with a full read through this node's connection; settle it where a commit is in doubt. */
void sim_sql__check_durable(struct sim_node *node);
void sim_sql__reopen(struct sim_world *world, size_t service);
/* The preupdate hook of every connection; bench/ takes it off and puts it back. */
void sim_sql__on_row(void *context, sqlite3 *db, int operation, char const *database, char const *table, sqlite3_int64 old_rowid,
                     sqlite3_int64 new_rowid);
void sim_sql__release(struct sim_world *world);

/* broker.c */
/* A message for an endpoint, taken over by the broker. */
struct sim_parcel *sim_broker__take(struct sim_world *world, size_t service, const struct sim_message *message);
/* Is this a repeat that the broker accepts and drops? */
bool sim_broker__drops_repeat(struct sim_world *world, size_t service, const struct sim_message *message);
/* A node is down: what it had handled not long ago may come again. */
void sim_broker__node_down(struct sim_node *node);
/* No node of its service is up: it is delivered when one is. */
void sim_broker__wait_for_node(struct sim_world *world, struct sim_parcel *parcel);
void sim_broker__node_up(struct sim_world *world, size_t service);
/* A handler takes it, for the time of a lease. */
void sim_broker__lease(struct sim_world *world, struct sim_parcel *parcel, struct sim_node *node);
void sim_broker__lease_over(struct sim_world *world, struct sim_parcel *parcel, uint32_t delivery);
/* The handler of that delivery has returned, or thrown. */
void sim_broker__done(struct sim_world *world, struct sim_parcel *parcel, uint32_t delivery);
void sim_broker__thrown(struct sim_world *world, struct sim_parcel *parcel, uint32_t delivery);
void sim_broker__requeue(struct sim_world *world, struct sim_parcel *parcel);

#endif
