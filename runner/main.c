#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runner/commands.h"

static int dispatch(const struct runner_options *options) {
  if (options->help) {
    runner_usage(stdout);
    return EXIT_HELD;
  }
  if (options->version) {
    printf("oncesim %s, SQLite %s (%s)\n", ONCESIM_VERSION, sqlite3_libversion(), sqlite3_sourceid());
    return EXIT_HELD;
  }
  static const struct {
    const char *name;
    int (*run)(const struct runner_options *options);
  } command[] = {
      {"run", runner_command_run},       {"explore", runner_command_explore}, {"replay", runner_command_replay},
      {"shrink", runner_command_shrink}, {"explain", runner_command_explain}, {"check", runner_command_check},
      {"list", runner_command_list},     {"report", runner_command_report},   {"compare", runner_command_compare},
      {"matrix", runner_command_matrix},
  };
  for (size_t i = 0; i < sizeof command / sizeof command[0]; i++) {
    if (strcmp(command[i].name, options->command) == 0) return command[i].run(options);
  }
  return EXIT_USAGE;
}

/* A failed check of ours: the contract's code for it, whether it falls in this process or in a worker. */
static void on_abort(int signal_number) {
  (void)signal_number;
  _exit(EXIT_INTERNAL);
}

int main(int argc, char **argv) {
  struct runner_options options;
  signal(SIGPIPE, SIG_IGN);
  signal(SIGABRT, on_abort);
  runner_interrupts_init();
  if (!runner_options_read(argc, argv, &options)) return EXIT_USAGE;
  int code = dispatch(&options);
  if (fflush(stdout) != 0 || ferror(stdout)) {
    fprintf(stderr, "oncesim: standard output could not be written: %s\n", strerror(errno));
    code = runner_exit_worse(code, EXIT_OUTPUT);
  }
  if (*runner_interrupted() != 0 && code != EXIT_OUTPUT && code != EXIT_INTERNAL) return 128 + *runner_interrupted();
  return code;
}
