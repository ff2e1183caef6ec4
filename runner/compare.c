/* compare: two designs on the same seeds of one scenario, side by side: what breaks, how orders end, and what safety costs. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reports/report.h"
#include "runner/campaign.h"
#include "runner/commands.h"
#include "runner/find.h"
#include "sim/check.h"

enum { SIDES = 2 };

/* A design by its words: "recommended", choices with commas between them, or a file. */
static struct runner_scenario *open_side(const char *scenario, const char *words, const struct runner_options *options) {
  struct runner_changes changes = {.set_count = 0};
  memcpy(changes.profile, options->changes.profile, sizeof changes.profile);
  struct runner_options with_file = *options;
  char copy[1000];
  if (strcmp(words, "recommended") == 0) return runner_open_scenario(scenario, NULL, &changes);
  if (strchr(words, '=') == NULL) {
    with_file.design_file = words;
    return runner_open_scenario(scenario, &with_file, &changes);
  }
  if (strlen(words) >= sizeof copy) {
    fprintf(stderr, "oncesim: a design on the command line is at most %zu bytes long\n", sizeof copy - 1);
    return NULL;
  }
  strcpy(copy, words);
  for (char *word = strtok(copy, ","); word != NULL; word = strtok(NULL, ",")) {
    if (changes.set_count == RUNNER_SETS_MAX) {
      fprintf(stderr, "oncesim: at most %d choices on the command line\n", (int)RUNNER_SETS_MAX);
      return NULL;
    }
    changes.set[changes.set_count++] = word;
  }
  return runner_open_scenario(scenario, NULL, &changes);
}

static uint64_t orders_of(const struct runner_tally *tally) {
  uint64_t orders = 0;
  for (int e = 0; e < MODEL_ENDING_COUNT; e++) orders += tally->endings[e];
  return orders == 0 ? 1 : orders;
}

static void print_row(const char *what, const double value[SIDES], const char *unit) {
  printf("  %-44s %14.2f %14.2f  %s\n", what, value[0], value[1], unit);
}

static void print_sides(const struct runner_campaign *campaign) {
  printf("invariants broken, runs\n");
  int broken = 0;
  for (int i = 0; i < MODEL_INVARIANT_COUNT; i++) {
    if (campaign[0].tally.violations[i] + campaign[1].tally.violations[i] == 0) continue;
    printf("  %-44s %14" PRIu64 " %14" PRIu64 "\n", model_invariants[i].name, campaign[0].tally.violations[i],
           campaign[1].tally.violations[i]);
    broken++;
  }
  if (broken == 0) printf("  none, in either\n");
  printf("orders end\n");
  for (int e = 0; e < MODEL_ENDING_COUNT; e++) {
    double share[SIDES];
    for (int s = 0; s < SIDES; s++) share[s] = 100.0 * (double)campaign[s].tally.endings[e] / (double)orders_of(&campaign[s].tally);
    if (share[0] + share[1] > 0) print_row(model_ending_name((enum model_ending)e), share, "%");
  }
  printf("what it costs\n");
  double open[SIDES], calls[SIDES], hours[SIDES], transactions[SIDES];
  for (int s = 0; s < SIDES; s++) {
    const struct runner_tally *tally = &campaign[s].tally;
    double orders = (double)orders_of(tally);
    open[s] = 100000.0 * (double)tally->endings[ENDING_OPEN] / orders;
    calls[s] = (double)tally->calls / orders;
    hours[s] = (double)tally->settling_ms / 3600000.0 / orders;
    transactions[s] = (double)tally->transactions / orders;
  }
  print_row("open cases per 100,000 orders", open, "");
  print_row("requests to other people's systems, an order", calls, "");
  print_row("from OrderPlaced to the last event, an order", hours, "hours of virtual time");
  print_row("transactions, an order", transactions, "");
}

int runner_command_compare(const struct runner_options *options) {
  if (options->argument_count < SIDES || options->argument_count > SIDES + 1) {
    fprintf(stderr, "oncesim: \"oncesim compare\" takes two designs, and a scenario (payment if there is none)\n");
    return EXIT_USAGE;
  }
  const char *name = options->argument_count > SIDES ? options->argument[SIDES] : "payment";
  struct runner_scenario *scenario[SIDES] = {NULL, NULL};
  static struct runner_campaign campaign[SIDES];
  int code = EXIT_HELD;
  for (int s = 0; s < SIDES && code == EXIT_HELD; s++) {
    scenario[s] = open_side(name, options->argument[s], options);
    if (scenario[s] == NULL) code = EXIT_USAGE;
  }
  for (int s = 0; s < SIDES && code == EXIT_HELD; s++) {
    struct runner_campaign_options each = {.first_seed = options->has_seed ? (uint64_t)options->seed : 1,
                                           .seeds = options->has_seeds ? (uint64_t)options->seeds : (uint64_t)scenario[s]->seeds,
                                           .jobs = options->jobs,
                                           .interrupted = runner_interrupted()};
    runner_campaign_run(scenario[s], &each, &campaign[s]);
    if (campaign[s].worker_died) code = EXIT_INTERNAL;
  }
  if (code == EXIT_HELD) {
    char runs[32];
    report_text_count(campaign[0].tally.runs, runs, sizeof runs);
    printf("%s, %s seeds\n  A  %s\n  B  %s\n%-46s %14s %14s\n", scenario[0]->name, runs, options->argument[0], options->argument[1], "",
           "A", "B");
    print_sides(campaign);
    if (campaign[0].tally.failing_runs + campaign[1].tally.failing_runs > 0) code = EXIT_VIOLATED;
  }
  for (int s = 0; s < SIDES; s++) runner_scenario_free(scenario[s]);
  return code;
}
