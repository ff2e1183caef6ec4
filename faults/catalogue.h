/* The catalogue of fault points as data (catalogue.def), and the default plan made from it. */
#ifndef FAULTS_CATALOGUE_H
#define FAULTS_CATALOGUE_H

#include "sim/decision.h"

/* The process-wide catalogue, built at the first call. */
const struct sim_catalogue *fault_catalogue(void);
/* The plan with the catalogue's default odds and explored answers. */
void fault_plan_default(struct sim_plan *plan_out);
/* The same with every FAULT point off; workload stays as it is. */
void fault_plan_quiet(struct sim_plan *plan_out);
/* What an answer means, in words. */
const char *fault_answer_meaning(const struct sim_point *point, int answer);

#endif
