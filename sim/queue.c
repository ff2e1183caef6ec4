#include "sim/queue.h"

#include "sim/check.h"

static bool before(const struct sim_queue_item *a, const struct sim_queue_item *b) {
  if (a->time_ns != b->time_ns) return a->time_ns < b->time_ns;
  return a->number < b->number;
}

void sim_queue_reset(struct sim_queue *queue) {
  queue->count = 0;
  queue->next_number = 0;
}

void sim_queue_push(struct sim_queue *queue, int64_t time_ns, struct sim_event *event) {
  ENSURE(queue->count < SIM_EVENTS_MAX);
  struct sim_queue_item item = {time_ns, queue->next_number++, event};
  size_t at = queue->count++;
  while (at > 0) {
    size_t parent = (at - 1) / 2;
    if (!before(&item, &queue->item[parent])) break;
    queue->item[at] = queue->item[parent];
    at = parent;
  }
  queue->item[at] = item;
}

const struct sim_queue_item *sim_queue_first(const struct sim_queue *queue) { return queue->count == 0 ? NULL : &queue->item[0]; }

struct sim_queue_item sim_queue_pop(struct sim_queue *queue) {
  REQUIRE(queue->count > 0);
  struct sim_queue_item first = queue->item[0];
  struct sim_queue_item last = queue->item[--queue->count];
  size_t at = 0;
  for (;;) {
    size_t child = 2 * at + 1;
    if (child >= queue->count) break;
    if (child + 1 < queue->count && before(&queue->item[child + 1], &queue->item[child])) child++;
    if (!before(&queue->item[child], &last)) break;
    queue->item[at] = queue->item[child];
    at = child;
  }
  queue->item[at] = last;
  return first;
}
