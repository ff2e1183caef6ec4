/* Notices of the payment gateway (webhooks), at the payment service. They come early, late, twice, as twins under another event
   id, in any order, or never; the answer of the call may come before or after. So a notice is about the operation, never
   about itself: it moves the row by the same conditional update as an answer does, older news ("pending") moves nothing,
   and it is acknowledged when what it says is durable. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/facts.h"
#include "model/payment.h"
#include "sim/check.h"

enum { TWIN_EVENTS = 1000 }; /* a twin differs in its try number, by this much: another event id */

static int64_t event_id(const struct sim_message *notice) {
  return notice->value[VALUE_EVENT] * 10 + (notice->attempt > TWIN_EVENTS ? 1 : 0);
}

static void acknowledge(struct sim_node *node, const struct sim_message *notice) {
  struct sim_message ack = {.kind = KIND_NOTICE_ACK, .attempt = notice->attempt, .subject = notice->subject, .id = notice->id};
  memcpy(ack.value, notice->value, sizeof ack.value);
  sim_send(node, SERVICE_GATEWAY, &ack, 0);
}

/* The operation that a notice's reference belongs to: what stands behind '#' is a key of its own (payment.key=fresh). */
static struct sim_id operation_of(const struct sim_message *notice) {
  char text[SIM_ID_SIZE];
  snprintf(text, sizeof text, "%.*s", (int)strcspn(notice->id.text, "#"), notice->id.text);
  return sim_id_of(text);
}

/* Is this event new? webhook.ack=dedup_first asks that, in a transaction of its own, before anything else. */
static bool mark_seen(struct sim_node *node, const struct sim_message *notice) {
  sim_sql_begin(node);
  if (sim_sql_run(node, MARK_SEEN, "i", event_id(notice)) != 1) {
    sim_sql_rollback(node);
    return false;
  }
  model_commit(node, "notice seen");
  return true;
}

void model_notice_operator(struct sim_node *node, const struct sim_message *says) {
  if (says->value[VALUE_CASE] != 0) {
    model_refund_operator(node, says);
    return;
  }
  struct operation row;
  int64_t now_ns = model_now(node);
  bool charged = says->value[VALUE_STATUS] == GATEWAY_OK;
  sim_sql_begin(node);
  int changed = charged ? sim_sql_run(node, NOTICE_COMPLETES, "iis", says->value[VALUE_PAYMENT], now_ns, says->id.text)
                        : sim_sql_run(node, OPERATOR_FAILS, "is", now_ns, says->id.text);
  if (changed != 1) {
    sim_sql_rollback(node);
    return;
  }
  sim_sql_run(node, CLOSE_CASE, "s", says->id.text);
  model_commit(node, charged ? "operator: charged" : "operator: not charged");
  if (model_payment__read(node, &says->id, &row)) model_payment__report(node, &row, 1);
}

static bool change(struct sim_node *node, const struct sim_id *id, const struct sim_message *notice, bool charged) {
  int64_t now_ns = model_now(node);
  sim_sql_begin(node);
  int changed = charged ? sim_sql_run(node, NOTICE_COMPLETES, "iis", notice->value[VALUE_PAYMENT], now_ns, id->text)
                        : sim_sql_run(node, NOTICE_FAILS, "is", now_ns, id->text);
  if (changed != 1) {
    sim_sql_rollback(node);
    return false;
  }
  if (charged) sim_sql_run(node, CLOSE_CASE, "s", id->text);
  model_commit(node, charged ? "notice: completed" : "notice: declined");
  return true;
}

/* webhook.identity=event_id: an event not seen before is a payment not seen before, and has a row of its own. */
static void another_payment(struct sim_node *node, const struct sim_id *id, const struct sim_message *notice) {
  char text[2 * SIM_ID_SIZE];
  snprintf(text, sizeof text, "%s@%" PRId64, id->text, event_id(notice));
  struct sim_id other = sim_id_of(text);
  sim_sql_begin(node);
  sim_sql_run(node, ANOTHER_PAYMENT, "sis", other.text, notice->value[VALUE_PAYMENT], id->text);
  model_commit(node, "notice: another payment");
}

static bool in_allow_list(enum model_state state) { return state == STATE_PENDING || state == STATE_UNKNOWN; }

/* Let the notice move the operation. Returns false when there is no such operation (yet). */
static bool apply(struct sim_node *node, const struct sim_message *notice) {
  const struct model_design *design = model_design_of(node);
  enum model_gateway_status status = (enum model_gateway_status)notice->value[VALUE_STATUS];
  struct sim_id id = operation_of(notice);
  struct operation row;
  if (!model_payment__read(node, &id, &row)) return false;
  if (model_shop_of(node)->config->gateway.reverses) return true; /* a charge that is not answered is taken back, whatever is told of it */
  if (status == GATEWAY_IN_FLIGHT) {
    if (!MODEL_CHOSEN(design, WEBHOOK_ORDER, LAST_WRITER)) return true; /* older news than any row tells */
    sim_sql_begin(node);
    sim_sql_run(node, NOTICE_OVERWRITES, "is", model_now(node), id.text);
    model_commit(node, "notice: pending");
    return true;
  }
  bool last_word = model_shop_of(node)->config->gateway.failed_final_after_ns == 0 || MODEL_CHOSEN(design, PAYMENT_ON_CALLED_FAILED, FAIL);
  if (status == GATEWAY_DECLINED && !last_word) return true; /* a notice is as old as it is: the gateway will be asked */
  if (MODEL_CHOSEN(design, WEBHOOK_ORDER, FORWARD_ALLOW_LIST) && !in_allow_list(row.status)) return true;
  if (MODEL_CHOSEN(design, WEBHOOK_IDENTITY, EVENT_ID) && row.status == STATE_COMPLETED && status == GATEWAY_OK) {
    another_payment(node, &id, notice);
    return true;
  }
  if (!change(node, &id, notice, status == GATEWAY_OK)) return true;
  if (MODEL_CHOSEN(design, WEBHOOK_RACE, OWN_PATH) && status == GATEWAY_OK) {
    struct sim_message confirmed = *notice;
    confirmed.kind = KIND_CONFIRMED_BESIDE;
    confirmed.subject = -notice->subject - MODEL_BESIDE_SUBJECT;
    sim_send(node, SERVICE_ORDERS, &confirmed, 0);
  }
  if (model_payment__read(node, &id, &row)) model_payment__report(node, &row, 1);
  return true;
}

void model_notice_handle(struct sim_node *node, const struct sim_message *notice) {
  const struct model_design *design = model_design_of(node);
  bool early = MODEL_CHOSEN(design, WEBHOOK_ACK, BEFORE_PERSIST);
  bool marks = MODEL_CHOSEN(design, WEBHOOK_ACK, DEDUP_FIRST);
  if (early) acknowledge(node, notice);
  bool known = marks && !mark_seen(node, notice);
  if (!known && !apply(node, notice)) return; /* it will come again */
  if (!early) acknowledge(node, notice);
}
