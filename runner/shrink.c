/* Method. Rounds of four moves until none helps: drop chunks of faults (halves, quarters … single ones, from the end);
   lower an answer to a milder one of the same point; retarget: when dropping a fault left another one unreached, try that
   other one at the other occurrences of its step (same point, message, id and step; other life, try or time) before the
   dropped one is called its necessary cause; and drop pairs. Faults that the run no longer reaches are dropped at once.
   Each candidate is one run from the start: 50 us, cheaper than any way of keeping state. Where that ends at three faults
   or more, all runs with one and two faults are tried. */
#include "runner/shrink.h"

#include <stdlib.h>
#include <string.h>

#include "runner/explore.h"
#include "sim/check.h"

enum { RUNS_MAX = 6000, RETARGETS_MAX = 24, PAIRS_MAX = 24 };

struct shrinker {
  struct runner_world *world;
  const struct runner_scenario *scenario;
  int invariant;
  struct sim_fault best[SIM_FAULTS_MAX];
  size_t count;
  struct sim_fault trial[SIM_FAULTS_MAX];
  unsigned runs;
  bool last; /* the local moves are over: runs are no longer counted against their limit */
};

bool runner_breaks(const struct runner_result *result, int invariant) {
  return invariant < 0 ? result->stuck : (result->violated >> invariant & 1) != 0;
}

/* Run the trial; if it fails the same way it becomes the best, less what it did not reach. */
static bool attempt(struct shrinker *s, size_t count) {
  if (s->runs >= RUNS_MAX && !s->last) return false;
  s->runs++;
  struct runner_result result = runner_run_list(s->world, s->scenario, s->trial, count, false, true);
  if (!runner_breaks(&result, s->invariant)) return false;
  s->count = 0;
  for (size_t i = 0; i < count; i++) {
    if (s->trial[i].reached) s->best[s->count++] = s->trial[i];
  }
  return true;
}

static size_t without(struct shrinker *s, size_t from, size_t size) {
  size_t count = 0;
  for (size_t i = 0; i < s->count; i++) {
    if (i < from || i >= from + size) s->trial[count++] = s->best[i];
  }
  return count;
}

/* The trial just run failed to fail: its unreached faults may sit elsewhere now. */
static bool retarget(struct shrinker *s, size_t count) {
  struct sim_decisions *decisions = sim_world_decisions(s->world->world);
  static struct sim_asked asked[SIM_DECISIONS_MAX];
  size_t asked_count = decisions->asked_count;
  memcpy(asked, decisions->asked, asked_count * sizeof asked[0]);
  size_t lost[SIM_FAULTS_MAX];
  size_t lost_count = 0;
  for (size_t i = 0; i < count; i++) {
    if (!s->trial[i].reached) lost[lost_count++] = i;
  }
  unsigned tries = 0;
  for (size_t l = 0; l < lost_count; l++) {
    struct sim_fault original = s->trial[lost[l]];
    for (size_t i = 0; i < asked_count && tries < RETARGETS_MAX; i++) {
      bool same_step = asked[i].point == original.point && asked[i].family == original.family && asked[i].address != original.address;
      if (!same_step || (asked[i].offered >> original.answer & 1) == 0) continue;
      tries++;
      s->trial[lost[l]].address = asked[i].address;
      if (attempt(s, count)) return true;
    }
    s->trial[lost[l]] = original;
  }
  return false;
}

static bool drop_chunks(struct shrinker *s) {
  bool better = false;
  for (size_t size = s->count > 1 ? s->count / 2 : 1; size > 0; size /= 2) {
    for (size_t end = s->count; end > 0;) {
      size_t from = end > size ? end - size : 0;
      size_t before = s->count;
      size_t count = without(s, from, end - from);
      if (attempt(s, count) || (size == 1 && retarget(s, count))) {
        better = better || s->count < before;
        end = from < s->count ? from : s->count;
      } else {
        end = from;
      }
    }
  }
  return better;
}

static bool lower_answers(struct shrinker *s) {
  bool better = false;
  for (size_t i = 0; i < s->count; i++) {
    for (uint8_t answer = 1; answer < s->best[i].answer; answer++) {
      memcpy(s->trial, s->best, s->count * sizeof s->trial[0]);
      s->trial[i].answer = answer;
      size_t before = s->count;
      if (!attempt(s, before)) continue;
      better = true;
      break;
    }
  }
  return better;
}

static bool drop_pairs(struct shrinker *s) {
  if (s->count > PAIRS_MAX) return false;
  for (size_t i = 0; i + 1 < s->count; i++) {
    for (size_t j = i + 1; j < s->count; j++) {
      size_t count = 0;
      for (size_t k = 0; k < s->count; k++) {
        if (k != i && k != j) s->trial[count++] = s->best[k];
      }
      if (attempt(s, count)) return true;
    }
  }
  return false;
}

/* One other fault in the place of a pair, at any decision of the run without them: two causes are often two ways of
   saying one thing ("lost", and "down when it came"). */
static bool replace_pairs(struct shrinker *s) {
  static struct sim_asked asked[SIM_DECISIONS_MAX];
  struct sim_decisions *decisions = sim_world_decisions(s->world->world);
  if (s->count < 2 || s->count > 6) return false;
  for (size_t i = 0; i + 1 < s->count; i++) {
    for (size_t j = i + 1; j < s->count; j++) {
      struct sim_fault rest[SIM_FAULTS_MAX > 8 ? 8 : SIM_FAULTS_MAX];
      size_t rest_count = 0;
      for (size_t k = 0; k < s->count; k++) {
        if (k != i && k != j) rest[rest_count++] = s->best[k];
      }
      memcpy(s->trial, rest, rest_count * sizeof rest[0]);
      s->runs++;
      runner_run_list(s->world, s->scenario, s->trial, rest_count, false, true);
      size_t asked_count = decisions->asked_count;
      memcpy(asked, decisions->asked, asked_count * sizeof asked[0]);
      for (size_t a = 0; a < asked_count; a++) {
        uint8_t answers = asked[a].offered & s->scenario->plan.explored[asked[a].point];
        for (uint8_t answer = 1; answer < SIM_ANSWERS_MAX; answer++) {
          if ((answers >> answer & 1) == 0) continue;
          memcpy(s->trial, rest, rest_count * sizeof rest[0]);
          s->trial[rest_count] =
              (struct sim_fault){.address = asked[a].address, .family = asked[a].family, .point = asked[a].point, .answer = answer};
          if (attempt(s, rest_count + 1)) return true;
        }
      }
    }
  }
  return false;
}

/* Where the local moves end at three faults or more, the smallest run may be quite another: every run with one fault, then
   with two, in turn, if there are not too many of them. */
static void look_everywhere(struct shrinker *s) {
  enum { FEW = 2, ANSWERS_MAX = 250 };
  static struct runner_explored explored;
  size_t index = s->invariant < 0 ? SIM_INVARIANTS_MAX : (size_t)s->invariant;
  for (int k = 0; k <= FEW && s->count > (size_t)k; k++) {
    struct runner_explore_options options = {.faults_max = k, .jobs = 1, .go_on = true};
    runner_explore(s->scenario, &options, &explored);
    s->runs += (unsigned)explored.level[k].runs;
    const struct runner_found *found = &explored.level[k].first[index];
    if (found->any) {
      memcpy(s->trial, found->fault, found->fault_count * sizeof s->trial[0]);
      REQUIRE(attempt(s, found->fault_count));
      return;
    }
    if (explored.answers > ANSWERS_MAX) return;
  }
}

static void copy_out(struct shrinker *s, struct runner_shrunk *out) {
  out->result = runner_run_list(s->world, s->scenario, s->best, s->count, true, true);
  const struct sim_decisions *decisions = sim_world_decisions(s->world->world);
  ENSURE(decisions->fault_count == s->count);
  out->fault_count = s->count;
  for (size_t i = 0; i < s->count; i++) {
    out->fault[i] = decisions->fault[i];
    out->fault[i].words = strdup(decisions->fault[i].words);
  }
  out->runs = s->runs;
}

void runner_shrink(struct runner_world *world, const struct runner_scenario *scenario, int invariant, const struct sim_fault *list,
                   size_t count, struct runner_shrunk *out) {
  struct shrinker *s = calloc(1, sizeof *s);
  ENSURE(s != NULL);
  s->world = world;
  s->scenario = scenario;
  s->invariant = invariant;
  memcpy(s->trial, list, count * sizeof s->trial[0]);
  for (size_t i = 0; i < count; i++) s->trial[i].words = NULL;
  REQUIRE(attempt(s, count));
  for (bool better = true; better;) {
    better = drop_chunks(s);
    better = lower_answers(s) || better;
    if (!better) better = drop_pairs(s);
    if (!better) better = replace_pairs(s);
  }
  s->last = true;
  if (s->count > 2) look_everywhere(s);
  copy_out(s, out);
  free(s);
}

void runner_shrunk_free(struct runner_shrunk *shrunk) {
  for (size_t i = 0; i < shrunk->fault_count; i++) free((void *)(uintptr_t)shrunk->fault[i].words);
  shrunk->fault_count = 0;
}
