/* The command line, read once. */
#ifndef RUNNER_OPTIONS_H
#define RUNNER_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "runner/replayfile.h"

/* Exit codes, in rising order of precedence where several apply: 5, 2, 1, 3, 4, 6, 70. */
enum runner_exit {
  EXIT_HELD = 0,
  EXIT_VIOLATED = 1,
  EXIT_INCONCLUSIVE = 2,
  EXIT_NONDETERMINISTIC = 3,
  EXIT_USAGE = 4,
  EXIT_NOTHING_RAN = 5,
  EXIT_OUTPUT = 6,
  EXIT_BISECT_SKIP = 125,
  EXIT_INTERNAL = 70,
};

struct runner_options {
  const char *command;
  char **argument; /* what is neither command nor option */
  int argument_count;
  bool has_seeds, has_seed, has_time, has_faults;
  int64_t seeds, seed;
  double seconds;
  int jobs;
  const char *out; /* NULL: none */
  bool json, bisect, full, print, go_on, help, version;
  int faults;
  uint64_t sites; /* 0: all */
  struct runner_changes changes;
  const char *design_file;
};

/* Read the command line. Returns false after a message on stderr (exit 4). */
bool runner_options_read(int argc, char **argv, struct runner_options *out);
/* Does the command line change the scenario's design or providers? */
bool runner_options_change(const struct runner_options *options);
void runner_usage(void *file);
/* The worse of two exit codes. */
int runner_exit_worse(int a, int b);

#endif
