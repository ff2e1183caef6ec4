/* What the invariants know: the environment's wishes, what is durable here, what left, what the gateway's ledger says.
   Filled by observation only (sim's observer and the gateway's own ledger); no protocol code reads it. */
#ifndef MODEL_FACTS_H
#define MODEL_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/gateways/payment_gateway.h"
#include "model/limits.h"
#include "model/shop.h"

enum model_invariant {
#define INVARIANT(id, ...) INVARIANT_##id,
#include "model/invariants/invariants.def"
#undef INVARIANT
  MODEL_INVARIANT_COUNT
};
/* Is a workflow judged by this invariant? */
bool model_invariant_judged(enum model_workflow workflow, int invariant);
extern const struct sim_invariant model_invariants[MODEL_INVARIANT_COUNT];
int model_invariant_find(const char *name);

struct model_order_fact {
  int64_t order, purchase, amount_minor; /* as the customer wanted it; order 0: slot free */
  bool placed;                           /* OrderPlaced is durable */
  int64_t placed_ns, settled_ns;         /* its first and its last event, as written down in them */
  enum model_state state;                /* by the durable events */
  uint64_t operation;                    /* of the last PaymentRequested */
  int64_t card;
  int64_t payment;
  bool requested;
  bool told_accepted, told_paid, told_failed, told_pending;
  /* The last call towards the gateway for this order. */
  bool open; /* its outcome is unknown to us */
  uint64_t open_operation;
  int64_t open_since_ns;  /* when the last charge request left */
  bool reopened;          /* known to a process that died before it was durable, unless its last commit landed after all */
  uint32_t definite_mask; /* payment instances that hold a definite answer which is not durable yet */
  /* One operation (order and card) at the provider. */
  struct {
    uint64_t reference; /* what the last request was sent under */
    char reference_text[SIM_ID_SIZE];
    uint32_t requests;
    bool declined;                              /* the refusal is durable */
    bool ended;                                 /* a definite failure is known: a successor id is allowed */
    uint32_t declined_lives[SIM_INSTANCES_MAX]; /* the life of each instance that received the refusal */
    uint32_t polls;
    bool gateway_declined; /* the gateway did decline this card */
  } by_card[MODEL_CARDS_MAX + 1];
  uint64_t live_hash[MODEL_EVENTS_MAX]; /* by sequence number; 0: none taken */
  uint32_t deliveries[4];               /* of PaymentSucceeded, Failed, Unknown, Parked, sent after the receiver had one */
  int64_t delivered_ns[4];
  bool acked_durable; /* an acknowledgement left on the strength of a durable event */
  int64_t notice_acked; /* the charge whose success notice was acknowledged */
  /* Fulfilment, by the durable events and by the ledgers. */
  bool cancelling, cancel_noted;       /* a cancellation was asked for; before the payment's end */
  bool cancelled, shipped, made_ready; /* OrderCancelled, OrderShipped, PicklistAccepted */
  bool mail_owed[MODEL_STEP_COUNT];
  int64_t refund_minor;                /* asked for */
  int64_t refunded_minor;              /* recorded as made */
  bool refund_failed;                  /* recorded as not made: a case for a human */
  uint32_t mails[MODEL_STEP_COUNT];    /* in the provider's ledger */
  bool letter_waits[MODEL_STEP_COUNT]; /* a row of the outbox that was not sent yet */
  int64_t letter_ns[MODEL_STEP_COUNT]; /* since when */
  uint32_t parcels;                    /* in the carrier's ledger */
  uint32_t refunds;                    /* in the gateway's ledger */
  uint32_t redelivered[2];             /* SendPicklist at the warehouse, OrderShipped at the orders */
  int64_t redelivered_ns[2];
  bool accepted_durable; /* PicklistAccepted left on the strength of a durable picklist */
};

struct model_operation_fact { /* one row of payment_operations */
  uint64_t id;                /* 0: slot free */
  char text[SIM_ID_SIZE];
  int64_t order, card, amount_minor, payment;
  enum model_state status;
  int64_t attempts, asks, created_ns;
  bool durable;
  bool declined; /* failed, by a refusal of the card */
};

struct model_purchase_fact {
  int64_t charges;
  int64_t first_charge;
  bool wanted;
};

struct model_facts {
  struct model_order_fact order[MODEL_ORDERS_MAX];
  size_t order_count;
  struct model_operation_fact operation[MODEL_OPERATIONS_MAX];
  size_t operation_count;
  struct model_purchase_fact purchase[MODEL_PURCHASES_MAX + 1];
  bool price_changed;
  uint64_t restores_before;             /* of runs before this one */
  bool trouble;                         /* a crash happened */
  int64_t orders_disturbed_ns;          /* until when a crash or pause excuses the order service */
  int64_t replaying[SIM_INSTANCES_MAX]; /* order being replayed by that instance of the order service; 0 none */
};

/* Room for the facts of one run after the other; free() it. */
struct model_facts *model_facts_create(void);
void model_facts_begin(struct model_shop *shop);
struct model_order_fact *model_order_fact(struct model_shop *shop, int64_t order);
struct model_operation_fact *model_operation_fact(struct model_shop *shop, uint64_t id);
/* Is this order in the human's queue of the order service? */
bool model_fact_overdue_case(const struct model_shop *shop, int64_t order);
/* Is there a charge of this order in the ledger? */
bool model_fact_charged_once(const struct model_shop *shop, int64_t order);
/* Is this operation in the human's queue of the payment service? */
bool model_fact_case(const struct model_shop *shop, uint64_t operation);
/* Was a database set back to an older copy in this run? What it held beyond that is lost, and no design is blamed for it:
   what an invariant asks of our own records is then asked of the ledgers alone. */
bool model_fact_restored(const struct model_shop *shop);
/* Is a charge request of this order possibly still to land, by the truth of profile and network? */
bool model_request_may_land(const struct model_shop *shop, const struct model_order_fact *fact);

/* Reported by the environment. */
void model_fact_wanted(struct model_shop *shop, int64_t purchase, int64_t order, int64_t amount_minor);
void model_fact_declined(struct model_shop *shop, int64_t order, int64_t card);
void model_fact_price_changed(struct model_shop *shop);
void model_fact_charged(struct model_shop *shop, const struct model_charge *charge);
void model_fact_mailed(struct model_shop *shop, const struct model_mail_sent *sent);
void model_fact_collected(struct model_shop *shop, const struct model_parcel *parcel);
void model_fact_refunded(struct model_shop *shop, const struct model_refund *refund);
void model_fact_reversed(struct model_shop *shop, const struct model_charge *charge);
/* Is an effect (a mail, a refund) parked in this table of effects? */
bool model_fact_parked(const struct model_shop *shop, size_t service, size_t table, int64_t order, enum model_step step);
/* Reported by the actor runtime: it would be the persistence library's own hooks. */
void model_fact_replay_started(struct sim_node *node, int64_t order);
void model_fact_replayed(struct sim_node *node, int64_t order, int64_t seq, uint64_t state_hash);
/* The state after a snapshot was taken, and again when the events behind it have been applied. */
void model_fact_snapshot_used(struct sim_node *node, int64_t order, int64_t seq, uint64_t state_hash);
void model_fact_recovery_completed(struct sim_node *node, int64_t order);
void model_fact_applied(struct sim_node *node, int64_t order, int64_t seq, uint64_t state_hash);

/* The checks, one file each in model/invariants/; each is called at the facts it judges. */
void model_check_charge(struct model_shop *shop, const struct model_charge *charge);
void model_check_amount(struct model_shop *shop, const struct model_charge *charge);
void model_check_intent_leaves(struct sim_node *node, const struct sim_message *request);
void model_check_intent_recovered(struct model_shop *shop);
void model_check_completed(struct model_shop *shop, const char *who, int64_t order, int64_t payment, uint64_t operation);
void model_check_declined_leaves(struct sim_node *node, const struct sim_message *request);
void model_check_unknown_leaves(struct sim_node *node, const struct sim_message *request);
void model_check_unknown_failed(struct model_shop *shop, const char *who, struct model_order_fact *fact);
void model_check_operation_id(struct sim_node *node, const struct sim_message *request);
void model_check_transition(struct model_shop *shop, const struct model_order_fact *fact, enum model_event event);
void model_check_reply(struct sim_node *node, const struct sim_message *message);
void model_check_ack(struct sim_node *node, const struct sim_message *message);
void model_check_acked_recovered(struct model_shop *shop);
void model_check_replay_leaves(struct sim_node *node, const struct sim_message *message);
void model_check_polling(struct sim_node *node, const struct sim_message *request);
void model_check_redelivery(struct sim_node *node, const struct sim_message *message);
void model_check_sticky(struct model_shop *shop, const struct model_operation_fact *operation, enum model_state before);
void model_check_notice_acked(struct sim_node *node, const struct sim_message *ack);
void model_judge_notices(struct model_shop *shop);
void model_check_cancel_reply(struct sim_node *node, const struct sim_message *message);
void model_check_refund_requested(struct model_shop *shop, const struct model_order_fact *fact);
void model_check_letter_waits(struct model_shop *shop, const struct sim_row *row);
void model_check_letter_leaves(struct sim_node *node, const struct sim_message *message);
void model_check_mail(struct model_shop *shop, const struct model_mail_sent *sent);
void model_check_mail_leaves(struct sim_node *node, const struct sim_message *request);
void model_check_parcel(struct model_shop *shop, const struct model_parcel *parcel);
void model_check_picklist_accepted(struct sim_node *node, const struct sim_message *message);
void model_check_picklists_recovered(struct model_shop *shop);
void model_check_refund(struct model_shop *shop, const struct model_refund *refund);
void model_check_refund_leaves(struct sim_node *node, const struct sim_message *request);
void model_check_fulfilment_redelivery(struct sim_node *node, const struct sim_message *message);
void model_judge_mails(struct model_shop *shop);
void model_judge_picklists(struct model_shop *shop);
void model_judge_outbox(struct model_shop *shop);
void model_judge_resolves(struct model_shop *shop);
void model_judge_endings(struct model_shop *shop);
void model_judge_parking(struct model_shop *shop);
void model_judge_quiet(struct model_shop *shop);
void model_judge_commands(struct model_shop *shop);
void model_judge_charges(struct model_shop *shop);
void model_judge_ledgers(struct model_shop *shop);
void model_judge_queue(struct model_shop *shop);
void model_judge_overdue(struct model_shop *shop);

#endif
