#include "sim/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/check.h"
#include "sim/internal.h"
#include "sim/vfs.h"

static const struct sim_point *need_point(const struct sim_catalogue *catalogue, const char *name) {
  const struct sim_point *point = sim_catalogue_find(catalogue, name);
  REQUIRE(point != NULL && "the catalogue lacks a point of sim");
  return point;
}

/* A point of sim's own, with the answers that sim's code numbers; the last ones may be left out. */
static const struct sim_point *own_point(const struct sim_catalogue *catalogue, const char *name, const char *answers) {
  bool of_endpoints = strcmp(name, "error_queue") == 0; /* worlds without endpoints need no such point */
  if (of_endpoints && sim_catalogue_find(catalogue, name) == NULL) return NULL;
  const struct sim_point *point = need_point(catalogue, name);
  char listed[200] = "";
  for (int a = 0; a < point->answer_count; a++) {
    size_t used = strlen(listed);
    snprintf(listed + used, sizeof listed - used, "%s%s", a ? " " : "", point->answer[a].text);
  }
  size_t size = strlen(listed);
  bool prefix = size > 0 && strncmp(listed, answers, size) == 0 && (answers[size] == '\0' || answers[size] == ' ');
  REQUIRE(prefix && "the catalogue's answers differ from sim/points.def");
  return point;
}

static void look_up_points(struct sim_world *world) {
#define SIM_POINT(field, name, answers) world->point.field = own_point(world->catalogue, name, answers);
#include "sim/points.def"
#undef SIM_POINT
}

static const char *joined(const char *a, const char *b) {
  size_t size = strlen(a) + strlen(b) + 1;
  char *text = malloc(size);
  ENSURE(text != NULL);
  snprintf(text, size, "%s%s", a, b);
  return text;
}

static void name_nodes(struct sim_world *world) {
  for (size_t s = 0; s < world->service_count; s++) {
    world->service_name[s] = sim_name_of(world->service[s].name);
    for (size_t i = 0; i < SIM_INSTANCES_MAX; i++) {
      struct sim_node *node = &world->node[s][i];
      if (world->service[s].outside) snprintf(node->name_text, sizeof node->name_text, "%s", world->service[s].name);
      else snprintf(node->name_text, sizeof node->name_text, "%s/%zu", world->service[s].name, i + 1);
      node->name = sim_name_of(node->name_text);
      node->world = world;
      node->service = &world->service[s];
      node->service_index = s;
      node->instance = i;
    }
  }
}

struct sim_world *sim_world_create(const struct sim_catalogue *catalogue, const struct sim_service *service, size_t service_count,
                                   const char *const *kind, size_t kind_count) {
  REQUIRE(service_count <= SIM_SERVICES_MAX);
  sim_vfs_init();
  struct sim_world *world = calloc(1, sizeof *world);
  ENSURE(world != NULL);
  world->catalogue = catalogue;
  world->service = service;
  world->service_count = service_count;
  world->decisions = sim_decisions_create(catalogue);
  world->fibers = sim_fiber_pool_create();
  sim_arena_init(&world->arena, SIM_ARENA_SIZE);
  world->decisions->arena = &world->arena;
  world->trace.arena = &world->arena;
  world->kind = calloc(kind_count + 1, sizeof *world->kind);
  world->kind_sent = calloc(kind_count + 1, sizeof *world->kind_sent);
  world->kind_answered = calloc(kind_count + 1, sizeof *world->kind_answered);
  ENSURE(world->kind != NULL && world->kind_sent != NULL && world->kind_answered != NULL);
  world->kind_count = kind_count;
  for (size_t k = 0; k < kind_count; k++) {
    world->kind[k] = sim_name_of(kind[k]);
    world->kind_sent[k] = joined(kind[k], " sent");
    world->kind_answered[k] = joined(kind[k], " ended");
  }
  look_up_points(world);
  name_nodes(world);
  return world;
}

void sim_world_destroy(struct sim_world *world) {
  sim_sql__release(world);
  sim_decisions_destroy(world->decisions);
  sim_fiber_pool_destroy(world->fibers);
  sim_trace_release(&world->trace);
  sim_arena_release(&world->arena);
  for (size_t k = 0; k < world->kind_count; k++) {
    free((void *)(uintptr_t)world->kind_sent[k]);
    free((void *)(uintptr_t)world->kind_answered[k]);
  }
  free(world->kind);
  free(world->kind_sent);
  free(world->kind_answered);
  free(world);
}

struct sim_event *sim_world__event(struct sim_world *world, enum sim_event_kind kind) {
  struct sim_event *event = sim_arena_take(&world->arena, sizeof *event);
  event->kind = kind;
  return event;
}

void sim_world__push(struct sim_world *world, int64_t time_ns, struct sim_event *event) {
  if (world->queue.count == SIM_EVENTS_MAX) { /* a storm: the run ends here, and is stuck */
    sim_world_exhausted(world, "SIM_EVENTS_MAX");
    return;
  }
  event->number = world->queue.next_number + 1;
  sim_queue_push(&world->queue, time_ns, event);
}

/* Cancelled, or of a life that is over, or an answer nobody waits for: it will change nothing, so it orders nothing. */
static bool is_dead(const struct sim_event *event) {
  if (event->cancelled) return true;
  if (event->node == NULL || event->kind == SIM_EVENT_BOOT) return false;
  if (!event->node->up || event->life != event->node->life) return true;
  return event->kind == SIM_EVENT_ANSWER && !event->call->waiting;
}

const struct sim_queue_item *sim_world__next(struct sim_world *world) {
  for (;;) {
    const struct sim_queue_item *first = sim_queue_first(&world->queue);
    if (first == NULL || !is_dead(first->event)) return first;
    sim_queue_pop(&world->queue);
  }
}

int sim_world__ask(struct sim_world *world, const struct sim_point *point, const struct sim_subject *subject, uint8_t offered) {
  int answer = sim_decide(world->decisions, point, subject, offered);
  if (answer != 0 && point->class == SIM_POINT_FAULT) world->disturbed_ns = world->now_ns;
  return answer;
}

/* Clear what a node carried from the last run; names and places stay. */
static void reset_node(struct sim_node *node, bool present) {
  node->up = present;
  node->starting = false;
  node->life = present ? 1 : 0;
  node->paused_until_ns = 0;
  node->memory = NULL;
  ENSURE(node->task_count == 0);
  node->mailbox_count = 0;
  node->inbox_first = node->inbox_last = NULL;
  node->connection = NULL;
  node->transaction_owner = NULL;
  node->boot = NULL;
}

/* Fibers that still wait when a run ends (stuck runs, or calls of a node nobody answered) are unwound. */
static void kill_leftovers(struct sim_world *world) {
  for (size_t s = 0; s < world->service_count; s++) {
    for (size_t i = 0; i < SIM_INSTANCES_MAX; i++) {
      struct sim_node *node = &world->node[s][i];
      while (node->task_count > 0) sim_fiber_kill(world->fibers, node->task[--node->task_count]->fiber);
    }
  }
}

static void begin_storage(struct sim_world *world, const struct sim_setup *setup) {
  bool wal = setup->durability == SIM_DURABILITY_RELAXED;
  if (setup->durability == SIM_DURABILITY_FULL) {
    wal = sim_decide(world->decisions, world->point.journal, &(struct sim_subject){.step = "journal"},
                     sim_point_all(world->point.journal)) == 0;
  }
  int page = sim_decide(world->decisions, world->point.page_size, &(struct sim_subject){.step = "page size"},
                        sim_point_all(world->point.page_size));
  for (size_t s = 0; s < world->service_count; s++) {
    if (world->service[s].schema == NULL || setup->instance_count[s] == 0) continue;
    sim_sql__begin_run(world, s, setup->instance_count[s], wal, page == 0 ? 512 : 4096);
  }
}

void sim_world_begin(struct sim_world *world, const struct sim_setup *setup, bool telling) {
  kill_leftovers(world);
  sim_arena_reset(&world->arena);
  sim_queue_reset(&world->queue);
  sim_trace_reset(&world->trace, telling);
  world->decisions->telling = telling;
  world->judgement = (struct sim_judgement){0};
  world->setup = setup;
  world->now_ns = world->disturbed_ns = 0;
  world->steps = 0;
  world->workload_done = world->stuck = world->settling = false;
  world->crash = SIM_CRASH_NONE;
  world->restored = false;
  world->waiting_count = world->handled_count = world->sent_count = 0;
  memset(world->error_count, 0, sizeof world->error_count);
  world->current = NULL;
  world->counters.runs++;
  sim_where.scenario = setup->scenario;
  sim_where.seed = world->decisions->seed;
  for (size_t s = 0; s < world->service_count; s++) {
    for (size_t i = 0; i < SIM_INSTANCES_MAX; i++) {
      bool present = i < setup->instance_count[s];
      bool untouched = !present && world->node[s][i].life == 0; /* absent from the last run, too */
      if (!untouched) reset_node(&world->node[s][i], present);
    }
  }
  begin_storage(world, setup);
  sim_vfs_seed(setup->scenario_seed);
  world->disk_digest = 0;
  for (size_t s = 0; s < world->service_count; s++) {
    if (world->service[s].outside) continue;
    for (size_t i = 0; i < setup->instance_count[s]; i++) {
      if (world->node[s][i].up) sim_node__boot(&world->node[s][i]); /* the boot of the one before may have lost power for all */
    }
  }
}

/* An event for a paused node waits for the end of the pause. */
static bool put_off(struct sim_world *world, struct sim_event *event) {
  struct sim_node *node = event->node;
  if (node == NULL || event->kind == SIM_EVENT_BOOT) return false;
  if (node->paused_until_ns > world->now_ns) {
    event->held_by = node;
    sim_world__push(world, node->paused_until_ns, event);
    return true;
  }
  return false;
}

static void handle_timer(struct sim_world *world, struct sim_event *event) {
  const struct sim_message *message = event->message;
  sim_trace_add(&world->trace, world->now_ns, SIM_TRACE_TIMER, event->node->name.hash, world->kind[message->kind].hash, message->id.hash);
  sim_node__handle(event->node, message, event->parcel);
}

static void handle_timeout(struct sim_world *world, struct sim_event *event) {
  struct sim_call *call = event->call;
  if (!call->waiting) return;
  call->waiting = false;
  call->answer = NULL;
  sim_trace_add(&world->trace, world->now_ns, SIM_TRACE_TIMEOUT, event->node->name.hash, world->kind[call->request.kind].hash,
                call->request.id.hash);
  sim_tell(world, event->node->name.text, "gets no answer to %s %s in time: the outcome is unknown", world->kind[call->request.kind].text,
           call->request.id.text);
  sim_node__resume(call->task);
}

static void dispatch(struct sim_world *world, struct sim_event *event) {
  switch (event->kind) {
    case SIM_EVENT_DELIVER:
    case SIM_EVENT_NOTICE: sim_link__deliver(world, event); return;
    case SIM_EVENT_REQUEST: sim_link__request(world, event); return;
    case SIM_EVENT_ANSWER: sim_link__answer(world, event); return;
    case SIM_EVENT_TIMEOUT: handle_timeout(world, event); return;
    case SIM_EVENT_RESUME: sim_node__resume(event->task); return;
    case SIM_EVENT_TIMER: handle_timer(world, event); return;
    case SIM_EVENT_BOOT: sim_node__boot(event->node); return;
    case SIM_EVENT_LEASE: sim_broker__lease_over(world, event->parcel, event->number_of_delivery); return;
    case SIM_EVENT_REQUEUE: sim_broker__requeue(world, event->parcel); return;
  }
}

static void begin_healing(struct sim_world *world) {
  world->decisions->healing = true;
  sim_node__wake_all(world);
}

static void heal_when_due(struct sim_world *world) {
  if (world->decisions->healing) return;
  bool worn_out = world->decisions->fault_count >= SIM_FAULTS_BEFORE_HEALING;
  if (worn_out) {
    begin_healing(world);
    return;
  }
  if (world->now_ns < world->setup->faults_until_ns) return;
  /* A workload that ever new faults keep from finishing does not hold healing up for ever. */
  if (!world->workload_done && world->now_ns < 2 * world->setup->faults_until_ns) return;
  begin_healing(world);
}

bool sim_world_step(struct sim_world *world) {
  heal_when_due(world);
  const struct sim_queue_item *first = sim_world__next(world);
  if (first == NULL || world->stuck) return false;
  if (world->decisions->full != NULL || world->steps >= SIM_STEPS_MAX ||
      first->time_ns > world->disturbed_ns + world->setup->resolve_within_ns) {
    const char *limit = world->decisions->full != NULL ? world->decisions->full : world->steps >= SIM_STEPS_MAX ? "SIM_STEPS_MAX" : NULL;
    if (limit != NULL) sim_tell(world, "=>", "This run goes on without end: it has reached %s.", limit);
    else sim_tell(world, "=>", "This run is not quiet within its time limit.");
    world->stuck = true;
    return false;
  }
  struct sim_queue_item item = sim_queue_pop(&world->queue);
  ENSURE(item.time_ns >= world->now_ns);
  world->now_ns = item.time_ns;
  world->steps++;
  world->counters.steps++;
  sim_where.step = world->steps;
  sim_where.time_ns = world->now_ns;
  if (!put_off(world, item.event)) dispatch(world, item.event);
  if (world->trace.telling) world->trace.path[world->trace.path_count++] = world->trace.full;
  return true;
}

static void final_check(struct sim_world *world) {
  for (size_t s = 0; s < world->service_count; s++) {
    if (world->database[s].storage == NULL || world->setup->instance_count[s] == 0) continue;
    for (size_t i = 0; i < world->setup->instance_count[s]; i++) {
      struct sim_node *node = &world->node[s][i];
      if (!node->up || node->connection == NULL || node->transaction_owner != NULL) continue;
      sim_sql__check_durable(node);
      break;
    }
  }
}

enum sim_end sim_world_run(struct sim_world *world) {
  while (sim_world_step(world)) {}
  world->decisions->healing = true;
  if (!world->stuck) final_check(world);
  if (world->setup->observer != NULL && world->setup->observer->judge != NULL) world->setup->observer->judge(world);
  sim_trace_add(&world->trace, world->now_ns, SIM_TRACE_NOTE, world->judgement.violated, world->stuck, 0);
  kill_leftovers(world);
  sim_sql__end_run(world);
  return world->stuck ? SIM_END_STUCK : SIM_END_QUIET;
}

void sim_world_reopen(struct sim_world *world) {
  for (size_t s = 0; s < world->service_count; s++) {
    if (world->database[s].storage != NULL) sim_sql__reopen(world, s);
  }
}

struct sim_decisions *sim_world_decisions(struct sim_world *world) {
  return world->decisions;
}
struct sim_trace *sim_world_trace(struct sim_world *world) {
  return &world->trace;
}
struct sim_judgement *sim_world_judgement(struct sim_world *world) {
  return &world->judgement;
}
struct sim_arena *sim_world_arena(struct sim_world *world) {
  return &world->arena;
}
const struct sim_counters *sim_world_counters(const struct sim_world *world) { return &world->counters; }
void *sim_world_model(const struct sim_world *world) { return world->setup->model; }
int64_t sim_world_now(const struct sim_world *world) { return world->now_ns; }
uint64_t sim_world_digest(const struct sim_world *world) { return sim_finish(sim_mix(world->trace.full, world->disk_digest)); }
void sim_world_exhausted(struct sim_world *world, const char *limit) { world->decisions->full = limit; }
void sim_world_workload_done(struct sim_world *world) { world->workload_done = true; }

uint32_t sim_world_fault_count(const struct sim_world *world) {
  uint32_t count = 0;
  for (size_t i = 0; i < world->decisions->fault_count; i++) {
    if (world->catalogue->point[world->decisions->fault[i].point].class == SIM_POINT_FAULT) count++;
  }
  return count;
}

const struct sim_point *sim_world_point(const struct sim_world *world, const char *name) { return need_point(world->catalogue, name); }
const struct sim_name *sim_world_kind(const struct sim_world *world, uint16_t kind) { return &world->kind[kind]; }
size_t sim_world_stack_used_max(const struct sim_world *world) { return sim_fiber_stack_used_max(world->fibers); }

struct sim_node *sim_world_node(struct sim_world *world, size_t service, size_t instance) {
  return &world->node[service][instance];
}

void sim_note(struct sim_world *world, uint64_t a, uint64_t b, uint64_t c) {
  sim_trace_add(&world->trace, world->now_ns, SIM_TRACE_NOTE, a, b, c);
}

bool sim_telling(const struct sim_world *world) { return world->trace.telling; }

static const char *format_into_arena(struct sim_world *world, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));
static const char *format_into_arena(struct sim_world *world, const char *format, va_list arguments) {
  char text[600];
  vsnprintf(text, sizeof text, format, arguments);
  return sim_arena_text(&world->arena, text);
}

void sim_tell(struct sim_world *world, const char *who, const char *format, ...) {
  struct sim_trace *trace = &world->trace;
  if (!trace->telling || trace->line_count == SIM_STORY_LINES_MAX) return;
  va_list arguments;
  va_start(arguments, format);
  const char *text = format_into_arena(world, format, arguments);
  va_end(arguments);
  trace->line[trace->line_count++] = (struct sim_story_line){world->now_ns, who, text};
}

void sim_danger(struct sim_world *world, unsigned invariant) {
  REQUIRE(invariant < SIM_INVARIANTS_MAX);
  world->judgement.in_danger |= UINT64_C(1) << invariant;
}

void sim_violated(struct sim_world *world, unsigned invariant, const char *format, ...) {
  REQUIRE(invariant < SIM_INVARIANTS_MAX);
  uint64_t bit = UINT64_C(1) << invariant;
  if ((world->judgement.violated & bit) != 0) return;
  world->judgement.violated |= bit;
  world->judgement.in_danger |= bit;
  world->judgement.time_ns[invariant] = world->now_ns;
  sim_trace_add(&world->trace, world->now_ns, SIM_TRACE_NOTE, UINT64_C(0x10000) + invariant, 0, 0);
  if (!world->trace.telling) return;
  va_list arguments;
  va_start(arguments, format);
  world->judgement.sentence[invariant] = format_into_arena(world, format, arguments);
  va_end(arguments);
  sim_tell(world, "=>", "%s", world->judgement.sentence[invariant]);
}
