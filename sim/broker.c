/* The broker: one durable queue for each endpoint. No fault touches what it holds. A message that was sent to it stays until a
   handler has returned; while one works on it, it is leased. A handler that dies or freezes loses the lease, one that throws
   gives it back: then the message is delivered again, at once for some tries, later for some rounds, and after that it lies
   in the error queue until somebody requeues it.

     sent -> ready -> leased -> done          leased -> ready (lease over, thrown)          thrown too often -> error queue -> ready

   Where the profile says so, a message of the same content that is sent again soon is accepted and dropped, and a node that crashes
   gets again what it had handled not long ago: its position in the queue was not yet stored.

   The fate of a message on its way is asked as for any other of the bus, but for "lost": it can be doubled, put off, or come
   days later. */
#include <string.h>

#include "sim/check.h"
#include "sim/internal.h"

enum { DAY_LATER, DAYS_LATER, LEFT };
static const int64_t NEXT_TRY_NS = SIM_MS;

/* A quarter of an hour of tries, as many brokers come configured. */
static const struct sim_broker usual = {
    .name = "usual", .tries_at_once = 3, .rounds_later = 4, .round_gap_ns = 30 * SIM_SECOND, .round_gap_max_ns = 10 * SIM_MINUTE};

static const struct sim_broker *broker_of(const struct sim_world *world) {
  return world->setup->broker != NULL ? world->setup->broker : &usual;
}

static int64_t lease_of(const struct sim_world *world) {
  int64_t lease_ns = broker_of(world)->lease_ns;
  return lease_ns != 0 ? lease_ns : world->setup->lease_ns;
}

/* Put the message where it will be delivered from, then. */
static void make_ready(struct sim_world *world, struct sim_parcel *parcel, int64_t delay_ns) {
  struct sim_event *event = sim_world__event(world, SIM_EVENT_DELIVER);
  event->service = parcel->service;
  event->message = &parcel->message;
  event->parcel = parcel;
  event->asked = true;
  parcel->state = SIM_PARCEL_READY;
  sim_world__push(world, world->now_ns + delay_ns, event);
}

struct sim_parcel *sim_broker__take(struct sim_world *world, size_t service, const struct sim_message *message) {
  struct sim_parcel *parcel = sim_arena_take(&world->arena, sizeof *parcel);
  parcel->message = *message;
  parcel->service = service;
  parcel->state = SIM_PARCEL_READY;
  return parcel;
}

bool sim_broker__drops_repeat(struct sim_world *world, size_t service, const struct sim_message *message) {
  int64_t window_ns = broker_of(world)->dedup_ns;
  if (window_ns == 0) return false;
  uint64_t content = sim_mix(sim_mix(message->id.hash, message->kind), service);
  for (size_t v = 0; v < SIM_VALUES_MAX; v++) content = sim_mix(content, (uint64_t)message->value[v]);
  size_t kept = 0;
  bool repeat = false;
  for (size_t i = 0; i < world->sent_count; i++) {
    if (world->now_ns - world->sent[i].at_ns >= window_ns) continue;
    repeat = repeat || world->sent[i].content == content;
    world->sent[kept++] = world->sent[i];
  }
  world->sent_count = kept;
  if (repeat) {
    sim_tell(world, "broker", "drops %s %s: the same was sent not long ago", world->kind[message->kind].text, message->id.text);
    return true;
  }
  ENSURE(world->sent_count < SIM_PARCELS_MAX);
  world->sent[world->sent_count++] = (struct sim_sent){content, world->now_ns};
  return false;
}

/* The oldest makes room: what a crash brings again is bounded by time, and by that. */
static void note_handled(struct sim_world *world, struct sim_parcel *parcel) {
  if (broker_of(world)->rereads_ns == 0) return;
  parcel->done_ns = world->now_ns;
  if (world->handled_count == SIM_PARCELS_MAX)
    memmove(&world->handled[0], &world->handled[1], --world->handled_count * sizeof world->handled[0]);
  world->handled[world->handled_count++] = parcel;
}

void sim_broker__node_down(struct sim_node *node) {
  struct sim_world *world = node->world;
  size_t kept = 0;
  for (size_t i = 0; i < world->handled_count; i++) {
    struct sim_parcel *parcel = world->handled[i];
    bool again = parcel->node == node && world->now_ns - parcel->done_ns < broker_of(world)->rereads_ns;
    if (again) make_ready(world, parcel, 0);
    else world->handled[kept++] = parcel;
  }
  world->handled_count = kept;
}

void sim_broker__wait_for_node(struct sim_world *world, struct sim_parcel *parcel) {
  ENSURE(world->waiting_count < SIM_PARCELS_MAX);
  parcel->state = SIM_PARCEL_WAITING;
  world->waiting[world->waiting_count++] = parcel;
}

void sim_broker__node_up(struct sim_world *world, size_t service) {
  size_t kept = 0;
  for (size_t i = 0; i < world->waiting_count; i++) {
    if (world->waiting[i]->service == service) make_ready(world, world->waiting[i], 0);
    else world->waiting[kept++] = world->waiting[i];
  }
  world->waiting_count = kept;
}

void sim_broker__lease(struct sim_world *world, struct sim_parcel *parcel, struct sim_node *node) {
  parcel->state = SIM_PARCEL_LEASED;
  parcel->node = node;
  parcel->deliveries++;
  parcel->message.delivery = parcel->deliveries;
  struct sim_event *event = sim_world__event(world, SIM_EVENT_LEASE);
  event->parcel = parcel;
  event->number_of_delivery = parcel->deliveries;
  parcel->lease_end = event;
  sim_world__push(world, world->now_ns + lease_of(world), event);
}

void sim_broker__lease_over(struct sim_world *world, struct sim_parcel *parcel, uint32_t delivery) {
  if (parcel->state != SIM_PARCEL_LEASED || parcel->deliveries != delivery) return;
  sim_tell(world, "broker", "gets no word of %s %s in time, and delivers it again", world->kind[parcel->message.kind].text,
           parcel->message.id.text);
  make_ready(world, parcel, 0);
}

static bool is_stale(const struct sim_parcel *parcel, uint32_t delivery) {
  return parcel->state != SIM_PARCEL_LEASED || parcel->deliveries != delivery;
}

void sim_broker__done(struct sim_world *world, struct sim_parcel *parcel, uint32_t delivery) {
  if (is_stale(parcel, delivery)) return; /* the lease was lost meanwhile */
  parcel->lease_end->cancelled = true;
  parcel->state = SIM_PARCEL_DONE;
  note_handled(world, parcel);
}

static void into_error_queue(struct sim_world *world, struct sim_parcel *parcel) {
  parcel->state = SIM_PARCEL_IN_ERROR_QUEUE;
  world->error_count[parcel->service]++;
  sim_tell(world, "broker", "GIVES %s %s UP: it lies in the error queue", world->kind[parcel->message.kind].text, parcel->message.id.text);
  const struct sim_observer *observer = world->setup->observer;
  if (observer != NULL && observer->given_up != NULL) observer->given_up(world, parcel->service, &parcel->message);
  struct sim_subject subject = {.what = &world->kind[parcel->message.kind],
                                .id = &parcel->message.id,
                                .attempt = parcel->message.attempt,
                                .step = "in the error queue"};
  int answer = world->point.error_queue == NULL
                   ? DAY_LATER
                   : sim_world__ask(world, world->point.error_queue, &subject, sim_point_all(world->point.error_queue));
  if (answer == LEFT || parcel->requeued++ >= SIM_REQUEUES_MAX) return;
  struct sim_event *event = sim_world__event(world, SIM_EVENT_REQUEUE);
  event->parcel = parcel;
  sim_world__push(world, world->now_ns + (answer == DAYS_LATER ? 5 : 1) * SIM_DAY, event);
}

void sim_broker__requeue(struct sim_world *world, struct sim_parcel *parcel) {
  world->error_count[parcel->service]--;
  parcel->thrown = 0;
  sim_tell(world, "operator", "requeues %s %s", world->kind[parcel->message.kind].text, parcel->message.id.text);
  make_ready(world, parcel, 0);
}

void sim_broker__thrown(struct sim_world *world, struct sim_parcel *parcel, uint32_t delivery) {
  const struct sim_broker *broker = broker_of(world);
  if (is_stale(parcel, delivery)) return;
  parcel->lease_end->cancelled = true;
  uint32_t tries = ++parcel->thrown;
  uint32_t at_once = broker->tries_at_once > 0 ? broker->tries_at_once : 1;
  uint32_t round = tries / at_once; /* 0: the first one is still under way */
  if (tries % at_once != 0) {
    make_ready(world, parcel, NEXT_TRY_NS);
  } else if (round <= broker->rounds_later || broker->never_gives_up) {
    int64_t gap_ns = broker->round_gap_ns;
    for (uint32_t i = 1; i < round && gap_ns < broker->round_gap_max_ns; i++) gap_ns *= 2;
    make_ready(world, parcel, gap_ns < broker->round_gap_max_ns ? gap_ns : broker->round_gap_max_ns);
  } else if (broker->drops) {
    parcel->state = SIM_PARCEL_DONE;
    sim_tell(world, "broker", "DROPS %s %s", world->kind[parcel->message.kind].text, parcel->message.id.text);
  } else {
    into_error_queue(world, parcel);
  }
}

size_t sim_broker_error_count(const struct sim_world *world, size_t service) { return world->error_count[service]; }

void sim_message_failed(struct sim_node *node) {
  struct sim_task *task = node->world->current;
  REQUIRE(task != NULL && task->parcel != NULL && !task->in_transaction);
  sim_tell(node->world, node->name.text, "fails to handle %s %s: it will come again", node->world->kind[task->message.kind].text,
           task->message.id.text);
  task->failed = true;
}
