/* Everything that the scenario reader takes by name, one "kind name" a line, for scenario_schema_test.py. */
#include <stdio.h>

#include "faults/catalogue.h"
#include "model/design.h"
#include "model/facts.h"
#include "runner/names.h"
#include "runner/scenario.h"

int main(void) {
  const char *key;
  for (size_t i = 0; (key = runner_scenario_key(i)) != NULL; i++) printf("key %s\n", key);
  for (size_t a = 0; a < runner_axis_count(); a++) {
    for (size_t c = 0; c < model_axes()[a].choice_count; c++)
      printf("choice %s=%s\n", model_axes()[a].name, model_axes()[a].choice[c].name);
  }
  for (size_t i = 0; i < runner_invariant_count(); i++) printf("invariant %s\n", runner_invariant_name(i));
  for (size_t i = 0; i < runner_profile_count(); i++) printf("profile %s\n", runner_profile_name(i));
  const struct sim_catalogue *catalogue = fault_catalogue();
  for (size_t p = 0; p < catalogue->count; p++) {
    const struct sim_point *point = &catalogue->point[p];
    for (int a = 1; a < point->answer_count; a++) printf("answer %s=%s\n", point->name.text, point->answer[a].text);
  }
  return 0;
}
