/* The shop: customers who order and pay; the services orders, payments, mails and warehouse; a payment gateway, a mail
   provider and a carrier. What a run of it is made of, and what its files share. */
#ifndef MODEL_SHOP_H
#define MODEL_SHOP_H

#include <stdbool.h>
#include <stdint.h>

#include "model/design.h"
#include "model/gateways/account_provider.h"
#include "model/gateways/carrier.h"
#include "model/gateways/mail_provider.h"
#include "model/gateways/payment_gateway.h"
#include "model/limits.h"
#include "sim/sql.h"
#include "sim/world.h"

enum model_service {
  SERVICE_CUSTOMERS,
  SERVICE_ORDERS,
  SERVICE_PAYMENTS,
  SERVICE_GATEWAY,
  SERVICE_MAILS,
  SERVICE_WAREHOUSE,
  SERVICE_MAILER,
  SERVICE_CARRIER,
  SERVICE_OPERATOR,
  SERVICE_REGISTRATIONS, /* the saga */
  SERVICE_CHARGES,       /* its payments and refunds */
  SERVICE_ACCOUNTS,      /* its accounts at somebody else's */
  SERVICE_USERS,
  SERVICE_XYZ,
  MODEL_SERVICE_COUNT
};

/* How far an order goes: to its payment, or to its shipping mail. */
enum model_workflow { MODEL_WORKFLOW_PAYMENT, MODEL_WORKFLOW_ORDER, MODEL_WORKFLOW_REGISTRATION };

/* What the outbox carries. */
enum model_step {
#define STEP(id, name, key) STEP_##id,
#include "model/steps.def"
#undef STEP
  MODEL_STEP_COUNT
};

enum model_kind {
#define KIND(id, name) KIND_##id,
#include "model/kinds.def"
#undef KIND
  MODEL_KIND_COUNT
};

enum model_ending {
#define ENDING(id, name, words) ENDING_##id,
#include "model/endings.def"
#undef ENDING
  MODEL_ENDING_COUNT
};

/* Where a message carries what. `subject` is the order, `id` the operation (or the key, towards the gateway). */
enum model_value {
  VALUE_PURCHASE,  /* number of the purchase, from 1 */
  VALUE_AMOUNT,    /* minor units */
  VALUE_CARD,      /* which card of the customer, from 1 */
  VALUE_STATUS,    /* enum model_state, enum model_gateway_status, enum model_refusal by kind */
  VALUE_PAYMENT,   /* the provider's payment id */
  VALUE_OPERATION, /* towards the gateway: hash of the operation id, whatever key was sent */
  /* Mails, picklists, refunds. */
  VALUE_STEP = VALUE_PURCHASE,      /* enum model_step */
  VALUE_REPEATED = VALUE_CARD,      /* 1: this may have been sent before */
  VALUE_EVENT = VALUE_OPERATION,    /* notices: the event's number */
  VALUE_NUMBER = VALUE_CARD,        /* towards the carrier: the picklist's number; of a statement: the line's, from 1 */
  VALUE_CASE = VALUE_OPERATION,     /* towards and from the operator: 0 a charge, else 1 + enum model_step */
  VALUE_REFUNDED = VALUE_OPERATION, /* of a statement's line: how much of the charge was given back */
  VALUE_AS_OF = VALUE_OPERATION,    /* of a statement: when it was asked for */
};

enum model_state {
#define STATE(id, name, words) STATE_##id,
#include "model/states.def"
#undef STATE
  MODEL_STATE_COUNT
};

/* An event that leaves the payment's state as it was. */
#define STATE_KEPT MODEL_STATE_COUNT

enum model_event {
  EVENT_NONE,
#define EVENT(id, name, state) EVENT_##id,
#include "model/events.def"
#undef EVENT
  MODEL_EVENT_COUNT
};

enum model_refusal { REFUSAL_NONE, REFUSAL_DECLINED, REFUSAL_FAILED };

/* Tables and columns that invariants read; the order is that of the schema. */
enum { TABLE_EVENTS = 0, TABLE_OUTBOX = 1, TABLE_ORDER_CASES = 2 };
enum { TABLE_OPERATIONS = 0, TABLE_OPEN_CASES = 1, TABLE_REFUNDS = 2 };
enum { TABLE_DELIVERIES = 0, TABLE_MAIL_CASES = 1 };
enum { TABLE_PICKLISTS = 0 };
enum { OUTBOX_ID, OUTBOX_STEP, OUTBOX_ORDER, OUTBOX_AMOUNT, OUTBOX_PAYMENT, OUTBOX_STATUS };
enum { OUTBOX_WAITING = 1, OUTBOX_SENDING, OUTBOX_ROW_DONE, OUTBOX_PARKED };
enum {
  EFFECT_ID,
  EFFECT_ORDER,
  EFFECT_TARGET,
  EFFECT_STEP,
  EFFECT_AMOUNT,
  EFFECT_STATUS,
  EFFECT_RESULT,
  EFFECT_ATTEMPTS,
  EFFECT_ASKS,
  EFFECT_CREATED
};
enum { PICKLIST_NUMBER, PICKLIST_DELIVERY, PICKLIST_ORDER, PICKLIST_LINES, PICKLIST_STATUS };
enum picklist_status { PICKLIST_CREATED = 1, PICKLIST_PICKING, PICKLIST_SHIPPED, PICKLIST_STOPPED };
enum {
  EVENT_ORDER,
  EVENT_SEQ,
  EVENT_TYPE,
  EVENT_OPERATION,
  EVENT_NUMBER,
  EVENT_PURCHASE,
  EVENT_AMOUNT,
  EVENT_CARD,
  EVENT_PAYMENT,
  EVENT_AT
};
enum {
  OPERATION_ID,
  OPERATION_ORDER,
  OPERATION_PURCHASE,
  OPERATION_CARD,
  OPERATION_AMOUNT,
  OPERATION_STATUS,
  OPERATION_PAYMENT,
  OPERATION_RESPONSE,
  OPERATION_ATTEMPTS,
  OPERATION_ASKS,
  OPERATION_LAST_ATTEMPT,
  OPERATION_LAST_ERROR,
  OPERATION_LAST_RESULT,
  OPERATION_CREATED,
  OPERATION_UPDATED,
  OPERATION_ACKNOWLEDGED,
  OPERATION_OWNER,
};
enum { CASE_OPERATION, CASE_ORDER, CASE_AMOUNT, CASE_LAST_RESULT, CASE_REASON, CASE_OPENED };

/* What a scenario says about the shop. Lifetime: campaign. */
struct model_config {
  struct model_design design;
  enum model_workflow workflow;
  struct model_gateway_profile gateway;
  struct model_mail_profile mail;
  int64_t purchases; /* at most this many in a run */
  int64_t amount_minor;
  char currency[4];
  int64_t request_lifetime_ns;
  int64_t lease_ns;
  int64_t resolve_attempts; /* polls or repeats of one operation before it is parked */
  int64_t redeliveries_max; /* limit of redelivery_is_bounded */
  int64_t polls_max;        /* limit of polling_is_bounded */
  uint8_t payment_instances;
  uint8_t order_instances;
  uint8_t mail_instances;
  uint8_t saga_instances; /* of registrations, charges and accounts each */
  struct model_account_profile accounts;
  bool second_payment;          /* a registration has a second payment, behind its account */
  int64_t snapshot_every;       /* events from one snapshot of an order to the next; 0: none are made */
  int64_t overdue_after_ns;     /* from OrderPlaced, until an order that has not ended becomes a case; 0: never */
  int64_t reconcile_every_ns;   /* from one reading of the gateway's statement to the next; 0: it is not read */
  int64_t restocking_fee_minor; /* kept back when goods were made ready and then cancelled */
};

struct model_broker {
  struct sim_broker broker;
  enum model_row saga; /* stated, before any run */
  const char *lost;    /* what cannot hold: names of invariants; "" */
  const char *why;
};

/* Shipped brokers by name, or by what people call them; NULL when there is none. */
const struct model_broker *model_broker_find(const char *name);
size_t model_broker_count(void);
const struct model_broker *model_broker_at(size_t index);

/* What people call a profile. */
struct model_alias {
  const char *alias, *name;
};
const char *model_name_of(const char *word, const struct model_alias *alias, size_t count);

struct model_facts;
struct model_customers;
struct saga_users;
struct saga_facts;

/* Whose profile an undecided case is due to. */
enum model_outsider { MODEL_OF_GATEWAY, MODEL_OF_MAILER, MODEL_OF_ACCOUNTS, MODEL_OUTSIDERS };

/* One run. Owner: the caller of model_shop_prepare, who also gives the room for `facts` (model_facts_create). */
struct model_shop {
  const struct model_config *config;
  struct sim_world *world;
  struct model_gateway gateway;
  struct model_provider refunds;
  struct model_mail_provider mailer;
  struct model_carrier carrier;
  struct model_account_provider xyz;
  struct saga_users *users;
  struct saga_facts *registrations;
  struct model_customers *customers;
  struct model_facts *facts;
  uint64_t case_known[MODEL_OPERATIONS_MAX]; /* cases that the operator was told of */
  size_t case_count;
  bool address_broken[MODEL_PURCHASES_MAX + 1]; /* by purchase: no mail can be made out to this customer */
  /* Over all runs since the shop was made: orders by ending; events by the payment state they met. */
  uint64_t ending_count[MODEL_ENDING_COUNT];
  uint64_t mail_case_count; /* mails parked, or put aside in the outbox */
  uint64_t undecided_count[MODEL_OUTSIDERS]; /* still parked at the end, as nobody could tell or undo it */
  uint64_t call_count;      /* requests that left for somebody else's system */
  uint64_t settling_ms_sum; /* from OrderPlaced to the order's last event, summed over orders */
  uint64_t move_count[MODEL_STATE_COUNT][MODEL_EVENT_COUNT];
  uint64_t replay_noise; /* feeds replay.purity=random, from outside the run's decisions on purpose */
};

/* The services and kinds of the shop, for sim_world_create. */
extern const struct sim_service model_services[MODEL_SERVICE_COUNT];
extern const char *const model_kinds[MODEL_KIND_COUNT];
const char *model_state_name(enum model_state state);
const char *model_event_name(enum model_event event);
const char *model_ending_name(enum model_ending ending);

/* Fill a setup's model part and start the workload: call between sim_world_begin and sim_world_run, with the shop made
   by model_shop_prepare before sim_world_begin. */
void model_shop_prepare(struct model_shop *shop, const struct model_config *config, struct sim_world *world);
void model_shop_begin(struct model_shop *shop);
extern const struct sim_observer model_observer;
bool model_describe(const struct sim_message *message, char *out, size_t size);

static inline struct model_shop *model_shop_of(const struct sim_node *node) { return sim_world_model(sim_node_world(node)); }
static inline int64_t model_now(const struct sim_node *node) { return sim_world_now(sim_node_world(node)); }
static inline const struct model_design *model_design_of(const struct sim_node *node) { return &model_shop_of(node)->config->design; }

/* Who this process is, in the owner columns: the same instance after a restart is another owner. */
enum { MODEL_LIVES_OF_AN_INSTANCE = 1000 };
static inline int64_t model_owner(const struct sim_node *node) {
  return ((int64_t)sim_node_instance(node) + 1) * MODEL_LIVES_OF_AN_INSTANCE + sim_node_life(node);
}
/* Is this the mark of an earlier life of the same instance? */
static inline bool model_owner_is_dead(const struct sim_node *node, int64_t owner) {
  return owner / MODEL_LIVES_OF_AN_INSTANCE == model_owner(node) / MODEL_LIVES_OF_AN_INSTANCE && owner != model_owner(node);
}
/* The pause before try number `tries` + 1: twice the one before, at most `most_ns`. */
int64_t model_back_off(int64_t first_ns, int64_t most_ns, int64_t tries);
/* Ask one of the shop's own points about this subject, all answers offered. */
int model_ask(struct model_shop *shop, const char *point, const struct sim_subject *subject);
/* Commit; on failure do what journal.on_commit_error says. */
void model_commit(struct sim_node *node, const char *step);
/* First act of a restarted process: make durable what recovery is about to read (journal.recovery). `statement` writes
   (instance, life) into the service's boots table. */
void model_sync_before_recovery(struct sim_node *node, size_t statement);
/* Order numbers: purchase p, cart c (from 1). */
static inline int64_t model_order_number(int64_t purchase, int64_t cart) { return purchase + 100 * (cart - 1); }
static inline int64_t model_purchase_of(int64_t order) { return order % 100; }
/* `order:{id}:payment`, and its successors `order:{id}:payment:2` … */
struct sim_id model_operation_id(int64_t order, int64_t number);
/* `order:{id}:confirmation-email`, `order:{id}:picklist` … */
struct sim_id model_step_id(int64_t order, enum model_step step);
const char *model_step_name(enum model_step step);
/* An amount in words: "49.99 EUR". */
void model_amount_words(const struct model_config *config, int64_t amount_minor, char *out, size_t size);

/* The parts, each in its own file. */
void model_order_start(struct sim_node *node);
void model_order_handle(struct sim_node *node, const struct sim_message *message);
void model_payment_start(struct sim_node *node);
void model_notice_handle(struct sim_node *node, const struct sim_message *message);
/* What the operator found in the gateway's ledger. */
void model_notice_operator(struct sim_node *node, const struct sim_message *says);
void model_refund_handle(struct sim_node *node, const struct sim_message *message);
/* The payment service is up again: what it was doing may be known to no order any more. */
void model_reconciliation_ask(struct sim_node *node);
/* What the order service found in the gateway's statement. */
void model_reconciliation_charge_stated(struct sim_node *node, const struct sim_message *stated);
void model_reconciliation_refund_stated(struct sim_node *node, const struct sim_message *stated);
/* A refund that the statement lists is made, whatever the row says. */
/* The operator's word on a refund. */
void model_refund_operator(struct sim_node *node, const struct sim_message *says);
void model_refund_found(struct sim_node *node, const struct sim_message *stated);
void model_mail_start(struct sim_node *node);
void model_mail_handle(struct sim_node *node, const struct sim_message *message);
void model_warehouse_start(struct sim_node *node);
void model_warehouse_handle(struct sim_node *node, const struct sim_message *message);
void model_payment_handle(struct sim_node *node, const struct sim_message *message);
void model_operator_handle(struct sim_node *node, const struct sim_message *message);
void model_customer_handle(struct sim_node *node, const struct sim_message *message);
void model_customers_begin(struct model_shop *shop);
/* Has the customer of this purchase nothing more to do? */
bool model_customer_done(const struct model_shop *shop, int64_t purchase);

#endif
