/* Every maximum of model/, each with its reason. */
#ifndef MODEL_LIMITS_H
#define MODEL_LIMITS_H

enum {
  MODEL_PURCHASES_MAX = 16,                                 /* purchases of one run: scenarios use up to six */
  MODEL_CARTS_MAX = 3,                                      /* a customer who was told "failed" starts at most two new carts */
  MODEL_CARDS_MAX = 3,                                      /* and tries at most three cards on one */
  MODEL_ORDERS_MAX = MODEL_PURCHASES_MAX * MODEL_CARTS_MAX, /* orders of one run: each cart is one */
  MODEL_OPERATIONS_MAX = 128,                               /* operations of one run: an order has one, two after a decline */
  MODEL_EVENTS_MAX = 40,                                    /* events of one order: five in practice, more only in broken designs */
  MODEL_CHARGES_MAX = 256,                                  /* ledger entries of one run */
  MODEL_EFFECTS_MAX = 256,                                  /* mails or refunds that one provider saw in one run */
  MODEL_NOTICES_MAX = 512,                                  /* notices one gateway sends in one run: two a request */
  MODEL_PARCELS_MAX = 64,                                   /* parcels of one run: one an order */
  MODEL_BESIDE_SUBJECT = 1,                                 /* webhook.race=own_path: the mailbox beside order n is -n - 1 */
  MODEL_RECONCILE_SUBJECT = -1,                             /* the mailbox of reconciliation */
  MODEL_OUTBOX_SUBJECT = 0,                                 /* the dispatcher's mailbox: orders are numbered from 1 */
  MODEL_REQUESTS_MAX = 1024,                                /* requests the gateway saw in one run */
};

#endif
