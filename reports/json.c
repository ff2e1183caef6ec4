#include "reports/report.h"

#include <inttypes.h>
#include <jansson.h>

static json_t *hex(uint64_t digest) {
  char text[20];
  snprintf(text, sizeof text, "%016" PRIx64, digest);
  return json_string(text);
}

static void write_line(FILE *out, json_t *object) {
  json_dumpf(object, out, JSON_COMPACT | JSON_PRESERVE_ORDER);
  fputc('\n', out);
  json_decref(object);
}

void report_json_finding(FILE *out, const struct report_finding *finding) {
  json_t *violated = json_array();
  json_t *faults = json_array();
  for (size_t i = 0; i < finding->violated_count; i++) json_array_append_new(violated, json_string(finding->violated[i]));
  for (size_t i = 0; i < finding->fault_count; i++) json_array_append_new(faults, json_string(finding->fault[i].words));
  json_t *object = json_object();
  json_object_set_new(object, "type", json_string("run"));
  json_object_set_new(object, "scenario", json_string(finding->scenario));
  json_object_set_new(object, "seed", finding->seeded ? json_integer((json_int_t)finding->seed) : json_null());
  json_object_set_new(object, "digest", hex(finding->digest));
  json_object_set_new(object, "verdict", json_string(report_verdict_name(finding->verdict)));
  json_object_set_new(object, "violated", violated);
  json_object_set_new(object, "faults", faults);
  json_object_set_new(object, "faults_before", json_integer((json_int_t)finding->faults_before));
  json_object_set_new(object, "sentence", finding->sentence ? json_string(finding->sentence) : json_null());
  json_object_set_new(object, "replay", finding->replay_file ? json_string(finding->replay_file) : json_null());
  write_line(out, object);
}

void report_json_summary(FILE *out, const struct report_summary *summary) {
  json_t *violations = json_object();
  json_t *exercised = json_object();
  json_t *faults = json_object();
  for (size_t i = 0; i < summary->invariant_count; i++) {
    if (summary->invariant[i].violated > 0)
      json_object_set_new(violations, summary->invariant[i].name, json_integer((json_int_t)summary->invariant[i].violated));
    json_object_set_new(exercised, summary->invariant[i].name, json_integer((json_int_t)summary->invariant[i].in_danger));
  }
  for (size_t i = 0; i < summary->point_count; i++) {
    json_t *point = json_object();
    json_object_set_new(point, "asked", json_integer((json_int_t)summary->point[i].asked));
    json_object_set_new(point, "fired", json_integer((json_int_t)summary->point[i].fired));
    json_object_set_new(faults, summary->point[i].name, point);
  }
  json_t *object = json_object();
  json_object_set_new(object, "type", json_string("summary"));
  json_object_set_new(object, "scenario", json_string(summary->scenario));
  json_object_set_new(object, "runs", json_integer((json_int_t)summary->runs));
  json_object_set_new(object, "digest", hex(summary->digest));
  json_object_set_new(object, "violations", violations);
  json_object_set_new(object, "exercised", exercised);
  json_object_set_new(object, "faults", faults);
  if (summary->ending_count > 0) {
    json_t *endings = json_object();
    for (size_t i = 0; i < summary->ending_count; i++)
      json_object_set_new(endings, summary->ending[i].name, json_integer((json_int_t)summary->ending[i].count));
    json_object_set_new(object, "endings", endings);
  }
  json_object_set_new(object, "transactions_per_run", json_real(summary->transactions_per_run));
  json_object_set_new(object, "runs_per_s", json_real(summary->runs_per_s));
  json_object_set_new(object, "verdict", json_string(report_verdict_name(summary->verdict)));
  if (summary->explored) {
    json_object_set_new(object, "complete", json_boolean(summary->complete));
    json_object_set_new(object, "pruned", json_integer(0)); /* no run is skipped: reductions leave questions unasked instead */
    json_object_set_new(object, "faults_max", json_integer(summary->faults_max));
    json_object_set_new(object, "answers", json_integer((json_int_t)summary->answers));
  }
  write_line(out, object);
}

static json_t *words_or_null(const char *text) { return text != NULL ? json_string(text) : json_null(); }

void report_json_matrix_row(FILE *out, const struct report_matrix_row *row) {
  json_t *object = json_object();
  json_object_set_new(object, "type", json_string(row->cannot ? "cannot_hold" : row->holds ? "must_hold" : "mistake"));
  json_object_set_new(object, "what", json_string(row->what));
  json_object_set_new(object, "scenario", json_string(row->scenario));
  json_object_set_new(object, "stated", json_string(row->stated));
  json_object_set_new(object, "found", words_or_null(row->found));
  json_object_set_new(object, "alone", words_or_null(row->alone));
  json_object_set_new(object, "masked_by", words_or_null(row->masked_by));
  json_object_set_new(object, "seeds", json_integer((json_int_t)row->seeds));
  json_object_set_new(object, "failing", json_integer((json_int_t)row->failing));
  json_object_set_new(object, "faults", row->faults < 0 ? json_null() : json_integer(row->faults));
  json_object_set_new(object, "runs_needed", json_integer((json_int_t)row->runs_needed));
  json_object_set_new(object, "smallest", words_or_null(row->smallest));
  json_object_set_new(object, "parked", json_integer((json_int_t)row->parked));
  json_object_set_new(object, "as_stated", json_boolean(row->as_stated));
  write_line(out, object);
}

void report_json_matrix_end(FILE *out, size_t rows, size_t wrong) {
  json_t *object = json_object();
  json_object_set_new(object, "type", json_string("summary"));
  json_object_set_new(object, "rows", json_integer((json_int_t)rows));
  json_object_set_new(object, "not_as_stated", json_integer((json_int_t)wrong));
  write_line(out, object);
}
