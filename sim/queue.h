/* The event queue: a binary heap in the total order (time, insertion number). */
#ifndef SIM_QUEUE_H
#define SIM_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/limits.h"

struct sim_event;

struct sim_queue_item {
  int64_t time_ns;
  uint64_t number; /* insertion number: ties go to the earlier insertion */
  struct sim_event *event;
};

struct sim_queue {
  struct sim_queue_item item[SIM_EVENTS_MAX];
  size_t count;
  uint64_t next_number;
};

void sim_queue_reset(struct sim_queue *queue);
/* Insert an event due at `time_ns`. Errors: a full queue is a failed ENSURE naming SIM_EVENTS_MAX. */
void sim_queue_push(struct sim_queue *queue, int64_t time_ns, struct sim_event *event);
/* Look at the first item; NULL when empty. */
const struct sim_queue_item *sim_queue_first(const struct sim_queue *queue);
/* Take the first item out. */
struct sim_queue_item sim_queue_pop(struct sim_queue *queue);

#endif
