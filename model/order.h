/* What the files of the order service share: the actor and its state (order.c), what follows the payment (fulfilment.c),
   the outbox (outbox.c). */
#ifndef MODEL_ORDER_H
#define MODEL_ORDER_H

#include "model/shop.h"

enum order_statement {
  READ_EVENTS,
  READ_ORDERS,
  INSERT_EVENT,
  INSERT_EVENT_NEXT_FREE,
  READ_LAST_SEQ,
  CLAIM,
  CHECK_CLAIM,
  READ_CLAIM,
  WRITE_PRICE,
  READ_PRICE,
  ORDER_BOOT,
  ENQUEUE,
  OUTBOX_END,
  READ_OUTBOX,
  CLAIM_ROW,
  CLAIM_ROW_UNGUARDED,
  WRITE_SNAPSHOT,
  READ_SNAPSHOT,
  INSERT_ORDER_CASE,
};

struct order_event {
  int64_t seq;
  enum model_event type;
  struct sim_id operation;
  int64_t number, purchase, amount_minor, card, payment, at_ns;
};

enum step_state { STEP_NONE, STEP_REQUESTED, STEP_DONE };

/* The actor's state: what the events say, and what dies with the process. */
struct order {
  int64_t id;
  int64_t seq;
  bool placed;
  enum model_state state;
  struct sim_id operation;
  int64_t number; /* of the operation: 1, then its successors */
  int64_t purchase, amount_minor, card, payment;
  uint8_t step[MODEL_STEP_COUNT]; /* enum step_state */
  bool shipped, cancelling, cancelled, refund_failed;
  int64_t refund_minor; /* what the refund gives back */
  int64_t reminder_ns;  /* when the order becomes overdue: a fact of its events, see replay.purity */
  /* Not from events. */
  int64_t epoch;
  int64_t checked_ns; /* when this activation last knew itself to be the live one */
  uint32_t tries;
  struct sim_timer ask_again, overdue;
  int64_t activated_ns, charge_stated_ns, completed_ns; /* for reconciliation */
  int64_t snapshot_pending;                             /* snapshot.use=aliased: the number under which the state will be saved */
};

struct order_memory {
  struct order *order[MODEL_ORDERS_MAX];
  size_t count;
  struct sim_timer dispatch; /* of the outbox */
  int64_t dispatch_ns;
  struct sim_timer reconcile;
  int64_t rounds;                       /* of reconciliation, since the last payment was asked for */
  uint64_t noted[MODEL_OPERATIONS_MAX]; /* what nobody could explain, and is a case by now */
  size_t noted_count;
};

/* What one transaction of an order makes durable: events, rows put into the outbox, rows that are done with. */
enum { ORDER_BATCH_MAX = 6 };
struct order_batch {
  struct order_event event[ORDER_BATCH_MAX];
  size_t event_count;
  struct order_letter {
    enum model_step step;
    int64_t amount_minor, payment;
  } letter[ORDER_BATCH_MAX];
  size_t letter_count;
  enum model_step done; /* MODEL_STEP_COUNT: none */
  bool parked;          /* it is not done, but a case for a human */
};

/* order.c */
void model_order__batch_begin(struct order_batch *batch);
struct order_event *model_order__batch_add(struct order_batch *batch, enum model_event type);
void model_order__batch_send(struct order_batch *batch, enum model_step step, int64_t amount_minor, int64_t payment);
/* Commit a batch and apply its events. Returns false when this activation is stale: it has been evicted. */
bool model_order__persist(struct sim_node *node, struct order *order, struct order_batch *batch);
/* Say that no such order was ever placed here. */
void model_order__not_known(struct sim_node *node, const struct sim_message *command);
void model_order__tell_customer(struct sim_node *node, const struct order *order, enum model_kind kind, int64_t status, uint32_t attempt);

/* A charge was found of which the journal holds no request: write the request down. Returns false when this activation is
   stale. */
bool model_order__found(struct sim_node *node, struct order *order, const struct sim_message *line);

/* reconciliation.c */
/* Read the statement at the next full interval. */
void model_reconciliation__wake(struct sim_node *node);
void model_reconciliation__run(struct sim_node *node);
/* At the order: a line about it; and the end of the statement. */
void model_reconciliation__charge(struct sim_node *node, struct order *order, const struct sim_message *line);
void model_reconciliation__refund(struct sim_node *node, struct order *order, const struct sim_message *line);
void model_reconciliation__ended(struct sim_node *node, struct order *order, const struct sim_message *ended);
void model_reconciliation__noted(struct sim_node *node, const struct sim_message *message);

/* fulfilment.c: what an order does besides paying. */
/* The order of the first note: mails, picklist, cancelling and refunding are part of it. */
bool model_fulfilment__in_force(const struct sim_node *node);
/* Change the order's state by an event of its fulfilment. */
void model_fulfilment__apply(struct order *order, const struct order_event *event);
uint64_t model_fulfilment__hash(const struct order *order, uint64_t hash);
/* Add what follows the payment's end (PaymentCompleted, PaymentFailed) to the batch that records it. */
void model_fulfilment__payment_ended(struct sim_node *node, struct order *order, enum model_event event, int64_t payment,
                                     struct order_batch *batch);
void model_fulfilment__payment_requested(struct sim_node *node, struct order *order, struct order_batch *batch);
/* After recovery: what resume.* and step.state start anew. */
void model_fulfilment__resume(struct sim_node *node, struct order *order);
/* The order becomes a case for a human when it has not ended in time: set, or cancel, the timer for that. */
void model_fulfilment__watch(struct sim_node *node, struct order *order);
/* A message that is not about the payment. */
void model_fulfilment__handle(struct sim_node *node, struct order *order, const struct sim_message *message);

/* snapshot.c */
/* After an event: save the state when enough of them have passed since `seq_before`. */
void model_snapshot__write(struct sim_node *node, struct order *order, int64_t seq_before);
/* Before a replay: take the state from the snapshot. Returns false when there is none to be had. */
bool model_snapshot__read(struct sim_node *node, struct order *order);

/* outbox.c */
/* Put a letter into the outbox, inside the transaction under way. */
void model_outbox__enqueue(struct sim_node *node, const struct order *order, const struct order_letter *letter);
/* The row has its result, or is parked: it can never get through, and waits for a human. */
void model_outbox__end(struct sim_node *node, const struct order *order, enum model_step step, bool parked);
/* New rows are there: dispatch soon. */
void model_outbox__wake(struct sim_node *node);
/* Send a letter, without looking at any row (outbox.write=none, resume.scope=all_pending and others). */
void model_outbox__send(struct sim_node *node, int64_t order, const struct order_letter *letter, uint32_t tries, bool repeated);
/* The dispatcher: send each row that is due, and come back for the next. */
void model_outbox__dispatch(struct sim_node *node);

#endif
