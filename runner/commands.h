/* The commands; each returns an exit code. */
#ifndef RUNNER_COMMANDS_H
#define RUNNER_COMMANDS_H

#include "runner/options.h"

int runner_command_run(const struct runner_options *options);
int runner_command_explore(const struct runner_options *options);
int runner_command_replay(const struct runner_options *options);
int runner_command_shrink(const struct runner_options *options);
int runner_command_explain(const struct runner_options *options);
int runner_command_check(const struct runner_options *options);
/* results.c */
int runner_command_report(const struct runner_options *options);
/* compare.c */
int runner_command_compare(const struct runner_options *options);
/* matrix.c */
int runner_command_matrix(const struct runner_options *options);
int runner_command_list(const struct runner_options *options);

/* The signal that asked us to stop, shared with all workers; 0 for none. */
volatile const int *runner_interrupted(void);
void runner_interrupts_init(void);

#endif
