/* Links. A message's fate is asked once, at delivery, when it is known what it would overtake. Bus messages may be lost,
   doubled or put off up to days; a call's request and answer may be lost or put off at most request_lifetime, never
   doubled; notices may also be given up, or come as a twin under another id. */
#include <string.h>

#include "sim/check.h"
#include "sim/internal.h"

enum { BUS_BEHIND_NEXT = 1, BUS_BEHIND_TIMER, BUS_DOUBLED, BUS_LOST, BUS_PAST_RETRIES, BUS_DAYS };
enum { NOTICE_BEHIND_NEXT = 1, NOTICE_DOUBLED, NOTICE_TWIN, NOTICE_LOST, NOTICE_DAYS, NOTICE_GIVEN_UP };
enum { REQUEST_BEHIND_NEXT = 1, REQUEST_BEHIND_TIMER, REQUEST_LATE, REQUEST_LOST };
enum { ANSWER_BEHIND_NEXT = 1, ANSWER_LOST };

enum { TWIN_ATTEMPT = 1000 }; /* a twin is told apart by its try number */
static const int64_t LATENCY_NS = SIM_MS;
static const int64_t NOTICE_GAP_NS = SIM_MINUTE; /* given up: the sender's last try comes after nobody expects it, i.e. never */

static struct sim_subject subject_of(struct sim_world *world, const struct sim_message *message, const char *step) {
  return (struct sim_subject){.who = message->from ? &message->from->name : NULL,
                              .life = message->from_life,
                              .what = &world->kind[message->kind],
                              .id = &message->id,
                              .attempt = message->attempt,
                              .step = step};
}

static struct sim_event *message_event(struct sim_world *world, enum sim_event_kind kind, struct sim_node *from, size_t to_service,
                                       const struct sim_message *message) {
  struct sim_event *event = sim_world__event(world, kind);
  event->service = to_service;
  event->message = sim_arena_take(&world->arena, sizeof *event->message);
  *event->message = *message;
  event->message->from = from;
  event->message->from_life = from->life;
  event->message->sent_ns = world->now_ns;
  event->message->copy = 1;
  return event;
}

static void tell_message(struct sim_world *world, struct sim_node *from, const char *verb, const struct sim_message *message,
                         size_t to_service) {
  if (!world->trace.telling) return;
  char words[400] = "";
  if (world->setup->describe != NULL && !world->setup->describe(message, words, sizeof words)) return;
  sim_tell(world, from->name.text, "%s %s%s%s %s %s", verb, world->kind[message->kind].text, words[0] ? " " : "", words,
           strcmp(verb, "calls") == 0 ? "at" : "to", world->service_name[to_service].text);
}

static void leave(struct sim_node *node, const struct sim_message *message) {
  const struct sim_observer *observer = node->world->setup->observer;
  if (!node->service->outside && observer != NULL && observer->leaves != NULL) observer->leaves(node, message);
}

static void send(struct sim_node *node, size_t to_service, const struct sim_message *message, int64_t resend_after_ns, int64_t delay_ns) {
  struct sim_world *world = node->world;
  sim_node__gap_before(node);
  struct sim_event *event = message_event(world, SIM_EVENT_DELIVER, node, to_service, message);
  event->message->resend_at_ns = resend_after_ns > 0 ? world->now_ns + resend_after_ns : 0;
  sim_trace_add(&world->trace, world->now_ns, SIM_TRACE_SEND, node->name.hash, world->kind[message->kind].hash, message->id.hash);
  tell_message(world, node, "sends", event->message, to_service);
  leave(node, event->message);
  bool to_endpoint = world->service[to_service].endpoint;
  bool dropped = to_endpoint && sim_broker__drops_repeat(world, to_service, event->message);
  if (to_endpoint) event->parcel = sim_broker__take(world, to_service, event->message);
  if (!dropped) sim_world__push(world, world->now_ns + LATENCY_NS + delay_ns, event);
  if (world->current != NULL) sim_node__gap(node, world->kind_sent[message->kind]);
}

void sim_send(struct sim_node *node, size_t to_service, const struct sim_message *message, int64_t resend_after_ns) {
  send(node, to_service, message, resend_after_ns, 0);
}

void sim_send_later(struct sim_node *node, size_t to_service, const struct sim_message *message, int64_t delay_ns) {
  REQUIRE(node->world->service[to_service].endpoint);
  send(node, to_service, message, 0, delay_ns);
}

void sim_notify(struct sim_node *node, size_t to_service, const struct sim_message *message) {
  struct sim_world *world = node->world;
  struct sim_event *event = message_event(world, SIM_EVENT_NOTICE, node, to_service, message);
  tell_message(world, node, "notifies", event->message, to_service);
  sim_world__push(world, world->now_ns + LATENCY_NS, event);
}

enum sim_call_end sim_call(struct sim_node *node, size_t to_service, const struct sim_message *request, int64_t timeout_ns,
                           struct sim_message *answer_out) {
  struct sim_world *world = node->world;
  struct sim_task *task = world->current;
  REQUIRE(task != NULL && !task->in_transaction && world->service[to_service].outside);
  sim_node__gap_before(node);
  struct sim_call *call = sim_arena_take(&world->arena, sizeof *call);
  struct sim_event *event = message_event(world, SIM_EVENT_REQUEST, node, to_service, request);
  event->message->resend_at_ns = world->now_ns + timeout_ns;
  event->message->call = event->call = call;
  *call = (struct sim_call){.task = task, .outsider = &world->node[to_service][0], .request = *event->message, .waiting = true};
  sim_trace_add(&world->trace, world->now_ns, SIM_TRACE_CALL, node->name.hash, world->kind[request->kind].hash, request->id.hash);
  tell_message(world, node, "calls", event->message, to_service);
  leave(node, event->message);
  sim_world__push(world, world->now_ns + LATENCY_NS, event);
  call->timeout = sim_world__event(world, SIM_EVENT_TIMEOUT);
  call->timeout->node = node;
  call->timeout->life = node->life;
  call->timeout->call = call;
  sim_world__push(world, world->now_ns + timeout_ns, call->timeout);
  sim_node__block(node);
  const struct sim_message *answer = call->answer;
  const struct sim_observer *observer = world->setup->observer;
  if (observer != NULL && observer->answered != NULL) observer->answered(node, &call->request, answer);
  if (answer != NULL) *answer_out = *answer;
  sim_node__gap(node, world->kind_answered[request->kind]);
  return answer != NULL ? SIM_CALL_ANSWERED : SIM_CALL_UNANSWERED;
}

void sim_answer(struct sim_node *node, struct sim_call *call, const struct sim_message *answer) {
  struct sim_world *world = node->world;
  struct sim_event *event = message_event(world, SIM_EVENT_ANSWER, node, call->task->node->service_index, answer);
  event->node = call->task->node;
  event->life = call->task->life;
  event->call = call;
  event->message->attempt = call->request.attempt;
  sim_world__push(world, world->now_ns + LATENCY_NS, event);
}

static bool available(const struct sim_node *node, int64_t now_ns) { return node->up && node->paused_until_ns <= now_ns; }

/* Which instance takes a message. Of an actor service: the home of its subject, as a shard router would have it. Of any
   other: the first, or the next for the copy of a doubled message, and a decision may shift it. An instance that is down
   or paused is passed over while another is there. */
static struct sim_node *route(struct sim_world *world, size_t service, const struct sim_message *message) {
  size_t count = world->setup->instance_count[service];
  struct sim_node *node = world->node[service];
  if (count == 1) return node;
  size_t at = (size_t)message->subject;
  if (!world->service[service].actor) {
    at = message->copy > 1 ? 1 : 0;
    struct sim_subject subject = subject_of(world, message, message->copy > 1 ? "route of the copy" : "route");
    if (sim_world__ask(world, world->point.route, &subject, sim_point_all(world->point.route)) != 0) at++;
  }
  for (size_t i = 0; i < count; i++) {
    if (available(&node[(at + i) % count], world->now_ns)) return &node[(at + i) % count];
  }
  for (size_t i = 0; i < count; i++) {
    if (node[(at + i) % count].up) return &node[(at + i) % count];
  }
  return &node[at % count];
}

static bool receiver_up(const struct sim_world *world, size_t service) {
  for (size_t i = 0; i < world->setup->instance_count[service]; i++) {
    if (world->node[service][i].up) return true;
  }
  return false;
}

static void put_off(struct sim_world *world, struct sim_event *event, int64_t time_ns, const char *until) {
  event->asked = true;
  sim_tell(world, "network", "holds %s %s back until %s", world->kind[event->message->kind].text, event->message->id.text, until);
  sim_world__push(world, time_ns, event);
}

static void come_twice(struct sim_world *world, const struct sim_event *event, bool as_twin) {
  struct sim_event *copy = sim_world__event(world, event->kind);
  copy->service = event->service;
  copy->asked = true;
  copy->message = sim_arena_take(&world->arena, sizeof *copy->message);
  *copy->message = *event->message;
  copy->message->copy = 2;
  if (event->parcel != NULL) {
    copy->parcel = sim_broker__take(world, event->service, copy->message);
    copy->message = &copy->parcel->message;
  }
  if (as_twin) copy->message->attempt += TWIN_ATTEMPT;
  sim_tell(world, "network", "delivers %s %s twice", world->kind[event->message->kind].text, event->message->id.text);
  sim_world__push(world, world->now_ns, copy);
}

/* Ask a bus message's fate. Returns false when it is not delivered now. */
static bool bus_fate(struct sim_world *world, struct sim_event *event) {
  const struct sim_queue_item *next = sim_world__next(world);
  struct sim_subject subject = subject_of(world, event->message, "on its way");
  uint8_t offered = (1U << BUS_DOUBLED) | (1U << BUS_PAST_RETRIES) | (1U << BUS_DAYS);
  unsigned unreduced = world->setup->unreduced;
  if (next != NULL || (unreduced & SIM_ASK_BEHIND_NOTHING)) offered |= 1U << BUS_BEHIND_NEXT;
  if (event->message->resend_at_ns > world->now_ns) offered |= 1U << BUS_BEHIND_TIMER;
  if (receiver_up(world, event->service) || (unreduced & SIM_ASK_LOST_TO_NOBODY)) offered |= 1U << BUS_LOST;
  if (event->parcel != NULL) offered &= (uint8_t) ~((1U << BUS_LOST) | (1U << BUS_PAST_RETRIES)); /* the broker loses nothing */
  int answer = sim_world__ask(world, world->point.bus, &subject, offered);
  switch (answer) {
    case BUS_BEHIND_NEXT: put_off(world, event, next != NULL ? next->time_ns : world->now_ns, "just after the next event"); return false;
    case BUS_BEHIND_TIMER: put_off(world, event, event->message->resend_at_ns + LATENCY_NS, "just after the sender's timer"); return false;
    case BUS_DOUBLED: come_twice(world, event, false); return true;
    case BUS_LOST: sim_tell(world, "network", "LOSES %s %s", world->kind[event->message->kind].text, event->message->id.text); return false;
    case BUS_PAST_RETRIES: put_off(world, event, world->now_ns + world->setup->retry_window_ns, "past the retry window"); return false;
    case BUS_DAYS:
      put_off(world, event, world->now_ns + world->setup->dedup_retention_ns + SIM_HOUR, "past the dedup retention, days later");
      return false;
    default: return true;
  }
}

static bool notice_fate(struct sim_world *world, struct sim_event *event) {
  const struct sim_queue_item *next = sim_world__next(world);
  struct sim_subject subject = subject_of(world, event->message, "on its way");
  uint8_t offered = sim_point_all(world->point.notice);
  if (next == NULL) offered &= (uint8_t) ~(1U << NOTICE_BEHIND_NEXT);
  int answer = sim_world__ask(world, world->point.notice, &subject, offered);
  switch (answer) {
    case NOTICE_BEHIND_NEXT: put_off(world, event, next->time_ns, "just after the next event"); return false;
    case NOTICE_DOUBLED: come_twice(world, event, false); return true;
    case NOTICE_TWIN: come_twice(world, event, true); return true;
    case NOTICE_LOST: put_off(world, event, world->now_ns + NOTICE_GAP_NS, "the sender tries again"); return false;
    case NOTICE_DAYS:
      put_off(world, event, world->now_ns + world->setup->dedup_retention_ns + SIM_HOUR, "past the dedup retention, days later");
      return false;
    case NOTICE_GIVEN_UP:
      sim_tell(world, "network", "gives %s %s up", world->kind[event->message->kind].text, event->message->id.text);
      return false;
    default: return true;
  }
}

void sim_link__deliver(struct sim_world *world, struct sim_event *event) {
  struct sim_message *message = event->message;
  if (!event->asked && !(event->kind == SIM_EVENT_NOTICE ? notice_fate(world, event) : bus_fate(world, event))) return;
  struct sim_node *node = route(world, event->service, message);
  if (!node->up && event->parcel != NULL) {
    sim_broker__wait_for_node(world, event->parcel);
    return;
  }
  if (!node->up) {
    sim_tell(world, "network", "finds %s down: %s %s is lost", node->name.text, world->kind[message->kind].text, message->id.text);
    return;
  }
  if (node->paused_until_ns > world->now_ns) {
    event->asked = true;
    event->held_by = node;
    sim_world__push(world, node->paused_until_ns, event);
    return;
  }
  if (message->from->service->outside || event->asked) world->disturbed_ns = world->now_ns;
  sim_trace_add(&world->trace, world->now_ns, SIM_TRACE_DELIVER, node->name.hash, world->kind[message->kind].hash,
                sim_mix(message->id.hash, message->copy));
  if (event->parcel != NULL) {
    sim_broker__lease(world, event->parcel, node);
    message = &event->parcel->message;
  }
  const struct sim_observer *observer = world->setup->observer;
  if (observer != NULL && observer->delivered != NULL) observer->delivered(node, message);
  sim_node__handle(node, message, event->parcel);
}

void sim_link__request(struct sim_world *world, struct sim_event *event) {
  struct sim_message *message = event->message;
  const struct sim_queue_item *next = sim_world__next(world);
  int64_t late_ns = world->now_ns + world->setup->request_lifetime_ns - LATENCY_NS;
  if (!event->asked) {
    struct sim_subject subject = subject_of(world, message, "on its way");
    uint8_t offered = (1U << REQUEST_LATE) | (1U << REQUEST_LOST);
    if (next != NULL) offered |= 1U << REQUEST_BEHIND_NEXT;
    if (message->resend_at_ns > world->now_ns && message->resend_at_ns < late_ns) offered |= 1U << REQUEST_BEHIND_TIMER;
    int answer = sim_world__ask(world, world->point.request, &subject, offered);
    switch (answer) {
      case REQUEST_BEHIND_NEXT:
        put_off(world, event, next->time_ns < late_ns ? next->time_ns : late_ns, "just after the next event");
        return;
      case REQUEST_BEHIND_TIMER: put_off(world, event, message->resend_at_ns + LATENCY_NS, "just after the caller's timeout"); return;
      case REQUEST_LATE: put_off(world, event, late_ns, "the end of its lifetime"); return;
      case REQUEST_LOST: sim_tell(world, "network", "LOSES the request %s %s", world->kind[message->kind].text, message->id.text); return;
      default: break;
    }
  }
  struct sim_node *node = event->call->outsider;
  sim_trace_add(&world->trace, world->now_ns, SIM_TRACE_DELIVER, node->name.hash, world->kind[message->kind].hash, message->id.hash);
  node->service->handle(node, message);
}

void sim_link__answer(struct sim_world *world, struct sim_event *event) {
  struct sim_call *call = event->call;
  ENSURE(call->waiting);
  if (!event->asked) {
    const struct sim_queue_item *next = sim_world__next(world);
    struct sim_subject subject = subject_of(world, event->message, "on its way");
    uint8_t offered = 1U << ANSWER_LOST;
    if (next != NULL && next->event != call->timeout) offered |= 1U << ANSWER_BEHIND_NEXT;
    int answer = sim_world__ask(world, world->point.answer, &subject, offered);
    if (answer == ANSWER_BEHIND_NEXT) {
      put_off(world, event, next->time_ns, "just after the next event");
      return;
    }
    if (answer == ANSWER_LOST) {
      sim_tell(world, "network", "LOSES the answer %s %s", world->kind[event->message->kind].text, event->message->id.text);
      return;
    }
  }
  call->waiting = false;
  call->answer = event->message;
  call->timeout->cancelled = true;
  sim_trace_add(&world->trace, world->now_ns, SIM_TRACE_ANSWER, event->node->name.hash, world->kind[event->message->kind].hash,
                event->message->id.hash);
  if (world->trace.telling) {
    char words[400] = "";
    bool told = world->setup->describe == NULL || world->setup->describe(event->message, words, sizeof words);
    if (told)
      sim_tell(world, event->node->name.text, "is answered %s%s%s by %s", world->kind[event->message->kind].text, words[0] ? " " : "",
               words, call->outsider->name.text);
  }
  sim_node__resume(call->task);
}
