/* A world without a subject: virtual time, nodes that crash and pause, links that lose and double, disks that lose
   power, SQLite on those disks. Models (model/, examples) are written against this header and sim/sql.h.

   Life: sim_world_create once a process, with all services there can be; then for each run sim_world_begin, the model
   puts its first messages in, sim_world_run to the end, results are read, and the next begin resets everything.

   Handlers of our own services run on fibers as straight-line code. Between two steps (a commit, a send, a call, an
   acknowledgement) lies a *gap* where the run may yield, crash or pause; nobody calls gaps by hand. An *outside* party
   (somebody else's system, or a person) runs to completion on each message and is touched by no fault.

   Units: times are virtual nanoseconds since the start of the run. */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/decision.h"
#include "sim/invariant.h"
#include "sim/limits.h"
#include "sim/message.h"
#include "sim/trace.h"

#define SIM_MS INT64_C(1000000)
#define SIM_SECOND (1000 * SIM_MS)
#define SIM_MINUTE (60 * SIM_SECOND)
#define SIM_HOUR (60 * SIM_MINUTE)
#define SIM_DAY (24 * SIM_HOUR)

struct sim_world;
struct sim_node;
struct sim_row;

/* A kind of node. Lifetime: process. */
struct sim_service {
  const char *name;
  bool outside;             /* somebody else's: no database, no fiber, no fault of ours */
  bool endpoint;            /* takes its messages from the broker: each comes until a handler has returned */
  bool actor;               /* one message at a time for each subject; otherwise several at once */
  const char *schema;       /* SQL that makes the tables; NULL for no database */
  const char *const *table; /* names of the tables whose rows the durable copy follows */
  size_t table_count;
  const char *const *statement; /* SQL, prepared once for each connection */
  size_t statement_count;
  /* Ours: at boot and after each restart, before any message is handled. On a fiber. May be NULL. */
  void (*start)(struct sim_node *node);
  /* A message or timer. On a fiber for ours, to completion for outsiders. */
  void (*handle)(struct sim_node *node, const struct sim_message *message);
};

enum sim_change { SIM_ROW_INSERTED, SIM_ROW_UPDATED, SIM_ROW_DELETED };

/* What a model wants to be told, for its invariants. Any may be NULL. None may draw, send or persist. */
struct sim_observer {
  /* A row became durable (COMMIT returned OK, or recovery read it), changed, or vanished. */
  void (*row)(struct sim_world *world, size_t service, size_t table, enum sim_change change, const struct sim_row *row);
  /* A message or call request leaves a node of ours. */
  void (*leaves)(struct sim_node *node, const struct sim_message *message);
  /* A handler received the answer to its call; `answer` is NULL when it timed out. */
  void (*answered)(struct sim_node *node, const struct sim_message *request, const struct sim_message *answer);
  /* A message reached a node that is up, before it is handled. */
  void (*delivered)(struct sim_node *node, const struct sim_message *message);
  void (*crashed)(struct sim_node *node);
  /* A node freezes until then, unless healing wakes it before. */
  void (*paused)(struct sim_node *node, int64_t until_ns);
  /* A restarted node has read its database again; the durable copy is settled. */
  void (*recovered)(struct sim_node *node);
  /* A handler of an endpoint threw, by a fault: what it alone knew is gone. */
  void (*threw)(struct sim_node *node, const struct sim_message *message);
  /* The broker gave a message to an endpoint up: it lies in the error queue. */
  void (*given_up)(struct sim_world *world, size_t service, const struct sim_message *message);
  /* Quiet: judge what must eventually hold. */
  void (*judge)(struct sim_world *world);
};

enum sim_journal { SIM_JOURNAL_WAL, SIM_JOURNAL_DELETE };
enum sim_durability { SIM_DURABILITY_FULL, SIM_DURABILITY_RELAXED, SIM_DURABILITY_DELETE_FULL };

/* The reductions of exploration: questions that are not asked because no answer could change what happens. Tests switch
   each off and compare the sets of distinct histories. */
enum sim_unreduced {
  SIM_ASK_YIELD_ALONE = 1,       /* yield where nothing else is due */
  SIM_ASK_BEHIND_NOTHING = 2,    /* "behind the next event" where there is none */
  SIM_ASK_LOST_TO_NOBODY = 4,    /* lost, where the receiver is down anyway */
  SIM_ASK_POWER_WHEN_SYNCED = 8, /* power loss of a lone instance with nothing unsynced: a crash */
  SIM_ASK_GAPS_TWICE = 16,       /* a gap also before each step, where one after the step before it was asked */
};

/* How the broker treats messages to endpoints. Lifetime: campaign. */
struct sim_broker {
  const char *name;
  const char *about;
  int64_t lease_ns;         /* a message under way comes again after this; 0: sim_setup.lease_ns */
  uint32_t tries_at_once;   /* deliveries of a round, each right behind the one that threw */
  uint32_t rounds_later;    /* rounds after the first, each after a longer pause */
  int64_t round_gap_ns;     /* before the first of these; doubled for each further one, */
  int64_t round_gap_max_ns; /* up to this */
  bool drops;               /* what was given up is gone, not in the error queue */
  bool never_gives_up;
  int64_t dedup_ns;   /* a message of the same content that was sent so short a time ago is accepted and dropped; 0: none is */
  int64_t rereads_ns; /* a node that crashed gets again what it had handled for so long before; 0: what is handled is gone */
};

/* What one run is made of, apart from its decisions. Owner: the caller, for the whole run. */
struct sim_setup {
  const char *scenario;
  uint64_t scenario_seed;                   /* of SQLite's own randomness: from the scenario, never from the run's seed */
  uint8_t instance_count[SIM_SERVICES_MAX]; /* 0 leaves the service out; an outsider has 1 */
  enum sim_durability durability;
  unsigned unreduced;              /* enum sim_unreduced; 0 outside tests */
  uint32_t not_restored;           /* services whose databases are never set back to an older copy, a bit each */
  bool reopen_at_crash;            /* close, reopen and prepare again at each crash, as a cross-check of the kept connection */
  int64_t request_lifetime_ns;     /* a call request on its way arrives within this or never */
  int64_t lease_ns;                /* the longest lease in force: a pause outlasts it */
  int64_t retry_window_ns;         /* after this nobody resends */
  int64_t dedup_retention_ns;      /* after this receivers may forget ids */
  int64_t faults_until_ns;         /* healing not before this */
  int64_t resolve_within_ns;       /* quiet by then after the last disturbance, or stuck */
  const struct sim_broker *broker; /* NULL: the usual one */
  const struct sim_observer *observer;
  void *model; /* the model's own, for its callbacks */
  /* Words for a message in a story: what it says, without who and when. False: the story leaves it out, as the model sums it up
     itself. */
  bool (*describe)(const struct sim_message *message, char *out, size_t size);
};

enum sim_end { SIM_END_QUIET, SIM_END_STUCK };

struct sim_counters { /* of all runs so far */
  uint64_t runs, steps, transactions, reads, busy, crashes, power_losses, pauses, commit_errors, restores;
};

/* Make a world with these services; `kind` names the message kinds (no spaces in them). All pointers stay the caller's. The
   catalogue must hold sim's own points with the answers that sim/points.def lists, in that order; the last ones may be
   left out. */
struct sim_world *sim_world_create(const struct sim_catalogue *catalogue, const struct sim_service *service, size_t service_count,
                                   const char *const *kind, size_t kind_count);
void sim_world_destroy(struct sim_world *world);

/* Reset everything and boot the nodes. Before it, call sim_decisions_begin_seed or _list on sim_world_decisions. The nodes'
   start handlers and the observer run inside this call, so the model must be ready before it; run memory
   (sim_world_arena) may be taken from here on. */
void sim_world_begin(struct sim_world *world, const struct sim_setup *setup, bool telling);
/* Advance to the end of the run and judge it. */
enum sim_end sim_world_run(struct sim_world *world);
/* Advance by one event. Returns false when the run has ended.

   1. If the workload is done and `faults_until_ns` has passed (or twice that, done or not; or
      SIM_FAULTS_BEFORE_HEALING faults have fallen), healing begins: from here no fault is asked, nodes that
      are down or frozen come back now, messages under way keep their delay.
   2. The event first in (time, insertion number) is taken; cancelled ones, those of a life that is over and answers
      nobody waits for are dropped without moving time, and are no "next event" to anybody. None left: the run is quiet
      and over. Too many steps, or too long since the last disturbance: it is stuck and over.
   3. Time becomes the event's time; it never moves otherwise. `yield` is an insertion at the present time, hence behind
      everything already due; a delay "behind the next event" is an insertion at that event's time, behind it.
   4. An event for a paused node is put off to the end of its pause, in order; a message for a node that is down is lost.
   5. A message asks its fate now, at delivery: lost, doubled, put off. A call request and a call answer likewise. A
      message put off or doubled is not asked again.
   6. The event is handled: an outsider to completion, one of ours on a fiber that runs until it ends or waits. After each
      of its steps a gap is asked, after each COMMIT the commit's fate; a crash kills all fibers of the node at once.
   7. Always-invariants are judged inside these steps, at the moment the fact appears (a row becomes durable, a request
      leaves, an entry is made in a ledger); eventually-invariants after the run, in sim_world_run. */
bool sim_world_step(struct sim_world *world);
/* Close and reopen every connection of the run's databases, as a genuine restart of the process would. */
void sim_world_reopen(struct sim_world *world);

/* Access. */
struct sim_decisions *sim_world_decisions(struct sim_world *world);
struct sim_trace *sim_world_trace(struct sim_world *world);
struct sim_judgement *sim_world_judgement(struct sim_world *world);
struct sim_arena *sim_world_arena(struct sim_world *world);
const struct sim_counters *sim_world_counters(const struct sim_world *world);
void *sim_world_model(const struct sim_world *world);
int64_t sim_world_now(const struct sim_world *world);
uint64_t sim_world_digest(const struct sim_world *world);
/* The model has reached a maximum of its own (its name): the run is stuck, and ends before the next event. */
void sim_world_exhausted(struct sim_world *world, const char *limit);
/* The workload is done: the outsiders will start nothing new of their own. */
void sim_world_workload_done(struct sim_world *world);
/* Faults of the world so far (workload answers left out). */
uint32_t sim_world_fault_count(const struct sim_world *world);
const struct sim_point *sim_world_point(const struct sim_world *world, const char *name);
const struct sim_name *sim_world_kind(const struct sim_world *world, uint16_t kind);
size_t sim_world_stack_used_max(const struct sim_world *world);

/* Nodes. */
struct sim_node *sim_world_node(struct sim_world *world, size_t service, size_t instance);
struct sim_world *sim_node_world(const struct sim_node *node);
size_t sim_node_service(const struct sim_node *node);
size_t sim_node_instance(const struct sim_node *node);
const char *sim_node_name(const struct sim_node *node);
/* Which boot of the node this is, from 1. */
uint32_t sim_node_life(const struct sim_node *node);
bool sim_node_up(const struct sim_node *node);
/* Memory that dies with the node: set by the model's start, NULL after a crash. */
void *sim_node_memory(const struct sim_node *node);
void sim_node_set_memory(struct sim_node *node, void *memory);

/* Steps of a handler (on a fiber of `node`, outside a transaction). A gap follows sim_send and sim_call, sim_sql_commit and
   sim_sql_looked (sim/sql.h); one stands before the handler begins. */

/* Send over the bus to a service; `resend_after_ns` is when the sender's own timer will send it again (0: never). */
void sim_send(struct sim_node *node, size_t to_service, const struct sim_message *message, int64_t resend_after_ns);
/* Send to an endpoint, to be delivered not before `delay_ns` have passed. */
void sim_send_later(struct sim_node *node, size_t to_service, const struct sim_message *message, int64_t delay_ns);
/* The handler has thrown: nothing of this message is acknowledged, and it will be delivered again. The handler returns next,
   with no transaction open. */
void sim_message_failed(struct sim_node *node);
/* Messages to an endpoint that lie in the error queue. */
size_t sim_broker_error_count(const struct sim_world *world, size_t service);
/* Send a notice (an outsider's message to us), which may also come twice under two ids, or be given up. */
void sim_notify(struct sim_node *node, size_t to_service, const struct sim_message *message);
enum sim_call_end { SIM_CALL_ANSWERED, SIM_CALL_UNANSWERED };
/* Call an outsider (never a service of ours) and wait. Unanswered means *unknown*: it may have been done, may yet be, or never. */
enum sim_call_end sim_call(struct sim_node *node, size_t to_service, const struct sim_message *request, int64_t timeout_ns,
                           struct sim_message *answer_out);
/* An outsider answers a call. */
void sim_answer(struct sim_node *node, struct sim_call *call, const struct sim_message *answer);
/* Wait without doing anything. */
void sim_sleep(struct sim_node *node, int64_t delay_ns);
/* Stop this node at once, as after a failed sync; it restarts. Does not return. */
_Noreturn void sim_node_stop(struct sim_node *node);

/* Timers die with the node. No gap follows: nothing left the node. */
struct sim_timer {
  uint64_t number; /* 0: none */
  struct sim_event *event;
};
struct sim_timer sim_timer_set(struct sim_node *node, int64_t delay_ns, const struct sim_message *message);
void sim_timer_cancel(struct sim_node *node, struct sim_timer *timer);

/* Facts of the model into digest and story. */
void sim_note(struct sim_world *world, uint64_t a, uint64_t b, uint64_t c);
/* One line of the story, only when telling. `who` must outlive the run. */
void sim_tell(struct sim_world *world, const char *who, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool sim_telling(const struct sim_world *world);

#endif
