#include "runner/finding.h"
#include "runner/names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "faults/catalogue.h"
#include "runner/results.h"
#include "runner/text.h"
#include "sim/check.h"

bool runner_finding_confirm(struct runner_world *world, const struct runner_scenario *scenario, uint64_t seed, uint64_t digest) {
  struct runner_result again = runner_run_seed(world, scenario, seed, false);
  if (again.digest == digest) return true;
  static uint64_t path[SIM_STEPS_MAX + 1];
  runner_run_seed(world, scenario, seed, true);
  const struct sim_trace *trace = sim_world_trace(world->world);
  size_t count = trace->path_count;
  memcpy(path, trace->path, count * sizeof path[0]);
  runner_run_seed(world, scenario, seed, true);
  size_t step = 0;
  while (step < count && step < trace->path_count && path[step] == trace->path[step]) step++;
  fprintf(stderr, "oncesim: NONDETERMINISTIC: seed %" PRIu64 " of %s gave digest %016" PRIx64 ", then %016" PRIx64 "; ", seed,
          scenario->name, digest, again.digest);
  if (step < count || step < trace->path_count) fprintf(stderr, "two runs in a row part at step %zu\n", step + 1);
  else fprintf(stderr, "two runs in a row agree, so what ran before it matters\n");
  return false;
}

static void replay_line(const struct runner_finding_context *context, const char *file, bool seeded, uint64_t seed, char *out,
                        size_t size) {
  if (file != NULL) {
    snprintf(out, size, "oncesim replay %s", file);
    return;
  }
  if (!seeded) {
    snprintf(out, size, "with --out DIR a replay file is written");
    return;
  }
  int used = snprintf(out, size, "oncesim replay %s --seed %" PRIu64, context->scenario->path, seed);
  for (size_t i = 0; i < context->changes->set_count && used > 0 && (size_t)used < size; i++)
    used += snprintf(out + used, size - (size_t)used, " --set %s", context->changes->set[i]);
  for (size_t p = 0; p < RUNNER_PROVIDERS; p++) {
    if (context->changes->profile[p] != NULL && used > 0 && (size_t)used < size)
      used += snprintf(out + used, size - (size_t)used, " --%s %s", runner_provider_name(p), context->changes->profile[p]);
  }
  if (context->options->design_file != NULL && used > 0 && (size_t)used < size)
    snprintf(out + used, size - (size_t)used, " --design %s", context->options->design_file);
  used = (int)strlen(out);
  if ((size_t)used < size) snprintf(out + used, size - (size_t)used, "   (all its faults; --out DIR writes the shrunk run)");
}

/* The changes that lead from the scenario file to this design, as "axis=choice" texts. */
static void design_changes(const struct runner_scenario *scenario, const struct runner_changes *changes, struct runner_changes *out,
                           char (*text)[128]) {
  char error[RUNNER_ERROR_SIZE];
  struct runner_scenario *plain = runner_scenario_parse(scenario->path, scenario->text, strlen(scenario->text), error, sizeof error);
  *out = (struct runner_changes){.set_count = 0};
  memcpy(out->profile, changes->profile, sizeof out->profile);
  for (int a = 0; a < MODEL_AXIS_COUNT && plain != NULL; a++) {
    if (plain->config.design.choice[a] == scenario->config.design.choice[a] || out->set_count == RUNNER_SETS_MAX) continue;
    snprintf(text[out->set_count], 128, "%s=%s", model_axes()[a].name, model_axes()[a].choice[scenario->config.design.choice[a]].name);
    out->set[out->set_count] = text[out->set_count];
    out->set_count++;
  }
  runner_scenario_free(plain);
}

static int write_replay(const struct runner_finding_context *context, int invariant, const struct runner_shrunk *shrunk, char *path,
                        size_t size) {
  char error[RUNNER_ERROR_SIZE];
  static char text_of_change[RUNNER_SETS_MAX][128];
  struct runner_changes changes;
  path[0] = '\0';
  if (context->options->out == NULL) return EXIT_HELD;
  if (mkdir(context->options->out, 0777) != 0 && errno != EEXIST) {
    fprintf(stderr, "oncesim: --out %s: %s\n", context->options->out, strerror(errno));
    return EXIT_OUTPUT;
  }
  snprintf(path, size, "%s/%s-%s.replay", context->options->out, context->scenario->name,
           invariant < 0 ? "stuck" : model_invariants[invariant].name);
  design_changes(context->scenario, context->changes, &changes, text_of_change);
  char *text = runner_replay_text(context->scenario, &changes, invariant, shrunk->result.digest, shrunk->fault, shrunk->fault_count);
  bool written = runner_text_write_file(path, text, strlen(text), error, sizeof error);
  free(text);
  if (written) return EXIT_HELD;
  fprintf(stderr, "oncesim: --out: %s\n", error);
  path[0] = '\0';
  return EXIT_OUTPUT;
}

int runner_finding_report(struct runner_world *world, const struct runner_finding_context *context, int invariant,
                          const struct sim_fault *list, size_t count, bool seeded, uint64_t seed, uint64_t digest, uint64_t violated) {
  struct runner_shrunk *shrunk = calloc(1, sizeof *shrunk);
  ENSURE(shrunk != NULL);
  runner_shrink(world, context->scenario, invariant, list, count, shrunk);
  const struct sim_judgement *judgement = sim_world_judgement(world->world);
  static struct report_fault fault[SIM_FAULTS_MAX];
  for (size_t i = 0; i < shrunk->fault_count; i++) {
    const struct sim_point *point = &fault_catalogue()->point[shrunk->fault[i].point];
    fault[i] = (struct report_fault){shrunk->fault[i].words, fault_answer_meaning(point, shrunk->fault[i].answer)};
  }
  const char *names[SIM_INVARIANTS_MAX];
  size_t name_count = 0;
  for (size_t i = 0; i < MODEL_INVARIANT_COUNT; i++) {
    if ((violated >> i & 1) != 0) names[name_count++] = model_invariants[i].name;
  }
  char path[700], line[2000];
  int code = write_replay(context, invariant, shrunk, path, sizeof path);
  replay_line(context, path[0] ? path : NULL, seeded, seed, line, sizeof line);
  struct report_finding finding = {.scenario = context->scenario->name,
                                   .seeded = seeded,
                                   .seed = seed,
                                   .digest = digest,
                                   .verdict = invariant < 0 ? REPORT_STUCK : REPORT_VIOLATED,
                                   .violated = names,
                                   .violated_count = name_count,
                                   .invariant = invariant < 0 ? NULL : model_invariants[invariant].name,
                                   .must_hold = invariant < 0 ? NULL : model_invariants[invariant].sentence,
                                   .sentence = invariant < 0 ? NULL : judgement->sentence[invariant],
                                   .remedy = invariant < 0 ? NULL : model_invariants[invariant].remedy,
                                   .fault = fault,
                                   .fault_count = shrunk->fault_count,
                                   .faults_before = count,
                                   .failing_runs = context->failing_runs,
                                   .runs = context->runs,
                                   .replay_line = line,
                                   .replay_file = path[0] ? path : NULL};
  runner_results_finding(&finding);
  if (context->options->json) report_json_finding(stdout, &finding);
  else report_text_finding(stdout, &finding);
  runner_shrunk_free(shrunk);
  free(shrunk);
  return code;
}
