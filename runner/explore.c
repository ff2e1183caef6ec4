/* Method. Runs are named by their fault lists. The children of a run are that run with one fault more, at a decision
   behind its last fault: since nothing before that decision changes, each list with its faults in run order comes up
   exactly once. Levels are taken in turn, K = 0, 1, 2 …, each depth first to exactly K (re-running the shorter prefixes,
   under 2 % of the work), so that the first finding has the fewest faults. Which answers are asked is decided where they
   are asked (sim/) by what would change an order, and by the plan's explored answers.

   Work is shared out by the first fault: workers (forked, one a job) draw the next first fault from a shared counter.
   Counts, digest sums and the first failing run in list order do not depend on who ran what. */
#include "runner/explore.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "runner/jobs.h"
#include "sim/check.h"

struct shared {
  _Atomic uint64_t next_item;
  struct runner_level level[RUNNER_JOBS_MAX];
};

struct explorer {
  struct runner_world world;
  const struct runner_scenario *scenario;
  const struct runner_explore_options *options;
  struct shared *shared;
  struct runner_level *level;
  int faults; /* of this level */
  struct sim_fault list[RUNNER_FAULTS_EXPLORED_MAX];
  struct sim_asked *asked[RUNNER_FAULTS_EXPLORED_MAX + 1];
  uint64_t item;  /* index of the first fault */
  uint64_t place; /* within the item */
  uint64_t next_wanted;
};

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint8_t answers_of(const struct explorer *explorer, const struct sim_asked *asked) {
  if (explorer->options->points != 0 && (explorer->options->points >> asked->point & 1) == 0) return 0;
  return asked->offered & explorer->scenario->plan.explored[asked->point];
}

static unsigned count_bits(uint8_t mask) { return (unsigned)__builtin_popcount(mask); }

static void note_first(struct explorer *explorer, const struct runner_result *result, size_t index, size_t count) {
  struct runner_found *found = &explorer->level->first[index];
  uint64_t order = explorer->item << 40 | explorer->place;
  if (found->any && found->order <= order) return;
  *found = (struct runner_found){.any = true, .violated = result->violated, .stuck = result->stuck, .order = order, .fault_count = count};
  memcpy(found->fault, explorer->list, count * sizeof found->fault[0]);
}

static void count_leaf(struct explorer *explorer, const struct runner_result *result, size_t count, uint64_t answers_left) {
  struct runner_level *level = explorer->level;
  level->runs++;
  level->answers_left += answers_left;
  level->digest += sim_finish(result->digest);
  level->violated |= result->violated;
  level->in_danger |= result->in_danger;
  explorer->place++;
  if (explorer->options->on_run != NULL) explorer->options->on_run(result, explorer->list, count, explorer->options->context);
  if (!runner_failed(result)) return;
  level->failing++;
  for (size_t i = 0; i < SIM_INVARIANTS_MAX; i++) {
    if ((result->violated >> i & 1) == 0) continue;
    level->violations[i]++;
    note_first(explorer, result, i, count);
  }
  if (result->stuck) note_first(explorer, result, SIM_INVARIANTS_MAX, count);
}

/* Run the list of `count` faults; at the level's depth count it, before that go on behind its last fault. */
static void visit(struct explorer *explorer, size_t count) {
  bool leaf = (int)count == explorer->faults;
  struct runner_result result = runner_run_list(&explorer->world, explorer->scenario, explorer->list, count, false, true);
  const struct sim_decisions *decisions = sim_world_decisions(explorer->world.world);
  uint32_t from = count == 0 ? 0 : decisions->fault_count == count ? decisions->fault[count - 1].position + 1 : decisions->asked_count;
  ENSURE(decisions->fault_count == count && "a run of explore did not reach its faults");
  uint32_t asked_count = decisions->asked_count;
  if (leaf) {
    uint64_t answers_left = 0;
    for (uint32_t d = from; d < asked_count; d++) answers_left += count_bits(answers_of(explorer, &decisions->asked[d]));
    count_leaf(explorer, &result, count, answers_left);
    return;
  }
  struct sim_asked *asked = explorer->asked[count];
  memcpy(asked + from, decisions->asked + from, (asked_count - from) * sizeof asked[0]);
  uint64_t item = 0;
  for (uint32_t d = from; d < asked_count; d++) {
    uint8_t answers = answers_of(explorer, &asked[d]);
    for (uint8_t answer = 1; answer < SIM_ANSWERS_MAX; answer++) {
      if ((answers >> answer & 1) == 0) continue;
      if (explorer->options->interrupted != NULL && *explorer->options->interrupted) return;
      if (count == 0) {
        if (item++ != explorer->next_wanted) continue;
        explorer->item = explorer->next_wanted;
        explorer->place = 0;
        explorer->next_wanted = atomic_fetch_add(&explorer->shared->next_item, 1);
      }
      explorer->list[count] =
          (struct sim_fault){.address = asked[d].address, .family = asked[d].family, .point = asked[d].point, .answer = answer};
      visit(explorer, count + 1);
    }
  }
}

static void work(void *context, int job) {
  struct explorer *explorer = context;
  explorer->level = &explorer->shared->level[job];
  runner_world_open(&explorer->world);
  for (int i = 0; i <= RUNNER_FAULTS_EXPLORED_MAX; i++) explorer->asked[i] = malloc(SIM_DECISIONS_MAX * sizeof *explorer->asked[i]);
  explorer->next_wanted = atomic_fetch_add(&explorer->shared->next_item, 1);
  if (explorer->faults == 0) {
    if (explorer->next_wanted == 0) visit(explorer, 0);
  } else {
    visit(explorer, 0);
  }
  explorer->level->complete = explorer->options->interrupted == NULL || !*explorer->options->interrupted;
  for (int i = 0; i <= RUNNER_FAULTS_EXPLORED_MAX; i++) free(explorer->asked[i]);
  runner_world_close(&explorer->world);
}

static void merge_level(struct runner_level *into, const struct runner_level *from) {
  into->runs += from->runs;
  into->failing += from->failing;
  into->answers_left += from->answers_left;
  into->digest += from->digest;
  into->violated |= from->violated;
  into->in_danger |= from->in_danger;
  into->complete = into->complete && from->complete;
  for (size_t i = 0; i <= SIM_INVARIANTS_MAX; i++) {
    if (i < SIM_INVARIANTS_MAX) into->violations[i] += from->violations[i];
    if (from->first[i].any && (!into->first[i].any || from->first[i].order < into->first[i].order)) into->first[i] = from->first[i];
  }
}

void runner_explore(const struct runner_scenario *scenario, const struct runner_explore_options *options, struct runner_explored *out) {
  struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ENSURE(shared != MAP_FAILED);
  memset(out, 0, sizeof *out);
  out->complete = true;
  for (int k = 0; k <= options->faults_max; k++) {
    struct explorer explorer = {.scenario = scenario, .options = options, .shared = shared, .faults = k};
    struct runner_level *level = &out->level[k];
    double start = seconds_now();
    memset(shared, 0, sizeof *shared);
    bool whole = runner_jobs_run(k < 2 ? 1 : options->jobs, work, &explorer);
    level->complete = whole;
    for (int j = 0; j < (k < 2 ? 1 : options->jobs); j++) merge_level(level, &shared->level[j]);
    level->seconds = seconds_now() - start;
    out->levels = k + 1;
    out->complete = out->complete && level->complete;
    if (k == 0) out->answers = level->answers_left;
    if (options->on_level != NULL) options->on_level(out, k, options->context);
    if (!level->complete || (level->failing > 0 && !options->go_on)) break;
  }
  munmap(shared, sizeof *shared);
}
