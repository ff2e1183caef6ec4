/* Finding scenarios: by path, by the name of a shipped one, by folder; and applying the command line's changes. */
#ifndef RUNNER_FIND_H
#define RUNNER_FIND_H

#include <stdbool.h>
#include <stddef.h>

#include "runner/options.h"
#include "runner/scenario.h"

struct runner_paths {
  char **path;
  size_t count;
};

/* The folder of the shipped scenarios: "scenarios" here, or beside the executable's source tree. NULL when there is none. */
const char *runner_scenarios_folder(void);
/* All .yaml (and, if asked, .replay) files of a folder and the folders below it, sorted. */
void runner_paths_add_folder(struct runner_paths *paths, const char *folder, const char *suffix);
void runner_paths_add(struct runner_paths *paths, const char *path);
void runner_paths_free(struct runner_paths *paths);
/* Turn an argument into a path: itself, or the shipped scenario of that name. Returns false when there is neither; the
   argument itself is then kept, for the error that opening it will give. */
bool runner_find(const char *argument, char *out, size_t size);
/* Read the scenario and apply the changes; NULL after a message on stderr. */
struct runner_scenario *runner_open_scenario(const char *argument, const struct runner_options *options,
                                             const struct runner_changes *changes);

#endif
