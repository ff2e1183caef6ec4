/* explain, check and list. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "faults/catalogue.h"
#include "runner/commands.h"
#include "runner/find.h"
#include "runner/names.h"
#include "runner/profiles.h"
#include "runner/suggest.h"
#include "runner/text.h"

static const char *mark_words(enum model_mark mark) {
  switch (mark) {
    case MODEL_STAR: return "recommended";
    case MODEL_VARIANT: return "variant, as right";
    case MODEL_MISTAKE: return "mistake";
    case MODEL_GUARD: return "guard taken out";
  }
  return "";
}

static void explain_axis(int axis) {
  const struct model_axis_info *info = &model_axes()[axis];
  printf("%s: %s.\n", info->name, info->about);
  for (size_t c = 0; c < info->choice_count; c++) {
    const struct model_choice *choice = &info->choice[c];
    printf("  %-26s %s (%s)\n", choice->name, choice->does, mark_words(choice->mark));
    if (choice->breaks[0] != '\0') printf("  %-26s breaks %s\n", "", choice->breaks);
  }
  printf("What a mistake breaks is what it is about; others may break beside it.\n");
  printf("Remedy: %s\nSource: %s (see docs/designs.md)\n", info->remedy, info->source);
}

static void explain_choice(int axis, int choice_index) {
  const struct model_axis_info *info = &model_axes()[axis];
  const struct model_choice *choice = &info->choice[choice_index];
  printf("%s=%s (%s): %s.\n", info->name, choice->name, mark_words(choice->mark), choice->does);
  if (choice->breaks[0] != '\0') printf("Breaks: %s (others may break beside it)\n", choice->breaks);
  printf("Remedy: %s\nSource: %s (see docs/designs.md)\n", info->remedy, info->source);
}

static void explain_point(const struct sim_point *point) {
  printf("%s: %s.%s\n", point->name.text, point->meaning,
         point->class == SIM_POINT_WORKLOAD ? " (what the environment does; not a fault of the world)" : "");
  for (int a = 0; a < point->answer_count; a++) printf("  %-18s %s\n", point->answer[a].text, fault_answer_meaning(point, a));
}

static void explain_invariant(int index) {
  const struct sim_invariant *invariant = &model_invariants[index];
  printf("%s (%s): %s\n", invariant->name, invariant->kind == SIM_ALWAYS ? "always" : "eventually", invariant->sentence);
  printf("Exercised: %s.\nRemedy: %s\nBroken by:", invariant->danger, invariant->remedy);
  for (int a = 0; a < MODEL_AXIS_COUNT; a++) {
    const struct model_axis_info *info = &model_axes()[a];
    for (size_t c = 0; c < info->choice_count; c++) {
      if (strstr(info->choice[c].breaks, invariant->name) != NULL) printf(" %s=%s", info->name, info->choice[c].name);
    }
  }
  printf("\n");
}

static size_t profile_count(void) {
  size_t count = 0;
  for (size_t p = 0; p < RUNNER_PROVIDERS; p++) {
    runner_profiles_of(p);
    count += runner_profile_count();
  }
  return count;
}

static const char *any_name(size_t index) {
  if (index < runner_axis_count()) return runner_axis_name(index);
  index -= runner_axis_count();
  if (index < runner_invariant_count()) return runner_invariant_name(index);
  index -= runner_invariant_count();
  if (index < runner_point_count()) return runner_point_name(index);
  index -= runner_point_count();
  for (size_t p = 0; p < RUNNER_PROVIDERS; p++) {
    runner_profiles_of(p);
    if (index < runner_profile_count()) return runner_profile_name(index);
    index -= runner_profile_count();
  }
  return "";
}

static bool explain_assignment(const char *word) {
  char axis_name[80];
  const char *equals = strchr(word, '=');
  if (equals == NULL || (size_t)(equals - word) >= sizeof axis_name) return false;
  snprintf(axis_name, sizeof axis_name, "%.*s", (int)(equals - word), word);
  int axis = model_axis_find(axis_name);
  int choice = axis < 0 ? -1 : model_choice_find(axis, equals + 1);
  if (choice >= 0) explain_choice(axis, choice);
  return choice >= 0;
}

/* A bare choice, such as "recharge": every axis that has it. */
static bool explain_bare_choice(const char *word) {
  bool found = false;
  for (int a = 0; a < MODEL_AXIS_COUNT; a++) {
    int choice = model_choice_find(a, word);
    if (choice < 0) continue;
    if (found) printf("\n");
    explain_choice(a, choice);
    found = true;
  }
  return found;
}

/* An answer of a fault point, such as "late" or "request.late": every point that has it. */
static bool explain_answer(const char *word) {
  bool found = false;
  for (size_t p = 0; p < fault_catalogue()->count; p++) {
    const struct sim_point *point = &fault_catalogue()->point[p];
    size_t size = strlen(point->name.text);
    const char *answer = strncmp(word, point->name.text, size) == 0 && word[size] == '.' ? word + size + 1 : word;
    for (int a = 0; a < point->answer_count; a++) {
      if (strcmp(point->answer[a].text, answer) != 0) continue;
      printf("%s, an answer of the fault point %s (%s): %s.\n", answer, point->name.text, point->meaning, fault_answer_meaning(point, a));
      found = true;
    }
  }
  return found;
}

int runner_command_explain(const struct runner_options *options) {
  const char *word = options->argument[0];
  int axis = model_axis_find(word);
  int invariant = model_invariant_find(word);
  const struct sim_point *point = sim_catalogue_find(fault_catalogue(), word);
  if (axis >= 0) explain_axis(axis);
  else if (invariant >= 0) explain_invariant(invariant);
  else if (point != NULL) explain_point(point);
  else if (runner_explain_profiles(word)) return EXIT_HELD;
  else if (strcmp(word, "recommended") == 0) {
    printf("recommended: the design that takes the first choice of every axis; oncesim list axes lists them.\n");
  } else if (!explain_assignment(word) && !explain_bare_choice(word) && !explain_answer(word)) {
    char hint[120];
    runner_suggest_words(hint, sizeof hint, word, any_name,
                         runner_axis_count() + runner_invariant_count() + runner_point_count() + profile_count());
    fprintf(stderr, "oncesim: nothing is called \"%s\"%s\n", word, hint);
    return EXIT_USAGE;
  }
  return EXIT_HELD;
}

int runner_command_check(const struct runner_options *options) {
  if (options->argument_count == 0) {
    fprintf(stderr, "oncesim: \"oncesim check\" needs a scenario\n");
    return EXIT_USAGE;
  }
  int code = EXIT_HELD;
  for (int i = 0; i < options->argument_count; i++) {
    struct runner_scenario *scenario = runner_open_scenario(options->argument[i], options, &options->changes);
    if (scenario == NULL) {
      code = EXIT_USAGE;
      continue;
    }
    if (options->print) runner_scenario_print(scenario, stdout);
    else printf("%s: fine\n", scenario->path);
    runner_scenario_free(scenario);
  }
  return code;
}

static const char *const topics[] = {"scenarios", "axes", "profiles", "invariants", "faults"};
static const char *topic_name(size_t index) { return topics[index]; }

static int list_scenarios(void) {
  const char *folder = runner_scenarios_folder();
  struct runner_paths paths = {0};
  struct runner_changes none = {0};
  int code = EXIT_HELD;
  if (folder != NULL) runner_paths_add_folder(&paths, folder, ".yaml");
  for (size_t i = 0; i < paths.count; i++) {
    struct runner_scenario *scenario = runner_open_scenario(paths.path[i], NULL, &none);
    if (scenario == NULL) {
      code = EXIT_USAGE;
      continue;
    }
    printf("%-44s %s\n", scenario->name, scenario->about ? scenario->about : "");
    runner_scenario_free(scenario);
  }
  runner_paths_free(&paths);
  return code;
}

static void list_axes(void) {
  for (int a = 0; a < MODEL_AXIS_COUNT; a++) {
    printf("%-28s", model_axes()[a].name);
    for (size_t c = 0; c < model_axes()[a].choice_count; c++) printf("%s%s", c ? ", " : "", model_axes()[a].choice[c].name);
    printf("\n");
  }
}

static void list_points(void) {
  const struct sim_catalogue *catalogue = fault_catalogue();
  for (size_t p = 0; p < catalogue->count; p++) {
    printf("%-20s", catalogue->point[p].name.text);
    for (int a = 1; a < catalogue->point[p].answer_count; a++) printf("%s%s", a > 1 ? ", " : "", catalogue->point[p].answer[a].text);
    printf("\n");
  }
}

int runner_command_list(const struct runner_options *options) {
  const char *topic = options->argument_count == 1 ? options->argument[0] : "";
  if (strcmp(topic, "scenarios") == 0) return list_scenarios();
  if (strcmp(topic, "axes") == 0) list_axes();
  else if (strcmp(topic, "faults") == 0) list_points();
  else if (strcmp(topic, "invariants") == 0) {
    for (size_t i = 0; i < MODEL_INVARIANT_COUNT; i++) printf("%-40s %s\n", model_invariants[i].name, model_invariants[i].sentence);
  } else if (strcmp(topic, "profiles") == 0) {
    runner_list_profiles();
  } else {
    char hint[120];
    runner_suggest_words(hint, sizeof hint, topic, topic_name, sizeof topics / sizeof topics[0]);
    fprintf(stderr, "oncesim: list what? scenarios, axes, profiles, invariants or faults%s\n", hint);
    return EXIT_USAGE;
  }
  return EXIT_HELD;
}
