#include "runner/profiles.h"

#include <stdio.h>

#include "model/shop.h"
#include "runner/text.h"

const char *runner_row_words(enum model_row row) {
  switch (row) {
    case MODEL_HOLDS: return "holds";
    case MODEL_HOLDS_BY_PARKING: return "holds by parking";
    case MODEL_CANNOT_HOLD: return "cannot hold";
  }
  return "";
}

/* One line: what it is about, and a sentence that ends in a duration where one is given. */
static void line(const char *what, const char *words, int64_t duration_ns) {
  char duration[40] = "";
  if (duration_ns > 0) runner_text_duration_words(duration_ns, duration, sizeof duration);
  printf("  %-18s %s%s%s\n", what, words, duration_ns > 0 ? " " : "", duration);
}

static void stated(const char *workflow, enum model_row row) {
  const char *meaning = row == MODEL_HOLDS              ? "nothing stays undecided"
                        : row == MODEL_HOLDS_BY_PARKING ? "what nobody can tell becomes a case for a human"
                                                        : "some invariant breaks";
  printf("  stated             %s: the recommended design %s, %s\n", workflow, runner_row_words(row), meaning);
}

static void capabilities(const struct model_capabilities *can) {
  line("a repeat", can->takes_keys ? "is recognised by its id for" : "is carried out again", can->takes_keys ? can->key_retention_ns : 0);
  if (can->repeat_is_error) line("", "and refused as a duplicate, without a result", 0);
  if (!can->looks_up) line("status query", "none", 0);
  else line("status query", can->look_up_lag_ns > 0 ? "by the caller's id, visible after" : "by the caller's id, at once", can->look_up_lag_ns);
}

static const char *repeat_words(enum model_repeat repeat) {
  switch (repeat) {
    case MODEL_REPEAT_ANSWERED: return "gets the first request's result";
    case MODEL_REPEAT_RECEIPT: return "gets the first request's receipt, whatever became of it";
    case MODEL_REPEAT_NAMES_FIRST: return "gets a conflict that names the first payment";
    case MODEL_REPEAT_REFUSED: return "gets \"duplicate\", and no more";
  }
  return "";
}

static void gateway(const struct model_gateway_profile *profile) {
  printf("Gateway profile %s: %s.\n", profile->name, profile->about);
  line("idempotency keys", profile->takes_keys ? "kept for" : "none", profile->takes_keys ? profile->key_retention_ns : 0);
  if (profile->takes_keys) line("a repeat", repeat_words(profile->repeat), 0);
  if (profile->knows_finished_only) line("", "once the first request is finished; before that, it charges again", 0);
  if (profile->key_store == MODEL_KEYS_FAIL_CLOSED) line("memory of keys", "may be down: then a repeat is answered 5xx", 0);
  if (profile->key_store == MODEL_KEYS_FAIL_OPEN) line("memory of keys", "may be down: then a repeat charges again", 0);
  if (profile->lookalike_ns > 0) line("a look-alike", "of a charge is refused for", profile->lookalike_ns);
  if (!profile->looks_up) line("look-up", "none", 0);
  else
    line("look-up", profile->look_up_lag_ns > 0 ? "by the caller's reference, visible after" : "by the caller's reference, at once",
         profile->look_up_lag_ns);
  if (profile->failed_final_after_ns > 0) line("\"failed\"", "is its last word only after", profile->failed_final_after_ns);
  if (profile->reverses) line("reversal", "by the caller's reference: voids the charge, or stops it when it comes later", 0);
  if (profile->decides_after_ns > 0) line("charges", "are taken on, and decided after", profile->decides_after_ns);
  line("a 5xx", profile->stores_errors ? "is replayed under its key" : "is not replayed", 0);
  if (profile->takes_keys) line("after a 5xx", profile->error_frees_key ? "the same key charges again" : "the same key charges nothing twice", 0);
  line("refunds", profile->limits_refunds ? "at most what was charged" : "as often as asked", 0);
  line("statements", profile->statements ? "what it did can be listed" : "none, unless the scenario says so", 0);
  line("notices", profile->notifies ? "until they are acknowledged" : "none, unless the scenario says so", 0);
  stated("orders", profile->orders);
  stated("saga", profile->saga);
  line("source", profile->source, 0);
}

static void mail(const struct model_mail_profile *profile) {
  printf("Mail profile %s: %s.\n", profile->name, profile->about);
  capabilities(&profile->can);
  stated("orders", profile->orders);
}

static void account(const struct model_account_profile *profile) {
  printf("Account provider profile %s: %s.\n", profile->name, profile->about);
  capabilities(&profile->can);
  line("undoing", profile->undoes ? "an account can be disabled" : "none", 0);
  stated("saga", profile->saga);
}

static void broker(const struct model_broker *whole) {
  const struct sim_broker *profile = &whole->broker;
  printf("Broker profile %s: %s.\n", profile->name, profile->about);
  if (profile->lease_ns > 0) line("a lease", "lasts", profile->lease_ns);
  else line("a lease", "lasts as long as the scenario says", 0);
  printf("  tries              %u at once", profile->tries_at_once);
  if (profile->never_gives_up) printf(", then later, for ever\n");
  else printf(", %u round%s later, then %s\n", profile->rounds_later, profile->rounds_later == 1 ? "" : "s",
              profile->drops ? "it is dropped" : "the error queue");
  if (profile->dedup_ns > 0) line("a message sent twice", "is dropped within", profile->dedup_ns);
  if (profile->rereads_ns > 0) line("after a crash", "its reader gets again what it had in the last", profile->rereads_ns);
  stated("saga", whole->saga);
  if (whole->lost[0] != '\0') printf("  %-18s %s: %s\n", "lost", whole->lost, whole->why);
}

bool runner_explain_profiles(const char *word) {
  const struct model_gateway_profile *a_gateway = model_gateway_profile_find(word);
  const struct model_mail_profile *a_mail = model_mail_profile_find(word);
  const struct model_account_profile *an_account = model_account_profile_find(word);
  const struct model_broker *a_broker = model_broker_find(word);
  if (a_gateway != NULL) gateway(a_gateway);
  if (a_mail != NULL) mail(a_mail);
  if (an_account != NULL) account(an_account);
  if (a_broker != NULL) broker(a_broker);
  return a_gateway != NULL || a_mail != NULL || an_account != NULL || a_broker != NULL;
}

static void list(const char *name, const char *kind, const char *about) { printf("%-20s %-9s %s\n", name, kind, about); }

void runner_list_profiles(void) {
  for (size_t i = 0; i < model_gateway_profile_count(); i++) list(model_gateway_profile_at(i)->name, "gateway", model_gateway_profile_at(i)->about);
  for (size_t i = 0; i < model_mail_profile_count(); i++) list(model_mail_profile_at(i)->name, "mail", model_mail_profile_at(i)->about);
  for (size_t i = 0; i < model_account_profile_count(); i++) list(model_account_profile_at(i)->name, "accounts", model_account_profile_at(i)->about);
  for (size_t i = 0; i < model_broker_count(); i++) list(model_broker_at(i)->broker.name, "broker", model_broker_at(i)->broker.about);
}
