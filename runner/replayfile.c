#include "runner/replayfile.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults/catalogue.h"
#include "runner/names.h"
#include "runner/suggest.h"
#include "runner/text.h"
#include "sim/check.h"

static const char header[] = "oncesim replay 1";

bool runner_is_replay_path(const char *path) {
  size_t size = strlen(path);
  return size > 7 && strcmp(path + size - 7, ".replay") == 0;
}

static bool hex(const char *text, uint64_t *out) {
  char *end = NULL;
  if (strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16) return false;
  *out = strtoull(text, &end, 16);
  return *end == '\0';
}

/* Take one "key: value" line. Returns NULL or what is wrong. */
static const char *take_line(struct runner_replay *replay, const char *key, char *value, char *message, size_t size) {
  for (size_t p = 0; p < RUNNER_PROVIDERS; p++) {
    if (strcmp(key, runner_provider_name(p)) != 0) continue;
    replay->changes.profile[p] = value;
    return NULL;
  }
  if (strcmp(key, "scenario") == 0) replay->scenario = value;
  else if (strcmp(key, "file") == 0) replay->file = value;
  else if (strcmp(key, "oncesim") == 0) replay->version = value;
  else if (strcmp(key, "sqlite") == 0) replay->sqlite = value;
  else if (strcmp(key, "scenario-hash") == 0) return hex(value, &replay->scenario_hash) ? NULL : "a hash is 16 hexadecimal digits";
  else if (strcmp(key, "digest") == 0) return hex(value, &replay->digest) ? NULL : "a digest is 16 hexadecimal digits";
  else if (strcmp(key, "set") == 0) {
    if (replay->changes.set_count == RUNNER_SETS_MAX) return "too many \"set\" lines";
    replay->changes.set[replay->changes.set_count++] = value;
  } else if (strcmp(key, "violates") == 0) {
    replay->invariant = strcmp(value, "stuck") == 0 ? -1 : model_invariant_find(value);
    if (replay->invariant >= 0 || strcmp(value, "stuck") == 0) return NULL;
    char hint[120];
    runner_suggest_words(hint, sizeof hint, value, runner_invariant_name, runner_invariant_count());
    snprintf(message, size, "unknown invariant \"%s\"%s", value, hint);
    return message;
  } else if (strcmp(key, "fault") == 0) {
    if (replay->fault_count == SIM_FAULTS_MAX) return "too many faults";
    const char *reason = sim_fault_parse(fault_catalogue(), value, &replay->fault[replay->fault_count]);
    if (reason == NULL) {
      replay->fault_count++;
      return NULL;
    }
    char *start = strstr(value, ": ");
    char name[60] = "", hint[120] = "";
    if (start != NULL && strcmp(reason, "unknown fault point") == 0) {
      snprintf(name, sizeof name, "%.*s", (int)strcspn(start + 2, ","), start + 2);
      runner_suggest_words(hint, sizeof hint, name, runner_point_name, runner_point_count());
    }
    snprintf(message, size, "%s%s%s%s%s", reason, name[0] ? " \"" : "", name, name[0] ? "\"" : "", hint);
    return message;
  } else {
    snprintf(message, size, "unknown key \"%s\"", key);
    return message;
  }
  return NULL;
}

struct runner_replay *runner_replay_parse(const char *path, const char *text, size_t size, char *error_out, size_t error_size) {
  size_t bad_at = 0;
  if (!runner_text_utf8(text, size, &bad_at) || strnlen(text, size) < size) {
    snprintf(error_out, error_size, "%s: not a text in UTF-8", path);
    return NULL;
  }
  struct runner_replay *replay = calloc(1, sizeof *replay);
  ENSURE(replay != NULL);
  replay->text = strndup(text, size);
  replay->invariant = -2;
  int number = 0;
  bool headed = false;
  for (char *line = replay->text, *next; line != NULL; line = next) {
    next = strchr(line, '\n');
    if (next != NULL) *next++ = '\0';
    number++;
    size_t end = strlen(line);
    if (end > 0 && line[end - 1] == '\r') line[end - 1] = '\0';
    if (line[0] == '\0' || line[0] == '#') continue;
    char message[400];
    const char *reason = NULL;
    char *colon = strstr(line, ": ");
    if (!headed) {
      if (strcmp(line, header) != 0)
        reason = strncmp(line, "oncesim replay ", 15) == 0 ? "this format version is not known here; version 1 is"
                                                           : "the first line of a replay file is \"oncesim replay 1\"";
      headed = true;
    } else if (colon == NULL) {
      reason = "\"key: value\" is expected here";
    } else {
      *colon = '\0';
      reason = take_line(replay, line, colon + 2, message, sizeof message);
      *colon = ':';
    }
    if (reason == NULL) continue;
    snprintf(error_out, error_size, "%s:%d:1: %s\n    %s", path, number, reason, line);
    runner_replay_free(replay);
    return NULL;
  }
  if (!headed || replay->scenario == NULL || replay->invariant == -2) {
    snprintf(error_out, error_size, "%s: %s", path,
             !headed                    ? "the file is empty"
             : replay->scenario == NULL ? "the line \"scenario: …\" is missing"
                                        : "the line \"violates: …\" is missing");
    runner_replay_free(replay);
    return NULL;
  }
  return replay;
}

struct runner_replay *runner_replay_read(const char *path, char *error_out, size_t error_size) {
  size_t size = 0;
  char *text = runner_text_read_file(path, RUNNER_REPLAY_SIZE_MAX, &size, error_out, error_size);
  if (text == NULL) return NULL;
  struct runner_replay *replay = runner_replay_parse(path, text, size, error_out, error_size);
  free(text);
  return replay;
}

void runner_replay_free(struct runner_replay *replay) {
  if (replay == NULL) return;
  free(replay->text);
  free(replay);
}

char *runner_replay_text(const struct runner_scenario *scenario, const struct runner_changes *changes, int invariant, uint64_t digest,
                         const struct sim_fault *fault, size_t fault_count) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  ENSURE(out != NULL);
  fprintf(out, "%s\nscenario: %s\nfile: %s\nscenario-hash: %016" PRIx64 "\noncesim: %s\nsqlite: %s\n", header, scenario->name,
          scenario->path, scenario->hash, ONCESIM_VERSION, sqlite3_sourceid());
  for (size_t i = 0; i < changes->set_count; i++) fprintf(out, "set: %s\n", changes->set[i]);
  for (size_t p = 0; p < RUNNER_PROVIDERS; p++) {
    if (changes->profile[p] != NULL) fprintf(out, "%s: %s\n", runner_provider_name(p), changes->profile[p]);
  }
  fprintf(out, "violates: %s\ndigest: %016" PRIx64 "\n", invariant < 0 ? "stuck" : model_invariants[invariant].name, digest);
  for (size_t i = 0; i < fault_count; i++) fprintf(out, "fault: %s\n", fault[i].words);
  fclose(out);
  return text;
}
