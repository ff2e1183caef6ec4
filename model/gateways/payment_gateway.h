/* A payment gateway: somebody else's system with its own append-only ledger, which no fault touches. A profile states
   capabilities, which the protocol reads, and behaviour, which it must live with. */
#ifndef MODEL_GATEWAYS_PAYMENT_GATEWAY_H
#define MODEL_GATEWAYS_PAYMENT_GATEWAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/limits.h"
#include "sim/id.h"
#include "sim/world.h"

struct model_provider;
struct model_shop;

enum model_other_parameters {
  MODEL_OTHER_REFUSED, /* the same key with another amount is an error, nothing is done */
  MODEL_OTHER_IGNORED, /* the first answer comes back */
};

/* What a repeat gets under a key that lives, once the first request has been decided. */
enum model_repeat {
  MODEL_REPEAT_ANSWERED,    /* the first request's result */
  MODEL_REPEAT_RECEIPT,     /* the first answer, word by word: "taken on" stays "taken on" */
  MODEL_REPEAT_NAMES_FIRST, /* an error that names what the first request made */
  MODEL_REPEAT_REFUSED,     /* an error: "duplicate", and nothing else */
};

/* What becomes of a repeat while the gateway's memory of keys is down. */
enum model_key_store { MODEL_KEYS_ALWAYS_UP, MODEL_KEYS_FAIL_CLOSED, MODEL_KEYS_FAIL_OPEN };

/* What the recommended design can hold at a provider. */
enum model_row { MODEL_HOLDS, MODEL_HOLDS_BY_PARKING, MODEL_CANNOT_HOLD };

/* What a protocol may rely on at a provider. */
struct model_capabilities {
  bool takes_keys;    /* it recognises a repeat by the caller's id */
  bool keys_may_fail; /* it takes keys, but a repeat may have a second effect all the same: `takes_keys` is false then */
  int64_t key_retention_ns;
  bool looks_up; /* it answers questions by the caller's id */
  int64_t look_up_lag_ns;
  bool repeat_is_error; /* a repeat is refused as a duplicate: then the first request was taken on */
};

struct model_gateway_profile {
  const char *name;
  const char *about;
  /* Capabilities. */
  bool takes_keys;
  int64_t key_retention_ns;
  bool looks_up;
  int64_t look_up_lag_ns;
  int64_t failed_final_after_ns; /* a "failed" that it tells when asked, or by notice, may turn into a charge until then; 0: it is final */
  bool reverses;                 /* a reversal by the caller's reference voids the charge, or stops it when it comes later */
  bool statements;               /* a caller may read its ledger, line by line (a settlement report) */
  bool notifies; /* tells by notices (webhooks) that a charge has begun, and how it ended, until they are acknowledged */
  /* Behaviour. */
  enum model_other_parameters other_parameters;
  enum model_repeat repeat;
  enum model_key_store key_store;
  bool stores_errors;         /* a 5xx is kept under the key and replayed, whatever became of the charge */
  bool error_frees_key;       /* a 5xx is forgotten, whatever became of the charge: the same key runs again */
  bool knows_finished_only;   /* a repeat is recognised only once the first request has been decided */
  bool limits_refunds;        /* refuses to refund more of a charge than it was */
  int64_t decides_after_ns;   /* charges are only taken on, and decided so much later; 0: at once */
  int64_t lookalike_ns;       /* for so long it refuses a charge that looks like one it has made, without telling of that one */
  /* Stated from what the provider documents, before any run: orders, and the saga. */
  enum model_row orders, saga;
  const char *source; /* whose documented behaviour it is */
};

/* What the gateway answers; OK, DECLINED and REFUSED are definite. */
enum model_gateway_status {
  GATEWAY_OK = 1,
  GATEWAY_DECLINED,
  GATEWAY_REFUSED,     /* other parameters under a known key */
  GATEWAY_ERROR,       /* 5xx */
  GATEWAY_IN_FLIGHT,   /* 409: the first request with this key is still being worked on */
  GATEWAY_NOT_FOUND,   /* look-up: nothing of that id is visible */
  GATEWAY_UNSUPPORTED, /* look-up: this gateway answers none */
  GATEWAY_DUPLICATE,   /* a repeat, or what looks like one; names the first charge where the profile does so */
};

struct model_charge { /* one ledger entry */
  int64_t id;         /* payment id, from 1 */
  struct sim_id reference;
  uint64_t operation;
  int64_t order, purchase, amount_minor, card;
  int64_t time_ns;
  bool refunded; /* in full, by refund_the_double */
  int64_t refunded_minor;
};

struct model_refund { /* one ledger entry */
  int64_t charge;     /* payment id */
  struct sim_id reference;
  uint64_t operation;
  int64_t order, amount_minor, time_ns;
};

struct model_request { /* what the gateway remembers of a request */
  struct sim_id reference;
  int64_t first_ns;
  int64_t amount_minor, card;
  enum model_gateway_status status; /* stored answer; 0 while in flight or when none is kept */
  bool in_flight;
  bool declines;      /* taken on, and to be declined when it is decided */
  int64_t decided_ns; /* when its outcome became true */
  int64_t charge;     /* payment id, 0 if none */
};

struct model_notice { /* one notice of the gateway; its number names the event */
  int64_t order, purchase, amount_minor, card, payment;
  struct sim_id reference;
  enum model_gateway_status status;
  bool acknowledged;
};

struct model_entry { /* one line of the statement */
  bool refund;
  size_t number; /* of the charge or refund, from 1 */
};

struct model_gateway {
  struct model_entry entry[MODEL_CHARGES_MAX + MODEL_EFFECTS_MAX];
  size_t entry_count;
  struct model_charge ledger[MODEL_CHARGES_MAX];
  size_t charge_count;
  struct model_request request[MODEL_REQUESTS_MAX];
  size_t request_count;
  struct model_refund refund[MODEL_EFFECTS_MAX];
  size_t refund_count;
  struct model_notice notice[MODEL_NOTICES_MAX];
  size_t notice_count;
  struct sim_id reversed[MODEL_REQUESTS_MAX]; /* references that must not charge any more */
  size_t reversed_count;
  struct model_provider *refunds; /* what it remembers of refund requests */
};

/* The longest a gateway works on a request; with the request's lifetime and the look-up lag it bounds how long a
   "not found" may still be wrong. */
#define MODEL_GATEWAY_PROCESSING_MAX_NS (2 * SIM_MINUTE)

/* Can a caller always learn, by asking or repeating, what became of a charge? */
bool model_gateway_tells(const struct model_gateway_profile *profile);
struct model_capabilities model_gateway_capabilities(const struct model_gateway_profile *profile);
/* May a request whose outcome is unknown be repeated under its key? */
bool model_gateway_repeats_safely(const struct model_gateway_profile *profile);
/* Shipped profiles by name, or by what people call them; NULL when there is none. */
const struct model_gateway_profile *model_gateway_profile_find(const char *name);
size_t model_gateway_profile_count(void);
const struct model_gateway_profile *model_gateway_profile_at(size_t index);
void model_gateway_handle(struct sim_node *node, const struct sim_message *message);
/* A refund made by a person at the gateway's own desk, in the terms of a case; its number. The desk refunds what is left of
   the charge at most. */
int64_t model_gateway_refund_at_desk(struct model_shop *shop, const struct sim_message *about);
const struct model_charge *model_gateway_charge(const struct model_gateway *gateway, int64_t payment_id);
const char *model_gateway_status_words(enum model_gateway_status status);

#endif
