/* The results file and the reports made from it, on words that try them. */
#include "reports/results.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char *report_of(const char *database, bool (*write)(const char *, FILE *, char *, size_t)) {
  char error[400];
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  assert_non_null(out);
  if (!write(database, out, error, sizeof error)) fail_msg("%s", error);
  fclose(out);
  return text;
}

/* A campaign with one finding whose words hold what XML, JSON and SQL have trouble with. */
static void write_campaign(const char *path, bool known_bad) {
  char error[400];
  const struct report_invariant invariant[] = {{"first", 10, 3}, {"second", 0, 0}, {"third", 5, 0}};
  const char *const sentence[] = {"One \"thing\".", "Two.", "Three."};
  const char *const remedy[] = {"Do <this> & that.", "-", "-"};
  const struct report_point point = {"gap", 100, 7};
  const struct report_count ending = {"fulfilled", 9};
  const struct report_move move = {"Pending", "PaymentCompleted", 4};
  const struct report_summary summary = {.scenario = "odd",
                                         .runs = 10,
                                         .failing_runs = 3,
                                         .digest = UINT64_MAX,
                                         .invariant = invariant,
                                         .invariant_count = 3,
                                         .point = &point,
                                         .point_count = 1,
                                         .ending = &ending,
                                         .ending_count = 1,
                                         .verdict = known_bad ? REPORT_HELD : REPORT_VIOLATED};
  const struct report_fault fault = {"crash: gap, a<b>&\"c\"", "gone\x01; \x1b[1m'quoted'"};
  const struct report_finding finding = {.scenario = "odd",
                                         .invariant = "first",
                                         .sentence = "It's <broken>\x02 & \"bad\"",
                                         .remedy = remedy[0],
                                         .fault = &fault,
                                         .fault_count = 1,
                                         .faults_before = 4,
                                         .failing_runs = 3,
                                         .runs = 10,
                                         .replay_line = "oncesim replay x"};
  const struct report_campaign campaign = {.summary = &summary,
                                           .path = "odd.yaml",
                                           .text = "scenario: odd\n",
                                           .hash = 5,
                                           .known_bad = known_bad,
                                           .move = &move,
                                           .move_count = 1,
                                           .sentence = sentence,
                                           .remedy = remedy};
  struct report_results *results = report_results_open(path, true, error, sizeof error);
  assert_non_null(results);
  report_results_build(results, "oncesim", "test");
  report_results_finding(results, &finding);
  if (!report_results_close(results, &campaign, error, sizeof error)) fail_msg("%s", error);
}

static void make_path(char *path) {
  strcpy(path, "/tmp/oncesim-results-XXXXXX");
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
}

static void junit_escapes_what_xml_cannot_hold(void **state) {
  (void)state;
  char path[64];
  make_path(path);
  write_campaign(path, false);
  char *text = report_of(path, report_write_junit);
  assert_non_null(strstr(text, "message=\"It's &lt;broken&gt;? &amp; &quot;bad&quot;\""));
  assert_non_null(strstr(text, "1. crash: gap, a&lt;b&gt;&amp;&quot;c&quot; (gone?; ?[1m'quoted')"));
  assert_non_null(strstr(text, "remedy: Do &lt;this&gt; &amp; that.\nreplay: oncesim replay x\n"));
  assert_non_null(strstr(text, "<testsuite name=\"odd\" tests=\"4\" failures=\"1\" errors=\"0\" skipped=\"1\">"));
  assert_non_null(strstr(text, "<skipped message=\"never in danger\"/>"));
  for (const char *c = text; *c != '\0'; c++) assert_true((unsigned char)*c >= 0x20 || *c == '\n');
  free(text);
  unlink(path);
}

static void a_known_bad_campaign_that_comes_out_as_expected_has_no_failure(void **state) {
  (void)state;
  char path[64];
  make_path(path);
  write_campaign(path, true);
  char *text = report_of(path, report_write_junit);
  assert_null(strstr(text, "<failure"));
  assert_non_null(strstr(text, "failures=\"0\""));
  free(text);
  unlink(path);
}

static void text_and_json_tell_the_same_campaign(void **state) {
  (void)state;
  char path[64];
  make_path(path);
  write_campaign(path, false);
  char *text = report_of(path, report_write_text), *json = report_of(path, report_write_json);
  assert_non_null(strstr(text, "odd: violated, 10 runs, 3 fail"));
  assert_non_null(strstr(text, "first: It's <broken>"));
  assert_non_null(strstr(json, "\"digest\":\"ffffffffffffffff\""));
  assert_non_null(strstr(json, "\"moves\":[{\"state\":\"Pending\",\"event\":\"PaymentCompleted\",\"count\":4}]"));
  assert_non_null(strstr(json, "\"faults\":[{\"words\":\"crash: gap, a<b>&\\\"c\\\"\""));
  free(text);
  free(json);
  unlink(path);
}

static void what_is_no_database_is_told(void **state) {
  (void)state;
  char error[400];
  assert_false(report_write_text("/nowhere/results.sqlite", stdout, error, sizeof error));
  assert_non_null(strstr(error, "/nowhere/results.sqlite"));
  assert_null(report_results_open("/nowhere/results.sqlite", true, error, sizeof error));
  assert_non_null(strstr(error, "/nowhere/results.sqlite"));
}

int main(void) {
  const struct CMUnitTest results[] = {
      cmocka_unit_test(junit_escapes_what_xml_cannot_hold),
      cmocka_unit_test(a_known_bad_campaign_that_comes_out_as_expected_has_no_failure),
      cmocka_unit_test(text_and_json_tell_the_same_campaign),
      cmocka_unit_test(what_is_no_database_is_told),
  };
  return cmocka_run_group_tests(results, NULL, NULL);
}
