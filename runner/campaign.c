#include "runner/campaign.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "runner/jobs.h"
#include "sim/check.h"

enum { CHUNK = 64 };

struct shared {
  _Atomic uint64_t next_chunk;
  struct runner_tally tally[RUNNER_JOBS_MAX];
};

struct campaign {
  const struct runner_scenario *scenario;
  const struct runner_campaign_options *options;
  struct shared *shared;
  double deadline;
};

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Keep the lowest failing seeds, in rising order. */
static void keep_failing(struct runner_tally *tally, struct runner_failing failing) {
  size_t at = tally->failing_count;
  while (at > 0 && tally->failing[at - 1].seed > failing.seed) at--;
  if (at == RUNNER_FAILING_KEPT) return;
  size_t moved = (tally->failing_count < RUNNER_FAILING_KEPT ? tally->failing_count : RUNNER_FAILING_KEPT - 1) - at;
  memmove(&tally->failing[at + 1], &tally->failing[at], moved * sizeof tally->failing[0]);
  tally->failing[at] = failing;
  if (tally->failing_count < RUNNER_FAILING_KEPT) tally->failing_count++;
}

static void count_first(uint64_t *count, uint64_t *first, uint64_t seed) {
  if (*count == 0 || seed < *first) *first = seed;
  ++*count;
}

static void count_run(struct runner_tally *tally, uint64_t seed, const struct runner_result *result) {
  tally->runs++;
  tally->digest += sim_finish(sim_mix(result->digest, seed));
  for (uint64_t mask = result->in_danger; mask != 0; mask &= mask - 1) tally->in_danger[__builtin_ctzll(mask)]++;
  if (!runner_failed(result)) return;
  tally->failing_runs++;
  for (uint64_t mask = result->violated; mask != 0; mask &= mask - 1) {
    int i = __builtin_ctzll(mask);
    count_first(&tally->violations[i], &tally->first_seed[i], seed);
  }
  if (result->stuck) count_first(&tally->stuck_runs, &tally->first_seed[SIM_INVARIANTS_MAX], seed);
  keep_failing(tally, (struct runner_failing){seed, result->digest, result->violated, result->stuck});
}

static void run_chunk(struct campaign *campaign, struct runner_world *world, struct runner_tally *tally, uint64_t from, uint64_t count) {
  const struct runner_campaign_options *options = campaign->options;
  for (uint64_t i = 0; i < count; i++) {
    if (options->interrupted != NULL && *options->interrupted) return;
    uint64_t seed = options->backwards ? options->first_seed + options->seeds - 1 - (from + i) : options->first_seed + from + i;
    tally->seed_under_way = seed;
    struct runner_result result = runner_run_seed(world, campaign->scenario, seed, false);
    count_run(tally, seed, &result);
  }
}

/* The first worker tells for all, from the counter they share. */
static void tell_progress(const struct campaign *campaign, uint64_t runs, double *next, bool terminal) {
  double now = seconds_now();
  if (now < *next) return;
  *next = now + (terminal ? 0.5 : 30);
  const struct runner_campaign_options *options = campaign->options;
  if (options->seeds != 0 && runs > options->seeds) runs = options->seeds;
  fprintf(stderr, terminal ? "\r%s: %" PRIu64 " runs\033[K" : "oncesim: %s: %" PRIu64 " runs so far\n", campaign->scenario->name, runs);
}

static void work(void *context, int job) {
  struct campaign *campaign = context;
  struct runner_tally *tally = &campaign->shared->tally[job];
  const struct runner_campaign_options *options = campaign->options;
  struct runner_world world;
  runner_world_open(&world);
  bool terminal = isatty(STDERR_FILENO) != 0;
  double next_progress = seconds_now() + (terminal ? 0.5 : 30);
  for (;;) {
    if (options->progress && job == 0)
      tell_progress(campaign, CHUNK * atomic_load(&campaign->shared->next_chunk), &next_progress, terminal);
    uint64_t from = CHUNK * atomic_fetch_add(&campaign->shared->next_chunk, 1);
    if (options->seeds != 0 && from >= options->seeds) break;
    if (options->interrupted != NULL && *options->interrupted) break;
    if (options->seconds_max > 0 && seconds_now() >= campaign->deadline) break;
    uint64_t left = options->seeds == 0 ? CHUNK : options->seeds - from;
    run_chunk(campaign, &world, tally, from, left < CHUNK ? left : CHUNK);
  }
  const struct sim_decisions *decisions = sim_world_decisions(world.world);
  memcpy(tally->asked, decisions->point_asked, sizeof tally->asked);
  memcpy(tally->fired, decisions->point_fired, sizeof tally->fired);
  memcpy(tally->endings, world.shop->ending_count, sizeof tally->endings);
  tally->calls = world.shop->call_count;
  memcpy(tally->undecided, world.shop->undecided_count, sizeof tally->undecided);
  tally->settling_ms = world.shop->settling_ms_sum;
  memcpy(tally->moves, world.shop->move_count, sizeof tally->moves);
  tally->transactions = sim_world_counters(world.world)->transactions;
  tally->steps = sim_world_counters(world.world)->steps;
  tally->decisions = decisions->decisions_total;
  tally->repeated = decisions->repeated_total;
  runner_world_close(&world);
  if (options->progress && job == 0 && terminal) fprintf(stderr, "\r\033[K");
  tally->whole = true;
}

static void merge_count(uint64_t *into, uint64_t *first, uint64_t count, uint64_t other_first) {
  if (count == 0) return;
  if (*into == 0 || other_first < *first) *first = other_first;
  *into += count;
}

static void merge(struct runner_tally *into, const struct runner_tally *from) {
  into->runs += from->runs;
  into->failing_runs += from->failing_runs;
  into->digest += from->digest;
  into->transactions += from->transactions;
  into->decisions += from->decisions;
  into->repeated += from->repeated;
  into->steps += from->steps;
  into->calls += from->calls;
  into->settling_ms += from->settling_ms;
  for (size_t o = 0; o < MODEL_OUTSIDERS; o++) into->undecided[o] += from->undecided[o];
  for (size_t i = 0; i < SIM_INVARIANTS_MAX; i++) {
    into->in_danger[i] += from->in_danger[i];
    merge_count(&into->violations[i], &into->first_seed[i], from->violations[i], from->first_seed[i]);
  }
  merge_count(&into->stuck_runs, &into->first_seed[SIM_INVARIANTS_MAX], from->stuck_runs, from->first_seed[SIM_INVARIANTS_MAX]);
  for (size_t e = 0; e < MODEL_ENDING_COUNT; e++) into->endings[e] += from->endings[e];
  for (size_t s = 0; s < MODEL_STATE_COUNT; s++) {
    for (size_t e = 0; e < MODEL_EVENT_COUNT; e++) into->moves[s][e] += from->moves[s][e];
  }
  for (size_t p = 0; p < SIM_POINTS_MAX; p++) {
    into->asked[p] += from->asked[p];
    into->fired[p] += from->fired[p];
  }
  for (size_t i = 0; i < from->failing_count; i++) keep_failing(into, from->failing[i]);
}

void runner_campaign_run(const struct runner_scenario *scenario, const struct runner_campaign_options *options,
                         struct runner_campaign *out) {
  struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ENSURE(shared != MAP_FAILED);
  memset(out, 0, sizeof *out);
  double start = seconds_now();
  struct campaign campaign = {scenario, options, shared, start + options->seconds_max};
  bool whole = runner_jobs_run(options->jobs, work, &campaign);
  for (int j = 0; j < options->jobs; j++) {
    merge(&out->tally, &shared->tally[j]);
    if (whole || shared->tally[j].whole) continue;
    out->worker_died = true;
    out->died_at_seed = shared->tally[j].seed_under_way;
  }
  out->seconds = seconds_now() - start;
  out->interrupted = options->interrupted != NULL && *options->interrupted;
  munmap(shared, sizeof *shared);
}
