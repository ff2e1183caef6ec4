/* What a run costs, and against what: CPU per run of payment-single (all faults, all invariants) against the same SQL
   replayed bare on the same simulated disk; runs/s and transactions a run in both journal modes; exploring times; two
   jobs against one; peak memory. Medians of REPEATS; build/release/bench/bench [seeds].

   Method of the ratio: the SQL of each seed is logged once (statements with their values, BEGIN, COMMIT, ROLLBACK,
   crashes). The bare replay runs exactly that through the same prepared statements, connections, VFS and reset, without
   world, decisions, libfiu, digests, durable copy or invariants. Both sides are measured in turn within one process, in
   CPU time, and the median of the ratios is given, as the machine drifts. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "runner/campaign.h"
#include "runner/explore.h"
#include "sim/check.h"
#include "sim/internal.h"
#include "sim/vfs.h"

enum { REPEATS = 11 };

static double clock_now(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static double median(double *value, size_t count) {
  qsort(value, count, sizeof *value, by_size);
  return value[count / 2];
}

static struct runner_scenario *scenario_of(const char *name, const char *extra) {
  char error[RUNNER_ERROR_SIZE], text[2000];
  snprintf(text, sizeof text, "scenario: %s\n%s", name, extra);
  struct runner_scenario *scenario = runner_scenario_parse("bench", text, strlen(text), error, sizeof error);
  if (scenario == NULL) fprintf(stderr, "%s\n", error);
  ENSURE(scenario != NULL);
  return scenario;
}

static void replay_entry(struct sim_world *world, const struct sim_sql_entry *entry) {
  struct sim_connection *connection = world->node[entry->service][entry->instance].connection;
  sqlite3_stmt *statement = NULL;
  switch (entry->op) {
    case SIM_SQL_BEGIN: statement = connection->begin; break;
    case SIM_SQL_COMMIT: statement = connection->commit; break;
    case SIM_SQL_ROLLBACK: statement = connection->rollback; break;
    case SIM_SQL_STATEMENT: statement = connection->statement[entry->index]; break;
    case SIM_SQL_CRASH:
      if (!sqlite3_get_autocommit(connection->db)) {
        sqlite3_step(connection->rollback);
        sqlite3_reset(connection->rollback);
      }
      sim_disk_forget_shm(&connection->storage->disk);
      sqlite3_file_control(connection->db, "main", SQLITE_FCNTL_RESET_CACHE, NULL);
      return;
  }
  if (entry->op == SIM_SQL_STATEMENT) {
    for (int i = 0; entry->format[i] != '\0'; i++) {
      if (entry->format[i] == 'i') sqlite3_bind_int64(statement, i + 1, entry->number[i]);
      if (entry->format[i] == 's') sqlite3_bind_text(statement, i + 1, entry->text[i], -1, SQLITE_STATIC);
    }
  }
  while (sqlite3_step(statement) == SQLITE_ROW) {}
  sqlite3_reset(statement);
}

static void hook(struct sim_world *world, bool on,
                 void (*callback)(void *, sqlite3 *, int, char const *, char const *, sqlite3_int64, sqlite3_int64)) {
  for (size_t s = 0; s < world->service_count; s++) {
    for (size_t i = 0; i < SIM_INSTANCES_MAX; i++) {
      struct sim_connection *connection = world->node[s][i].connection;
      if (connection != NULL) sqlite3_preupdate_hook(connection->db, on ? callback : NULL, connection);
    }
  }
}

static void bare_run(struct sim_world *world, const struct runner_scenario *scenario, const struct sim_sql_log *log, bool wal) {
  for (size_t s = 0; s < world->service_count; s++) {
    if (world->service[s].schema == NULL || scenario->setup.instance_count[s] == 0) continue;
    sim_sql__begin_run(world, s, scenario->setup.instance_count[s], wal, 512);
    world->database[s].storage->disk.digest = NULL;
  }
  sim_vfs_seed(scenario->setup.scenario_seed);
  for (size_t i = 0; i < log->count; i++) replay_entry(world, &log->entry[i]);
}

static void measure_ratio(const char *name, const char *workflow, const char *mode, const char *journal, uint64_t seeds) {
  char extra[400];
  snprintf(extra, sizeof extra, "workflow: %s\norders: 1\nfaults:\n  disk.page_size: off\n  disk.journal: %s\n", workflow, journal);
  bool wal = strcmp(journal, "off") == 0;
  struct runner_scenario *scenario = scenario_of(name, extra);
  struct runner_world world;
  runner_world_open(&world);
  struct sim_sql_log *log = calloc(seeds, sizeof *log);
  ENSURE(log != NULL);
  for (uint64_t seed = 0; seed < seeds; seed++) {
    world.world->sql_log = &log[seed];
    runner_run_seed(&world, scenario, seed + 1, false);
  }
  world.world->sql_log = NULL;
  double ratio[REPEATS], simulated[REPEATS], bare[REPEATS];
  uint64_t transactions = world.world->counters.transactions;
  for (int r = 0; r < REPEATS; r++) {
    double start = clock_now(CLOCK_PROCESS_CPUTIME_ID);
    for (uint64_t seed = 0; seed < seeds; seed++) runner_run_seed(&world, scenario, seed + 1, false);
    double middle = clock_now(CLOCK_PROCESS_CPUTIME_ID);
    hook(world.world, false, NULL);
    double bare_start = clock_now(CLOCK_PROCESS_CPUTIME_ID);
    for (uint64_t seed = 0; seed < seeds; seed++) bare_run(world.world, scenario, &log[seed], wal);
    double end = clock_now(CLOCK_PROCESS_CPUTIME_ID);
    sim_sql__end_run(world.world);
    hook(world.world, true, sim_sql__on_row);
    simulated[r] = (middle - start) / (double)seeds;
    bare[r] = (end - bare_start) / (double)seeds;
    ratio[r] = simulated[r] / bare[r];
  }
  printf("%-7s %-14s: %6.1f us a run, bare SQL %6.1f us, ratio %.2f; %.1f transactions a run\n", mode, name,
         1e6 * median(simulated, REPEATS), 1e6 * median(bare, REPEATS), median(ratio, REPEATS), (double)transactions / (double)seeds);
  runner_world_close(&world);
  runner_scenario_free(scenario);
}

static void measure_rate(const char *mode, const char *journal, uint64_t seeds) {
  char extra[400];
  snprintf(extra, sizeof extra, "orders: 3\nfaults:\n  disk.page_size: off\n  disk.journal: %s\n", journal);
  struct runner_scenario *scenario = scenario_of("payment", extra);
  struct runner_world world;
  runner_world_open(&world);
  runner_run_seed(&world, scenario, 1, false);
  double rate[REPEATS];
  uint64_t before = world.world->counters.transactions;
  for (int r = 0; r < REPEATS; r++) {
    double start = clock_now(CLOCK_PROCESS_CPUTIME_ID);
    for (uint64_t seed = 1; seed <= seeds; seed++) runner_run_seed(&world, scenario, seed, false);
    rate[r] = (double)seeds / (clock_now(CLOCK_PROCESS_CPUTIME_ID) - start);
  }
  double per_run = (double)(world.world->counters.transactions - before) / ((double)seeds * REPEATS);
  double middle = median(rate, REPEATS);
  printf("%-7s payment: %8.0f runs/s a core, %.1f transactions a run, %.0f transactions/s\n", mode, middle, per_run, middle * per_run);
  runner_world_close(&world);
  runner_scenario_free(scenario);
}

static void measure_explore(const char *name, const char *workflow, const char *gateway, int faults, int jobs) {
  char extra[100];
  snprintf(extra, sizeof extra, "workflow: %s\norders: 1\ngateway: %s\n", workflow, gateway);
  struct runner_scenario *scenario = scenario_of(name, extra);
  static struct runner_explored explored;
  struct runner_explore_options options = {.faults_max = faults, .jobs = jobs};
  runner_explore(scenario, &options, &explored);
  printf("explore %s, gateway %-5s, %d jobs:", name, gateway, jobs);
  for (int k = 1; k < explored.levels; k++)
    printf("  %d faults %" PRIu64 " runs %.2f s", k, explored.level[k].runs, explored.level[k].seconds);
  printf("%s\n", explored.complete ? "  complete" : "  NOT complete");
  runner_scenario_free(scenario);
}

static void measure_jobs(uint64_t seeds) {
  struct runner_scenario *scenario = scenario_of("payment", "orders: 3\n");
  static struct runner_campaign campaign;
  double speed_up[5];
  for (int r = 0; r < 5; r++) {
    double seconds[2];
    for (int jobs = 1; jobs <= 2; jobs++) {
      struct runner_campaign_options options = {.first_seed = 1, .seeds = seeds, .jobs = jobs};
      runner_campaign_run(scenario, &options, &campaign);
      seconds[jobs - 1] = campaign.seconds;
    }
    speed_up[r] = seconds[0] / seconds[1];
  }
  printf("two jobs against one: %.2f x\n", median(speed_up, 5));
  runner_scenario_free(scenario);
}

int main(int argc, char **argv) {
  uint64_t seeds = argc > 1 ? strtoull(argv[1], NULL, 10) : 2000;
  if (seeds == 0) seeds = 2000;
  measure_ratio("payment-single", "payment", "WAL", "off", seeds);
  measure_ratio("payment-single", "payment", "DELETE", "{delete: 1}", seeds);
  measure_ratio("order-single", "order", "WAL", "off", seeds);
  measure_ratio("order-single", "order", "DELETE", "{delete: 1}", seeds);
  measure_rate("WAL", "off", seeds);
  measure_rate("DELETE", "{delete: 1}", seeds);
  measure_explore("payment-single", "payment", "ideal", 3, 2);
  measure_explore("payment-single", "payment", "plain", 3, 2);
  measure_explore("payment-single", "payment", "mute", 3, 2);
  measure_explore("order-single", "order", "ideal", 2, 2);
  measure_jobs(10 * seeds);
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  printf("peak memory of this process: %ld KiB\n", usage.ru_maxrss);
  return 0;
}
