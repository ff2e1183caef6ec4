#include "runner/one.h"

#include <stdlib.h>

#include "faults/binding.h"
#include "faults/catalogue.h"
#include "model/registration/registration.h"
#include "sim/check.h"

void runner_world_open(struct runner_world *world) {
  fault_binding_init();
  world->world = sim_world_create(fault_catalogue(), model_services, MODEL_SERVICE_COUNT, model_kinds, MODEL_KIND_COUNT);
  world->shop = calloc(1, sizeof *world->shop);
  ENSURE(world->shop != NULL);
  world->shop->facts = model_facts_create();
  fault_binding_attach(sim_world_decisions(world->world));
}

void runner_world_close(struct runner_world *world) {
  fault_binding_detach(sim_world_decisions(world->world));
  sim_world_destroy(world->world);
  free(world->shop->facts);
  free(world->shop);
}

static struct runner_result finish(struct runner_world *world, const struct runner_scenario *scenario, bool telling) {
  world->scenario = scenario;
  world->setup = scenario->setup;
  world->setup.observer = scenario->config.workflow == MODEL_WORKFLOW_REGISTRATION ? &saga_observer : &model_observer;
  world->setup.model = world->shop;
  world->setup.describe = model_describe;
  model_shop_prepare(world->shop, &scenario->config, world->world);
  sim_world_begin(world->world, &world->setup, telling);
  model_shop_begin(world->shop);
  enum sim_end end = sim_world_run(world->world);
  const struct sim_judgement *judgement = sim_world_judgement(world->world);
  return (struct runner_result){.digest = sim_world_digest(world->world),
                                .history = sim_world_trace(world->world)->history,
                                .violated = judgement->violated,
                                .in_danger = judgement->in_danger,
                                .stuck = end == SIM_END_STUCK};
}

struct runner_result runner_run_seed(struct runner_world *world, const struct runner_scenario *scenario, uint64_t seed, bool telling) {
  struct sim_decisions *decisions = sim_world_decisions(world->world);
  decisions->recording = false;
  sim_decisions_begin_seed(decisions, &scenario->plan, seed);
  return finish(world, scenario, telling);
}

struct runner_result runner_run_list(struct runner_world *world, const struct runner_scenario *scenario, struct sim_fault *list,
                                     size_t count, bool telling, bool recording) {
  struct sim_decisions *decisions = sim_world_decisions(world->world);
  decisions->recording = recording;
  sim_decisions_begin_list(decisions, &scenario->plan, list, count);
  return finish(world, scenario, telling);
}
