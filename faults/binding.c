/* Method. libfiu's callback gets the point's record through failinfo, asks the decision source that is waiting for an
   answer, and returns it as failnum: a code, on which the caller acts. It never enables, jumps or switches fibers.
   A point whose answers are all impossible in this run is not asked at all (sim/decision.c), as a libfiu call costs 20 ns. */
#define FIU_ENABLE
#include "faults/binding.h"

#include <fiu-control.h>
#include <fiu.h>
#include <stdbool.h>

#include "faults/catalogue.h"
#include "sim/check.h"

static struct sim_decisions *asking;
static uint64_t calls;

static int on_point(const char *name, int *failnum, void **failinfo, unsigned int *flags) {
  (void)name;
  (void)flags;
  calls++;
  int answer = sim_decision_draw(asking, *failinfo);
  if (answer == 0) return 0;
  *failnum = answer;
  return 1;
}

static int gate(struct sim_decisions *decisions, const struct sim_point *point) {
  asking = decisions;
  return fiu_fail(point->name.text);
}

void fault_binding_init(void) {
  static bool done;
  if (done) return;
  done = true;
  ENSURE(fiu_init(0) == 0);
  const struct sim_catalogue *catalogue = fault_catalogue();
  for (size_t p = 0; p < catalogue->count; p++) {
    const struct sim_point *point = &catalogue->point[p];
    if (point->class != SIM_POINT_FAULT) continue;
    ENSURE(fiu_enable_external(point->name.text, 1, (void *)(uintptr_t)point, 0, on_point) == 0);
  }
}

void fault_binding_attach(struct sim_decisions *decisions) {
  fault_binding_init();
  decisions->gate = gate;
}

void fault_binding_detach(struct sim_decisions *decisions) {
  decisions->gate = NULL;
  if (asking == decisions) asking = NULL;
}

uint64_t fault_binding_calls(void) { return calls; }
