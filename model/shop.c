#include "model/shop.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/facts.h"
#include "sim/check.h"

/* Statuses in SQL are enum model_state: 1 pending, 2 completed, 3 failed, 4 unknown, 5 parked. */
#define BOOTS_TABLE "CREATE TABLE boots(instance INTEGER PRIMARY KEY, life INTEGER NOT NULL);"
#define WRITE_BOOT "INSERT OR REPLACE INTO boots VALUES(?, ?)"

static const char orders_schema[] =
    "CREATE TABLE events(order_id INTEGER NOT NULL, seq INTEGER NOT NULL, type INTEGER NOT NULL, operation_id TEXT, operation_number INTEGER,"
    " purchase INTEGER, amount_minor INTEGER, card INTEGER, payment_id INTEGER, at INTEGER, PRIMARY KEY(order_id, seq));"
    "CREATE TABLE activations(order_id INTEGER PRIMARY KEY, owner INTEGER NOT NULL, epoch INTEGER NOT NULL);" BOOTS_TABLE
    "CREATE TABLE prices(item INTEGER PRIMARY KEY, amount_minor INTEGER NOT NULL);";
static const char *const orders_table[] = {"events"};
static const char *const orders_statement[] = {
    "SELECT seq, type, operation_id, operation_number, purchase, amount_minor, card, payment_id, at FROM events WHERE order_id=? ORDER BY seq",
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
};

static const char payments_schema[] = BOOTS_TABLE
    "CREATE TABLE payment_operations(operation_id TEXT PRIMARY KEY, order_or_registration_id INTEGER NOT NULL, purchase INTEGER, card INTEGER,"
    " amount_minor INTEGER NOT NULL, status INTEGER NOT NULL, provider_payment_id INTEGER, response_payload TEXT, attempt_count INTEGER NOT NULL,"
    " ask_count INTEGER NOT NULL, last_attempt_at INTEGER, last_error TEXT, last_confirmed_result TEXT, created_at INTEGER, updated_at INTEGER,"
    " acknowledged INTEGER NOT NULL, owner INTEGER NOT NULL);"
    "CREATE TABLE open_cases(operation_id TEXT PRIMARY KEY, order_or_registration_id INTEGER, amount_minor INTEGER, last_confirmed_result TEXT, reason TEXT, opened_at INTEGER);";
static const char *const payments_table[] = {"payment_operations", "open_cases"};
#define OPERATION_VALUES "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, NULL, ?8, 0, ?9, '', 'nothing yet', ?10, ?9, 0, ?11)"
static const char *const payments_statement[] = {
    "INSERT INTO payment_operations " OPERATION_VALUES " ON CONFLICT DO NOTHING",
    "INSERT OR REPLACE INTO payment_operations " OPERATION_VALUES,
    "SELECT order_or_registration_id, purchase, card, amount_minor, status, provider_payment_id, attempt_count, ask_count, last_attempt_at, created_at, owner, last_error,"
    " acknowledged FROM payment_operations WHERE operation_id=?",
    "UPDATE payment_operations SET owner=? WHERE operation_id=? AND owner=? AND status=1",
    "UPDATE payment_operations SET status=?, provider_payment_id=?, last_error=?, last_confirmed_result=?, ask_count=?, updated_at=?, acknowledged=0"
    " WHERE operation_id=?7 AND status IN (1, 4) AND (attempt_count=?8 OR ?1=2)",
    "UPDATE payment_operations SET attempt_count=?, ask_count=?, last_attempt_at=?, owner=? WHERE operation_id=? AND status IN (1, 4) AND attempt_count=?",
    "INSERT OR IGNORE INTO open_cases VALUES(?,?,?,?,?,?)",
    "UPDATE payment_operations SET acknowledged=1 WHERE operation_id=? AND status=? AND acknowledged=0",
    "SELECT operation_id, order_or_registration_id FROM payment_operations WHERE acknowledged=0 AND status IN (2, 3, 5)",
    WRITE_BOOT,
    "UPDATE payment_operations SET response_payload='checked for doubles' WHERE operation_id=?",
    "SELECT operation_id, order_or_registration_id, last_attempt_at FROM payment_operations WHERE attempt_count>1 AND status IN (2, 3, 5) AND response_payload IS NULL",
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

struct sim_id model_operation_id(int64_t order, int64_t number) {
  if (number <= 1) return sim_id_join("order:", order, ":payment");
  char text[64];
  snprintf(text, sizeof text, "order:%" PRId64 ":payment:%" PRId64, order, number);
  return sim_id_of(text);
}

void model_amount_words(const struct model_config *config, int64_t amount_minor, char *out, size_t size) {
  snprintf(out, size, "%" PRId64 ".%02d %s", amount_minor / 100, (int)(amount_minor % 100), config->currency);
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

void model_describe(const struct sim_message *message, char *out, size_t size) {
  static const char *const refusal[] = {"", "declined", "failed"};
  const char *id = message->id.text;
  switch ((enum model_kind)message->kind) {
    case KIND_CHARGED:
      snprintf(out, size, "%s: %s", id, model_gateway_status_words((enum model_gateway_status)message->value[VALUE_STATUS]));
      return;
    case KIND_LOOKED_UP:
      snprintf(out, size, "%s: %s", id, model_gateway_status_words((enum model_gateway_status)message->value[VALUE_STATUS]));
      return;
    case KIND_PAYMENT_SUCCEEDED: snprintf(out, size, "%s (payment %" PRId64 ")", id, message->value[VALUE_PAYMENT]); return;
    case KIND_PAYMENT_FAILED:
    case KIND_PAYMENT_REFUSED: snprintf(out, size, "%s (%s)", id, refusal[message->value[VALUE_STATUS]]); return;
    case KIND_PROCESS_PAYMENT: snprintf(out, size, "%s with card %" PRId64, id, message->value[VALUE_CARD]); return;
    case KIND_PLACE_ORDER:
    case KIND_ORDER_ACCEPTED:
    case KIND_PAYMENT_ALREADY_COMPLETED:
    case KIND_ORDER_PAID:
    case KIND_PAYMENT_PENDING:
    case KIND_PRICE_CHANGED:
    case KIND_CHARGE_PAYMENT:
    case KIND_RESOLVE_PAYMENT:
    case KIND_PAYMENT_UNKNOWN:
    case KIND_PAYMENT_PARKED:
    case KIND_ACK:
    case KIND_CHARGE:
    case KIND_LOOK_UP:
    case KIND_REFUND_CHARGE:
    case KIND_REFUNDED:
    case KIND_ASK_AGAIN:
    case KIND_REDELIVER:
    case KIND_ARRIVE:
    case KIND_RESUBMIT:
    case KIND_SLOW_CHARGE:
    case KIND_CHECK_DOUBLE:
    case MODEL_KIND_COUNT: break;
  }
  if (message->attempt > 1) snprintf(out, size, "%s (try %u)", id, message->attempt);
  else snprintf(out, size, "%s", id);
}

void model_shop_prepare(struct model_shop *shop, const struct model_config *config, struct sim_world *world) {
  shop->config = config;
  shop->world = world;
  shop->customers = NULL;
  model_facts_begin(shop);
  shop->replay_noise = 0;
  shop->gateway.charge_count = 0;
  shop->gateway.request_count = 0;
}

void model_shop_begin(struct model_shop *shop) { model_customers_begin(shop); }
