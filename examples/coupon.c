/* A model small enough to read in one sitting: a desk hands out one coupon to each member. Coupons are printed by an
   outside printer that takes no key and cannot be asked what it has printed, so after a call without an answer nobody
   can find out: the desk may neither print again nor forget it, and puts the member on the clerk's list.

   docs/writing-a-model.md walks through this file. It uses sim/ alone: its own catalogue, no model/, no faults/.

   Usage: coupon [--broken] [SEEDS]. Without --broken the right desk is run, which must hold, and then the broken one,
   which must be found broken. Exit: 0 as expected, 1 otherwise, 4 usage. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sql.h"
#include "sim/world.h"

/* ---- the catalogue: what may be asked, and how likely each answer is ---- */

struct answer {
  const char *name;
  uint32_t numerator, denominator; /* 0/0: never by chance; the first answer of a point needs no odds */
};

static const struct {
  const char *name;
  enum sim_point_class class;
  const char *meaning;
  struct answer answer[SIM_ANSWERS_MAX];
} points[] = {
    /* Asked by sim: names and the order of answers are sim's. Answers at the end of a list may be left out. */
    {"gap", SIM_POINT_FAULT, "between two steps",
     {{"go_on", 0, 0}, {"yield", 1, 12}, {"crash", 1, 40}, {"pause", 1, 80}, {"pause_days", 1, 800}, {"power_lost", 1, 40}}},
    {"transaction", SIM_POINT_FAULT, "inside a transaction", {{"go_on", 0, 0}}},
    {"commit", SIM_POINT_FAULT, "the fate of one COMMIT",
     {{"commits", 0, 0}, {"crash_before", 1, 200}, {"power_lost", 1, 200}, {"power_lost_kept", 1, 400}, {"power_lost_inside", 1, 100}, {"io_error", 1, 200}}},
    {"commit.position", SIM_POINT_FAULT, "where inside the COMMIT the power goes",
     {{"journal_written", 0, 0}, {"journal_synced", 1, 5}, {"database_written", 1, 5}, {"database_synced", 1, 5}, {"journal_gone", 1, 5}}},
    {"commit.unsynced", SIM_POINT_FAULT, "what becomes of unsynced writes", {{"lost", 0, 0}, {"kept", 1, 3}, {"torn", 1, 3}}},
    {"restart", SIM_POINT_FAULT, "how long a node stays down", {{"seconds", 0, 0}, {"hours", 1, 8}, {"days", 1, 24}, {"restored", 0, 0}}},
    {"bus", SIM_POINT_FAULT, "a message between members and desk",
     {{"prompt", 0, 0}, {"behind_next", 1, 16}, {"behind_timer", 1, 30}, {"doubled", 1, 24}, {"lost", 1, 24}}},
    {"notice", SIM_POINT_FAULT, "not used here", {{"prompt", 0, 0}}},
    {"request", SIM_POINT_FAULT, "a request to the printer",
     {{"prompt", 0, 0}, {"behind_next", 1, 24}, {"behind_timer", 1, 24}, {"late", 1, 40}, {"lost", 1, 24}}},
    {"answer", SIM_POINT_FAULT, "its answer", {{"prompt", 0, 0}, {"behind_next", 1, 24}, {"lost", 1, 16}}},
    {"route", SIM_POINT_FAULT, "which instance takes a message", {{"home", 0, 0}}},
    {"disk.journal", SIM_POINT_WORKLOAD, "how this run keeps its journal", {{"wal", 0, 0}, {"delete", 1, 3}}},
    {"disk.page_size", SIM_POINT_WORKLOAD, "page size of this run", {{"512", 0, 0}}},
    /* Asked by this model. */
    {"printer", SIM_POINT_FAULT, "what the printer does", {{"prints", 0, 0}, {"prints_silently", 1, 16}}},
    {"member.asks", SIM_POINT_WORKLOAD, "how often a member clicks", {{"once", 0, 0}, {"twice", 1, 6}}},
};

static struct sim_catalogue catalogue;
static struct sim_plan plan = {.swarm = true};

static void build_catalogue(void) {
  catalogue.count = sizeof points / sizeof points[0];
  for (size_t p = 0; p < catalogue.count; p++) {
    struct sim_point *point = &catalogue.point[p];
    *point = (struct sim_point){.name = sim_name_of(points[p].name), .meaning = points[p].meaning, .class = points[p].class, .index = (uint8_t)p};
    for (; point->answer_count < SIM_ANSWERS_MAX && points[p].answer[point->answer_count].name != NULL; point->answer_count++) {
      const struct answer *answer = &points[p].answer[point->answer_count];
      point->answer[point->answer_count] = sim_name_of(answer->name);
      plan.odds[p][point->answer_count] = (struct sim_odds){answer->numerator, answer->denominator};
    }
  }
}

/* ---- the world: services, messages, tables ---- */

enum service { MEMBERS, DESK, PRINTER, SERVICE_COUNT };
enum kind { WANT_COUPON, COUPON_PRINTED, SEE_CLERK, PRINT, PRINT_DONE, ASK, KIND_COUNT };
static const char *const kinds[KIND_COUNT] = {"WantCoupon", "CouponPrinted", "SeeClerk", "Print", "PrintDone", "Ask"};

enum status { STATUS_NONE, STATUS_SENT, STATUS_PRINTED, STATUS_UNCLEAR };
enum column { COLUMN_MEMBER, COLUMN_STATUS };
enum statement { READ_STATUS, WRITE_STATUS, CLEAR_UP, RECORD_BOOT };
static const char schema[] =
    "CREATE TABLE coupons(member INTEGER PRIMARY KEY, status INTEGER NOT NULL);"
    "CREATE TABLE boots(desk INTEGER PRIMARY KEY, life INTEGER NOT NULL);";
static const char *const tables[] = {"coupons"}; /* whose rows the invariants follow */
static const char *const statements[] = {
    [READ_STATUS] = "SELECT status FROM coupons WHERE member=?",
    [WRITE_STATUS] = "INSERT INTO coupons VALUES(?1, ?2) ON CONFLICT(member) DO UPDATE SET status=?2",
    [CLEAR_UP] = "UPDATE coupons SET status=3 WHERE status=1", /* what a dead process left as sent is unclear */
    [RECORD_BOOT] = "INSERT OR REPLACE INTO boots VALUES(1, ?)",
};

enum invariant { PRINTED_AT_MOST_ONCE, EVERY_MEMBER_ENDS, INVARIANT_COUNT };
static const struct sim_invariant invariants[INVARIANT_COUNT] = {
    [PRINTED_AT_MOST_ONCE] = {"printed_at_most_once", SIM_ALWAYS, "A member's coupon is printed at most once.",
                              "a member asked again after the coupon had been printed", "Commit the intent before the call, and never repeat a call whose outcome is unknown."},
    [EVERY_MEMBER_ENDS] = {"every_member_ends", SIM_EVENTUALLY, "Every member's coupon is recorded as printed, or the member is on the clerk's list.",
                           "a process of the desk died, or a call went unanswered", "Decide after a restart what the process before it left undecided."},
};

enum { MEMBER_COUNT = 2 };

/* One run. The desk reads print_first alone; the rest belongs to the outside and to the invariants. */
struct coupons {
  bool print_first; /* the mistake: call the printer, then write it down */
  struct {
    int64_t printed; /* the printer's ledger */
    bool done;
    uint32_t tries;
    struct sim_timer again;
  } member[MEMBER_COUNT + 1];
  int64_t busy;
};

static struct coupons *coupons_of(struct sim_node *node) { return sim_world_model(sim_node_world(node)); }
static struct sim_id coupon_id(int64_t member) { return sim_id_join("coupon:", member, ""); }

/* Ask one of this model's own points about a message. */
static int decide(struct sim_node *node, const char *name, const struct sim_message *message, const char *step) {
  struct sim_world *world = sim_node_world(node);
  const struct sim_point *point = sim_world_point(world, name);
  struct sim_subject subject = {.what = sim_world_kind(world, message->kind), .id = &message->id, .attempt = message->attempt, .step = step};
  return sim_decide(sim_world_decisions(world), point, &subject, sim_point_all(point));
}

/* ---- the desk: ours ---- */

static const int64_t PRINT_TIMEOUT_NS = 10 * SIM_SECOND;

static enum status read_status(struct sim_node *node, int64_t member) {
  sqlite3_stmt *row = sim_sql_query(node, READ_STATUS, "i", member);
  enum status status = row == NULL ? STATUS_NONE : (enum status)sqlite3_column_int(row, 0);
  sim_sql_done(row);
  return status;
}

/* A COMMIT that failed may have taken place: only a restart, which reads again, can tell. */
static void commit_or_stop(struct sim_node *node, const char *step) {
  if (sim_sql_commit(node, step) == SIM_COMMIT_FAILED) sim_node_stop(node);
}

static void write_status(struct sim_node *node, int64_t member, enum status status, const char *step) {
  sim_sql_begin(node);
  sim_sql_run(node, WRITE_STATUS, "ii", member, (int64_t)status);
  commit_or_stop(node, step);
}

/* Returns false when no answer came: printed, or not, or not yet. */
static bool print(struct sim_node *node, int64_t member, uint32_t attempt) {
  struct sim_message request = {.kind = PRINT, .attempt = attempt, .subject = member, .id = coupon_id(member)};
  struct sim_message answer;
  return sim_call(node, PRINTER, &request, PRINT_TIMEOUT_NS, &answer) == SIM_CALL_ANSWERED;
}

static void hand_out(struct sim_node *node, int64_t member, uint32_t attempt) {
  write_status(node, member, STATUS_SENT, "intent");
  if (print(node, member, attempt)) write_status(node, member, STATUS_PRINTED, "printed");
  else write_status(node, member, STATUS_UNCLEAR, "on the clerk's list");
}

static void hand_out_print_first(struct sim_node *node, int64_t member, uint32_t attempt) {
  if (print(node, member, attempt)) write_status(node, member, STATUS_PRINTED, "printed");
}

static void desk_handle(struct sim_node *node, const struct sim_message *message) {
  int64_t member = message->subject;
  if (read_status(node, member) == STATUS_NONE) {
    if (coupons_of(node)->print_first) hand_out_print_first(node, member, message->attempt);
    else hand_out(node, member, message->attempt);
  }
  enum status status = read_status(node, member);
  if (status == STATUS_NONE) return; /* the member will ask again */
  struct sim_message reply = {.kind = status == STATUS_PRINTED ? COUPON_PRINTED : SEE_CLERK, .attempt = message->attempt, .subject = member, .id = message->id};
  sim_send(node, MEMBERS, &reply, 0);
}

/* After a restart. The boot is recorded so that this commit always writes, and hence syncs: what an earlier failed commit
   left in the cache, and CLEAR_UP only found there, is durable from here on. */
static void desk_start(struct sim_node *node) {
  if (sim_node_life(node) == 1) return;
  sim_sql_begin(node);
  sim_sql_run(node, CLEAR_UP, "");
  sim_sql_run(node, RECORD_BOOT, "i", (int64_t)sim_node_life(node));
  commit_or_stop(node, "cleared up");
}

/* ---- the outside: members and printer ---- */

static const int64_t ASK_AGAIN_NS = 40 * SIM_SECOND;

static void member_asks(struct sim_node *node, int64_t member) {
  struct coupons *coupons = coupons_of(node);
  uint32_t tries = ++coupons->member[member].tries;
  int64_t again_ns = ASK_AGAIN_NS << (tries < 10 ? tries : 10);
  struct sim_message want = {.kind = WANT_COUPON, .attempt = tries, .subject = member, .id = coupon_id(member)};
  struct sim_message timer = want;
  timer.kind = ASK;
  coupons->member[member].again = sim_timer_set(node, again_ns, &timer);
  sim_send(node, DESK, &want, again_ns);
  if (decide(node, "member.asks", &want, "asks") == 0) return;
  sim_send(node, DESK, &want, again_ns);
}

static void members_handle(struct sim_node *node, const struct sim_message *message) {
  struct coupons *coupons = coupons_of(node);
  int64_t member = message->subject;
  if (coupons->member[member].done) return;
  if (message->kind == ASK) {
    member_asks(node, member);
    return;
  }
  coupons->member[member].done = true;
  sim_timer_cancel(node, &coupons->member[member].again);
  if (--coupons->busy == 0) sim_world_workload_done(sim_node_world(node));
}

static void printer_handle(struct sim_node *node, const struct sim_message *message) {
  struct sim_world *world = sim_node_world(node);
  int64_t member = message->subject;
  int64_t copy = ++coupons_of(node)->member[member].printed;
  sim_note(world, (uint64_t)member, (uint64_t)copy, 0);
  sim_tell(world, "printer", "LEDGER: copy %" PRId64 " of %s", copy, message->id.text);
  if (copy > 1) sim_violated(world, PRINTED_AT_MOST_ONCE, "The coupon of member %" PRId64 " is printed %" PRId64 " times.", member, copy);
  if (decide(node, "printer", message, "at the printer") != 0) return;
  struct sim_message answer = {.kind = PRINT_DONE, .subject = member, .id = message->id};
  sim_answer(node, message->call, &answer);
}

static const struct sim_service services[SERVICE_COUNT] = {
    [MEMBERS] = {.name = "members", .outside = true, .handle = members_handle},
    [DESK] = {.name = "desk", .actor = true, .schema = schema, .table = tables, .table_count = 1, .statement = statements,
              .statement_count = sizeof statements / sizeof statements[0], .start = desk_start, .handle = desk_handle},
    [PRINTER] = {.name = "printer", .outside = true, .handle = printer_handle},
};

/* ---- what the invariants see ---- */

static void on_delivered(struct sim_node *node, const struct sim_message *message) {
  if (sim_node_service(node) != DESK) return;
  if (coupons_of(node)->member[message->subject].printed > 0) sim_danger(sim_node_world(node), PRINTED_AT_MOST_ONCE);
}

static void on_answered(struct sim_node *node, const struct sim_message *request, const struct sim_message *answer) {
  (void)request;
  if (answer == NULL) sim_danger(sim_node_world(node), EVERY_MEMBER_ENDS);
}

static void on_crashed(struct sim_node *node) { sim_danger(sim_node_world(node), EVERY_MEMBER_ENDS); }

static void on_judge(struct sim_world *world) {
  bool ended[MEMBER_COUNT + 1] = {false};
  for (size_t i = 0; i < sim_durable_count(world, DESK, 0); i++) {
    const struct sim_row *row = sim_durable_row(world, DESK, 0, i);
    ended[row->cell[COLUMN_MEMBER].number] = row->cell[COLUMN_STATUS].number != STATUS_SENT;
  }
  for (int64_t member = 1; member <= MEMBER_COUNT; member++) {
    if (!ended[member]) sim_violated(world, EVERY_MEMBER_ENDS, "Member %" PRId64 " ends with no coupon on record and not on the clerk's list.", member);
  }
}

static const struct sim_observer observer = {.delivered = on_delivered, .answered = on_answered, .crashed = on_crashed, .judge = on_judge};

static bool describe(const struct sim_message *message, char *out, size_t size) {
  snprintf(out, size, "%s", message->id.text);
  return true;
}

/* ---- one run ---- */

struct result {
  bool broken;
  uint64_t violated, in_danger, digest;
};

/* Call sim_decisions_begin_seed or _list first. */
static struct result run(struct sim_world *world, bool print_first, bool telling) {
  static struct coupons coupons;
  static struct sim_setup setup = {.scenario = "coupon",
                                   .scenario_seed = 1,
                                   .instance_count = {[MEMBERS] = 1, [DESK] = 1, [PRINTER] = 1},
                                   .durability = SIM_DURABILITY_FULL,
                                   .request_lifetime_ns = 10 * SIM_MINUTE,
                                   .lease_ns = SIM_MINUTE,
                                   .retry_window_ns = 2 * SIM_DAY,
                                   .dedup_retention_ns = 7 * SIM_DAY,
                                   .faults_until_ns = SIM_DAY,
                                   .resolve_within_ns = 30 * SIM_DAY,
                                   .observer = &observer,
                                   .model = &coupons,
                                   .describe = describe};
  coupons = (struct coupons){.print_first = print_first, .busy = MEMBER_COUNT}; /* before begin, which boots the desk */
  sim_world_begin(world, &setup, telling);
  struct sim_node *members = sim_world_node(world, MEMBERS, 0);
  for (int64_t member = 1; member <= MEMBER_COUNT; member++) {
    struct sim_message ask = {.kind = ASK, .subject = member, .id = coupon_id(member)};
    coupons.member[member].again = sim_timer_set(members, member * SIM_SECOND, &ask);
  }
  enum sim_end end = sim_world_run(world);
  const struct sim_judgement *judgement = sim_world_judgement(world);
  return (struct result){judgement->violated != 0 || end == SIM_END_STUCK, judgement->violated, judgement->in_danger, sim_world_digest(world)};
}

static struct result run_seed(struct sim_world *world, bool print_first, uint64_t seed, bool telling) {
  sim_decisions_begin_seed(sim_world_decisions(world), &plan, seed);
  return run(world, print_first, telling);
}

static struct result run_list(struct sim_world *world, bool print_first, struct sim_fault *list, size_t count, bool telling) {
  sim_decisions_begin_list(sim_world_decisions(world), &plan, list, count);
  return run(world, print_first, telling);
}

/* ---- many runs ---- */

/* Drop each fault without which the run is still broken. Returns how many are left. */
static size_t shrink(struct sim_world *world, bool print_first, struct sim_fault *list, size_t count) {
  for (size_t i = count; i-- > 0;) {
    struct sim_fault dropped = list[i];
    size_t behind = (count - i - 1) * sizeof list[0];
    memmove(&list[i], &list[i + 1], behind);
    if (run_list(world, print_first, list, count - 1, false).broken) {
      count--;
      continue;
    }
    memmove(&list[i + 1], &list[i], behind);
    list[i] = dropped;
  }
  return count;
}

static void print_faults(const struct sim_decisions *decisions) {
  for (size_t i = 0; i < decisions->fault_count; i++) printf("    %s\n", decisions->fault[i].words);
}

static void print_story(struct sim_world *world) {
  const struct sim_trace *trace = sim_world_trace(world);
  for (size_t i = 0; i < trace->line_count; i++) {
    const struct sim_story_line *line = &trace->line[i];
    printf("    %9" PRId64 ".%03" PRId64 " s  %-8s %s\n", line->time_ns / SIM_SECOND, line->time_ns % SIM_SECOND / SIM_MS, line->who, line->text);
  }
}

/* Tell the run of this seed: all its faults, then the fewest that break it too, and what happens with those. */
static bool explain(struct sim_world *world, bool print_first, uint64_t seed) {
  static struct sim_fault list[SIM_FAULTS_MAX];
  const struct sim_decisions *decisions = sim_world_decisions(world);
  uint64_t digest = run_seed(world, print_first, seed, true).digest;
  size_t count = decisions->fault_count;
  memcpy(list, decisions->fault, count * sizeof list[0]);
  printf("  seed %" PRIu64 ", %zu faults:\n", seed, count);
  print_faults(decisions);
  bool same = run_list(world, print_first, list, count, false).digest == digest;
  printf("  its fault list replays %s\n", same ? "with the same digest" : "DIFFERENTLY");
  count = shrink(world, print_first, list, count);
  run_list(world, print_first, list, count, true);
  printf("  enough to break it:\n");
  print_faults(decisions);
  printf("  what happens:\n");
  print_story(world);
  return same;
}

/* Run seeds 1 to `seed_count`. Returns whether all is as expected. */
static bool campaign(struct sim_world *world, bool print_first, uint64_t seed_count) {
  uint64_t broken[INVARIANT_COUNT] = {0}, exercised[INVARIANT_COUNT] = {0};
  uint64_t broken_count = 0, first_broken = 0;
  for (uint64_t seed = 1; seed <= seed_count; seed++) {
    struct result result = run_seed(world, print_first, seed, false);
    for (unsigned i = 0; i < INVARIANT_COUNT; i++) {
      broken[i] += result.violated >> i & 1;
      exercised[i] += result.in_danger >> i & 1;
    }
    if (result.broken && broken_count++ == 0) first_broken = seed;
  }
  printf("%s: %" PRIu64 " of %" PRIu64 " runs are broken\n", print_first ? "print first, then write it down" : "write it down, then print", broken_count, seed_count);
  for (unsigned i = 0; i < INVARIANT_COUNT; i++) printf("  %-22s violated in %" PRIu64 ", in danger in %" PRIu64 "\n", invariants[i].name, broken[i], exercised[i]);
  bool same = broken_count == 0 || explain(world, print_first, first_broken);
  return same && (broken_count > 0) == print_first;
}

int main(int count, char **argument) {
  int at = 1;
  bool broken_only = at < count && strcmp(argument[at], "--broken") == 0;
  if (broken_only) at++;
  char *end = NULL;
  unsigned long long seed_count = at < count ? strtoull(argument[at++], &end, 10) : 2000;
  if (at < count || seed_count == 0 || seed_count > 1000000000 || (end != NULL && *end != '\0')) {
    fprintf(stderr, "usage: coupon [--broken] [SEEDS]\n");
    return 4;
  }
  build_catalogue();
  struct sim_world *world = sim_world_create(&catalogue, services, SERVICE_COUNT, kinds, KIND_COUNT);
  bool expected = broken_only || campaign(world, false, seed_count);
  if (!campaign(world, true, seed_count)) expected = false;
  sim_world_destroy(world);
  return expected ? 0 : 1;
}
