/* Method. The bytes are checked (size, UTF-8) before libfyaml sees them; then a table of keys drives both reading and the
   list that tests compare with the JSON Schema. Each error names file, line and column, and shows the line. */
#include "runner/scenario.h"

#include <errno.h>
#include <inttypes.h>
#include <libfyaml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "faults/catalogue.h"
#include "runner/names.h"
#include "runner/suggest.h"
#include "runner/text.h"
#include "sim/check.h"
#include "sim/hash.h"

struct reader {
  struct runner_scenario *scenario;
  const char *path;
  const char *text;
  size_t size;
  char *error;
  size_t error_size;
  bool failed;
  struct fy_node *key; /* of the value being read: the place to name where the value has none */
};

typedef void read_value(struct reader *reader, struct fy_node *value);

struct key {
  const char *section; /* "" at the top */
  const char *name;
  read_value *read;
};

/* ---- errors ---- */

static void fail_at(struct reader *reader, int line, int column, const char *message) {
  if (reader->failed) return;
  reader->failed = true;
  const char *start = reader->text;
  for (int i = 1; i < line && start != NULL; i++) {
    const char *next = memchr(start, '\n', (size_t)(reader->text + reader->size - start));
    start = next ? next + 1 : NULL;
  }
  size_t line_size = 0;
  if (start != NULL) {
    while (start + line_size < reader->text + reader->size && start[line_size] != '\n' && line_size < 200) line_size++;
  }
  snprintf(reader->error, reader->error_size, "%s:%d:%d: %s\n    %.*s", reader->path, line, column, message, (int)line_size,
           start ? start : "");
}

static void fail_node(struct reader *reader, struct fy_node *node, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void fail_node(struct reader *reader, struct fy_node *node, const char *format, ...) {
  char message[800];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  struct fy_token *token = node ? fy_node_get_scalar_token(node) : NULL;
  const struct fy_mark *mark = token ? fy_token_start_mark(token) : NULL;
  struct fy_node *parent = node;
  while (mark == NULL && parent != NULL) { /* a mapping or sequence: the place of its first scalar */
    struct fy_node *first =
        fy_node_is_mapping(parent) && fy_node_mapping_item_count(parent) > 0     ? fy_node_pair_key(fy_node_mapping_get_by_index(parent, 0))
        : fy_node_is_sequence(parent) && fy_node_sequence_item_count(parent) > 0 ? fy_node_sequence_get_by_index(parent, 0)
                                                                                 : NULL;
    token = first ? fy_node_get_scalar_token(first) : NULL;
    mark = token ? fy_token_start_mark(token) : NULL;
    parent = first;
  }
  if (mark == NULL && reader->key != NULL && node != reader->key) {
    token = fy_node_get_scalar_token(reader->key);
    mark = token ? fy_token_start_mark(token) : NULL;
  }
  fail_at(reader, mark ? mark->line + 1 : 1, mark ? mark->column + 1 : 1, message);
}

/* ---- scalars ---- */

/* A scalar's text, copied into `out`; fails on anything else. */
static bool scalar(struct reader *reader, struct fy_node *node, char *out, size_t size, const char *what) {
  size_t length = 0;
  const char *text = node && fy_node_is_scalar(node) ? fy_node_get_scalar(node, &length) : NULL;
  if (text == NULL || length == 0) {
    fail_node(reader, node, "%s is expected here", what);
    return false;
  }
  if (length >= size) {
    fail_node(reader, node, "%s is at most %zu bytes long", what, size - 1);
    return false;
  }
  memcpy(out, text, length);
  out[length] = '\0';
  if (strlen(out) != length) {
    fail_node(reader, node, "%s holds no NUL byte", what);
    return false;
  }
  return true;
}

static int64_t whole_number(struct reader *reader, struct fy_node *node, int64_t least, int64_t most) {
  char text[40];
  int64_t number = 0;
  if (!scalar(reader, node, text, sizeof text, "a whole number")) return least;
  if (!runner_text_integer(text, &number)) fail_node(reader, node, "\"%s\" is not a whole number", text);
  else if (number < least || number > most) fail_node(reader, node, "%s is out of range: %" PRId64 " to %" PRId64, text, least, most);
  return number;
}

static int64_t duration(struct reader *reader, struct fy_node *node, int64_t least_ns, int64_t most_ns) {
  char text[40];
  int64_t ns = least_ns;
  if (!scalar(reader, node, text, sizeof text, "a duration such as 250ms, 10m or 7d")) return least_ns;
  const char *reason = runner_text_duration(text, &ns);
  char least[40], most[40];
  runner_text_duration_words(least_ns, least, sizeof least);
  runner_text_duration_words(most_ns, most, sizeof most);
  if (reason != NULL) fail_node(reader, node, "\"%s\": %s", text, reason);
  else if (ns < least_ns || ns > most_ns) fail_node(reader, node, "%s is out of range: %s to %s", text, least, most);
  return ns;
}

static bool boolean(struct reader *reader, struct fy_node *node) {
  char text[16];
  if (!scalar(reader, node, text, sizeof text, "true or false")) return false;
  if (strcmp(text, "true") == 0) return true;
  if (strcmp(text, "false") != 0) fail_node(reader, node, "\"%s\": true or false is expected here", text);
  return false;
}

static struct sim_odds odds(struct reader *reader, struct fy_node *node) {
  char text[40];
  struct sim_odds value = {0};
  if (!scalar(reader, node, text, sizeof text, "odds such as 1/50 or 0.02")) return value;
  const char *reason = runner_text_odds(text, &value);
  if (reason != NULL) fail_node(reader, node, "\"%s\": %s", text, reason);
  return value;
}

/* ---- values of the top level ---- */

#define SCENARIO (reader->scenario)

static void read_name(struct reader *reader, struct fy_node *value) {
  if (!scalar(reader, value, SCENARIO->name, sizeof SCENARIO->name, "the scenario's name")) return;
  for (const char *c = SCENARIO->name; *c != '\0'; c++) {
    if ((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '-' || *c == '.' || *c == '_') continue;
    fail_node(reader, value, "a scenario's name is made of a-z, 0-9, '-', '_' and '.'");
  }
}

static void read_about(struct reader *reader, struct fy_node *value) {
  char text[2000];
  if (!scalar(reader, value, text, sizeof text, "a text")) return;
  free(SCENARIO->about);
  SCENARIO->about = strdup(text);
}

static void read_seeds(struct reader *reader, struct fy_node *value) { SCENARIO->seeds = whole_number(reader, value, 1, 1000000000); }
static void read_orders(struct reader *reader, struct fy_node *value) {
  SCENARIO->config.purchases = whole_number(reader, value, 1, MODEL_PURCHASES_MAX);
}

static void read_amount(struct reader *reader, struct fy_node *value) {
  char text[40];
  if (!scalar(reader, value, text, sizeof text, "an amount such as \"4999 EUR\"")) return;
  char *space = strchr(text, ' ');
  int64_t amount = 0;
  if (space != NULL) *space++ = '\0';
  bool currency = space != NULL && strlen(space) == 3 && strspn(space, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == 3;
  if (!currency || !runner_text_integer(text, &amount) || amount < 1 || amount > 100000000) {
    fail_node(reader, value, "an amount is whole minor units and a currency, such as \"4999 EUR\", from 1 to 100000000");
    return;
  }
  SCENARIO->config.amount_minor = amount;
  memcpy(SCENARIO->config.currency, space, 4);
}

static void read_restocking_fee(struct reader *reader, struct fy_node *value) {
  SCENARIO->config.restocking_fee_minor = whole_number(reader, value, 0, 100000000);
}

static void read_snapshot_every(struct reader *reader, struct fy_node *value) {
  SCENARIO->config.snapshot_every = whole_number(reader, value, 0, MODEL_EVENTS_MAX);
}

static int service_named(const char *name) {
  for (int s = 0; s < MODEL_SERVICE_COUNT; s++) {
    if (!model_services[s].outside && strcmp(model_services[s].name, name) == 0) return s;
  }
  return -1;
}

/* The services whose databases may come back as older copies. */
static void read_restorable(struct reader *reader, struct fy_node *value) {
  uint32_t kept = ~UINT32_C(0);
  void *iterator = NULL;
  struct fy_node *item;
  if (value == NULL || !fy_node_is_sequence(value)) {
    fail_node(reader, value, "a list of services is expected here");
    return;
  }
  while ((item = fy_node_sequence_iterate(value, &iterator)) != NULL) {
    char text[40], hint[120];
    if (!scalar(reader, item, text, sizeof text, "a service's name")) return;
    int service = service_named(text);
    runner_suggest_words(hint, sizeof hint, text, runner_service_name, runner_service_count());
    if (service < 0) fail_node(reader, item, "unknown service \"%s\"%s", text, hint);
    else kept &= ~(UINT32_C(1) << service);
  }
  SCENARIO->setup.not_restored = kept;
}

static void read_reconcile_every(struct reader *reader, struct fy_node *value) {
  SCENARIO->config.reconcile_every_ns = duration(reader, value, SIM_MINUTE, 30 * SIM_DAY);
}

static void read_overdue_after(struct reader *reader, struct fy_node *value) {
  SCENARIO->config.overdue_after_ns = duration(reader, value, SIM_HOUR, 30 * SIM_DAY);
}

static void read_request_lifetime(struct reader *reader, struct fy_node *value) {
  SCENARIO->config.request_lifetime_ns = duration(reader, value, SIM_SECOND, 30 * SIM_DAY);
}
static void read_lease(struct reader *reader, struct fy_node *value) {
  SCENARIO->config.lease_ns = duration(reader, value, SIM_SECOND, SIM_DAY);
}
static void read_retry_window(struct reader *reader, struct fy_node *value) {
  SCENARIO->setup.retry_window_ns = duration(reader, value, SIM_MINUTE, 30 * SIM_DAY);
}
static void read_dedup_retention(struct reader *reader, struct fy_node *value) {
  SCENARIO->setup.dedup_retention_ns = duration(reader, value, SIM_MINUTE, 60 * SIM_DAY);
}
static void read_faults_until(struct reader *reader, struct fy_node *value) {
  SCENARIO->setup.faults_until_ns = duration(reader, value, 0, 90 * SIM_DAY);
}
static void read_resolve_within(struct reader *reader, struct fy_node *value) {
  SCENARIO->setup.resolve_within_ns = duration(reader, value, SIM_MINUTE, 365 * SIM_DAY);
}
static void read_resolve_attempts(struct reader *reader, struct fy_node *value) {
  SCENARIO->config.resolve_attempts = whole_number(reader, value, 2, 100);
}
static void read_masked_by(struct reader *reader, struct fy_node *value) {
  scalar(reader, value, SCENARIO->masked_by, sizeof SCENARIO->masked_by, "the guard's name");
}
static void read_reopen(struct reader *reader, struct fy_node *value) { SCENARIO->setup.reopen_at_crash = boolean(reader, value); }

/* ---- sections ---- */

static uint64_t invariant_list(struct reader *reader, struct fy_node *value) {
  uint64_t mask = 0;
  if (!fy_node_is_sequence(value)) {
    fail_node(reader, value, "a list of invariants is expected here");
    return 0;
  }
  void *iterator = NULL;
  struct fy_node *item;
  while ((item = fy_node_sequence_iterate(value, &iterator)) != NULL) {
    char text[80], hint[120];
    if (!scalar(reader, item, text, sizeof text, "an invariant's name")) return 0;
    int index = model_invariant_find(text);
    runner_suggest_words(hint, sizeof hint, text, runner_invariant_name, runner_invariant_count());
    if (index < 0) fail_node(reader, item, "unknown invariant \"%s\"%s", text, hint);
    else mask |= UINT64_C(1) << index;
  }
  return mask;
}

static void read_must_exercise(struct reader *reader, struct fy_node *value) {
  SCENARIO->must_exercise = invariant_list(reader, value);
  SCENARIO->has_must_exercise = true;
}

static void read_violates(struct reader *reader, struct fy_node *value) { SCENARIO->expect.violates = invariant_list(reader, value); }
static void read_violates_any(struct reader *reader, struct fy_node *value) {
  SCENARIO->expect.violates_any = invariant_list(reader, value);
}
static void read_may(struct reader *reader, struct fy_node *value) { SCENARIO->expect.may = invariant_list(reader, value); }
static void read_order_instances(struct reader *reader, struct fy_node *value) {
  SCENARIO->config.order_instances = (uint8_t)whole_number(reader, value, 1, SIM_INSTANCES_MAX);
}
static void read_payment_instances(struct reader *reader, struct fy_node *value) {
  SCENARIO->config.payment_instances = (uint8_t)whole_number(reader, value, 1, SIM_INSTANCES_MAX);
}
static void read_mail_instances(struct reader *reader, struct fy_node *value) {
  SCENARIO->config.mail_instances = (uint8_t)whole_number(reader, value, 1, SIM_INSTANCES_MAX);
}
static void read_provider(struct reader *reader, struct fy_node *value, enum runner_provider provider) {
  char text[40], error[RUNNER_ERROR_SIZE];
  if (!scalar(reader, value, text, sizeof text, "a profile's name")) return;
  if (!runner_scenario_profile(SCENARIO, provider, text, error, sizeof error)) fail_node(reader, value, "%s", error);
}

static void read_broker(struct reader *reader, struct fy_node *value) { read_provider(reader, value, RUNNER_BROKER); }
static void read_accounts(struct reader *reader, struct fy_node *value) { read_provider(reader, value, RUNNER_ACCOUNTS); }
static void read_profile(struct reader *reader, struct fy_node *value) { read_provider(reader, value, RUNNER_GATEWAY); }
static void read_mail(struct reader *reader, struct fy_node *value) { read_provider(reader, value, RUNNER_MAIL); }

static void read_saga_instances(struct reader *reader, struct fy_node *value) {
  SCENARIO->config.saga_instances = (uint8_t)whole_number(reader, value, 1, SIM_INSTANCES_MAX);
}
static void read_second_payment(struct reader *reader, struct fy_node *value) { SCENARIO->config.second_payment = boolean(reader, value); }

static void read_redeliveries(struct reader *reader, struct fy_node *value) {
  SCENARIO->redeliveries_said = whole_number(reader, value, 1, 10000);
}
static void read_polls(struct reader *reader, struct fy_node *value) { SCENARIO->config.polls_max = whole_number(reader, value, 1, 10000); }

static void read_workflow(struct reader *reader, struct fy_node *value) {
  char text[40];
  if (!scalar(reader, value, text, sizeof text, "payment, order or registration")) return;
  if (strcmp(text, "payment") == 0) SCENARIO->config.workflow = MODEL_WORKFLOW_PAYMENT;
  else if (strcmp(text, "order") == 0) SCENARIO->config.workflow = MODEL_WORKFLOW_ORDER;
  else if (strcmp(text, "registration") == 0) SCENARIO->config.workflow = MODEL_WORKFLOW_REGISTRATION;
  else fail_node(reader, value, "\"%s\": payment, order or registration is expected here", text);
}

static void read_key_retention(struct reader *reader, struct fy_node *value) {
  SCENARIO->config.gateway.key_retention_ns = duration(reader, value, SIM_MINUTE, 365 * SIM_DAY);
}
static void read_look_up_lag(struct reader *reader, struct fy_node *value) {
  SCENARIO->config.gateway.look_up_lag_ns = duration(reader, value, 0, SIM_DAY);
}
static void read_takes_keys(struct reader *reader, struct fy_node *value) { SCENARIO->config.gateway.takes_keys = boolean(reader, value); }
static void read_looks_up(struct reader *reader, struct fy_node *value) { SCENARIO->config.gateway.looks_up = boolean(reader, value); }
static void read_stores_errors(struct reader *reader, struct fy_node *value) {
  SCENARIO->config.gateway.stores_errors = boolean(reader, value);
}

static void read_notifies(struct reader *reader, struct fy_node *value) { SCENARIO->config.gateway.notifies = boolean(reader, value); }
static void read_statements(struct reader *reader, struct fy_node *value) { SCENARIO->config.gateway.statements = boolean(reader, value); }
static void read_error_frees_key(struct reader *reader, struct fy_node *value) {
  SCENARIO->config.gateway.error_frees_key = boolean(reader, value);
}
static void read_limits_refunds(struct reader *reader, struct fy_node *value) {
  SCENARIO->config.gateway.limits_refunds = boolean(reader, value);
}

static void read_reverses(struct reader *reader, struct fy_node *value) { SCENARIO->config.gateway.reverses = boolean(reader, value); }
static void read_knows_finished_only(struct reader *reader, struct fy_node *value) {
  SCENARIO->config.gateway.knows_finished_only = boolean(reader, value);
}
static void read_failed_final_after(struct reader *reader, struct fy_node *value) {
  SCENARIO->config.gateway.failed_final_after_ns = duration(reader, value, 0, 30 * SIM_DAY);
}
static void read_decides_after(struct reader *reader, struct fy_node *value) {
  SCENARIO->config.gateway.decides_after_ns = duration(reader, value, 0, 30 * SIM_DAY);
}
static void read_lookalike(struct reader *reader, struct fy_node *value) {
  SCENARIO->config.gateway.lookalike_ns = duration(reader, value, 0, SIM_DAY);
}

/* Words for the values of a small enum, in its order. */
static const char *const other_parameters_words[] = {"refused", "ignored", NULL};
static const char *const repeat_words[] = {"answered", "receipt", "names_first", "refused", NULL};
static const char *const key_store_words[] = {"always_up", "fails_closed", "fails_open", NULL};

/* Which of the words it is, or 0 after an error. */
static unsigned one_of(struct reader *reader, struct fy_node *value, const char *const *words) {
  char text[40], all[120] = "";
  unsigned index = 0;
  size_t used = 0;
  for (size_t i = 0; words[i] != NULL && used < sizeof all; i++)
    used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i == 0 ? "" : words[i + 1] == NULL ? " or " : ", ", words[i]);
  if (!scalar(reader, value, text, sizeof text, all)) return 0;
  while (words[index] != NULL && strcmp(words[index], text) != 0) index++;
  if (words[index] != NULL) return index;
  fail_node(reader, value, "\"%s\": %s is expected here", text, all);
  return 0;
}

static void read_other_parameters(struct reader *reader, struct fy_node *value) {
  SCENARIO->config.gateway.other_parameters = (enum model_other_parameters)one_of(reader, value, other_parameters_words);
}
static void read_repeat(struct reader *reader, struct fy_node *value) {
  SCENARIO->config.gateway.repeat = (enum model_repeat)one_of(reader, value, repeat_words);
}
static void read_key_store(struct reader *reader, struct fy_node *value) {
  SCENARIO->config.gateway.key_store = (enum model_key_store)one_of(reader, value, key_store_words);
}

static void read_design(struct reader *reader, struct fy_node *value) {
  if (!fy_node_is_mapping(value)) {
    fail_node(reader, value, "a design maps axes to choices, such as {payment.key: fresh}");
    return;
  }
  void *iterator = NULL;
  struct fy_node_pair *pair;
  while ((pair = fy_node_mapping_iterate(value, &iterator)) != NULL && !reader->failed) {
    char axis[60], choice[60], assignment[124], error[RUNNER_ERROR_SIZE];
    if (!scalar(reader, fy_node_pair_key(pair), axis, sizeof axis, "an axis") ||
        !scalar(reader, fy_node_pair_value(pair), choice, sizeof choice, "a choice"))
      return;
    snprintf(assignment, sizeof assignment, "%s=%s", axis, choice);
    if (runner_scenario_set(SCENARIO, assignment, error, sizeof error)) continue;
    fail_node(reader, model_axis_find(axis) < 0 ? fy_node_pair_key(pair) : fy_node_pair_value(pair), "%s", error);
  }
}

/* The number of a non-dull answer named by `node`; 0 after an error. */
static int read_answer(struct reader *reader, struct fy_node *node, const struct sim_point *point) {
  char text[60], hint[120];
  if (!scalar(reader, node, text, sizeof text, "an answer")) return 0;
  for (int a = 1; a < point->answer_count; a++) {
    if (strcmp(point->answer[a].text, text) == 0) return a;
  }
  runner_answers_of(point->index);
  runner_suggest_words(hint, sizeof hint, text, runner_answer_name, runner_answer_count());
  fail_node(reader, node, "fault point %s has no answer \"%s\"%s", point->name.text, text, hint);
  return 0;
}

/* {answer: odds, …} or "off" for one point. */
static void read_point(struct reader *reader, struct fy_node *value, const struct sim_point *point) {
  struct sim_plan *plan = &SCENARIO->plan;
  if (fy_node_is_scalar(value)) {
    char text[16];
    if (!scalar(reader, value, text, sizeof text, "\"off\", or answers with odds")) return;
    if (strcmp(text, "off") != 0) {
      fail_node(reader, value, "\"%s\": \"off\", or answers with odds, are expected here", text);
      return;
    }
    memset(plan->odds[point->index], 0, sizeof plan->odds[point->index]);
    plan->explored[point->index] = 0;
    return;
  }
  if (!fy_node_is_mapping(value)) {
    fail_node(reader, value, "\"off\", or answers with odds, are expected here");
    return;
  }
  void *iterator = NULL;
  struct fy_node_pair *pair;
  while ((pair = fy_node_mapping_iterate(value, &iterator)) != NULL && !reader->failed) {
    int answer = read_answer(reader, fy_node_pair_key(pair), point);
    if (answer == 0) return;
    reader->key = fy_node_pair_key(pair);
    struct sim_odds value_odds = odds(reader, fy_node_pair_value(pair));
    plan->odds[point->index][answer] = value_odds;
    if (value_odds.denominator != 0) plan->explored[point->index] |= (uint8_t)(1U << answer);
    else plan->explored[point->index] &= (uint8_t) ~(1U << answer);
  }
}

static void read_base(struct reader *reader, struct fy_node *value) {
  char text[16];
  if (!scalar(reader, value, text, sizeof text, "default or quiet")) return;
  if (strcmp(text, "default") == 0) fault_plan_default(&SCENARIO->plan);
  else if (strcmp(text, "quiet") == 0) fault_plan_quiet(&SCENARIO->plan);
  else fail_node(reader, value, "\"%s\": default or quiet is expected here", text);
}

static void read_faults(struct reader *reader, struct fy_node *value) {
  if (fy_node_is_scalar(value)) {
    read_base(reader, value);
    return;
  }
  if (!fy_node_is_mapping(value)) {
    fail_node(reader, value, "\"default\", \"quiet\", or fault points with odds, are expected here");
    return;
  }
  void *iterator = NULL;
  struct fy_node_pair *pair;
  /* The base is read first: the other keys change single points of it. */
  struct fy_node *base = fy_node_mapping_lookup_by_string(value, "base", (size_t)-1);
  if (base != NULL) read_base(reader, base);
  while ((pair = fy_node_mapping_iterate(value, &iterator)) != NULL && !reader->failed) {
    char name[60], hint[120];
    if (!scalar(reader, fy_node_pair_key(pair), name, sizeof name, "a fault point")) return;
    reader->key = fy_node_pair_key(pair);
    if (strcmp(name, "base") == 0) continue;
    if (strcmp(name, "swarm") == 0) {
      SCENARIO->plan.swarm = boolean(reader, fy_node_pair_value(pair));
      continue;
    }
    const struct sim_point *point = sim_catalogue_find(fault_catalogue(), name);
    runner_suggest_words(hint, sizeof hint, name, runner_point_name, runner_point_count());
    if (point == NULL) fail_node(reader, fy_node_pair_key(pair), "unknown fault point \"%s\"%s", name, hint);
    else read_point(reader, fy_node_pair_value(pair), point);
  }
}

/* {point: [answer, …]}: what explore asks, exactly, at the points named. */
static void read_explore(struct reader *reader, struct fy_node *value) {
  if (!fy_node_is_mapping(value)) {
    fail_node(reader, value, "fault points with lists of answers are expected here");
    return;
  }
  void *iterator = NULL;
  struct fy_node_pair *pair;
  while ((pair = fy_node_mapping_iterate(value, &iterator)) != NULL && !reader->failed) {
    char name[60], hint[120];
    if (!scalar(reader, fy_node_pair_key(pair), name, sizeof name, "a fault point")) return;
    reader->key = fy_node_pair_key(pair);
    const struct sim_point *point = sim_catalogue_find(fault_catalogue(), name);
    runner_suggest_words(hint, sizeof hint, name, runner_point_name, runner_point_count());
    if (point == NULL) {
      fail_node(reader, fy_node_pair_key(pair), "unknown fault point \"%s\"%s", name, hint);
      return;
    }
    struct fy_node *list = fy_node_pair_value(pair);
    if (list == NULL || !fy_node_is_sequence(list)) {
      fail_node(reader, list, "a list of answers is expected here");
      return;
    }
    uint8_t mask = 0;
    void *items = NULL;
    struct fy_node *item;
    while ((item = fy_node_sequence_iterate(list, &items)) != NULL && !reader->failed) {
      int answer = read_answer(reader, item, point);
      if (answer > 0) mask |= (uint8_t)(1U << answer);
    }
    SCENARIO->plan.explored[point->index] = mask;
  }
}

static void read_section(struct reader *reader, struct fy_node *value, const char *section);
static void read_gateway(struct reader *reader, struct fy_node *value) {
  if (fy_node_is_scalar(value)) read_profile(reader, value);
  else read_section(reader, value, "gateway");
}
static void read_instances(struct reader *reader, struct fy_node *value) { read_section(reader, value, "instances"); }
static void read_limits(struct reader *reader, struct fy_node *value) { read_section(reader, value, "limits"); }
static void read_expect(struct reader *reader, struct fy_node *value) {
  SCENARIO->expect.known_bad = true;
  read_section(reader, value, "expect");
}

static const struct key keys[] = {
    {"", "scenario", read_name},
    {"", "about", read_about},
    {"", "seeds", read_seeds},
    {"", "orders", read_orders},
    {"", "amount", read_amount},
    {"", "restocking_fee", read_restocking_fee},
    {"", "snapshot_every", read_snapshot_every},
    {"", "reconcile_every", read_reconcile_every},
    {"", "overdue_after", read_overdue_after},
    {"", "restorable", read_restorable},
    {"", "instances", read_instances},
    {"", "workflow", read_workflow},
    {"", "gateway", read_gateway},
    {"", "mail", read_mail},
    {"", "design", read_design},
    {"", "faults", read_faults},
    {"", "explore", read_explore},
    {"", "request_lifetime", read_request_lifetime},
    {"", "lease", read_lease},
    {"", "retry_window", read_retry_window},
    {"", "dedup_retention", read_dedup_retention},
    {"", "faults_until", read_faults_until},
    {"", "resolve_within", read_resolve_within},
    {"", "resolve_attempts", read_resolve_attempts},
    {"", "reopen_at_crash", read_reopen},
    {"", "limits", read_limits},
    {"", "must_exercise", read_must_exercise},
    {"", "expect", read_expect},
    {"", "masked_by", read_masked_by},
    {"", "broker", read_broker},
    {"", "accounts", read_accounts},
    {"", "second_payment", read_second_payment},
    {"instances", "sagas", read_saga_instances},
    {"instances", "orders", read_order_instances},
    {"instances", "payments", read_payment_instances},
    {"instances", "mails", read_mail_instances},
    {"gateway", "profile", read_profile},
    {"gateway", "key_retention", read_key_retention},
    {"gateway", "takes_keys", read_takes_keys},
    {"gateway", "looks_up", read_looks_up},
    {"gateway", "look_up_lag", read_look_up_lag},
    {"gateway", "stores_errors", read_stores_errors},
    {"gateway", "limits_refunds", read_limits_refunds},
    {"gateway", "notifies", read_notifies},
    {"gateway", "statements", read_statements},
    {"gateway", "error_frees_key", read_error_frees_key},
    {"gateway", "other_parameters", read_other_parameters},
    {"gateway", "repeat", read_repeat},
    {"gateway", "key_store", read_key_store},
    {"gateway", "knows_finished_only", read_knows_finished_only},
    {"gateway", "lookalike", read_lookalike},
    {"gateway", "failed_final_after", read_failed_final_after},
    {"gateway", "reverses", read_reverses},
    {"gateway", "decides_after", read_decides_after},
    {"limits", "redeliveries", read_redeliveries},
    {"limits", "polls", read_polls},
    {"expect", "violates", read_violates},
    {"expect", "violates_any", read_violates_any},
    {"expect", "may", read_may},
};
enum { KEY_COUNT = sizeof keys / sizeof keys[0] };

const char *runner_scenario_key(size_t index) {
  static char text[80];
  if (index >= KEY_COUNT) return NULL;
  snprintf(text, sizeof text, "%s%s%s", keys[index].section, keys[index].section[0] ? "." : "", keys[index].name);
  return text;
}

static const char *section_for_hint;
static const char *key_in_section(size_t index) {
  for (size_t i = 0; i < KEY_COUNT; i++) {
    if (strcmp(keys[i].section, section_for_hint) == 0 && index-- == 0) return keys[i].name;
  }
  return "";
}

static size_t keys_in_section(void) {
  size_t count = 0;
  for (size_t i = 0; i < KEY_COUNT; i++) count += strcmp(keys[i].section, section_for_hint) == 0;
  return count;
}

static void read_section(struct reader *reader, struct fy_node *value, const char *section) {
  if (value == NULL || !fy_node_is_mapping(value)) {
    fail_node(reader, value, "\"%s\" is a mapping of keys to values", section[0] ? section : "a scenario");
    return;
  }
  void *iterator = NULL;
  struct fy_node_pair *pair;
  struct fy_node *explore = NULL;
  /* The profile is read first: other keys of the section change single values of it. */
  if (strcmp(section, "gateway") == 0) {
    struct fy_node *profile = fy_node_mapping_lookup_by_string(value, "profile", (size_t)-1);
    if (profile != NULL) read_profile(reader, profile);
  }
  while ((pair = fy_node_mapping_iterate(value, &iterator)) != NULL && !reader->failed) {
    char name[60], hint[120];
    if (!scalar(reader, fy_node_pair_key(pair), name, sizeof name, "a key")) return;
    reader->key = fy_node_pair_key(pair);
    const struct key *key = NULL;
    for (size_t i = 0; i < KEY_COUNT; i++) {
      if (strcmp(keys[i].section, section) == 0 && strcmp(keys[i].name, name) == 0) key = &keys[i];
    }
    section_for_hint = section;
    runner_suggest_words(hint, sizeof hint, name, key_in_section, keys_in_section());
    if (key == NULL) fail_node(reader, fy_node_pair_key(pair), "unknown key \"%s\"%s%s%s", name, section[0] ? " in " : "", section, hint);
    else if (key->read == read_explore) explore = fy_node_pair_value(pair); /* behind the faults, wherever it stands */
    else if (key->read != read_profile || strcmp(section, "gateway") != 0) key->read(reader, fy_node_pair_value(pair));
  }
  if (explore != NULL && !reader->failed) read_explore(reader, explore);
}

/* ---- the whole ---- */

enum { POLLS_USUAL = 40 };

static void set_defaults(struct runner_scenario *scenario) {
  scenario->seeds = 2000;
  scenario->config = (struct model_config){.purchases = 1,
                                           .amount_minor = 4999,
                                           .currency = "EUR",
                                           .gateway = *model_gateway_profile_find("ideal"),
                                           .mail = *model_mail_profile_find("ideal"),
                                           .restocking_fee_minor = -1,
                                           .reconcile_every_ns = SIM_DAY,
                                           .mail_instances = 1,
                                           .saga_instances = 1,
                                           .accounts = *model_account_profile_find("ideal"),
                                           .request_lifetime_ns = 10 * SIM_MINUTE,
                                           .lease_ns = SIM_MINUTE,
                                           .resolve_attempts = 12,
                                           .redeliveries_max = 0,
                                           .polls_max = 0,
                                           .order_instances = 1,
                                           .payment_instances = 1};
  scenario->setup.broker = &model_broker_find("usual")->broker;
  scenario->setup.retry_window_ns = 2 * SIM_DAY;
  scenario->setup.dedup_retention_ns = 7 * SIM_DAY;
  scenario->setup.faults_until_ns = 10 * SIM_DAY;
  scenario->setup.resolve_within_ns = 30 * SIM_DAY;
  fault_plan_default(&scenario->plan);
}

/* How often the bus, or a broker with an operator who requeues, delivers one message without a design being at fault. */
static int64_t redeliveries_usual(const struct runner_scenario *scenario) {
  const struct sim_broker *broker = scenario->setup.broker;
  enum { OF_THE_BUS = 24, LEASES_LOST = 20 };
  if (scenario->config.workflow != MODEL_WORKFLOW_REGISTRATION) return OF_THE_BUS;
  return (int64_t)broker->tries_at_once * (broker->rounds_later + 1) * (1 + SIM_REQUEUES_MAX) + LEASES_LOST;
}

void runner_scenario_settle(struct runner_scenario *scenario) {
  struct sim_setup *setup = &scenario->setup;
  const struct model_config *config = &scenario->config;
  setup->scenario = scenario->name;
  scenario->config.redeliveries_max = scenario->redeliveries_said != 0 ? scenario->redeliveries_said : redeliveries_usual(scenario);
  setup->scenario_seed = sim_hash_text(scenario->name);
  bool saga = config->workflow == MODEL_WORKFLOW_REGISTRATION;
  setup->instance_count[SERVICE_GATEWAY] = 1;
  setup->instance_count[SERVICE_CUSTOMERS] = !saga;
  setup->instance_count[SERVICE_ORDERS] = saga ? 0 : config->order_instances;
  setup->instance_count[SERVICE_PAYMENTS] = saga ? 0 : config->payment_instances;
  setup->instance_count[SERVICE_USERS] = setup->instance_count[SERVICE_XYZ] = saga;
  setup->instance_count[SERVICE_REGISTRATIONS] = setup->instance_count[SERVICE_CHARGES] = setup->instance_count[SERVICE_ACCOUNTS] =
      saga ? config->saga_instances : 0;
  bool whole = config->workflow == MODEL_WORKFLOW_ORDER;
  setup->instance_count[SERVICE_MAILS] = whole ? config->mail_instances : 0;
  setup->instance_count[SERVICE_WAREHOUSE] = setup->instance_count[SERVICE_MAILER] = setup->instance_count[SERVICE_CARRIER] = whole;
  setup->instance_count[SERVICE_OPERATOR] = whole;
  setup->durability = (enum sim_durability)config->design.choice[AXIS_JOURNAL_DURABILITY];
  setup->request_lifetime_ns = config->request_lifetime_ns;
  setup->lease_ns = config->lease_ns;
}

static void check_whole(struct reader *reader, struct fy_node *root) {
  const struct model_config *config = &SCENARIO->config;
  if (reader->failed) return;
  if (SCENARIO->name[0] == '\0') fail_node(reader, root, "the key \"scenario\" (its name) is missing");
  if (config->gateway.takes_keys && config->request_lifetime_ns >= config->gateway.key_retention_ns)
    fail_node(reader, root,
              "request_lifetime reaches the gateway's key retention: a late request would run again under a forgotten key, and no client "
              "can prevent it");
  if (config->restocking_fee_minor < 0) SCENARIO->config.restocking_fee_minor = config->amount_minor / 10;
  if (config->restocking_fee_minor >= config->amount_minor)
    fail_node(reader, root, "the restocking fee is less than the amount, or nothing would be given back");
  if (SCENARIO->expect.known_bad && (SCENARIO->expect.violates | SCENARIO->expect.violates_any) == 0 && SCENARIO->expect.may == 0)
    fail_node(reader, root, "\"expect\" names no invariant");
}

static struct fy_document *build(struct reader *reader) {
  struct fy_diag *diag = fy_diag_create(NULL);
  fy_diag_set_collect_errors(diag, true);
  struct fy_parse_cfg config = {.flags = FYPCF_QUIET, .diag = diag};
  struct fy_parser *parser = fy_parser_create(&config);
  ENSURE(parser != NULL && fy_parser_set_string(parser, reader->text, reader->size) == 0);
  struct fy_document *document = fy_parse_load_document(parser);
  bool broken = fy_diag_got_error(diag);
  if (document != NULL && !broken) {
    struct fy_document *second = fy_parse_load_document(parser);
    if (second != NULL) fail_at(reader, 1, 1, "the file holds more than one document");
    if (second != NULL) fy_parse_document_destroy(parser, second);
    broken = fy_diag_got_error(diag);
  }
  if (broken) {
    void *iterator = NULL;
    struct fy_diag_error *error = fy_diag_errors_iterate(diag, &iterator);
    fail_at(reader, error ? error->line : 1, error ? error->column : 1, error && error->msg ? error->msg : "this is not YAML");
  }
  if (document != NULL && reader->failed) {
    fy_parse_document_destroy(parser, document);
    document = NULL;
  }
  if (document == NULL) fail_at(reader, 1, 1, "the file is empty");
  fy_parser_destroy(parser);
  fy_diag_destroy(diag);
  return document;
}

struct runner_scenario *runner_scenario_parse(const char *path, const char *text, size_t size, char *error_out, size_t error_size) {
  struct runner_scenario *scenario = calloc(1, sizeof *scenario);
  ENSURE(scenario != NULL);
  struct reader reader = {.scenario = scenario, .path = path, .text = text, .size = size, .error = error_out, .error_size = error_size};
  snprintf(scenario->path, sizeof scenario->path, "%s", path);
  set_defaults(scenario);
  size_t bad_at = 0;
  if (size > RUNNER_SCENARIO_SIZE_MAX) {
    snprintf(error_out, error_size, "%s: larger than 1 MiB: not a scenario", path);
    reader.failed = true;
  } else if (!runner_text_utf8(text, size, &bad_at)) {
    int line = 1;
    size_t line_start = 0;
    for (size_t i = 0; i < bad_at; i++) {
      if (text[i] != '\n') continue;
      line++;
      line_start = i + 1;
    }
    snprintf(error_out, error_size, "%s:%d:%zu: not UTF-8", path, line, bad_at - line_start + 1);
    reader.failed = true;
  } else if (strnlen(text, size) < size) {
    snprintf(error_out, error_size, "%s: holds a NUL byte: not a scenario", path);
    reader.failed = true;
  } else {
    struct fy_document *document = build(&reader);
    if (document != NULL) {
      struct fy_node *root = fy_document_root(document);
      if (root == NULL) fail_at(&reader, 1, 1, "the file is empty");
      else read_section(&reader, root, "");
      check_whole(&reader, root);
      fy_document_destroy(document);
    }
  }
  if (reader.failed) {
    runner_scenario_free(scenario);
    return NULL;
  }
  if (scenario->config.polls_max == 0) { /* not said: what the design may do, and as much again for what crashes repeat */
    int64_t allowed = 2 * scenario->config.resolve_attempts;
    scenario->config.polls_max = allowed > POLLS_USUAL ? allowed : POLLS_USUAL;
  }
  scenario->hash = sim_hash_bytes(text, size);
  scenario->text = strndup(text, size);
  runner_scenario_settle(scenario);
  return scenario;
}

struct runner_scenario *runner_scenario_read(const char *path, char *error_out, size_t error_size) {
  size_t size = 0;
  char *text = runner_text_read_file(path, RUNNER_SCENARIO_SIZE_MAX, &size, error_out, error_size);
  if (text == NULL) return NULL;
  struct runner_scenario *scenario = runner_scenario_parse(path, text, size, error_out, error_size);
  free(text);
  return scenario;
}

void runner_scenario_free(struct runner_scenario *scenario) {
  if (scenario == NULL) return;
  free(scenario->about);
  free(scenario->text);
  free(scenario);
}

bool runner_scenario_set(struct runner_scenario *scenario, const char *assignment, char *error_out, size_t error_size) {
  char axis_name[80], hint[120];
  const char *equals = strchr(assignment, '=');
  if (equals == NULL || equals == assignment || (size_t)(equals - assignment) >= sizeof axis_name) {
    snprintf(error_out, error_size, "\"%s\": AXIS=CHOICE is expected, such as payment.key=fresh", assignment);
    return false;
  }
  memcpy(axis_name, assignment, (size_t)(equals - assignment));
  axis_name[equals - assignment] = '\0';
  int axis = model_axis_find(axis_name);
  if (axis < 0) {
    runner_suggest_words(hint, sizeof hint, axis_name, runner_axis_name, runner_axis_count());
    snprintf(error_out, error_size, "unknown axis \"%s\"%s", axis_name, hint);
    return false;
  }
  int choice = model_choice_find(axis, equals + 1);
  if (choice < 0) {
    runner_choices_of(axis);
    runner_suggest_words(hint, sizeof hint, equals + 1, runner_choice_name, runner_choice_count());
    snprintf(error_out, error_size, "axis %s has no choice \"%s\"%s", axis_name, equals + 1, hint);
    return false;
  }
  scenario->config.design.choice[axis] = (uint8_t)choice;
  runner_scenario_settle(scenario);
  return true;
}

/* A profile of the user's own: the keys of a scenario's gateway section, in a file. */
static bool own_gateway(struct runner_scenario *scenario, const char *path, char *error_out, size_t error_size) {
  size_t size = 0, bad_at = 0;
  char *text = runner_text_read_file(path, RUNNER_SCENARIO_SIZE_MAX, &size, error_out, error_size);
  if (text == NULL) return false;
  struct reader reader = {.scenario = scenario, .path = path, .text = text, .size = size, .error = error_out, .error_size = error_size};
  if (!runner_text_utf8(text, size, &bad_at) || strnlen(text, size) < size) {
    snprintf(error_out, error_size, "%s: not a text in UTF-8", path);
    reader.failed = true;
  }
  struct fy_document *document = reader.failed ? NULL : build(&reader);
  if (document != NULL) {
    struct fy_node *root = fy_document_root(document);
    if (root == NULL) fail_at(&reader, 1, 1, "the file is empty");
    else read_section(&reader, root, "gateway");
    check_whole(&reader, root);
    fy_document_destroy(document);
  }
  free(text);
  if (!reader.failed) runner_scenario_settle(scenario);
  return !reader.failed;
}

static bool is_file(const char *name) {
  size_t size = strlen(name);
  return size > 5 && strcmp(name + size - 5, ".yaml") == 0;
}

/* Returns false when no such profile ships. */
static bool take_profile(struct runner_scenario *scenario, enum runner_provider provider, const char *name) {
  struct model_config *config = &scenario->config;
  const struct model_gateway_profile *gateway = provider == RUNNER_GATEWAY ? model_gateway_profile_find(name) : NULL;
  const struct model_mail_profile *mail = provider == RUNNER_MAIL ? model_mail_profile_find(name) : NULL;
  const struct model_broker *broker = provider == RUNNER_BROKER ? model_broker_find(name) : NULL;
  const struct model_account_profile *accounts = provider == RUNNER_ACCOUNTS ? model_account_profile_find(name) : NULL;
  if (gateway != NULL) config->gateway = *gateway;
  if (mail != NULL) config->mail = *mail;
  if (broker != NULL) scenario->setup.broker = &broker->broker;
  if (accounts != NULL) config->accounts = *accounts;
  return gateway != NULL || mail != NULL || broker != NULL || accounts != NULL;
}

bool runner_scenario_profile(struct runner_scenario *scenario, enum runner_provider provider, const char *name, char *error_out,
                             size_t error_size) {
  if (provider == RUNNER_GATEWAY && is_file(name)) return own_gateway(scenario, name, error_out, error_size);
  if (take_profile(scenario, provider, name)) {
    runner_scenario_settle(scenario);
    return true;
  }
  char hint[120];
  runner_profiles_of(provider);
  runner_suggest_words(hint, sizeof hint, name, runner_profile_name, runner_profile_count());
  snprintf(error_out, error_size, "unknown %s profile \"%s\"%s", provider == RUNNER_ACCOUNTS ? "account" : runner_provider_name(provider),
           name, hint);
  return false;
}

bool runner_scenario_design(struct runner_scenario *scenario, const char *path, const char *text, size_t size, char *error_out,
                            size_t error_size) {
  struct reader reader = {.scenario = scenario, .path = path, .text = text, .size = size, .error = error_out, .error_size = error_size};
  size_t bad_at = 0;
  if (!runner_text_utf8(text, size, &bad_at) || strnlen(text, size) < size) {
    snprintf(error_out, error_size, "%s: not a text in UTF-8", path);
    return false;
  }
  struct fy_document *document = build(&reader);
  if (document == NULL) return false;
  struct fy_node *root = fy_document_root(document);
  if (root == NULL) fail_at(&reader, 1, 1, "the file is empty");
  else read_design(&reader, root);
  fy_document_destroy(document);
  return !reader.failed;
}

/* ---- writing ---- */

/* A double-quoted YAML scalar. */
static void print_quoted(FILE *out, const char *key, const char *text) {
  fprintf(out, "%s: \"", key);
  for (; *text != '\0'; text++) {
    if (*text == '\n') fputs("\\n", out);
    else if ((unsigned char)*text < 0x20) fprintf(out, "\\x%02x", (unsigned)*text);
    else fprintf(out, "%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
  }
  fputs("\"\n", out);
}

static void print_duration(FILE *out, const char *key, int64_t ns) {
  char text[40];
  runner_text_duration_words(ns, text, sizeof text);
  fprintf(out, "%s: %s\n", key, text);
}

static void print_invariants(FILE *out, const char *key, uint64_t mask) {
  fprintf(out, "%s: [", key);
  const char *comma = "";
  for (size_t i = 0; i < MODEL_INVARIANT_COUNT; i++) {
    if ((mask >> i & 1) == 0) continue;
    fprintf(out, "%s%s", comma, model_invariants[i].name);
    comma = ", ";
  }
  fprintf(out, "]\n");
}

static void print_plan(FILE *out, const struct sim_plan *plan) {
  const struct sim_catalogue *catalogue = fault_catalogue();
  fprintf(out, "faults:\n  base: quiet\n  swarm: %s\n", plan->swarm ? "true" : "false");
  for (size_t p = 0; p < catalogue->count; p++) {
    const struct sim_point *point = &catalogue->point[p];
    bool live = false;
    for (int a = 1; a < point->answer_count; a++) live = live || plan->odds[p][a].denominator != 0;
    if (!live) {
      fprintf(out, "  %s: off\n", point->name.text);
      continue;
    }
    fprintf(out, "  %s: {", point->name.text);
    for (int a = 1; a < point->answer_count; a++) {
      struct sim_odds odds = plan->odds[p][a];
      if (odds.denominator == 0) fprintf(out, "%s%s: 0", a > 1 ? ", " : "", point->answer[a].text);
      else fprintf(out, "%s%s: %" PRIu32 "/%" PRIu32, a > 1 ? ", " : "", point->answer[a].text, odds.numerator, odds.denominator);
    }
    fprintf(out, "}\n");
  }
}

static void print_restorable(FILE *out, uint32_t not_restored) {
  const char *comma = "";
  fprintf(out, "restorable: [");
  for (int s = 0; s < MODEL_SERVICE_COUNT; s++) {
    if (model_services[s].outside || (not_restored >> s & 1) != 0) continue;
    fprintf(out, "%s%s", comma, model_services[s].name);
    comma = ", ";
  }
  fprintf(out, "]\n");
}

static void print_boolean(FILE *out, const char *key, bool value) { fprintf(out, "%s: %s\n", key, value ? "true" : "false"); }

static void print_gateway(FILE *out, const struct model_gateway_profile *gateway) {
  fprintf(out, "gateway:\n  profile: %s\n", gateway->name);
  print_boolean(out, "  takes_keys", gateway->takes_keys);
  print_boolean(out, "  looks_up", gateway->looks_up);
  if (gateway->takes_keys) print_duration(out, "  key_retention", gateway->key_retention_ns);
  print_duration(out, "  look_up_lag", gateway->look_up_lag_ns);
  print_boolean(out, "  statements", gateway->statements);
  print_boolean(out, "  error_frees_key", gateway->error_frees_key);
  print_boolean(out, "  notifies", gateway->notifies);
  print_boolean(out, "  limits_refunds", gateway->limits_refunds);
  print_boolean(out, "  stores_errors", gateway->stores_errors);
  fprintf(out, "  other_parameters: %s\n  repeat: %s\n  key_store: %s\n", other_parameters_words[gateway->other_parameters],
          repeat_words[gateway->repeat], key_store_words[gateway->key_store]);
  print_boolean(out, "  knows_finished_only", gateway->knows_finished_only);
  print_duration(out, "  lookalike", gateway->lookalike_ns);
  print_duration(out, "  failed_final_after", gateway->failed_final_after_ns);
  print_boolean(out, "  reverses", gateway->reverses);
  print_duration(out, "  decides_after", gateway->decides_after_ns);
}

void runner_scenario_print(const struct runner_scenario *scenario, void *file) {
  FILE *out = file;
  const struct model_config *config = &scenario->config;
  fprintf(out, "scenario: %s\n", scenario->name);
  if (scenario->about != NULL) print_quoted(out, "about", scenario->about);
  fprintf(out, "seeds: %" PRId64 "\norders: %" PRId64 "\namount: %" PRId64 " %s\n", scenario->seeds, config->purchases,
          config->amount_minor, config->currency);
  fprintf(out, "restocking_fee: %" PRId64 "\nsnapshot_every: %" PRId64 "\n", config->restocking_fee_minor, config->snapshot_every);
  if (config->overdue_after_ns > 0) print_duration(out, "overdue_after", config->overdue_after_ns);
  print_restorable(out, scenario->setup.not_restored);
  print_duration(out, "reconcile_every", config->reconcile_every_ns);
  static const char *const workflow[] = {"payment", "order", "registration"};
  fprintf(out, "workflow: %s\n", workflow[config->workflow]);
  fprintf(out, "instances: {orders: %d, payments: %d, mails: %d, sagas: %d}\n", config->order_instances, config->payment_instances,
          config->mail_instances, config->saga_instances);
  fprintf(out, "broker: %s\n", scenario->setup.broker->name);
  fprintf(out, "accounts: %s\nsecond_payment: %s\n", config->accounts.name, config->second_payment ? "true" : "false");
  fprintf(out, "mail: %s\n", config->mail.name);
  print_gateway(out, &config->gateway);
  fprintf(out, "design:\n");
  for (int a = 0; a < MODEL_AXIS_COUNT; a++)
    fprintf(out, "  %s: %s\n", model_axes()[a].name, model_axes()[a].choice[config->design.choice[a]].name);
  print_plan(out, &scenario->plan);
  fprintf(out, "explore:\n");
  for (size_t p = 0; p < fault_catalogue()->count; p++) {
    const struct sim_point *point = &fault_catalogue()->point[p];
    const char *comma = "";
    fprintf(out, "  %s: [", point->name.text);
    for (int a = 1; a < point->answer_count; a++) {
      if ((scenario->plan.explored[p] >> a & 1) == 0) continue;
      fprintf(out, "%s%s", comma, point->answer[a].text);
      comma = ", ";
    }
    fprintf(out, "]\n");
  }
  print_duration(out, "request_lifetime", config->request_lifetime_ns);
  print_duration(out, "lease", config->lease_ns);
  print_duration(out, "retry_window", scenario->setup.retry_window_ns);
  print_duration(out, "dedup_retention", scenario->setup.dedup_retention_ns);
  print_duration(out, "faults_until", scenario->setup.faults_until_ns);
  print_duration(out, "resolve_within", scenario->setup.resolve_within_ns);
  fprintf(out, "resolve_attempts: %" PRId64 "\nreopen_at_crash: %s\n", config->resolve_attempts,
          scenario->setup.reopen_at_crash ? "true" : "false");
  fprintf(out, "limits: {redeliveries: %" PRId64 ", polls: %" PRId64 "}\n", config->redeliveries_max, config->polls_max);
  print_invariants(out, "must_exercise", scenario->has_must_exercise ? scenario->must_exercise : runner_exercisable(scenario));
  if (!scenario->expect.known_bad) return;
  fprintf(out, "expect:\n");
  print_invariants(out, "  violates", scenario->expect.violates);
  print_invariants(out, "  violates_any", scenario->expect.violates_any);
  print_invariants(out, "  may", scenario->expect.may);
}
