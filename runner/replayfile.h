/* Replay files: one run as text that a person can read, commit and edit. Format version 1, at most 4 KiB when we write it:

     oncesim replay 1
     scenario: payment-single
     file: scenarios/payment-single.yaml
     scenario-hash: 0123456789abcdef
     oncesim: 0.1.0
     sqlite: 2022-12-28 …
     set: payment.key=fresh            (one a line, changes made on the command line)
     gateway: plain                    (likewise)
     mail, broker, accounts: …         (likewise)
     violates: at_most_one_charge      (or: stuck)
     digest: 0123456789abcdef
     fault: lost: answer, gateway life 1, Charged order:1:payment try 1, on its way

   Lines that begin with # and empty lines are passed over. */
#ifndef RUNNER_REPLAYFILE_H
#define RUNNER_REPLAYFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runner/scenario.h"
#include "sim/decision.h"

struct runner_changes { /* of the command line, on top of the scenario file */
  const char *set[RUNNER_SETS_MAX];
  size_t set_count;
  const char *profile[RUNNER_PROVIDERS]; /* by enum runner_provider; NULL: as the scenario says */
};

struct runner_replay {
  char *text; /* the file; other strings point into it */
  char *scenario, *file;
  uint64_t scenario_hash;
  char *version, *sqlite;
  struct runner_changes changes;
  int invariant; /* -1: stuck */
  uint64_t digest;
  struct sim_fault fault[SIM_FAULTS_MAX];
  size_t fault_count;
};

/* Read a replay file. Returns NULL and a message with file and line. The caller frees it with runner_replay_free. */
struct runner_replay *runner_replay_read(const char *path, char *error_out, size_t error_size);
struct runner_replay *runner_replay_parse(const char *path, const char *text, size_t size, char *error_out, size_t error_size);
void runner_replay_free(struct runner_replay *replay);
/* Write one; returns a malloc'd text. */
char *runner_replay_text(const struct runner_scenario *scenario, const struct runner_changes *changes, int invariant, uint64_t digest,
                         const struct sim_fault *fault, size_t fault_count);
/* Is this a replay file, by its name? */
bool runner_is_replay_path(const char *path);

#endif
