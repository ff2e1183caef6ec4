/* Every maximum of sim/, each with its reason. Reaching one is an error that names it (ENSURE), never a silent cut. */
#ifndef SIM_LIMITS_H
#define SIM_LIMITS_H

enum {
  SIM_ID_SIZE = 48,      /* bytes of an operation or message id with its NUL: "registration:123456:external-account:12" fits twice over */
  SIM_VALUES_MAX = 6,    /* integers a message carries: the widest kind needs five */
  SIM_POINTS_MAX = 48,   /* decision points of the catalogue: thirty today */
  SIM_ANSWERS_MAX = 8,   /* answers of one point, the dull one included: they travel in an 8-bit mask */
  SIM_SERVICES_MAX = 16, /* services and outside parties of one world */
  SIM_INSTANCES_MAX = 4, /* nodes of one service: two show every race, four leave room */
  SIM_NODES_MAX = 32,    /* SIM_SERVICES_MAX with two instances each */
  SIM_FIBERS_MAX = 64,   /* handlers under way at once: every node busy with two messages */
  SIM_FIBER_STACK = 256 * 1024,      /* bytes; SQL runs on it: at least 256 KiB, with a guard page */
  SIM_EVENTS_MAX = 4096,             /* pending events: some 20 in practice, a redelivery storm a few hundred */
  SIM_STEPS_MAX = 20000,             /* events of one run; past it the run is "stuck" (a livelock, not a bug of ours) */
  SIM_DECISIONS_MAX = 8192,          /* decisions of one run: about 100 an order, more in a storm */
  SIM_FAULTS_MAX = 1024,             /* faults of one run or list: four times what begins healing */
  SIM_FAULTS_BEFORE_HEALING = 256,   /* then healing begins: a process that dies at every third step never gets up */
  SIM_MAILBOXES_MAX = 64,            /* subjects of one actor node that are busy at once */
  SIM_ENDPOINT_TASKS = 16,           /* messages that one node of an endpoint works on at once; the rest wait */
  SIM_PARCELS_MAX = 1024,            /* messages that wait for an endpoint to come up: a storm of repeats, a hundred or two */
  SIM_REQUEUES_MAX = 3,              /* an operator requeues the same message so often, then leaves it */
  SIM_TABLES_MAX = 8,                /* tables of one service */
  SIM_COLUMNS_MAX = 24,              /* columns of one table: the widest has twenty-one */
  SIM_ROWS_MAX = 512,                /* rows of one database that the durable copy follows */
  SIM_STATEMENTS_MAX = 32,           /* prepared statements of one service */
  SIM_CHANGES_MAX = 128,             /* rows one transaction may change */
  SIM_DISK_RANGES_MAX = 4096,        /* unsynced writes of one file before it is synced */
  SIM_INVARIANTS_MAX = 64,           /* danger and verdict travel in a 64-bit mask */
  SIM_ARENA_SIZE = 24 * 1024 * 1024, /* bytes of run memory, touched only as used: 50 KB a run, SIM_STEPS_MAX told steps 15 MB */
  SIM_STORY_LINES_MAX = 20000,       /* lines a replay keeps: one or two a step */
  SIM_BUSY_TRIES_MAX = 400,          /* SQLITE_BUSY in a row: 20 s of virtual time; more is a lock that nobody lets go, a bug */
};

#endif
