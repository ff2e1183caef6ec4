/* The binding to libfiu: every FAULT point of the catalogue is a libfiu point of the same name, enabled once a process by
   exact name with one callback. This is the only room that includes <fiu.h>. */
#ifndef FAULTS_BINDING_H
#define FAULTS_BINDING_H

#include "sim/decision.h"

/* Start libfiu and enable all FAULT points; safe to call again. */
void fault_binding_init(void);
/* Let the fault decisions of a world pass through libfiu. */
void fault_binding_attach(struct sim_decisions *decisions);
void fault_binding_detach(struct sim_decisions *decisions);
/* How often a libfiu callback was asked in this process; a test compares it with the decisions made. */
uint64_t fault_binding_calls(void);

#endif
