#include "sim/queue.h"

#include <stdlib.h>

#include "tests/support.h"

static struct sim_queue queue;

static int queue_setup(void **state) {
  (void)state;
  sim_queue_reset(&queue);
  return 0;
}

/* The queue never looks into an event: a test's event is its own number. */
static struct sim_event *event_of(uintptr_t number) { return (struct sim_event *)number; }

static void ties_go_to_the_earlier_insertion(void **state) {
  (void)state;
  for (uintptr_t i = 0; i < 100; i++) sim_queue_push(&queue, i % 2 == 0 ? 7 : 5, event_of(i + 1));
  for (uintptr_t i = 0; i < 100; i++) {
    struct sim_queue_item item = sim_queue_pop(&queue);
    uintptr_t wanted = i < 50 ? 2 * i + 1 : 2 * (i - 50);
    assert_int_equal(item.time_ns, i < 50 ? 5 : 7);
    assert_ptr_equal(item.event, event_of(wanted + 1));
  }
  assert_null(sim_queue_first(&queue));
}

static void the_first_item_is_the_one_that_is_popped(void **state) {
  (void)state;
  assert_null(sim_queue_first(&queue));
  sim_queue_push(&queue, INT64_MAX, event_of(1));
  sim_queue_push(&queue, 0, event_of(2));
  sim_queue_push(&queue, -1, event_of(3));
  assert_ptr_equal(sim_queue_first(&queue)->event, event_of(3));
  assert_int_equal(queue.count, 3);
  assert_ptr_equal(sim_queue_pop(&queue).event, event_of(3));
  assert_ptr_equal(sim_queue_pop(&queue).event, event_of(2));
  assert_ptr_equal(sim_queue_pop(&queue).event, event_of(1));
}

static void a_reset_queue_numbers_from_zero_again(void **state) {
  (void)state;
  sim_queue_push(&queue, 3, event_of(1));
  sim_queue_push(&queue, 2, event_of(2));
  sim_queue_reset(&queue);
  assert_null(sim_queue_first(&queue));
  sim_queue_push(&queue, 9, event_of(3));
  assert_int_equal(sim_queue_first(&queue)->number, 0);
}

/* The reference: a plain array, searched to its end. */
struct reference {
  int64_t time_ns[SIM_EVENTS_MAX];
  uintptr_t event[SIM_EVENTS_MAX];
  size_t count;
};

static uintptr_t take_earliest(struct reference *reference) {
  size_t earliest = 0;
  for (size_t i = 1; i < reference->count; i++) {
    if (reference->time_ns[i] < reference->time_ns[earliest]) earliest = i;
  }
  uintptr_t event = reference->event[earliest];
  reference->count--;
  for (size_t i = earliest; i < reference->count; i++) {
    reference->time_ns[i] = reference->time_ns[i + 1];
    reference->event[i] = reference->event[i + 1];
  }
  return event;
}

static void random_insertions_and_removals_follow_a_sorted_reference(void **state) {
  (void)state;
  static struct reference reference;
  uint64_t dice = 1;
  uintptr_t next = 1;
  for (int round = 0; round < 40; round++) {
    /* Few distinct times make many ties; each round fills and drains at its own pace. */
    uint64_t times = 1 + support_below(&dice, 30);
    uint64_t fill = 1 + support_below(&dice, 9);
    for (int step = 0; step < 2000; step++) {
      bool push = reference.count == 0 || (reference.count < 300 && support_below(&dice, 10) < fill);
      if (!push) {
        assert_ptr_equal(sim_queue_pop(&queue).event, event_of(take_earliest(&reference)));
        continue;
      }
      int64_t time_ns = (int64_t)support_below(&dice, times);
      sim_queue_push(&queue, time_ns, event_of(next));
      reference.time_ns[reference.count] = time_ns;
      reference.event[reference.count++] = next++;
    }
    while (reference.count > 0) assert_ptr_equal(sim_queue_pop(&queue).event, event_of(take_earliest(&reference)));
  }
  assert_int_equal(queue.count, 0);
}

static void overfill(void *argument) {
  (void)argument;
  for (int i = 0; i <= SIM_EVENTS_MAX; i++) sim_queue_push(&queue, i, event_of(1));
}

static void pop_nothing(void *argument) {
  (void)argument;
  sim_queue_pop(&queue);
}

static void a_full_queue_is_a_failed_check_that_names_its_maximum(void **state) {
  (void)state;
  assert_true(support_aborts(overfill, NULL, "SIM_EVENTS_MAX"));
}

static void popping_from_an_empty_queue_is_a_failed_check(void **state) {
  (void)state;
  assert_true(support_aborts(pop_nothing, NULL, "REQUIRE(queue->count > 0)"));
}

int main(void) {
  const struct CMUnitTest queue_test[] = {
      cmocka_unit_test_setup(ties_go_to_the_earlier_insertion, queue_setup),
      cmocka_unit_test_setup(the_first_item_is_the_one_that_is_popped, queue_setup),
      cmocka_unit_test_setup(a_reset_queue_numbers_from_zero_again, queue_setup),
      cmocka_unit_test_setup(random_insertions_and_removals_follow_a_sorted_reference, queue_setup),
      cmocka_unit_test_setup(a_full_queue_is_a_failed_check_that_names_its_maximum, queue_setup),
      cmocka_unit_test_setup(popping_from_an_empty_queue_is_a_failed_check, queue_setup),
  };
  return cmocka_run_group_tests(queue_test, NULL, NULL);
}
