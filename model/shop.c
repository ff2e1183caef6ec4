#include "model/shop.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/effect.h"
#include "model/facts.h"
#include "model/registration/registration.h"
#include "sim/check.h"

/* Statuses in SQL are enum model_state: 1 pending, 2 completed, 3 failed, 4 unknown, 5 parked. */
#define BOOTS_TABLE "CREATE TABLE boots(instance INTEGER PRIMARY KEY, life INTEGER NOT NULL);"
#define WRITE_BOOT "INSERT OR REPLACE INTO boots VALUES(?, ?)"

#define CASES_TABLE                                                                                                                            \
  "CREATE TABLE open_cases(operation_id TEXT PRIMARY KEY, order_or_registration_id INTEGER, amount_minor INTEGER, last_confirmed_result TEXT," \
  " reason TEXT, opened_at INTEGER);"

static const char orders_schema[] =
    "CREATE TABLE events(order_id INTEGER NOT NULL, seq INTEGER NOT NULL, type INTEGER NOT NULL, operation_id TEXT, operation_number INTEGER,"
    " purchase INTEGER, amount_minor INTEGER, card INTEGER, payment_id INTEGER, at INTEGER, PRIMARY KEY(order_id, seq));"
    "CREATE TABLE activations(order_id INTEGER PRIMARY KEY, owner INTEGER NOT NULL, epoch INTEGER NOT NULL);" BOOTS_TABLE
    "CREATE TABLE prices(item INTEGER PRIMARY KEY, amount_minor INTEGER NOT NULL);"
    "CREATE TABLE snapshots(order_id INTEGER PRIMARY KEY, seq INTEGER NOT NULL, state TEXT NOT NULL);"
    "CREATE TABLE outbox(message_id TEXT PRIMARY KEY, message_type INTEGER NOT NULL, aggregate_id INTEGER NOT NULL, payload_amount INTEGER,"
    " payload_payment INTEGER, status INTEGER NOT NULL, attempts INTEGER NOT NULL, next_at INTEGER NOT NULL, life INTEGER NOT NULL);" CASES_TABLE;
static const char *const orders_table[] = {"events", "outbox", "open_cases"};
static const char *const orders_statement[] = {
    "SELECT seq, type, operation_id, operation_number, purchase, amount_minor, card, payment_id, at FROM events WHERE order_id=? AND seq>? ORDER BY seq",
    "SELECT DISTINCT order_id FROM events ORDER BY order_id",
    "INSERT INTO events VALUES(?,?,?,?,?,?,?,?,?,?)",
    "INSERT INTO events SELECT ?1, coalesce(max(seq), 0) + 1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9 FROM events WHERE order_id=?1",
    "SELECT max(seq) FROM events WHERE order_id=?",
    "INSERT INTO activations VALUES(?1, ?2, 1) ON CONFLICT(order_id) DO UPDATE SET owner=?2, epoch=epoch+1",
    "UPDATE activations SET owner=owner WHERE order_id=? AND owner=? AND epoch=?",
    "SELECT owner, epoch FROM activations WHERE order_id=?",
    "INSERT OR REPLACE INTO prices VALUES(1, ?)",
    "SELECT amount_minor FROM prices WHERE item=1",
    WRITE_BOOT,
    "INSERT INTO outbox VALUES(?1, ?2, ?3, ?4, ?5, 1, 0, ?6, ?7) ON CONFLICT DO NOTHING",
    "UPDATE outbox SET status=?2 WHERE message_id=?1 AND status<3",
    "SELECT message_id, message_type, aggregate_id, payload_amount, payload_payment, status, attempts, next_at, life FROM outbox WHERE status<3 ORDER BY rowid",
    "UPDATE outbox SET status=?, attempts=?, next_at=? WHERE message_id=? AND attempts=? AND status<3",
    "UPDATE outbox SET status=?1, attempts=?2, next_at=?3 WHERE message_id=?4 AND ?5>=0",
    "INSERT OR REPLACE INTO snapshots VALUES(?, ?, ?)",
    "SELECT seq, state FROM snapshots WHERE order_id=?",
    "INSERT OR IGNORE INTO open_cases VALUES(?,?,?,?,?,?)",
};

static const char payments_schema[] = BOOTS_TABLE
    "CREATE TABLE payment_operations(operation_id TEXT PRIMARY KEY, order_or_registration_id INTEGER NOT NULL, purchase INTEGER, card INTEGER,"
    " amount_minor INTEGER NOT NULL, status INTEGER NOT NULL, provider_payment_id INTEGER, response_payload TEXT, attempt_count INTEGER NOT NULL,"
    " ask_count INTEGER NOT NULL, last_attempt_at INTEGER, last_error TEXT, last_confirmed_result TEXT, created_at INTEGER, updated_at INTEGER,"
    " acknowledged INTEGER NOT NULL, owner INTEGER NOT NULL);" CASES_TABLE
    "CREATE TABLE seen_notices(event INTEGER PRIMARY KEY);" EFFECT_TABLE("refund_operations", "operation_id", "payment_id", "purpose",
                                                                         "provider_refund_id");
static const char *const payments_table[] = {"payment_operations", "open_cases", "refund_operations"};
#define OPERATION_VALUES "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, NULL, ?8, 0, ?9, '', 'nothing yet', ?10, ?9, 0, ?11)"
static const char *const payments_statement[] = {
    "INSERT INTO payment_operations " OPERATION_VALUES " ON CONFLICT DO NOTHING",
    "INSERT OR REPLACE INTO payment_operations " OPERATION_VALUES,
    "SELECT order_or_registration_id, purchase, card, amount_minor, status, provider_payment_id, attempt_count, ask_count, last_attempt_at, created_at, owner, last_error,"
    " acknowledged FROM payment_operations WHERE operation_id=?",
    "UPDATE payment_operations SET owner=? WHERE operation_id=? AND owner=? AND status=1",
    "UPDATE payment_operations SET status=?, provider_payment_id=?, last_error=?, last_confirmed_result=?, ask_count=?, updated_at=?, acknowledged=0"
    " WHERE operation_id=?7 AND status IN (1, 4) AND (attempt_count=?8 OR (?1=2 AND ?9=0))",
    "UPDATE payment_operations SET attempt_count=?, ask_count=?, last_attempt_at=?, owner=? WHERE operation_id=? AND status IN (1, 4) AND attempt_count=?",
    "INSERT OR IGNORE INTO open_cases VALUES(?,?,?,?,?,?)",
    "UPDATE payment_operations SET acknowledged=1 WHERE operation_id=? AND status=? AND acknowledged=0",
    "SELECT operation_id, order_or_registration_id FROM payment_operations WHERE acknowledged=0 AND status IN (2, 3, 5)",
    WRITE_BOOT,
    "UPDATE payment_operations SET response_payload='checked for doubles' WHERE operation_id=?",
    "SELECT operation_id, order_or_registration_id, last_attempt_at FROM payment_operations WHERE attempt_count>1 AND status IN (2, 3, 5) AND response_payload IS NULL",
    "UPDATE payment_operations SET status=2, provider_payment_id=?1, last_error='', last_confirmed_result='charged', updated_at=?2, acknowledged=0"
    " WHERE operation_id=?3 AND status IN (1, 4, 5)",
    "UPDATE payment_operations SET status=3, provider_payment_id=0, last_error='declined', last_confirmed_result='declined', updated_at=?1, acknowledged=0"
    " WHERE operation_id=?2 AND status IN (1, 4) AND attempt_count=1",
    "UPDATE payment_operations SET status=3, provider_payment_id=0, last_error='failed', last_confirmed_result='not executed', updated_at=?1, acknowledged=0"
    " WHERE operation_id=?2 AND status=5",
    "UPDATE payment_operations SET status=4, last_confirmed_result='pending', updated_at=?1 WHERE operation_id=?2",
    "DELETE FROM open_cases WHERE operation_id=?",
    "INSERT INTO seen_notices VALUES(?) ON CONFLICT DO NOTHING",
    "INSERT OR IGNORE INTO payment_operations SELECT ?1, order_or_registration_id, purchase, card, amount_minor, 2, ?2, NULL, 1, 0, last_attempt_at, '', 'charged', created_at,"
    " updated_at, 1, owner FROM payment_operations WHERE operation_id=?3",
    "UPDATE payment_operations SET status=2, provider_payment_id=?1, last_error='', last_confirmed_result='charged', updated_at=?2, acknowledged=0"
    " WHERE operation_id=?3 AND status IN (1, 3, 4, 5)",
    "INSERT OR IGNORE INTO payment_operations VALUES(?1, ?2, ?3, ?4, ?5, 2, ?6, NULL, 1, 0, ?7, '', 'charged', ?7, ?7, 0, 0)",
    "UPDATE payment_operations SET status=3, provider_payment_id=0, last_error='failed', last_confirmed_result='not executed', updated_at=?1, acknowledged=0"
    " WHERE operation_id=?2 AND status IN (1, 4, 5) AND attempt_count=?3",
    EFFECT_STATEMENTS("refund_operations", "operation_id", "payment_id", "purpose", "provider_refund_id", "open_cases"),
};

static const char mails_schema[] =
    BOOTS_TABLE CASES_TABLE EFFECT_TABLE("email_deliveries", "message_id", "recipient", "template_name", "provider_message_id");
static const char *const mails_table[] = {"email_deliveries", "open_cases"};
static const char *const mails_statement[] = {
    EFFECT_STATEMENTS("email_deliveries", "message_id", "recipient", "template_name", "provider_message_id", "open_cases"),
    WRITE_BOOT,
};

static const char warehouse_schema[] = BOOTS_TABLE
    "CREATE TABLE processed_deliveries(delivery_id TEXT PRIMARY KEY, at INTEGER NOT NULL);"
    "CREATE TABLE picklists(picklist_id INTEGER PRIMARY KEY, delivery_id TEXT NOT NULL, order_id INTEGER NOT NULL, lines INTEGER NOT NULL,"
    " status INTEGER NOT NULL, pick_at INTEGER NOT NULL, acknowledged INTEGER NOT NULL);";
static const char *const warehouse_table[] = {"picklists"};
#define PICKLIST_COLUMNS "SELECT picklist_id, order_id, lines, status, pick_at, acknowledged FROM picklists "
static const char *const warehouse_statement[] = {
    WRITE_BOOT,
    "INSERT INTO processed_deliveries VALUES(?, ?) ON CONFLICT DO NOTHING",
    "INSERT OR REPLACE INTO processed_deliveries VALUES(?, ?)",
    "DELETE FROM processed_deliveries WHERE at<?",
    "INSERT INTO picklists VALUES(NULL, ?, ?, ?, ?, ?, 0)",
    PICKLIST_COLUMNS "WHERE picklist_id=?",
    PICKLIST_COLUMNS "WHERE delivery_id=? ORDER BY picklist_id DESC LIMIT 1",
    "UPDATE picklists SET status=? WHERE picklist_id=? AND status=?",
    "UPDATE picklists SET status=4 WHERE delivery_id=? AND status=1",
    "UPDATE picklists SET acknowledged=1 WHERE 'picklist:' || picklist_id=? AND acknowledged=0",
    "SELECT picklist_id, order_id, status, pick_at FROM picklists WHERE status IN (1, 2) OR status=3 AND acknowledged=0 ORDER BY picklist_id",
};

static const char saga_schema[] = BOOTS_TABLE
    "CREATE TABLE saga(saga_key TEXT PRIMARY KEY, registration_id INTEGER NOT NULL, amount_minor INTEGER, card INTEGER, version INTEGER NOT NULL,"
    " aborted INTEGER NOT NULL, complete INTEGER NOT NULL, payment_status INTEGER NOT NULL, payment_id INTEGER NOT NULL,"
    " external_status INTEGER NOT NULL, external_id INTEGER NOT NULL, second_status INTEGER NOT NULL, second_id INTEGER NOT NULL,"
    " refund_status INTEGER NOT NULL, refund_id INTEGER NOT NULL, second_refund_status INTEGER NOT NULL, second_refund_id INTEGER NOT NULL,"
    " disable_status INTEGER NOT NULL, disable_id INTEGER NOT NULL, reason INTEGER NOT NULL, code INTEGER NOT NULL);" SAGA_OUTBOX_TABLE;
static const char *const saga_table[] = {"saga", "outbox"};
static const char *const saga_statement[] = {
    SAGA_OUTBOX_STATEMENTS,
    "INSERT INTO saga VALUES(?1, ?2, ?3, ?4, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ?5) ON CONFLICT DO NOTHING",
    "SELECT saga_key, amount_minor, card, version, aborted, complete, payment_status, payment_id, external_status, external_id, second_status, second_id,"
    " refund_status, refund_id, second_refund_status, second_refund_id, disable_status, disable_id, reason, code FROM saga WHERE registration_id=? LIMIT 1",
    "UPDATE saga SET version=version+1, aborted=?, complete=?, payment_status=?, payment_id=?, external_status=?, external_id=?, second_status=?, second_id=?,"
    " refund_status=?, refund_id=?, second_refund_status=?, second_refund_id=?, disable_status=?, disable_id=?, reason=? WHERE saga_key=? AND version=?",
    "DELETE FROM saga WHERE registration_id=?",
};

static const char steps_schema[] = BOOTS_TABLE
    "CREATE TABLE operations(operation_id TEXT PRIMARY KEY, registration_id INTEGER NOT NULL, step INTEGER NOT NULL, target INTEGER, amount_minor INTEGER,"
    " card INTEGER, status INTEGER NOT NULL, result INTEGER, attempt_count INTEGER NOT NULL, ask_count INTEGER NOT NULL, created_at INTEGER,"
    " last_attempt_at INTEGER, owner INTEGER NOT NULL, reason INTEGER NOT NULL, verify_number INTEGER NOT NULL);" SAGA_OUTBOX_TABLE
        CASES_TABLE;
static const char *const steps_table[] = {"operations", "outbox", "open_cases"};
#define STEP_VALUES "VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,0,0)"
static const char *const steps_statement[] = {
    SAGA_OUTBOX_STATEMENTS,
    "INSERT INTO operations " STEP_VALUES " ON CONFLICT DO NOTHING",
    "INSERT OR REPLACE INTO operations " STEP_VALUES,
    "SELECT registration_id, step, target, amount_minor, card, status, result, attempt_count, ask_count, created_at, last_attempt_at, owner, reason, verify_number"
    " FROM operations WHERE operation_id=?",
    "UPDATE operations SET status=?1, result=?2, ask_count=?3, reason=?4, verify_number=verify_number + (?1=4) WHERE operation_id=?5 AND status IN (1, 4)"
    " AND (attempt_count=?6 OR (?1=2 AND ?8=0)) AND (verify_number=?7 OR ?1<>4)",
    "UPDATE operations SET attempt_count=?, ask_count=?, last_attempt_at=?, owner=?, status=1 WHERE operation_id=? AND status IN (1, 4) AND attempt_count=?",
    "INSERT OR IGNORE INTO open_cases VALUES(?,?,?,?,?,?)",
    "DELETE FROM open_cases WHERE operation_id=?",
    "UPDATE operations SET verify_number=verify_number + 1 WHERE operation_id=? AND verify_number=?",
    "UPDATE operations SET status=2, result=?, reason=0 WHERE operation_id=? AND status IN (1, 4, 5)",
    "UPDATE operations SET status=3, reason=? WHERE operation_id=? AND status IN (1, 4) AND attempt_count=1",
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

const struct sim_service model_services[MODEL_SERVICE_COUNT] = {
    [SERVICE_CUSTOMERS] = {.name = "customers", .outside = true, .handle = model_customer_handle},
    [SERVICE_ORDERS] = {.name = "orders",
                        .actor = true,
                        .schema = orders_schema,
                        .table = orders_table,
                        .table_count = COUNT(orders_table),
                        .statement = orders_statement,
                        .statement_count = COUNT(orders_statement),
                        .start = model_order_start,
                        .handle = model_order_handle},
    [SERVICE_PAYMENTS] = {.name = "payments",
                          .schema = payments_schema,
                          .table = payments_table,
                          .table_count = COUNT(payments_table),
                          .statement = payments_statement,
                          .statement_count = COUNT(payments_statement),
                          .start = model_payment_start,
                          .handle = model_payment_handle},
    [SERVICE_GATEWAY] = {.name = "gateway", .outside = true, .handle = model_gateway_handle},
    [SERVICE_MAILS] = {.name = "mails",
                       .schema = mails_schema,
                       .table = mails_table,
                       .table_count = COUNT(mails_table),
                       .statement = mails_statement,
                       .statement_count = COUNT(mails_statement),
                       .start = model_mail_start,
                       .handle = model_mail_handle},
    [SERVICE_WAREHOUSE] = {.name = "warehouse",
                           .schema = warehouse_schema,
                           .table = warehouse_table,
                           .table_count = COUNT(warehouse_table),
                           .statement = warehouse_statement,
                           .statement_count = COUNT(warehouse_statement),
                           .start = model_warehouse_start,
                           .handle = model_warehouse_handle},
    [SERVICE_MAILER] = {.name = "mailer", .outside = true, .handle = model_mail_provider_handle},
    [SERVICE_OPERATOR] = {.name = "operator", .outside = true, .handle = model_operator_handle},
    [SERVICE_REGISTRATIONS] = {.name = "registrations",
                               .endpoint = true,
                               .schema = saga_schema,
                               .table = saga_table,
                               .table_count = COUNT(saga_table),
                               .statement = saga_statement,
                               .statement_count = COUNT(saga_statement),
                               .start = saga_outbox_start,
                               .handle = saga_handle},
    [SERVICE_CHARGES] = {.name = "charges",
                         .endpoint = true,
                         .schema = steps_schema,
                         .table = steps_table,
                         .table_count = COUNT(steps_table),
                         .statement = steps_statement,
                         .statement_count = COUNT(steps_statement),
                         .start = saga_outbox_start,
                         .handle = saga_step_handle},
    [SERVICE_ACCOUNTS] = {.name = "accounts",
                          .endpoint = true,
                          .schema = steps_schema,
                          .table = steps_table,
                          .table_count = COUNT(steps_table),
                          .statement = steps_statement,
                          .statement_count = COUNT(steps_statement),
                          .start = saga_outbox_start,
                          .handle = saga_step_handle},
    [SERVICE_USERS] = {.name = "users", .outside = true, .handle = saga_user_handle},
    [SERVICE_XYZ] = {.name = "xyz", .outside = true, .handle = model_account_provider_handle},
    [SERVICE_CARRIER] = {.name = "carrier", .outside = true, .handle = model_carrier_handle},
};

const char *const model_kinds[MODEL_KIND_COUNT] = {
#define KIND(id, name) name,
#include "model/kinds.def"
#undef KIND
};

const char *model_state_name(enum model_state state) {
  static const char *const name[] = {
#define STATE(id, name, words) name,
#include "model/states.def"
#undef STATE
  };
  return name[state];
}

const char *model_event_name(enum model_event event) {
  static const char *const name[] = {
      "nothing",
#define EVENT(id, name, state) name,
#include "model/events.def"
#undef EVENT
  };
  return name[event];
}

const char *model_ending_name(enum model_ending ending) {
  static const char *const name[] = {
#define ENDING(id, name, words) name,
#include "model/endings.def"
#undef ENDING
  };
  return name[ending];
}

static const struct {
  const char *name, *key;
} steps[] = {
#define STEP(id, name, key) {name, key},
#include "model/steps.def"
#undef STEP
};

const char *model_step_name(enum model_step step) { return steps[step].name; }
struct sim_id model_step_id(int64_t order, enum model_step step) {
  return sim_id_join("order:", order, steps[step].key);
}

struct sim_id model_operation_id(int64_t order, int64_t number) {
  if (number <= 1) return sim_id_join("order:", order, ":payment");
  char text[64];
  snprintf(text, sizeof text, "order:%" PRId64 ":payment:%" PRId64, order, number);
  return sim_id_of(text);
}

void model_amount_words(const struct model_config *config, int64_t amount_minor, char *out, size_t size) {
  int64_t size_minor = amount_minor < 0 ? -amount_minor : amount_minor;
  snprintf(out, size, "%s%" PRId64 ".%02d %s", amount_minor < 0 ? "-" : "", size_minor / 100, (int)(size_minor % 100), config->currency);
}

const char *model_name_of(const char *word, const struct model_alias *alias, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (strcmp(alias[i].alias, word) == 0) return alias[i].name;
  }
  return word;
}

int64_t model_back_off(int64_t first_ns, int64_t most_ns, int64_t tries) {
  int64_t delay_ns = first_ns;
  for (int64_t i = 1; i < tries && delay_ns < most_ns; i++) delay_ns *= 2;
  return delay_ns < most_ns ? delay_ns : most_ns;
}

int model_ask(struct model_shop *shop, const char *name, const struct sim_subject *subject) {
  const struct sim_point *point = sim_world_point(shop->world, name);
  return sim_decide(sim_world_decisions(shop->world), point, subject, sim_point_all(point));
}

void model_commit(struct sim_node *node, const char *step) {
  if (sim_sql_commit(node, step) == SIM_COMMIT_DONE) return;
  if (MODEL_CHOSEN(model_design_of(node), JOURNAL_ON_COMMIT_ERROR, CONTINUE)) return;
  sim_node_stop(node);
}

void model_sync_before_recovery(struct sim_node *node, size_t statement) {
  if (sim_node_life(node) == 1 || MODEL_CHOSEN(model_design_of(node), JOURNAL_RECOVERY, TRUST)) return;
  sim_sql_begin(node);
  sim_sql_run(node, statement, "ii", (int64_t)sim_node_instance(node) + 1, (int64_t)sim_node_life(node));
  model_commit(node, "boot recorded");
}

static void describe(const struct sim_message *message, char *out, size_t size) {
  static const char *const refusal[] = {"", "declined", "failed"};
  const char *id = message->id.text;
  switch ((int)message->kind) {
    case KIND_CHARGED:
    case KIND_PAYMENT_NOTICE:
    case KIND_LOOKED_UP:
      snprintf(out, size, "%s: %s", id, model_gateway_status_words((enum model_gateway_status)message->value[VALUE_STATUS]));
      return;
    case KIND_PAYMENT_SUCCEEDED: snprintf(out, size, "%s (payment %" PRId64 ")", id, message->value[VALUE_PAYMENT]); return;
    case KIND_PAYMENT_FAILED:
    case KIND_PAYMENT_REFUSED: snprintf(out, size, "%s (%s)", id, refusal[message->value[VALUE_STATUS]]); return;
    case KIND_PROCESS_PAYMENT: snprintf(out, size, "%s with card %" PRId64, id, message->value[VALUE_CARD]); return;
    case KIND_ACCOUNT_ANSWERED:
    case KIND_ACCOUNT_KNOWN:
    case KIND_DISABLE_ANSWERED:
    case KIND_DISABLE_KNOWN:
    case KIND_REVERSED:
    case KIND_MAIL_ANSWERED:
    case KIND_MAIL_KNOWN:
    case KIND_REFUND_MADE:
    case KIND_REFUND_KNOWN:
    case KIND_COLLECTED: {
      enum model_gateway_status status = (enum model_gateway_status)message->value[VALUE_STATUS];
      snprintf(out, size, "%s: %s", id, status == GATEWAY_OK ? "done" : model_gateway_status_words(status));
      return;
    }
    case KIND_EMAIL_RESULT:
    case KIND_REFUND_RESULT: snprintf(out, size, "%s (%s)", id, model_state_name((enum model_state)message->value[VALUE_STATUS])); return;
    default: break;
  }
  if (message->attempt > 1) snprintf(out, size, "%s (try %u)", id, message->attempt);
  else snprintf(out, size, "%s", id);
}

/* Lines of the gateway's statement are summed up by reconciliation. */
bool model_describe(const struct sim_message *message, char *out, size_t size) {
  if (message->kind == KIND_ASK_STATEMENT || message->kind == KIND_STATEMENT_LINE) return false;
  describe(message, out, size);
  return true;
}

void model_shop_prepare(struct model_shop *shop, const struct model_config *config, struct sim_world *world) {
  shop->config = config;
  shop->world = world;
  shop->customers = NULL;
  model_facts_begin(shop);
  shop->replay_noise = 0;
  shop->case_count = 0;
  memset(shop->address_broken, 0, sizeof shop->address_broken);
  shop->gateway.charge_count = shop->gateway.entry_count = shop->gateway.reversed_count = 0;
  shop->gateway.request_count = shop->gateway.refund_count = shop->gateway.notice_count = 0;
  shop->gateway.refunds = &shop->refunds;
  shop->refunds.count = shop->mailer.provider.count = 0;
  shop->mailer.sent_count = 0;
  shop->carrier.parcel_count = 0;
  shop->xyz.account_count = shop->xyz.creations.count = shop->xyz.disablings.count = 0;
  if (config->workflow == MODEL_WORKFLOW_REGISTRATION) saga_facts_begin(shop);
}

void model_shop_begin(struct model_shop *shop) {
  if (shop->config->workflow == MODEL_WORKFLOW_REGISTRATION) saga_users_begin(shop);
  else model_customers_begin(shop);
}
