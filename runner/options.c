#include "runner/options.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "faults/catalogue.h"
#include "runner/jobs.h"
#include "runner/names.h"
#include "runner/suggest.h"
#include "runner/text.h"

static const char usage[] =
    "oncesim: does each effect happen as often as it should, whatever crashes, times out or arrives twice?\n"
    "\n"
    "  oncesim run [SCENARIO|FOLDER|FILE.replay...]  many seeded runs (default: every shipped scenario)\n"
    "      --seeds N      how many seeds (default: the scenario's own)   --seed S   first seed; alone: just this one\n"
    "      --time 60s     until the time is over                         --jobs J   worker processes\n"
    "      --out DIR      write replay files and reports there           --json     one JSON object a line\n"
    "      --set AXIS=CHOICE, --design FILE                              change the design\n"
    "      --gateway PROFILE|FILE, --mail, --broker, --accounts PROFILE  change a provider\n"
    "  oncesim replay FILE.replay | SCENARIO --seed S [--bisect]         one run, told step by step\n"
    "      --full         also what followed the failure\n"
    "  oncesim explore SCENARIO --faults K [--sites P,Q] [--jobs J]      every run with at most K faults\n"
    "      --keep-going   also to more faults after a finding\n"
    "  oncesim shrink FILE.replay | SCENARIO --seed S [--out DIR]        the smallest run that breaks the same invariant\n"
    "  oncesim explain AXIS|AXIS=CHOICE|INVARIANT|PROFILE|FAULT          what it is, what it breaks, the remedy\n"
    "  oncesim check SCENARIO... [--print]                               read a scenario, say what is wrong with it\n"
    "  oncesim compare DESIGN DESIGN [SCENARIO] [--seeds N]              two designs on the same seeds; a DESIGN is\n"
    "                 \"recommended\", AXIS=CHOICE[,AXIS=CHOICE...], or a design file\n"
    "  oncesim matrix [AXIS[=CHOICE]|recommended...] [--jobs J] [--json] every mistake: stated against found; what must hold\n"
    "  oncesim report [DIR] [--json]      what a run with --out DIR (default: .) has left there; junit.xml is written anew\n"
    "  oncesim list scenarios|axes|profiles|invariants|faults\n"
    "  oncesim --version | --help\n"
    "\n"
    "A SCENARIO is a file, or the name of a shipped one such as payment.\n"
    "Exit: 0 held, 1 violated or stuck, 2 inconclusive, 3 nondeterministic, 4 usage or scenario error, 5 nothing ran,\n"
    "6 output could not be written, 70 internal error, 128+n interrupted. replay: 0 no longer fails, 1 fails the same way,\n"
    "2 differently or not reached.\n";

bool runner_options_change(const struct runner_options *options) {
  bool profiles = false;
  for (size_t p = 0; p < RUNNER_PROVIDERS; p++) profiles = profiles || options->changes.profile[p] != NULL;
  return profiles || options->changes.set_count > 0 || options->design_file != NULL;
}

void runner_usage(void *file) { fputs(usage, file); }

int runner_exit_worse(int a, int b) {
  static const int rising[] = {EXIT_HELD,  EXIT_NOTHING_RAN, EXIT_INCONCLUSIVE, EXIT_VIOLATED, EXIT_NONDETERMINISTIC,
                               EXIT_USAGE, EXIT_OUTPUT,      EXIT_INTERNAL};
  for (size_t i = sizeof rising / sizeof rising[0]; i > 0; i--) {
    if (a == rising[i - 1] || b == rising[i - 1]) return rising[i - 1];
  }
  return a > b ? a : b;
}

enum {
  OPTION_SEEDS = 256,
  OPTION_SEED,
  OPTION_TIME,
  OPTION_JOBS,
  OPTION_OUT,
  OPTION_JSON,
  OPTION_SET,
  OPTION_DESIGN,
  OPTION_GATEWAY,
  OPTION_MAIL,
  OPTION_BROKER,
  OPTION_ACCOUNTS,
  OPTION_FAULTS,
  OPTION_SITES,
  OPTION_BISECT,
  OPTION_FULL,
  OPTION_PRINT,
  OPTION_KEEP_GOING,
  OPTION_HELP,
  OPTION_VERSION
};

static const struct option long_options[] = {
    {"seeds", required_argument, NULL, OPTION_SEEDS},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"time", required_argument, NULL, OPTION_TIME},
    {"jobs", required_argument, NULL, OPTION_JOBS},
    {"out", required_argument, NULL, OPTION_OUT},
    {"json", no_argument, NULL, OPTION_JSON},
    {"set", required_argument, NULL, OPTION_SET},
    {"design", required_argument, NULL, OPTION_DESIGN},
    {"gateway", required_argument, NULL, OPTION_GATEWAY},
    {"mail", required_argument, NULL, OPTION_MAIL},
    {"broker", required_argument, NULL, OPTION_BROKER},
    {"accounts", required_argument, NULL, OPTION_ACCOUNTS},
    {"faults", required_argument, NULL, OPTION_FAULTS},
    {"sites", required_argument, NULL, OPTION_SITES},
    {"bisect", no_argument, NULL, OPTION_BISECT},
    {"full", no_argument, NULL, OPTION_FULL},
    {"print", no_argument, NULL, OPTION_PRINT},
    {"keep-going", no_argument, NULL, OPTION_KEEP_GOING},
    {"help", no_argument, NULL, OPTION_HELP},
    {"version", no_argument, NULL, OPTION_VERSION},
    {NULL, 0, NULL, 0},
};

static const char *const commands[] = {"run", "replay", "explore", "shrink", "explain", "check", "list", "report", "compare", "matrix"};
static const char *command_name(size_t index) { return commands[index]; }
static const char *option_name(size_t index) { return long_options[index].name; }

static bool complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool complain(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "oncesim: ");
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "\n");
  va_end(arguments);
  return false;
}

static bool number(const char *text, const char *option, int64_t least, int64_t most, int64_t *out) {
  char message[200];
  if (runner_text_integer(text, out) && *out >= least && *out <= most) return true;
  snprintf(message, sizeof message, "--%s %s: a whole number from %lld to %lld is expected", option, text, (long long)least,
           (long long)most);
  fprintf(stderr, "oncesim: %s\n", message);
  return false;
}

static bool read_sites(const char *text, uint64_t *out) {
  char copy[400];
  if (strlen(text) >= sizeof copy) return complain("--sites: too long");
  strcpy(copy, text);
  for (char *name = strtok(copy, ","); name != NULL; name = strtok(NULL, ",")) {
    const struct sim_point *point = sim_catalogue_find(fault_catalogue(), name);
    char hint[120];
    runner_suggest_words(hint, sizeof hint, name, runner_point_name, runner_point_count());
    if (point == NULL) return complain("--sites: unknown fault point \"%s\"%s", name, hint);
    *out |= UINT64_C(1) << point->index;
  }
  return true;
}

/* What each command takes; an option elsewhere is an error, never passed over. */
static bool allowed(const char *command, int option) {
  static const struct {
    const char *command;
    const char *options;
  } rules[] = {
      {"run", "seeds seed time jobs out json set design gateway mail broker accounts"},
      {"replay", "seed full bisect set design gateway mail broker accounts"},
      {"explore", "faults sites jobs out json set design gateway mail broker accounts keep-going"},
      {"shrink", "seed out json set design gateway mail broker accounts"},
      {"explain", ""},
      {"check", "print set design gateway mail broker accounts"},
      {"list", ""},
      {"report", "json"},
      {"compare", "seeds seed jobs gateway mail broker accounts"},
      {"matrix", "jobs json"},
  };
  const char *name = NULL;
  for (size_t i = 0; long_options[i].name != NULL; i++) {
    if (long_options[i].val == option) name = long_options[i].name;
  }
  for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
    if (strcmp(rules[i].command, command) != 0) continue;
    size_t size = strlen(name);
    for (const char *at = rules[i].options; (at = strstr(at, name)) != NULL; at++) {
      bool starts = at == rules[i].options || at[-1] == ' ';
      if (starts && (at[size] == ' ' || at[size] == '\0')) return true;
    }
    return complain("\"oncesim %s\" takes no --%s", command, name);
  }
  return true;
}

static bool take(struct runner_options *options, int option) {
  int64_t value = 0;
  switch (option) {
    case OPTION_SEEDS: options->has_seeds = true; return number(optarg, "seeds", 1, INT64_C(1) << 53, &options->seeds);
    case OPTION_SEED: options->has_seed = true; return number(optarg, "seed", 0, (INT64_C(1) << 53) - 1, &options->seed);
    case OPTION_JOBS:
      if (!number(optarg, "jobs", 1, RUNNER_JOBS_MAX, &value)) return false;
      options->jobs = (int)value;
      return true;
    case OPTION_FAULTS:
      if (!number(optarg, "faults", 0, RUNNER_FAULTS_EXPLORED_MAX, &value)) return false;
      options->has_faults = true;
      options->faults = (int)value;
      return true;
    case OPTION_TIME: {
      const char *reason = runner_text_duration(optarg, &value);
      if (reason == NULL && value < 1000000) reason = "at least 1ms is expected";
      if (reason != NULL) return complain("--time %s: %s", optarg, reason);
      options->has_time = true;
      options->seconds = (double)value / 1e9;
      return true;
    }
    case OPTION_OUT: options->out = optarg; return true;
    case OPTION_JSON: options->json = true; return true;
    case OPTION_BISECT: options->bisect = true; return true;
    case OPTION_FULL: options->full = true; return true;
    case OPTION_PRINT: options->print = true; return true;
    case OPTION_KEEP_GOING: options->go_on = true; return true;
    case OPTION_DESIGN: options->design_file = optarg; return true;
    case OPTION_GATEWAY: options->changes.profile[RUNNER_GATEWAY] = optarg; return true;
    case OPTION_MAIL: options->changes.profile[RUNNER_MAIL] = optarg; return true;
    case OPTION_BROKER: options->changes.profile[RUNNER_BROKER] = optarg; return true;
    case OPTION_ACCOUNTS: options->changes.profile[RUNNER_ACCOUNTS] = optarg; return true;
    case OPTION_SITES: return read_sites(optarg, &options->sites);
    case OPTION_SET:
      if (options->changes.set_count == RUNNER_SETS_MAX) return complain("too many --set");
      options->changes.set[options->changes.set_count++] = optarg;
      return true;
    default: return false;
  }
}

static bool unknown_option(char **argv) {
  const char *word = argv[optind - 1];
  char name[60], hint[120];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(word + strspn(word, "-"), "="), word + strspn(word, "-"));
  for (size_t i = 0; long_options[i].name != NULL; i++) {
    if (strcmp(long_options[i].name, name) == 0) return complain("option --%s needs a value", name);
  }
  runner_suggest_words(hint, sizeof hint, name, option_name, sizeof long_options / sizeof long_options[0] - 1);
  return complain("unknown option \"%s\"%s", word, hint);
}

static bool check_combination(const struct runner_options *options) {
  const char *command = options->command;
  if (options->has_seeds && options->has_time) return complain("--seeds and --time contradict each other");
  if (options->has_seed && options->has_seeds && options->seed + options->seeds > (INT64_C(1) << 53))
    return complain("--seed and --seeds: seeds go up to 9007199254740991");
  if (strcmp(command, "explore") == 0 && !options->has_faults) return complain("explore needs --faults K");
  bool one = strcmp(command, "replay") == 0 || strcmp(command, "shrink") == 0 || strcmp(command, "explore") == 0 ||
             strcmp(command, "explain") == 0;
  if (one && options->argument_count != 1) return complain("\"oncesim %s\" takes exactly one argument", command);
  bool told = strcmp(command, "replay") == 0 || strcmp(command, "shrink") == 0;
  if (told && !runner_is_replay_path(options->argument[0]) && !options->has_seed)
    return complain("\"oncesim %s SCENARIO\" needs --seed S", command);
  if (told && runner_is_replay_path(options->argument[0])) {
    if (options->has_seed || runner_options_change(options))
      return complain("a replay file holds its own seedless run, design and profiles: it goes with no --seed, --set, --design, --gateway, "
                      "--mail, --broker or --accounts");
  }
  return true;
}

bool runner_options_read(int argc, char **argv, struct runner_options *options) {
  memset(options, 0, sizeof *options);
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  options->jobs = cores < 1 ? 1 : cores > RUNNER_JOBS_MAX ? RUNNER_JOBS_MAX : (int)cores;
  if (argc < 2) {
    options->help = true;
    return complain("a command is expected; \"oncesim --help\" lists them");
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
    options->help = true;
    return true;
  }
  if (strcmp(argv[1], "--version") == 0) {
    options->version = true;
    return true;
  }
  options->command = argv[1];
  bool known = false;
  for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) known = known || strcmp(commands[i], argv[1]) == 0;
  if (!known) {
    char hint[120];
    runner_suggest_words(hint, sizeof hint, argv[1], command_name, sizeof commands / sizeof commands[0]);
    return complain("unknown command \"%s\"%s", argv[1], hint);
  }
  opterr = 0;
  optind = 1;
  int option;
  while ((option = getopt_long(argc - 1, argv + 1, "", long_options, NULL)) != -1) {
    if (option == OPTION_HELP) {
      options->help = true;
      return true;
    }
    if (option == '?' || option == ':') return unknown_option(argv + 1);
    if (!allowed(options->command, option) || !take(options, option)) return false;
  }
  options->argument = argv + 1 + optind;
  options->argument_count = argc - 1 - optind;
  return check_combination(options);
}
