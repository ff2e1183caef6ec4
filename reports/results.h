/* The results file: one SQLite database a command, from which every report is a query. It is written aside and renamed when
   the command ends, belongs to the parent process, and is never open while workers are forked.

   Tables: build(name, value) · campaign(id, scenario, path, text, hash, seeds, runs, failing, stuck, digest,
   transactions_per_run, runs_per_s, verdict, note, known_bad) · invariant(campaign, position, name, sentence, remedy,
   in_danger, violated) · point(campaign, name, asked, fired) · ending(campaign, name, orders) · move(campaign, state, event,
   count) · finding(id, campaign, invariant, sentence, failing, runs, faults_before, remedy, replay_line, replay_file, digest)
   · fault(finding, position, words, meaning). */
#ifndef REPORTS_RESULTS_H
#define REPORTS_RESULTS_H

#include "reports/report.h"

struct report_results;

struct report_campaign {
  const struct report_summary *summary;
  const char *path, *text; /* of the scenario file */
  uint64_t hash;
  const char *note; /* NULL: none */
  bool known_bad;   /* expected to be found broken */
  const struct report_move *move;
  size_t move_count;
  const char *const *sentence, *const *remedy; /* by invariant, as in the summary */
};

/* Open `path` (made anew when `fresh`) and begin a campaign. Errors: NULL, with the reason in `error_out`. */
struct report_results *report_results_open(const char *path, bool fresh, char *error_out, size_t error_size);
void report_results_build(struct report_results *results, const char *name, const char *value);
void report_results_finding(struct report_results *results, const struct report_finding *finding);
/* End the campaign that the findings since the opening belong to, and close. Errors: false, with the reason. */
bool report_results_close(struct report_results *results, const struct report_campaign *campaign, char *error_out, size_t error_size);

/* Reports, each a query over a results file. Errors: false, with the reason. */
bool report_write_text(const char *database, FILE *out, char *error_out, size_t error_size);
bool report_write_json(const char *database, FILE *out, char *error_out, size_t error_size);
/* JUnit XML: a suite a scenario, a case an invariant; no seed in a name. Source: Jenkins' junit-10.xsd. */
bool report_write_junit(const char *database, FILE *out, char *error_out, size_t error_size);

#endif
