/* A scenario: data that says what a run is made of, how likely its faults are, and what is expected of a campaign. */
#ifndef RUNNER_SCENARIO_H
#define RUNNER_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/facts.h"
#include "model/shop.h"
#include "runner/limits.h"
#include "sim/world.h"

struct runner_expect {
  bool known_bad;        /* there is an `expect` */
  uint64_t violates;     /* all of these */
  uint64_t violates_any; /* at least one of these */
  uint64_t may;          /* and nothing but these besides */
};

/* Other people's systems that a profile is chosen for; the order of runner_provider_name. */
enum runner_provider { RUNNER_GATEWAY, RUNNER_MAIL, RUNNER_BROKER, RUNNER_ACCOUNTS, RUNNER_PROVIDERS };

struct runner_scenario {
  char path[512];
  char name[RUNNER_NAME_SIZE];
  char *about;
  char *text;    /* the file as read, for reports */
  uint64_t hash; /* of the file's bytes */
  int64_t redeliveries_said; /* limit of redelivery_is_bounded; 0: as the broker is */
  int64_t seeds;
  struct model_config config;
  struct sim_setup setup; /* without model and observer */
  struct sim_plan plan;
  bool has_must_exercise;
  uint64_t must_exercise;
  struct runner_expect expect;
  char masked_by[RUNNER_NAME_SIZE];
};

/* Read a scenario file. Returns NULL and a message "file:line:column: …" with the line itself on any error. The caller
   frees it with runner_scenario_free. */
struct runner_scenario *runner_scenario_read(const char *path, char *error_out, size_t error_size);
/* The same from memory; `path` is for messages. */
struct runner_scenario *runner_scenario_parse(const char *path, const char *text, size_t size, char *error_out, size_t error_size);
void runner_scenario_free(struct runner_scenario *scenario);
/* Apply AXIS=CHOICE. Returns false and a message on an unknown name. */
bool runner_scenario_set(struct runner_scenario *scenario, const char *assignment, char *error_out, size_t error_size);
/* Let a provider be as this profile: one that ships, by its name or by what people call it; a gateway's may be a file. */
bool runner_scenario_profile(struct runner_scenario *scenario, enum runner_provider provider, const char *profile, char *error_out,
                             size_t error_size);
/* Apply a design file: a YAML mapping of axes to choices. */
bool runner_scenario_design(struct runner_scenario *scenario, const char *path, const char *text, size_t size, char *error_out,
                            size_t error_size);
/* Carry design, instances and times of the config into the setup; called by the reader and after each set. */
void runner_scenario_settle(struct runner_scenario *scenario);
/* Write the scenario with every default filled in, as YAML. */
void runner_scenario_print(const struct runner_scenario *scenario, void *file);
/* What the danger of each invariant needs, as a mask of what must be exercised by default. */
uint64_t runner_exercisable(const struct runner_scenario *scenario);
/* The names of all keys the reader takes, for the schema test: "section.key" or "key"; NULL past the end. */
const char *runner_scenario_key(size_t index);

#endif
