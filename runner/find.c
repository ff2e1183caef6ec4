#include "runner/find.h"
#include "runner/names.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/suggest.h"
#include "runner/text.h"
#include "sim/check.h"

static bool is_folder(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

const char *runner_scenarios_folder(void) {
  static char folder[PATH_MAX];
  if (folder[0] != '\0') return folder;
  if (is_folder("scenarios")) {
    strcpy(folder, "scenarios");
    return folder;
  }
  char executable[PATH_MAX - 64];
  ssize_t size = readlink("/proc/self/exe", executable, sizeof executable - 1);
  if (size <= 0) return NULL;
  executable[size] = '\0';
  for (int up = 0; up < 4; up++) {
    char *slash = strrchr(executable, '/');
    if (slash == NULL) return NULL;
    *slash = '\0';
    snprintf(folder, sizeof folder, "%s/scenarios", executable);
    if (is_folder(folder)) return folder;
  }
  folder[0] = '\0';
  return NULL;
}

void runner_paths_add(struct runner_paths *paths, const char *path) {
  paths->path = realloc(paths->path, (paths->count + 1) * sizeof paths->path[0]);
  ENSURE(paths->path != NULL);
  paths->path[paths->count] = strdup(path);
  ENSURE(paths->path[paths->count] != NULL);
  paths->count++;
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static bool ends_in(const char *text, const char *suffix) {
  size_t size = strlen(text), suffix_size = strlen(suffix);
  return size > suffix_size && strcmp(text + size - suffix_size, suffix) == 0;
}

void runner_paths_add_folder(struct runner_paths *paths, const char *folder, const char *suffix) {
  struct runner_paths here = {0}, below = {0};
  DIR *directory = opendir(folder);
  if (directory == NULL) return;
  struct dirent *entry;
  while ((entry = readdir(directory)) != NULL) {
    char path[PATH_MAX];
    if (entry->d_name[0] == '.' || snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= (int)sizeof path) continue;
    if (is_folder(path)) runner_paths_add(&below, path);
    else if (ends_in(path, suffix)) runner_paths_add(&here, path);
  }
  closedir(directory);
  if (here.count > 1) qsort(here.path, here.count, sizeof here.path[0], by_text);
  if (below.count > 1) qsort(below.path, below.count, sizeof below.path[0], by_text);
  for (size_t i = 0; i < here.count; i++) runner_paths_add(paths, here.path[i]);
  for (size_t i = 0; i < below.count; i++) runner_paths_add_folder(paths, below.path[i], suffix);
  runner_paths_free(&here);
  runner_paths_free(&below);
}

void runner_paths_free(struct runner_paths *paths) {
  for (size_t i = 0; i < paths->count; i++) free(paths->path[i]);
  free(paths->path);
  *paths = (struct runner_paths){0};
}

bool runner_find(const char *argument, char *out, size_t size) {
  snprintf(out, size, "%s", argument);
  if (access(argument, F_OK) == 0) return true;
  const char *folder = runner_scenarios_folder();
  if (folder == NULL || strchr(argument, '/') != NULL) return false;
  static const char *const place[] = {"", "known-bad/", "incidents/"};
  for (size_t i = 0; i < sizeof place / sizeof place[0]; i++) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s%s%s", folder, place[i], argument, ends_in(argument, ".yaml") ? "" : ".yaml");
    if (access(path, F_OK) != 0) continue;
    snprintf(out, size, "%s", path);
    return true;
  }
  return false;
}

static bool apply(struct runner_scenario *scenario, const struct runner_changes *changes) {
  char error[RUNNER_ERROR_SIZE];
  for (size_t p = 0; p < RUNNER_PROVIDERS; p++) {
    const char *name = changes->profile[p];
    if (name == NULL || runner_scenario_profile(scenario, (enum runner_provider)p, name, error, sizeof error)) continue;
    fprintf(stderr, "oncesim: --%s: %s\n", runner_provider_name(p), error);
    return false;
  }
  for (size_t i = 0; i < changes->set_count; i++) {
    if (runner_scenario_set(scenario, changes->set[i], error, sizeof error)) continue;
    fprintf(stderr, "oncesim: --set: %s\n", error);
    return false;
  }
  return true;
}

/* A design file: lines "axis: choice", read as the design section of a scenario would be. */
static bool apply_design(struct runner_scenario *scenario, const char *path) {
  char error[RUNNER_ERROR_SIZE];
  size_t size = 0;
  char *text = runner_text_read_file(path, RUNNER_SCENARIO_SIZE_MAX, &size, error, sizeof error);
  bool applied = text != NULL && runner_scenario_design(scenario, path, text, size, error, sizeof error);
  if (!applied) fprintf(stderr, "oncesim: %s\n", error);
  free(text);
  return applied;
}

static const struct runner_paths *shipped;
/* The shipped scenario of that index by its file's name. */
static const char *shipped_name(size_t index) {
  static char name[NAME_MAX + 1];
  const char *slash = strrchr(shipped->path[index], '/');
  snprintf(name, sizeof name, "%s", slash ? slash + 1 : shipped->path[index]);
  char *end = strstr(name, ".yaml");
  if (end != NULL) *end = '\0';
  return name;
}

static void no_such_scenario(const char *argument) {
  struct runner_paths paths = {0};
  const char *folder = runner_scenarios_folder();
  char hint[160] = "";
  if (folder != NULL) runner_paths_add_folder(&paths, folder, ".yaml");
  shipped = &paths;
  size_t best = runner_suggest_index(argument, shipped_name, paths.count);
  if (best < paths.count) snprintf(hint, sizeof hint, "; did you mean \"%s\"?", shipped_name(best));
  fprintf(stderr, "oncesim: there is no scenario \"%s\" here; \"oncesim list scenarios\" names the shipped ones%s\n", argument, hint);
  runner_paths_free(&paths);
}

struct runner_scenario *runner_open_scenario(const char *argument, const struct runner_options *options,
                                             const struct runner_changes *changes) {
  char path[PATH_MAX], error[RUNNER_ERROR_SIZE];
  if (!runner_find(argument, path, sizeof path) && strchr(argument, '/') == NULL && !ends_in(argument, ".yaml")) {
    no_such_scenario(argument);
    return NULL;
  }
  struct runner_scenario *scenario = runner_scenario_read(path, error, sizeof error);
  if (scenario == NULL) {
    fprintf(stderr, "oncesim: %s\n", error);
    return NULL;
  }
  bool fine = options == NULL || options->design_file == NULL || apply_design(scenario, options->design_file);
  if (fine && apply(scenario, changes)) return scenario;
  runner_scenario_free(scenario);
  return NULL;
}
