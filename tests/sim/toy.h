/* A toy workflow written only against sim/world.h and sim/sql.h, as a user would: a driver (outside) asks `ping` to do
   jobs; ping stores the job, sends Ping to `pong`, which stores it and answers Pong; ping then calls the oracle (outside),
   stores what it was told, and tells the driver. The oracle also sends a notice.

     driver --Go--> ping --Ping--> pong --Pong--> ping ==Ask==> oracle --Note--> ping
        ^-----------Done------------'                            (a call)     (a notice)

   The toy keeps a log of what its own code saw, for tests to read. */
#ifndef TESTS_SIM_TOY_H
#define TESTS_SIM_TOY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/sql.h"
#include "sim/world.h"

enum toy_service { TOY_DRIVER, TOY_PING, TOY_PONG, TOY_ORACLE, TOY_SERVICE_COUNT };
enum toy_kind { TOY_GO, TOY_PING_SENT, TOY_PONG_SENT, TOY_ASK, TOY_TOLD, TOY_DONE, TOY_NOTE, TOY_RETRY, TOY_AGAIN, TOY_KIND_COUNT };
enum toy_state { TOY_STORED = 1, TOY_PONGED, TOY_FINISHED }; /* of a job's row */
/* Two invariants: the first breaks whenever a call was repeated, which this workflow does not prevent. */
enum { TOY_ASKED_ONCE, TOY_ALL_DONE };
/* Tables and columns. */
enum { TOY_JOBS = 0, TOY_NOTES = 1 };
enum { TOY_SEEN = 0 };
enum { TOY_JOB_ID, TOY_JOB_NUMBER, TOY_JOB_STATE };

enum { TOY_JOBS_MAX = 8, TOY_LOG_MAX = 4000, TOY_ROWS_MAX = 64, TOY_FAULTS_MAX = 16 };

struct toy_line {
  int64_t time_ns;
  char text[60]; /* "ping/1.2 Go job:1": node, life, what it does, about what */
};

struct toy_row {
  int64_t rowid;
  uint64_t hash;
};

struct toy {
  struct sim_world *world;
  /* What a run is made of; tests change it before a run. */
  struct sim_setup setup;
  struct sim_plan plan;
  int job_count;
  int64_t job_gap_ns;     /* between the driver's first messages */
  int64_t start_takes_ns; /* how long a restarted ping is busy before it takes messages */
  bool telling;
  bool reopen_first; /* close and open every connection before the first event */

  /* What a run left behind. */
  enum sim_end end;
  uint64_t digest, history, violated;
  struct sim_fault list[TOY_FAULTS_MAX];
  size_t list_count;
  bool done[TOY_JOBS_MAX + 1];
  uint32_t asked[TOY_JOBS_MAX + 1]; /* the oracle's ledger */
  int64_t paused_until_ns;          /* of the last pause */
  uint32_t starts, crashes, recoveries, settled_rows, answered, unanswered, delivered, left;
  struct toy_line line[TOY_LOG_MAX];
  size_t line_count;
  struct toy_row mirror[TOY_SERVICE_COUNT][SIM_TABLES_MAX][TOY_ROWS_MAX]; /* the durable copy, as the observer was told */
  size_t mirror_count[TOY_SERVICE_COUNT][SIM_TABLES_MAX];
  bool broken; /* something that must never happen did; the log says what */
};

/* Make the world and a default setup: three jobs, one instance each, no faults. */
void toy_open(struct toy *toy);
void toy_close(struct toy *toy);
/* Set everything a test may have changed back to the default. */
void toy_reset(struct toy *toy);
/* Run with the plan's odds. */
void toy_run_seed(struct toy *toy, uint64_t seed);
/* Run with these faults; the caller's list is written (`reached`). */
void toy_run_list(struct toy *toy, struct sim_fault *list, size_t count);
/* Run with faults in words, kept in toy->list. Returns NULL, or what is wrong with the words. */
const char *toy_run_words(struct toy *toy, const char *const *words, size_t count);
/* The first fault of toy->list that was not reached, in words; NULL when all were. */
const char *toy_not_reached(const struct toy *toy);

/* The log: how many lines are exactly `text`; when the first of them was written (-1: never); where it stands (-1). */
size_t toy_count(const struct toy *toy, const char *text);
int64_t toy_time(const struct toy *toy, const char *text);
int toy_place(const struct toy *toy, const char *text);
/* How many lines begin so. */
size_t toy_count_prefix(const struct toy *toy, const char *prefix);
void toy_print(const struct toy *toy);

/* State of job `number` in ping's durable rows; 0 when there is none. */
int64_t toy_job_state(const struct toy *toy, int number);

#endif
