/* What no design can give: at a provider that recognises no repeat and answers no question, every design loses one of the
   halves - something happens twice, or something is lost - or hands cases to a human. Tries every design of up to two
   choices of the order workflow and prints those that keep everything.

     no_design_probe SCENARIO SEEDS SEEDS_AGAIN

   Method: a design that loses something within SEEDS is done with; the others are run over SEEDS_AGAIN. A line a design that
   still keeps everything; the last line counts. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/find.h"
#include "runner/one.h"
#include "sim/check.h"

enum { PAIRS_MAX = 100000 };

struct choice {
  int axis, choice;
};

static uint64_t open_cases(const struct model_shop *shop) { return shop->ending_count[ENDING_OPEN] + shop->mail_case_count; }

/* Does every run of these seeds hold, and hand nothing to a human? */
static bool keeps_everything(struct runner_world *world, struct runner_scenario *scenario, uint64_t from, uint64_t seeds) {
  for (uint64_t seed = from; seed < from + seeds; seed++) {
    uint64_t before = open_cases(world->shop);
    struct runner_result result = runner_run_seed(world, scenario, seed, false);
    if (runner_failed(&result) || open_cases(world->shop) > before) return false;
  }
  return true;
}

static size_t list_choices(struct choice *out) {
  size_t count = 0;
  for (int a = 0; a < MODEL_AXIS_COUNT; a++) {
    for (size_t c = 1; c < model_axes()[a].choice_count; c++) out[count++] = (struct choice){a, (int)c};
  }
  return count;
}

static void print_design(const struct choice *first, const struct choice *second) {
  const struct model_axis_info *axes = model_axes();
  if (first == NULL) printf("recommended");
  else printf("%s=%s", axes[first->axis].name, axes[first->axis].choice[first->choice].name);
  if (second != NULL && second != first) printf(" %s=%s", axes[second->axis].name, axes[second->axis].choice[second->choice].name);
  printf("\n");
}

int main(int argc, char **argv) {
  REQUIRE(argc == 4);
  struct runner_changes none = {0};
  struct runner_scenario *scenario = runner_open_scenario(argv[1], NULL, &none);
  REQUIRE(scenario != NULL);
  uint64_t seeds = strtoull(argv[2], NULL, 10), again = strtoull(argv[3], NULL, 10);
  struct runner_world world;
  runner_world_open(&world);
  static struct choice choice[MODEL_AXIS_COUNT * MODEL_CHOICES_MAX];
  size_t count = list_choices(choice);
  struct model_design plain = scenario->config.design;
  uint64_t tried = 0, kept = 0;
  for (size_t i = 0; i < count; i++) {
    for (size_t j = i; j < count; j++) {
      if (j != i && choice[i].axis == choice[j].axis) continue;
      scenario->config.design = plain;
      scenario->config.design.choice[choice[i].axis] = (uint8_t)choice[i].choice;
      scenario->config.design.choice[choice[j].axis] = (uint8_t)choice[j].choice;
      runner_scenario_settle(scenario);
      tried++;
      if (!keeps_everything(&world, scenario, 1, seeds) || !keeps_everything(&world, scenario, seeds + 1, again)) continue;
      kept++;
      print_design(&choice[i], &choice[j]);
    }
  }
  scenario->config.design = plain;
  runner_scenario_settle(scenario);
  if (keeps_everything(&world, scenario, 1, seeds + again)) print_design(NULL, NULL);
  printf("%" PRIu64 " designs tried, %" PRIu64 " keep everything\n", tried + 1, kept);
  runner_world_close(&world);
  runner_scenario_free(scenario);
  return 0;
}
