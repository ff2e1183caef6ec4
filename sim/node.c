/* Nodes: booting, handlers on fibers, mailboxes of actors, gaps, crashes, pauses, timers. */
#include <string.h>

#include "sim/check.h"
#include "sim/internal.h"

enum { GAP_YIELD = 1, GAP_CRASH, GAP_PAUSE, GAP_PAUSE_DAYS, GAP_POWER_LOST, GAP_THROWS };
enum { RESTART_HOURS = 1, RESTART_DAYS, RESTART_RESTORED };
/* Messages sent by later lives of a node count their tries from 100 a life, so that addresses rarely repeat. */
enum { TRIES_OF_A_LIFE = 100, TRIES_OF_A_DELIVERY = 10 };

static const int64_t RESTART_SECONDS_NS = 5 * SIM_SECOND;
static const int64_t RESTART_HOURS_NS = 3 * SIM_HOUR;
static const int64_t RESTART_DAYS_NS = 3 * SIM_DAY;
static const int64_t PAUSE_DAYS_NS = 3 * SIM_DAY;

struct sim_world *sim_node_world(const struct sim_node *node) {
  return node->world;
}
size_t sim_node_service(const struct sim_node *node) { return node->service_index; }
size_t sim_node_instance(const struct sim_node *node) { return node->instance; }
const char *sim_node_name(const struct sim_node *node) { return node->name.text; }
uint32_t sim_node_life(const struct sim_node *node) { return node->life; }
bool sim_node_up(const struct sim_node *node) { return node->up; }
void *sim_node_memory(const struct sim_node *node) { return node->memory; }
void sim_node_set_memory(struct sim_node *node, void *memory) { node->memory = memory; }

static bool something_due_now(struct sim_world *world) {
  const struct sim_queue_item *next = sim_world__next(world);
  return next != NULL && next->time_ns <= world->now_ns;
}

static bool other_instance_up(const struct sim_node *node) {
  for (size_t i = 0; i < SIM_INSTANCES_MAX; i++) {
    const struct sim_node *other = &node->world->node[node->service_index][i];
    if (other != node && other->up) return true;
  }
  return false;
}

void sim_node__block(struct sim_node *node) {
  struct sim_world *world = node->world;
  struct sim_task *task = world->current;
  world->current = NULL;
  sim_fiber_block(world->fibers);
  world->current = task;
}

/* The event that continues the running task. */
static struct sim_event *wake_event(struct sim_node *node) {
  struct sim_event *event = sim_world__event(node->world, SIM_EVENT_RESUME);
  event->node = node;
  event->life = node->life;
  event->task = node->world->current;
  return event;
}

void sim_node__wait(struct sim_node *node, int64_t delay_ns) {
  struct sim_world *world = node->world;
  sim_world__push(world, world->now_ns + delay_ns, wake_event(node));
  sim_node__block(node);
}

void sim_sleep(struct sim_node *node, int64_t delay_ns) {
  REQUIRE(node->world->current != NULL && !node->world->current->in_transaction);
  sim_node__wait(node, delay_ns);
}

static void pause_node(struct sim_node *node, int64_t duration_ns) {
  struct sim_world *world = node->world;
  node->paused_until_ns = world->now_ns + duration_ns;
  world->counters.pauses++;
  sim_trace_add(&world->trace, world->now_ns, SIM_TRACE_PAUSE, node->name.hash, (uint64_t)(duration_ns >= PAUSE_DAYS_NS), 0);
  sim_tell(world, node->name.text, "FREEZES here for %s and will wake as if nothing had happened",
           duration_ns >= PAUSE_DAYS_NS ? "days" : "longer than any lease");
  const struct sim_observer *observer = world->setup->observer;
  if (observer != NULL && observer->paused != NULL) observer->paused(node, node->paused_until_ns);
  struct sim_event *event = wake_event(node);
  event->held_by = node;
  sim_world__push(world, node->paused_until_ns, event);
  sim_node__block(node);
}

void sim_node__gap(struct sim_node *node, const char *step) {
  struct sim_world *world = node->world;
  if (node->service->outside) return;
  struct sim_task *task = world->current;
  REQUIRE(task != NULL && !task->in_transaction);
  task->subject.step = step;
  uint8_t offered = 1U << GAP_CRASH;
  /* A process frozen inside a transaction would hold its lock for days: another fault than this one, and not modelled. */
  if (node->transaction_owner == NULL) offered |= (1U << GAP_PAUSE) | (1U << GAP_PAUSE_DAYS);
  unsigned unreduced = world->setup->unreduced;
  if (something_due_now(world) || (unreduced & SIM_ASK_YIELD_ALONE)) offered |= 1U << GAP_YIELD;
  if (node->connection != NULL &&
      (sim_disk_unsynced(&node->connection->storage->disk) || other_instance_up(node) || (unreduced & SIM_ASK_POWER_WHEN_SYNCED)))
    offered |= 1U << GAP_POWER_LOST;
  if (task->parcel != NULL) offered |= (uint8_t)(1U << GAP_THROWS);
  int answer = sim_world__ask(world, world->point.gap, &task->subject, offered);
  if (answer == 0) return;
  if (answer == GAP_THROWS) {
    sim_tell(world, node->name.text, "THROWS after \"%s\": the message will come again", step);
    task->failed = true;
    const struct sim_observer *observer = world->setup->observer;
    if (observer != NULL && observer->threw != NULL) observer->threw(node, &task->message);
    sim_node__crash_self(node, SIM_CRASH_TASK, SIM_FATE_KEPT, 0);
  }
  if (answer == GAP_CRASH) {
    sim_tell(world, node->name.text, "CRASHES after \"%s\"", step);
    sim_node__crash_self(node, SIM_CRASH_NODE, SIM_FATE_KEPT, 0);
  }
  if (answer == GAP_POWER_LOST) {
    sim_tell(world, node->name.text, "LOSES POWER after \"%s\"; what was not synced is gone", step);
    sim_node__crash_self(node, SIM_CRASH_POWER, SIM_FATE_LOST, 0);
  }
  if (answer == GAP_PAUSE) pause_node(node, 2 * world->setup->lease_ns);
  else if (answer == GAP_PAUSE_DAYS) pause_node(node, PAUSE_DAYS_NS);
  else sim_node__wait(node, 0);
}

void sim_node__gap_before(struct sim_node *node) {
  if ((node->world->setup->unreduced & SIM_ASK_GAPS_TWICE) != 0 && node->world->current != NULL)
    sim_node__gap(node, "before the next step");
}

_Noreturn void sim_node__crash_self(struct sim_node *node, enum sim_crash_kind kind, enum sim_fate fate, uint64_t die) {
  struct sim_world *world = node->world;
  REQUIRE(world->current != NULL && world->current->node == node);
  world->crash = kind;
  world->crash_node = node;
  world->crash_fate = fate;
  world->crash_die = die;
  sim_fiber_exit(world->fibers);
}

void sim_node_stop(struct sim_node *node) {
  sim_tell(node->world, node->name.text, "stops itself: what its last commit did is unknown");
  sim_node__crash_self(node, SIM_CRASH_NODE, SIM_FATE_KEPT, 0);
}

/* Take a node down: its fibers, timers, mailboxes and memory are gone; its restart is a decision. */
static void take_down(struct sim_node *node) {
  struct sim_world *world = node->world;
  struct sim_observer const *observer = world->setup->observer;
  while (node->task_count > 0) {
    struct sim_task *task = node->task[--node->task_count];
    if (task->fiber != NULL) sim_fiber_kill(world->fibers, task->fiber);
  }
  node->up = false;
  node->memory = NULL;
  node->mailbox_count = 0;
  node->inbox_first = node->inbox_last = NULL;
  node->transaction_owner = NULL;
  node->paused_until_ns = 0;
  world->counters.crashes++;
  sim_trace_add(&world->trace, world->now_ns, SIM_TRACE_CRASH, node->name.hash, node->life, 0);
  if (observer != NULL && observer->crashed != NULL) observer->crashed(node);
  if (node->service->endpoint) sim_broker__node_down(node);
}

static void plan_restart(struct sim_node *node) {
  struct sim_world *world = node->world;
  struct sim_subject subject = {.who = &node->name, .life = node->life, .step = "down"};
  uint8_t offered = (1U << RESTART_HOURS) | (1U << RESTART_DAYS);
  bool restorable = !world->restored && (world->setup->not_restored >> node->service_index & 1) == 0;
  if (restorable && world->database[node->service_index].storage != NULL && !other_instance_up(node)) offered |= 1U << RESTART_RESTORED;
  int answer = sim_world__ask(world, world->point.restart, &subject, offered);
  int64_t delay_ns = answer == RESTART_DAYS ? RESTART_DAYS_NS : answer == RESTART_HOURS ? RESTART_HOURS_NS : RESTART_SECONDS_NS;
  if (answer == RESTART_RESTORED) {
    sim_sql__restore(world, node->service_index);
    world->restored = true; /* one a run: two within days are no longer anybody's design's business */
    world->counters.restores++;
    sim_tell(world, node->name.text, "has its database set back to an older copy");
  }
  struct sim_event *event = sim_world__event(world, SIM_EVENT_BOOT);
  event->node = node;
  node->boot = event;
  sim_world__push(world, world->now_ns + delay_ns, event);
}

/* Carry out the crash that the fiber which just ended itself asked for. */
static void carry_out_crash(struct sim_world *world) {
  enum sim_crash_kind kind = world->crash;
  struct sim_node *node = world->crash_node;
  world->crash = SIM_CRASH_NONE;
  if (kind == SIM_CRASH_NODE) {
    take_down(node);
    if (node->connection != NULL) sim_sql__crash_connection(node, !other_instance_up(node));
    plan_restart(node);
    return;
  }
  world->counters.power_losses++;
  struct sim_node *down[SIM_INSTANCES_MAX];
  size_t down_count = 0;
  for (size_t i = 0; i < SIM_INSTANCES_MAX; i++) {
    struct sim_node *each = &world->node[node->service_index][i];
    if (!each->up) continue;
    take_down(each);
    down[down_count++] = each;
  }
  sim_sql__power_loss(world, node->service_index, world->crash_fate, world->crash_die);
  for (size_t i = 0; i < down_count; i++) plan_restart(down[i]);
}

static struct sim_mailbox *mailbox_of(struct sim_node *node, int64_t subject) {
  for (size_t i = 0; i < node->mailbox_count; i++) {
    if (node->mailbox[i].subject == subject) return &node->mailbox[i];
  }
  ENSURE(node->mailbox_count < SIM_MAILBOXES_MAX);
  struct sim_mailbox *mailbox = &node->mailbox[node->mailbox_count++];
  *mailbox = (struct sim_mailbox){.subject = subject};
  return mailbox;
}

static struct sim_letter *letter_of(struct sim_node *node, const struct sim_message *message) {
  struct sim_letter *letter = sim_arena_take(&node->world->arena, sizeof *letter);
  letter->message = *message;
  return letter;
}

static void append(struct sim_letter **first, struct sim_letter **last, struct sim_letter *letter) {
  if (*first == NULL) *first = letter;
  else (*last)->next = letter;
  *last = letter;
}

static void task_body(void *argument) {
  struct sim_task *task = argument;
  struct sim_node *node = task->node;
  if (task->booting) {
    if (node->life > 1 && node->connection != NULL) {
      sim_sql__check_durable(node);
      const struct sim_observer *observer = node->world->setup->observer;
      if (observer != NULL && observer->recovered != NULL) observer->recovered(node);
    }
    if (node->service->start != NULL) node->service->start(node);
    return;
  }
  sim_node__gap(node, "received");
  node->service->handle(node, &task->message);
}

static void start_task(struct sim_node *node, const struct sim_message *message, struct sim_parcel *parcel, bool booting) {
  struct sim_world *world = node->world;
  struct sim_task *task = sim_arena_take(&world->arena, sizeof *task);
  task->node = node;
  task->life = node->life;
  task->booting = booting;
  task->parcel = parcel;
  task->subject = (struct sim_subject){.who = &node->name, .life = node->life};
  if (message != NULL) {
    task->message = *message;
    task->subject.what = &world->kind[message->kind];
    task->subject.id = &task->message.id;
    task->subject.attempt = message->attempt + (message->from_life > 1 ? (message->from_life - 1) * TRIES_OF_A_LIFE : 0);
    if (message->delivery > 1) task->subject.attempt += (message->delivery - 1) * TRIES_OF_A_DELIVERY;
  }
  ENSURE(node->task_count < SIM_FIBERS_MAX);
  node->task[node->task_count++] = task;
  sim_node__run_task(task);
}

static void forget_task(struct sim_node *node, const struct sim_task *task) {
  for (size_t i = 0; i < node->task_count; i++) {
    if (node->task[i] != task) continue;
    memmove(&node->task[i], &node->task[i + 1], (node->task_count - i - 1) * sizeof node->task[0]);
    node->task_count--;
    return;
  }
}

/* An earlier letter's handler froze the node: this one is handled when it wakes. */
static void hold_letter(struct sim_node *node, const struct sim_letter *letter) {
  struct sim_event *event = sim_world__event(node->world, SIM_EVENT_TIMER);
  event->node = event->held_by = node;
  event->life = node->life;
  event->message = sim_arena_take(&node->world->arena, sizeof *event->message);
  *event->message = letter->message;
  event->parcel = letter->parcel;
  sim_world__push(node->world, node->paused_until_ns, event);
}

static void boot_ended(struct sim_node *node) {
  node->starting = false;
  if (node->service->endpoint) sim_broker__node_up(node->world, node->service_index);
  struct sim_letter *letter = node->inbox_first;
  uint32_t life = node->life;
  node->inbox_first = node->inbox_last = NULL;
  for (; letter != NULL && node->up && node->life == life; letter = letter->next) {
    if (node->paused_until_ns > node->world->now_ns) hold_letter(node, letter);
    else sim_node__handle(node, &letter->message, letter->parcel);
  }
}

/* An endpoint that was as busy as it may be has a place for the next message. */
static void take_next(struct sim_node *node) {
  struct sim_letter *letter = node->inbox_first;
  if (letter == NULL || !node->up || node->starting) return;
  node->inbox_first = letter->next;
  if (node->inbox_first == NULL) node->inbox_last = NULL;
  start_task(node, &letter->message, letter->parcel, false);
}

/* A task ended by itself: let its mailbox go on with the next letter. */
static void task_ended(struct sim_task *task) {
  struct sim_node *node = task->node;
  ENSURE(!task->in_transaction);
  forget_task(node, task);
  if (task->parcel != NULL && task->failed) sim_broker__thrown(node->world, task->parcel, task->message.delivery);
  else if (task->parcel != NULL) sim_broker__done(node->world, task->parcel, task->message.delivery);
  if (task->booting) {
    boot_ended(node);
    return;
  }
  if (node->service->endpoint) {
    take_next(node);
    return;
  }
  if (!node->service->actor) return;
  struct sim_mailbox *mailbox = mailbox_of(node, task->message.subject);
  mailbox->busy = false;
  struct sim_letter *letter = mailbox->first;
  if (letter == NULL) { /* idle: its place is free for another subject */
    *mailbox = node->mailbox[--node->mailbox_count];
    return;
  }
  mailbox->first = letter->next;
  mailbox->busy = true;
  start_task(node, &letter->message, NULL, false);
}

/* What follows when control is back from a fiber. */
static void after_fiber(struct sim_task *task, bool blocked) {
  struct sim_world *world = task->node->world;
  world->current = NULL;
  if (world->crash == SIM_CRASH_TASK) {
    world->crash = SIM_CRASH_NONE;
    task->fiber = NULL;
    task_ended(task);
    return;
  }
  if (world->crash != SIM_CRASH_NONE) {
    task->fiber = NULL;
    forget_task(task->node, task);
    carry_out_crash(world);
    return;
  }
  if (!blocked) task_ended(task);
}

void sim_node__run_task(struct sim_task *task) {
  struct sim_world *world = task->node->world;
  world->current = task;
  struct sim_fiber *fiber = sim_fiber_start(world->fibers, task_body, task);
  task->fiber = fiber;
  after_fiber(task, fiber != NULL);
}

void sim_node__resume(struct sim_task *task) {
  struct sim_world *world = task->node->world;
  world->current = task;
  bool blocked = sim_fiber_resume(world->fibers, task->fiber);
  after_fiber(task, blocked);
}

void sim_node__handle(struct sim_node *node, const struct sim_message *message, struct sim_parcel *parcel) {
  if (node->service->outside) {
    node->service->handle(node, message);
    return;
  }
  bool busy = node->service->endpoint && node->task_count >= SIM_ENDPOINT_TASKS;
  if (node->starting || busy) {
    struct sim_letter *letter = letter_of(node, message);
    letter->parcel = parcel;
    append(&node->inbox_first, &node->inbox_last, letter);
    return;
  }
  if (node->service->actor) {
    struct sim_mailbox *mailbox = mailbox_of(node, message->subject);
    if (mailbox->busy) {
      append(&mailbox->first, &mailbox->last, letter_of(node, message));
      return;
    }
    mailbox->busy = true;
  }
  start_task(node, message, parcel, false);
}

void sim_node__boot(struct sim_node *node) {
  struct sim_world *world = node->world;
  node->boot = NULL;
  if (world->steps > 0 || node->life == 0) {
    if (node->up) return;
    node->up = true;
    node->life++;
    sim_tell(world, node->name.text, "is up again (life %u)", node->life);
  }
  sim_trace_add(&world->trace, world->now_ns, SIM_TRACE_BOOT, node->name.hash, node->life, 0);
  if (node->service->start == NULL && node->service->endpoint) sim_broker__node_up(world, node->service_index);
  if (node->life == 1 && node->service->start == NULL) return;
  node->starting = true;
  start_task(node, NULL, NULL, true);
}

/* Bring what was put off to the end of a pause to the present, in its order, behind what is due now. */
static void release_held(struct sim_world *world) {
  static struct sim_queue_item item[SIM_EVENTS_MAX];
  size_t count = 0;
  while (sim_queue_first(&world->queue) != NULL) item[count++] = sim_queue_pop(&world->queue);
  for (size_t i = 0; i < count; i++) {
    struct sim_event *event = item[i].event;
    const struct sim_node *node = event->held_by;
    bool held = node != NULL && node->paused_until_ns > world->now_ns && item[i].time_ns == node->paused_until_ns;
    sim_world__push(world, held ? world->now_ns : item[i].time_ns, event);
  }
}

void sim_node__wake_all(struct sim_world *world) {
  release_held(world);
  for (size_t s = 0; s < world->service_count; s++) {
    for (size_t i = 0; i < SIM_INSTANCES_MAX; i++) {
      struct sim_node *node = &world->node[s][i];
      if (node->paused_until_ns > world->now_ns) node->paused_until_ns = world->now_ns;
      if (node->boot == NULL) continue;
      node->boot->cancelled = true;
      struct sim_event *event = sim_world__event(world, SIM_EVENT_BOOT);
      event->node = node;
      node->boot = event;
      sim_world__push(world, world->now_ns, event);
    }
  }
}

struct sim_timer sim_timer_set(struct sim_node *node, int64_t delay_ns, const struct sim_message *message) {
  struct sim_world *world = node->world;
  struct sim_event *event = sim_world__event(world, SIM_EVENT_TIMER);
  event->node = node;
  event->life = node->life;
  event->message = sim_arena_take(&world->arena, sizeof *event->message);
  *event->message = *message;
  event->message->from = node;
  event->message->from_life = node->life;
  event->message->copy = 1;
  sim_world__push(world, world->now_ns + delay_ns, event);
  return (struct sim_timer){event->number, event};
}

void sim_timer_cancel(struct sim_node *node, struct sim_timer *timer) {
  (void)node;
  if (timer->number != 0) timer->event->cancelled = true;
  *timer = (struct sim_timer){0};
}
