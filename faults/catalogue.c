#include "faults/catalogue.h"

#include <stddef.h>
#include <string.h>

#include "sim/check.h"

static struct sim_catalogue catalogue;
static struct sim_plan default_plan;
static const char *meaning_of[SIM_POINTS_MAX][SIM_ANSWERS_MAX];

static void add_point(const char *name, enum sim_point_class class, const char *meaning) {
  ENSURE(catalogue.count < SIM_POINTS_MAX);
  struct sim_point *point = &catalogue.point[catalogue.count];
  *point = (struct sim_point){.name = sim_name_of(name), .meaning = meaning, .class = class, .index = (uint8_t)catalogue.count};
  catalogue.count++;
}

static void add_answer(const char *name, uint32_t numerator, uint32_t denominator, bool explored, const char *meaning) {
  struct sim_point *point = &catalogue.point[catalogue.count - 1];
  uint8_t answer = point->answer_count;
  ENSURE(answer < SIM_ANSWERS_MAX);
  point->answer_count++;
  point->answer[answer] = sim_name_of(name);
  meaning_of[point->index][answer] = meaning;
  default_plan.odds[point->index][answer] = (struct sim_odds){numerator, numerator == 0 ? 0 : denominator};
  if (explored) default_plan.explored[point->index] |= (uint8_t)(1U << answer);
}

static void build(void) {
#define POINT(name, class, meaning) add_point(name, SIM_POINT_##class, meaning);
#define ANSWER(name, numerator, denominator, explored, meaning) add_answer(name, numerator, denominator, explored, meaning);
#include "faults/catalogue.def"
#undef POINT
#undef ANSWER
  default_plan.swarm = true;
}

const struct sim_catalogue *fault_catalogue(void) {
  if (catalogue.count == 0) build();
  return &catalogue;
}

void fault_plan_default(struct sim_plan *plan_out) {
  fault_catalogue();
  *plan_out = default_plan;
}

void fault_plan_quiet(struct sim_plan *plan_out) {
  fault_plan_default(plan_out);
  for (size_t p = 0; p < catalogue.count; p++) {
    if (catalogue.point[p].class != SIM_POINT_FAULT) continue;
    memset(plan_out->odds[p], 0, sizeof plan_out->odds[p]);
    plan_out->explored[p] = 0;
  }
}

const char *fault_answer_meaning(const struct sim_point *point, int answer) { return meaning_of[point->index][answer]; }
