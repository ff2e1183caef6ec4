/* What `run --out DIR` leaves behind beside replay files: results.sqlite, and report.txt, report.json and junit.xml made
   from it. One command at a time; the database is closed before workers are forked. */
#ifndef RUNNER_RESULTS_H
#define RUNNER_RESULTS_H

#include "reports/report.h"
#include "runner/campaign.h"
#include "runner/options.h"

/* Each returns an exit code: EXIT_HELD, or EXIT_OUTPUT with the reason told. Without --out nothing happens. */
int runner_results_campaign_begin(const struct runner_options *options);
void runner_results_finding(const struct report_finding *finding);
int runner_results_campaign_end(const struct runner_options *options, const struct runner_scenario *scenario,
                                const struct runner_tally *tally, const struct report_summary *summary, const char *note, bool known_bad);
/* The command has ended: rename what was written aside, and write the reports. */
int runner_results_end(const struct runner_options *options);

#endif
