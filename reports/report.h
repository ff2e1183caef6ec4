/* Reports: what a campaign, an exploration or one run found, in words for people (text.c) and as JSON lines (json.c).
   They read results only, never a running world. */
#ifndef REPORTS_REPORT_H
#define REPORTS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum report_verdict { REPORT_HELD, REPORT_VIOLATED, REPORT_STUCK, REPORT_INCONCLUSIVE, REPORT_NONDETERMINISTIC, REPORT_ERROR };
const char *report_verdict_name(enum report_verdict verdict);

struct report_point {
  const char *name;
  uint64_t asked, fired;
};

struct report_invariant {
  const char *name;
  uint64_t in_danger, violated; /* runs */
};

struct report_count {
  const char *name;
  uint64_t count;
};

struct report_move { /* how often an event met a state */
  const char *state, *event;
  uint64_t count;
};

/* One row of the matrix: a mistake with its needs, or something that must hold. */
struct report_matrix_row {
  const char *what;      /* "axis=choice", or what must hold */
  const char *scenario;  /* its world */
  const char *stated;    /* invariants that it must break */
  const char *found;     /* those that broke */
  const char *alone;     /* those that broke without the scenario's further choices; NULL: it has none */
  const char *masked_by; /* the guard that hides it, taken out by the scenario; "" for none */
  uint64_t seeds, failing;
  int faults;           /* of the smallest run that breaks what was stated; -1: exploring found none */
  uint64_t runs_needed; /* explored up to it */
  const char *smallest; /* its faults in words */
  bool holds;           /* it must hold, */
  bool cannot;          /* or cannot: `stated` is what is lost */
  uint64_t parked;      /* cases that were still open at the end, as nobody could tell */
  bool as_stated;
};

struct report_summary {
  const char *scenario;
  uint64_t runs, failing_runs, stuck_runs;
  uint64_t digest;
  const struct report_invariant *invariant;
  size_t invariant_count;
  const struct report_point *point;
  size_t point_count;
  const struct report_count *ending; /* orders by how they ended */
  size_t ending_count;
  double transactions_per_run, runs_per_s, seconds;
  enum report_verdict verdict;
  /* Explorations only. */
  bool explored, complete;
  int faults_max;
  uint64_t answers; /* non-dull answers on the happy path */
};

struct report_fault {
  const char *words;
  const char *meaning;
};

/* A failing run, shrunk. */
struct report_finding {
  const char *scenario;
  bool seeded;
  uint64_t seed;
  uint64_t digest; /* of the run of that seed, or of the shrunk run where there is no seed */
  enum report_verdict verdict;
  const char *const *violated; /* names */
  size_t violated_count;
  const char *invariant; /* the one it was shrunk for; NULL: stuck */
  const char *must_hold; /* its sentence */
  const char *sentence;  /* what happened */
  const char *remedy;
  const struct report_fault *fault;
  size_t fault_count, faults_before;
  uint64_t failing_runs, runs;
  const char *replay_line;
  const char *replay_file; /* NULL: not written */
};

struct report_story_line {
  int64_t time_ns;
  const char *who, *text;
};

/* Words for people. */
void report_text_finding(FILE *out, const struct report_finding *finding);
void report_text_summary(FILE *out, const struct report_summary *summary, const char *note);
/* The story of a run. What one party does at one moment is one line; stretches that only repeat are told once with a count. */
void report_text_story(FILE *out, const struct report_story_line *line, size_t count);
/* "1,234,567". */
void report_text_count(uint64_t number, char *out, size_t size);

/* One JSON object a line. Digests are hex strings. */
void report_json_finding(FILE *out, const struct report_finding *finding);
void report_json_summary(FILE *out, const struct report_summary *summary);

void report_text_matrix_row(FILE *out, const struct report_matrix_row *row);
void report_text_matrix_end(FILE *out, size_t rows, size_t wrong);
void report_json_matrix_row(FILE *out, const struct report_matrix_row *row);
void report_json_matrix_end(FILE *out, size_t rows, size_t wrong);

#endif
