#include "reports/results.h"

#include <inttypes.h>
#include <jansson.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/vfs.h"

/* Not the simulated disk: a real file. */
static const char real_files[] = "unix";

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS build(name TEXT PRIMARY KEY, value TEXT);"
    "CREATE TABLE IF NOT EXISTS campaign(id INTEGER PRIMARY KEY, scenario TEXT, path TEXT, text TEXT, hash TEXT, runs INTEGER, failing INTEGER,"
    " stuck INTEGER, digest TEXT, transactions_per_run REAL, runs_per_s REAL, verdict TEXT, note TEXT, known_bad INTEGER);"
    "CREATE TABLE IF NOT EXISTS invariant(campaign INTEGER, position INTEGER, name TEXT, sentence TEXT, remedy TEXT, in_danger INTEGER,"
    " violated INTEGER);"
    "CREATE TABLE IF NOT EXISTS point(campaign INTEGER, name TEXT, asked INTEGER, fired INTEGER);"
    "CREATE TABLE IF NOT EXISTS ending(campaign INTEGER, name TEXT, orders INTEGER);"
    "CREATE TABLE IF NOT EXISTS move(campaign INTEGER, state TEXT, event TEXT, count INTEGER);"
    "CREATE TABLE IF NOT EXISTS finding(id INTEGER PRIMARY KEY, campaign INTEGER, invariant TEXT, sentence TEXT, failing INTEGER, runs INTEGER,"
    " faults_before INTEGER, remedy TEXT, replay_line TEXT, replay_file TEXT, digest TEXT);"
    "CREATE TABLE IF NOT EXISTS fault(finding INTEGER, position INTEGER, words TEXT, meaning TEXT);";

struct report_results {
  sqlite3 *db;
  int64_t campaign;
  bool failed;
};

static bool fail(sqlite3 *db, const char *path, char *error_out, size_t error_size) {
  snprintf(error_out, error_size, "%s: %s", path, db != NULL ? sqlite3_errmsg(db) : "out of memory");
  if (db != NULL) sqlite3_close(db);
  return false;
}

static bool open_database(const char *path, int flags, sqlite3 **out, char *error_out, size_t error_size) {
  sim_vfs_init(); /* SQLite is configured once a process, before its first use */
  *out = NULL;
  if (sqlite3_open_v2(path, out, flags, real_files) == SQLITE_OK) return true;
  return fail(*out, path, error_out, error_size);
}

/* Bind by letters (i int64_t, d double, s text or NULL, h a digest) and step to the end. */
static void insert(struct report_results *results, const char *sql, const char *format, ...) {
  sqlite3_stmt *statement = NULL;
  if (results->failed || sqlite3_prepare_v2(results->db, sql, -1, &statement, NULL) != SQLITE_OK) {
    results->failed = true;
    return;
  }
  va_list arguments;
  va_start(arguments, format);
  for (int at = 1; *format != '\0'; format++, at++) {
    char digest[20];
    if (*format == 'i') sqlite3_bind_int64(statement, at, va_arg(arguments, int64_t));
    if (*format == 'd') sqlite3_bind_double(statement, at, va_arg(arguments, double));
    if (*format == 's') sqlite3_bind_text(statement, at, va_arg(arguments, const char *), -1, SQLITE_TRANSIENT);
    if (*format != 'h') continue;
    snprintf(digest, sizeof digest, "%016" PRIx64, va_arg(arguments, uint64_t));
    sqlite3_bind_text(statement, at, digest, -1, SQLITE_TRANSIENT);
  }
  va_end(arguments);
  if (sqlite3_step(statement) != SQLITE_DONE) results->failed = true;
  sqlite3_finalize(statement);
}

static void execute(struct report_results *results, const char *sql) {
  if (sqlite3_exec(results->db, sql, NULL, NULL, NULL) != SQLITE_OK) results->failed = true;
}

struct report_results *report_results_open(const char *path, bool fresh, char *error_out, size_t error_size) {
  struct report_results *results = calloc(1, sizeof *results);
  if (fresh) unlink(path);
  if (results == NULL || !open_database(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &results->db, error_out, error_size)) {
    free(results);
    return NULL;
  }
  execute(results, "PRAGMA journal_mode=DELETE");
  execute(results, schema);
  execute(results, "BEGIN");
  insert(results, "INSERT INTO campaign(id) VALUES(NULL)", "");
  results->campaign = sqlite3_last_insert_rowid(results->db);
  return results;
}

void report_results_build(struct report_results *results, const char *name, const char *value) {
  insert(results, "INSERT OR REPLACE INTO build VALUES(?, ?)", "ss", name, value);
}

void report_results_finding(struct report_results *results, const struct report_finding *finding) {
  insert(results, "INSERT INTO finding VALUES(NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", "issiiisssh", results->campaign, finding->invariant,
         finding->sentence, (int64_t)finding->failing_runs, (int64_t)finding->runs, (int64_t)finding->faults_before, finding->remedy,
         finding->replay_line, finding->replay_file, finding->digest);
  int64_t id = sqlite3_last_insert_rowid(results->db);
  for (size_t i = 0; i < finding->fault_count; i++)
    insert(results, "INSERT INTO fault VALUES(?, ?, ?, ?)", "iiss", id, (int64_t)i + 1, finding->fault[i].words, finding->fault[i].meaning);
}

static void insert_counts(struct report_results *results, const struct report_campaign *campaign) {
  const struct report_summary *summary = campaign->summary;
  for (size_t i = 0; i < summary->invariant_count; i++)
    insert(results, "INSERT INTO invariant VALUES(?, ?, ?, ?, ?, ?, ?)", "iisssii", results->campaign, (int64_t)i,
           summary->invariant[i].name, campaign->sentence[i], campaign->remedy[i], (int64_t)summary->invariant[i].in_danger,
           (int64_t)summary->invariant[i].violated);
  for (size_t p = 0; p < summary->point_count; p++)
    insert(results, "INSERT INTO point VALUES(?, ?, ?, ?)", "isii", results->campaign, summary->point[p].name,
           (int64_t)summary->point[p].asked, (int64_t)summary->point[p].fired);
  for (size_t e = 0; e < summary->ending_count; e++)
    insert(results, "INSERT INTO ending VALUES(?, ?, ?)", "isi", results->campaign, summary->ending[e].name,
           (int64_t)summary->ending[e].count);
  for (size_t m = 0; m < campaign->move_count; m++)
    insert(results, "INSERT INTO move VALUES(?, ?, ?, ?)", "issi", results->campaign, campaign->move[m].state, campaign->move[m].event,
           (int64_t)campaign->move[m].count);
}

bool report_results_close(struct report_results *results, const struct report_campaign *campaign, char *error_out, size_t error_size) {
  const struct report_summary *summary = campaign->summary;
  insert(
      results,
      "UPDATE campaign SET scenario=?, path=?, text=?, hash=?, runs=?, failing=?, stuck=?, digest=?, transactions_per_run=?, runs_per_s=?,"
      " verdict=?, note=?, known_bad=? WHERE id=?",
      "ssshiiihddssii", summary->scenario, campaign->path, campaign->text, campaign->hash, (int64_t)summary->runs,
      (int64_t)summary->failing_runs, (int64_t)summary->stuck_runs, summary->digest, summary->transactions_per_run, summary->runs_per_s,
      report_verdict_name(summary->verdict), campaign->note, (int64_t)campaign->known_bad, results->campaign);
  insert_counts(results, campaign);
  execute(results, "COMMIT");
  bool fine = !results->failed;
  if (!fine) snprintf(error_out, error_size, "%s", sqlite3_errmsg(results->db));
  sqlite3_close(results->db);
  free(results);
  return fine;
}

/* ---- queries ---- */

static sqlite3_stmt *query(sqlite3 *db, const char *sql, int64_t id) {
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) return NULL;
  if (sqlite3_bind_parameter_count(statement) == 1) sqlite3_bind_int64(statement, 1, id);
  return statement;
}

static const char *text_of(sqlite3_stmt *row, int column) {
  const char *text = (const char *)sqlite3_column_text(row, column);
  return text != NULL ? text : "";
}

typedef void write_campaign(sqlite3 *db, sqlite3_stmt *campaign, FILE *out);

/* Columns of a campaign's row, as `write_campaign` gets it. */
enum { ID, SCENARIO, RUNS, FAILING, DIGEST, TRANSACTIONS, VERDICT, NOTE, KNOWN_BAD };

static bool each_campaign(const char *path, write_campaign *write, FILE *out, char *error_out, size_t error_size) {
  sqlite3 *db = NULL;
  if (!open_database(path, SQLITE_OPEN_READONLY, &db, error_out, error_size)) return false;
  sqlite3_stmt *row =
      query(db, "SELECT id, scenario, runs, failing, digest, transactions_per_run, verdict, note, known_bad FROM campaign ORDER BY id", 0);
  if (row == NULL) return fail(db, path, error_out, error_size);
  while (sqlite3_step(row) == SQLITE_ROW) write(db, row, out);
  sqlite3_finalize(row);
  sqlite3_close(db);
  return true;
}

/* ---- text ---- */

static void write_faults_text(sqlite3 *db, int64_t finding, FILE *out) {
  sqlite3_stmt *row = query(db, "SELECT position, words, meaning FROM fault WHERE finding=? ORDER BY position", finding);
  while (row != NULL && sqlite3_step(row) == SQLITE_ROW)
    fprintf(out, "    %d. %s\n       (%s)\n", sqlite3_column_int(row, 0), text_of(row, 1), text_of(row, 2));
  sqlite3_finalize(row);
}

static void campaign_as_text(sqlite3 *db, sqlite3_stmt *campaign, FILE *out) {
  int64_t id = sqlite3_column_int64(campaign, ID);
  fprintf(out, "%s: %s, %lld runs, %lld fail, %.1f transactions a run, digest %s\n", text_of(campaign, SCENARIO),
          text_of(campaign, VERDICT), (long long)sqlite3_column_int64(campaign, RUNS), (long long)sqlite3_column_int64(campaign, FAILING),
          sqlite3_column_double(campaign, TRANSACTIONS), text_of(campaign, DIGEST));
  if (text_of(campaign, NOTE)[0] != '\0') fprintf(out, "  %s\n", text_of(campaign, NOTE));
  sqlite3_stmt *row = query(db, "SELECT name, in_danger, violated FROM invariant WHERE campaign=? ORDER BY position", id);
  fprintf(out, "  %-40s %12s %12s\n", "invariant", "in danger", "violated");
  while (row != NULL && sqlite3_step(row) == SQLITE_ROW)
    fprintf(out, "  %-40s %12lld %12lld%s\n", text_of(row, 0), (long long)sqlite3_column_int64(row, 1),
            (long long)sqlite3_column_int64(row, 2), sqlite3_column_int64(row, 1) == 0 ? "  not exercised" : "");
  sqlite3_finalize(row);
  row = query(db, "SELECT name, orders FROM ending WHERE campaign=? AND orders>0", id);
  while (row != NULL && sqlite3_step(row) == SQLITE_ROW)
    fprintf(out, "  orders that end %-24s %12lld\n", text_of(row, 0), (long long)sqlite3_column_int64(row, 1));
  sqlite3_finalize(row);
  row = query(db, "SELECT id, invariant, sentence, failing, runs, remedy, replay_line FROM finding WHERE campaign=? ORDER BY id", id);
  while (row != NULL && sqlite3_step(row) == SQLITE_ROW) {
    fprintf(out, "  %s: %s\n    in %lld of %lld runs\n", text_of(row, 1)[0] ? text_of(row, 1) : "the run never comes to rest",
            text_of(row, 2), (long long)sqlite3_column_int64(row, 3), (long long)sqlite3_column_int64(row, 4));
    write_faults_text(db, sqlite3_column_int64(row, 0), out);
    fprintf(out, "    remedy: %s\n    replay: %s\n", text_of(row, 5), text_of(row, 6));
  }
  sqlite3_finalize(row);
  fputc('\n', out);
}

bool report_write_text(const char *database, FILE *out, char *error_out, size_t error_size) {
  return each_campaign(database, campaign_as_text, out, error_out, error_size);
}

/* ---- JSON ---- */

static json_t *rows_as_json(sqlite3 *db, const char *sql, int64_t id) {
  json_t *array = json_array();
  sqlite3_stmt *row = query(db, sql, id);
  while (row != NULL && sqlite3_step(row) == SQLITE_ROW) {
    json_t *object = json_object();
    for (int c = 0; c < sqlite3_column_count(row); c++) {
      int type = sqlite3_column_type(row, c);
      json_t *value = type == SQLITE_INTEGER ? json_integer(sqlite3_column_int64(row, c))
                      : type == SQLITE_FLOAT ? json_real(sqlite3_column_double(row, c))
                      : type == SQLITE_NULL  ? json_null()
                                             : json_string(text_of(row, c));
      json_object_set_new(object, sqlite3_column_name(row, c), value);
    }
    json_array_append_new(array, object);
  }
  sqlite3_finalize(row);
  return array;
}

/* One object a line, a line a campaign. */
static void campaign_as_json(sqlite3 *db, sqlite3_stmt *campaign, FILE *out) {
  int64_t id = sqlite3_column_int64(campaign, ID);
  json_t *array = rows_as_json(db,
                               "SELECT scenario, path, hash, runs, failing, stuck, digest, transactions_per_run, runs_per_s, verdict, note,"
                               " known_bad FROM campaign WHERE id=?",
                               id);
  json_t *object = json_array_get(array, 0);
  json_t *findings = rows_as_json(
      db,
      "SELECT id, invariant, sentence, failing, runs, faults_before, remedy, replay_line, replay_file, digest FROM finding WHERE campaign=?",
      id);
  for (size_t i = 0; i < json_array_size(findings); i++) {
    json_t *finding = json_array_get(findings, i);
    int64_t number = json_integer_value(json_object_get(finding, "id"));
    json_object_set_new(finding, "faults", rows_as_json(db, "SELECT words, meaning FROM fault WHERE finding=? ORDER BY position", number));
    json_object_del(finding, "id");
  }
  json_object_set_new(object, "invariants",
                      rows_as_json(db, "SELECT name, in_danger, violated FROM invariant WHERE campaign=? ORDER BY position", id));
  json_object_set_new(object, "faults", rows_as_json(db, "SELECT name, asked, fired FROM point WHERE campaign=?", id));
  json_object_set_new(object, "endings", rows_as_json(db, "SELECT name, orders FROM ending WHERE campaign=?", id));
  json_object_set_new(object, "moves", rows_as_json(db, "SELECT state, event, count FROM move WHERE campaign=?", id));
  json_object_set_new(object, "findings", findings);
  json_dumpf(object, out, JSON_COMPACT | JSON_PRESERVE_ORDER);
  fputc('\n', out);
  json_decref(array);
}

bool report_write_json(const char *database, FILE *out, char *error_out, size_t error_size) {
  return each_campaign(database, campaign_as_json, out, error_out, error_size);
}

/* ---- JUnit ---- */

/* XML 1.0 has no place for control characters, not even escaped: they become '?'. */
static void escaped(FILE *out, const char *text) {
  for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
    if (*c == '<') fputs("&lt;", out);
    else if (*c == '>') fputs("&gt;", out);
    else if (*c == '&') fputs("&amp;", out);
    else if (*c == '"') fputs("&quot;", out);
    else if (*c < 0x20 && *c != '\t' && *c != '\n') fputc('?', out);
    else fputc(*c, out);
  }
}

static void write_attribute(FILE *out, const char *name, const char *value) {
  fprintf(out, " %s=\"", name);
  escaped(out, value);
  fputc('"', out);
}

/* A finding as a failure: what happened in the message; in the body how often, the shrunk faults, the remedy, the replay. */
static void write_failure(sqlite3 *db, sqlite3_stmt *finding, FILE *out) {
  fputs("      <failure", out);
  write_attribute(out, "type", "violated");
  write_attribute(out, "message", text_of(finding, 1)[0] ? text_of(finding, 1) : "the run never comes to rest");
  fprintf(out, ">in %lld of %lld runs, because:\n", (long long)sqlite3_column_int64(finding, 2),
          (long long)sqlite3_column_int64(finding, 3));
  sqlite3_stmt *row =
      query(db, "SELECT position, words, meaning FROM fault WHERE finding=? ORDER BY position", sqlite3_column_int64(finding, 0));
  while (row != NULL && sqlite3_step(row) == SQLITE_ROW) {
    fprintf(out, "%d. ", sqlite3_column_int(row, 0));
    escaped(out, text_of(row, 1));
    fputs(" (", out);
    escaped(out, text_of(row, 2));
    fputs(")\n", out);
  }
  sqlite3_finalize(row);
  fputs("remedy: ", out);
  escaped(out, text_of(finding, 4));
  fputs("\nreplay: ", out);
  escaped(out, text_of(finding, 5));
  fputs("\n</failure>\n", out);
}

static sqlite3_stmt *finding_of(sqlite3 *db, int64_t campaign, const char *invariant) {
  sqlite3_stmt *row =
      query(db, "SELECT id, sentence, failing, runs, remedy, replay_line FROM finding WHERE campaign=?1 AND invariant IS ?2", 0);
  if (row == NULL) return NULL;
  sqlite3_bind_int64(row, 1, campaign);
  if (invariant != NULL) sqlite3_bind_text(row, 2, invariant, -1, SQLITE_TRANSIENT);
  if (sqlite3_step(row) == SQLITE_ROW) return row;
  sqlite3_finalize(row);
  return NULL;
}

static void write_case(sqlite3 *db, int64_t campaign, const char *scenario, sqlite3_stmt *invariant, bool known_bad, FILE *out) {
  const char *name = text_of(invariant, 0);
  bool violated = sqlite3_column_int64(invariant, 2) > 0;
  fputs("    <testcase", out);
  write_attribute(out, "name", name);
  write_attribute(out, "classname", scenario);
  fputs(">\n", out);
  if (violated && !known_bad) {
    sqlite3_stmt *finding = finding_of(db, campaign, name);
    if (finding != NULL) write_failure(db, finding, out);
    else {
      fputs("      <failure", out);
      write_attribute(out, "type", "violated");
      write_attribute(out, "message", text_of(invariant, 3));
      fputs("/>\n", out);
    }
    sqlite3_finalize(finding);
  } else if (sqlite3_column_int64(invariant, 1) == 0) {
    fputs("      <skipped message=\"never in danger\"/>\n", out);
  }
  fputs("    </testcase>\n", out);
}

/* The verdict of the whole scenario is a case too: an expectation that is not met, a run that never rests. */
static void write_verdict_case(sqlite3 *db, sqlite3_stmt *campaign, bool failed, FILE *out) {
  fputs("    <testcase name=\"verdict\"", out);
  write_attribute(out, "classname", text_of(campaign, SCENARIO));
  fputs(">\n", out);
  if (failed) {
    sqlite3_stmt *stuck = finding_of(db, sqlite3_column_int64(campaign, ID), NULL);
    if (stuck != NULL) {
      write_failure(db, stuck, out);
    } else {
      fputs("      <failure", out);
      write_attribute(out, "type", text_of(campaign, VERDICT));
      write_attribute(out, "message", text_of(campaign, NOTE)[0] ? text_of(campaign, NOTE) : text_of(campaign, VERDICT));
      fputs("/>\n", out);
    }
    sqlite3_finalize(stuck);
  }
  fputs("    </testcase>\n", out);
}

static int64_t count_of(sqlite3 *db, const char *sql, int64_t id) {
  sqlite3_stmt *row = query(db, sql, id);
  int64_t count = row != NULL && sqlite3_step(row) == SQLITE_ROW ? sqlite3_column_int64(row, 0) : 0;
  sqlite3_finalize(row);
  return count;
}

static void campaign_as_junit(sqlite3 *db, sqlite3_stmt *campaign, FILE *out) {
  int64_t id = sqlite3_column_int64(campaign, ID);
  bool known_bad = sqlite3_column_int(campaign, KNOWN_BAD) != 0;
  int64_t cases = count_of(db, "SELECT count(*) FROM invariant WHERE campaign=?", id);
  int64_t violated = known_bad ? 0 : count_of(db, "SELECT count(*) FROM invariant WHERE campaign=? AND violated>0", id);
  int64_t skipped = count_of(db, "SELECT count(*) FROM invariant WHERE campaign=? AND in_danger=0", id);
  bool failed = violated == 0 && strcmp(text_of(campaign, VERDICT), "held") != 0;
  fputs("  <testsuite", out);
  write_attribute(out, "name", text_of(campaign, SCENARIO));
  fprintf(out, " tests=\"%lld\" failures=\"%lld\" errors=\"0\" skipped=\"%lld\">\n", (long long)cases + 1, (long long)violated + failed,
          (long long)skipped);
  sqlite3_stmt *row = query(db, "SELECT name, in_danger, violated, sentence FROM invariant WHERE campaign=? ORDER BY position", id);
  while (row != NULL && sqlite3_step(row) == SQLITE_ROW) write_case(db, id, text_of(campaign, SCENARIO), row, known_bad, out);
  sqlite3_finalize(row);
  write_verdict_case(db, campaign, failed, out);
  fputs("  </testsuite>\n", out);
}

bool report_write_junit(const char *database, FILE *out, char *error_out, size_t error_size) {
  fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"oncesim\">\n", out);
  bool fine = each_campaign(database, campaign_as_junit, out, error_out, error_size);
  fputs("</testsuites>\n", out);
  return fine;
}
