/* What the invariants know of registrations, and the checks themselves: the environment's wishes, the durable rows, what left,
   what the ledgers say. Filled by observation only; no protocol code reads it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/facts.h"
#include "model/registration/registration.h"
#include "sim/check.h"

struct step_fact {
  bool durable;
  enum model_state status;
  int64_t result, amount_minor, attempts, asks, created_ns;
  bool declined;          /* failed, and durably so because it was refused */
  bool provider_declined; /* the provider did refuse it */
  uint32_t declined_life[SIM_INSTANCES_MAX];
  uint32_t repeats_after_refusal; /* by a process in which a handler had heard it */
  uint64_t reference;             /* that the last request left under */
  uint32_t requests, polls, hasty_polls;
  int64_t polled_ns;
  bool open; /* the outcome of the last request is unknown to us */
  int64_t open_since_ns;
  uint32_t definite_mask; /* instances that hold a definite answer which is not durable yet */
};

struct registration_fact {
  int64_t registration;
  bool told_accepted;
  uint32_t sagas; /* rows that were ever inserted */
  bool durable;   /* a row is there */
  bool aborted, complete, ended_once, deleted;
  enum model_state saga[SAGA_STEP_COUNT]; /* as the saga's row says */
  int64_t saga_result[SAGA_STEP_COUNT];
  struct step_fact step[SAGA_STEP_COUNT];
  uint32_t charges[2], refunds[2]; /* in the ledger: first payment, second */
  int64_t charge[2];               /* the last charge's number */
  uint32_t accounts, alive;
  uint32_t given_up; /* messages about it in the error queue */
};

struct saga_facts {
  struct registration_fact registration[MODEL_PURCHASES_MAX + 1];
  bool trouble;
};

static struct registration_fact *fact_of(struct model_shop *shop, int64_t registration) {
  REQUIRE(registration >= 1 && registration <= MODEL_PURCHASES_MAX);
  return &shop->registrations->registration[registration];
}

void saga_facts_begin(struct model_shop *shop) {
  if (shop->registrations == NULL) shop->registrations = calloc(1, sizeof *shop->registrations);
  ENSURE(shop->registrations != NULL);
  memset(shop->registrations, 0, sizeof *shop->registrations);
  for (int64_t r = 1; r <= MODEL_PURCHASES_MAX; r++) shop->registrations->registration[r].registration = r;
}

static bool is_payment(enum saga_step step) { return step == SAGA_PAYMENT || step == SAGA_SECOND; }
static size_t which(enum saga_step step) { return step == SAGA_SECOND || step == SAGA_REFUND_SECOND; }
static bool undoes(enum saga_step step) { return saga_step_info(step)->undoes != SAGA_STEP_COUNT; }
static const char *name_of(enum saga_step step) { return saga_step_info(step)->name; }

/* ---- ledgers ---- */

void saga_fact_charged(struct model_shop *shop, const struct model_charge *charge) {
  struct registration_fact *fact = fact_of(shop, charge->order);
  size_t second = charge->purchase != charge->order;
  enum saga_step step = second ? SAGA_SECOND : SAGA_PAYMENT;
  fact->charges[second]++;
  fact->charge[second] = charge->id;
  sim_danger(shop->world, INVARIANT_AMOUNT_MATCHES);
  if (fact->charges[second] > 1) sim_danger(shop->world, INVARIANT_AT_MOST_ONE_CHARGE);
  if (fact->charges[second] > 1 + fact->refunds[second])
    sim_violated(shop->world, INVARIANT_AT_MOST_ONE_CHARGE, "The %s of registration:%" PRId64 " is charged again, under %s.", name_of(step),
                 fact->registration, charge->reference.text);
  if (charge->amount_minor != saga_amount(shop->config, step))
    sim_violated(shop->world, INVARIANT_AMOUNT_MATCHES, "The %s of registration:%" PRId64 " is charged with another amount.", name_of(step),
                 fact->registration);
}

void saga_fact_declined(struct model_shop *shop, int64_t registration, int64_t card) {
  (void)card;
  fact_of(shop, registration)->step[SAGA_PAYMENT].provider_declined = true;
  fact_of(shop, registration)->step[SAGA_SECOND].provider_declined = true;
}

void saga_fact_refunded(struct model_shop *shop, const struct model_refund *refund) {
  struct registration_fact *fact = fact_of(shop, refund->order);
  const struct model_charge *charge = model_gateway_charge(&shop->gateway, refund->charge);
  size_t second = charge != NULL && charge->purchase != charge->order;
  fact->refunds[second]++;
  sim_danger(shop->world, INVARIANT_REFUND_WITHIN_CHARGE);
  if (fact->refunds[second] > fact->charges[second] || (charge != NULL && charge->refunded_minor > charge->amount_minor))
    sim_violated(shop->world, INVARIANT_REFUND_WITHIN_CHARGE, "More is refunded of payment %" PRId64 " than was charged.", refund->charge);
  if (fact->refunds[second] > 1)
    sim_violated(shop->world, INVARIANT_REFUND_AT_MOST_ONCE, "registration:%" PRId64 " is refunded a second time, under %s.",
                 fact->registration, refund->reference.text);
}

void saga_fact_reversed(struct model_shop *shop, const struct model_charge *charge) {
  fact_of(shop, charge->order)->charges[charge->purchase != charge->order]--;
}

void saga_fact_account(struct model_shop *shop, int64_t registration, bool disabled) {
  struct registration_fact *fact = fact_of(shop, registration);
  if (disabled) {
    fact->alive--;
    return;
  }
  fact->accounts++;
  fact->alive++;
  if (fact->accounts > 1) sim_danger(shop->world, INVARIANT_ACCOUNT_AT_MOST_ONCE);
  if (fact->accounts > 1)
    sim_violated(shop->world, INVARIANT_ACCOUNT_AT_MOST_ONCE, "A second account is opened for registration:%" PRId64 ".", registration);
}

/* ---- durable rows ---- */

static int64_t cell(const struct sim_row *row, int column) { return row->cell[column].number; }

static bool charged(const struct registration_fact *fact, enum saga_step step) { return fact->charges[which(step)] > 0; }

static void completed(struct model_shop *shop, const char *who, const struct registration_fact *fact, enum saga_step step, int64_t number) {
  if (!is_payment(step)) return;
  const struct model_charge *charge = model_gateway_charge(&shop->gateway, number);
  sim_danger(shop->world, INVARIANT_COMPLETED_IMPLIES_CHARGED);
  bool mine = charge != NULL && charge->order == fact->registration && charge->purchase == saga_purchase(fact->registration, step);
  if (mine) return;
  sim_violated(shop->world, INVARIANT_COMPLETED_IMPLIES_CHARGED,
               "%s records the %s of registration:%" PRId64 " as completed with payment %" PRId64 ", which is no charge of it.", who,
               name_of(step), fact->registration, number);
}

static void failed_while_unknown(struct model_shop *shop, const char *who, const struct registration_fact *fact, enum saga_step step) {
  if (!fact->step[step].open) return;
  sim_violated(shop->world, INVARIANT_UNKNOWN_IS_NOT_FAILED,
               "The %s of registration:%" PRId64 " is recorded as failed at %s while the outcome of its last call is unknown.",
               name_of(step), fact->registration, who);
}

static void take_saga(struct model_shop *shop, enum sim_change kind, const struct sim_row *row) {
  struct registration_fact *fact = fact_of(shop, cell(row, SAGA_REGISTRATION));
  bool settling = sim_durable_settling(shop->world);
  if (kind == SIM_ROW_DELETED) {
    fact->durable = false;
    fact->deleted = !settling;
    if (settling) fact->sagas--;
    return;
  }
  if (kind == SIM_ROW_INSERTED) {
    fact->sagas++;
    if (fact->sagas > 1)
      sim_violated(shop->world, INVARIANT_ONE_SAGA_PER_REGISTRATION, "registration:%" PRId64 " has a second saga, %s.", fact->registration,
                   row->cell[SAGA_KEY].text);
  }
  fact->durable = true;
  fact->aborted = cell(row, SAGA_ABORTED) != 0;
  fact->complete = cell(row, SAGA_COMPLETE) != 0;
  for (int s = 0; s < SAGA_STEP_COUNT; s++) {
    enum model_state before = fact->saga[s];
    enum model_state now = (enum model_state)cell(row, SAGA_FIRST_STATUS + 2 * s);
    fact->saga[s] = now;
    fact->saga_result[s] = cell(row, SAGA_FIRST_STATUS + 1 + 2 * s);
    if (now == before || settling) continue;
    if (now == STATE_COMPLETED) completed(shop, "registrations", fact, (enum saga_step)s, fact->saga_result[s]);
    if (now == STATE_FAILED) failed_while_unknown(shop, "registrations", fact, (enum saga_step)s);
    sim_danger(shop->world, INVARIANT_LEGAL_TRANSITION);
    bool back = (before == STATE_COMPLETED && now != STATE_COMPLETED) || (before == STATE_FAILED && now != STATE_COMPLETED);
    if (back)
      sim_violated(shop->world, INVARIANT_LEGAL_TRANSITION, "The %s of registration:%" PRId64 " goes from %s to %s.",
                   name_of((enum saga_step)s), fact->registration, model_state_name(before), model_state_name(now));
  }
}

static void take_step(struct model_shop *shop, enum sim_change kind, const struct sim_row *row) {
  struct registration_fact *fact = fact_of(shop, cell(row, STEP_REGISTRATION));
  enum saga_step which_step = (enum saga_step)cell(row, STEP_STEP);
  struct step_fact *step = &fact->step[which_step];
  if (kind == SIM_ROW_DELETED) {
    step->durable = false;
    return;
  }
  enum model_state before = step->durable ? step->status : STATE_NOT_REQUESTED;
  step->durable = true;
  step->status = (enum model_state)cell(row, STEP_STATUS);
  step->result = cell(row, STEP_RESULT);
  step->amount_minor = cell(row, STEP_AMOUNT);
  step->attempts = cell(row, STEP_ATTEMPTS);
  step->asks = cell(row, STEP_ASKS);
  step->created_ns = cell(row, STEP_CREATED);
  step->declined = step->status == STATE_FAILED && cell(row, STEP_REASON) == REASON_DECLINED;
  bool ended = step->status == STATE_COMPLETED || step->status == STATE_FAILED;
  if (sim_durable_settling(shop->world) && ended) step->open = false; /* the commit in doubt had landed: its writer knew */
  if (step->status == before || sim_durable_settling(shop->world)) return;
  if (step->status == STATE_COMPLETED) completed(shop, "charges", fact, which_step, step->result);
  if (step->status == STATE_FAILED)
    failed_while_unknown(shop, sim_world_kind(shop->world, (uint16_t)saga_step_info(which_step)->command)->text, fact, which_step);
  if (step->status == STATE_COMPLETED || step->status == STATE_FAILED) step->definite_mask = 0;
}

static void on_row(struct sim_world *world, size_t service, size_t table, enum sim_change kind, const struct sim_row *row) {
  struct model_shop *shop = sim_world_model(world);
  if (service == SERVICE_REGISTRATIONS && table == TABLE_SAGA) take_saga(shop, kind, row);
  if ((service == SERVICE_CHARGES || service == SERVICE_ACCOUNTS) && table == TABLE_STEPS) take_step(shop, kind, row);
  if (kind == SIM_ROW_INSERTED && table == TABLE_SAGA_OUTBOX) sim_danger(world, INVARIANT_OUTBOX_DRAINS);
}

/* ---- what leaves, what comes back ---- */

/* The step that a request towards somebody else's system is about. */
static bool request_step(const struct sim_message *request, enum saga_step *step_out) {
  for (int s = 0; s < SAGA_STEP_COUNT; s++) {
    const struct saga_step_info *info = saga_step_info((enum saga_step)s);
    bool any = request->kind == KIND_ASK_STATEMENT || request->kind == KIND_REVERSE;
    if (!any && request->kind != info->request && request->kind != info->query) continue;
    struct sim_id id = saga_operation_id(request->subject, (enum saga_step)s);
    if (memcmp(&request->value[VALUE_OPERATION], &id.hash, sizeof id.hash) != 0) continue;
    *step_out = (enum saga_step)s;
    return true;
  }
  return false;
}

static void request_leaves(struct sim_node *node, const struct sim_message *request, enum saga_step which_step) {
  struct model_shop *shop = model_shop_of(node);
  struct registration_fact *fact = fact_of(shop, request->subject);
  struct step_fact *step = &fact->step[which_step];
  if (shop->registrations->trouble || request->attempt > 1) sim_danger(shop->world, INVARIANT_CHARGE_HAS_INTENT);
  if (is_payment(which_step)) {
    bool owner = fact->durable && fact->saga[which_step] != STATE_NOT_REQUESTED;
    if (!fact->deleted && (!owner || !step->durable))
      sim_violated(shop->world, INVARIANT_CHARGE_HAS_INTENT, "The %s of registration:%" PRId64 " leaves while %s.", name_of(which_step),
                   fact->registration, owner ? "no operation row is committed" : "the saga has not durably asked for it");
    /* Handlers of one process share no memory: one that was under way beside the one that heard the refusal may repeat under the
       same key, which is how it asks. More than that is a refusal that is retried. */
    enum { BESIDE_MAX = 2 };
    bool received = step->declined_life[sim_node_instance(node)] == sim_node_life(node);
    step->repeats_after_refusal += received;
    if (step->repeats_after_refusal > BESIDE_MAX || step->declined)
      sim_violated(shop->world, INVARIANT_DECLINED_NOT_RETRIED,
                   "The %s of registration:%" PRId64 " is tried again although it was refused.", name_of(which_step), fact->registration);
  }
  if (step->requests > 0) {
    sim_danger(shop->world, INVARIANT_OPERATION_ID_STABLE);
    if (step->reference != request->id.hash)
      sim_violated(shop->world, INVARIANT_OPERATION_ID_STABLE, "The %s of registration:%" PRId64 " now goes under %s, another id.",
                   name_of(which_step), fact->registration, request->id.text);
    if (step->reference != request->id.hash && step->open)
      sim_violated(shop->world, INVARIANT_UNKNOWN_IS_NOT_FAILED,
                   "A new request for the %s of registration:%" PRId64 " leaves while the outcome of the last is unknown.",
                   name_of(which_step), fact->registration);
  }
  if (undoes(which_step)) {
    enum saga_step landed = saga_step_info(which_step)->undoes;
    bool landed_durably = fact->step[landed].durable && fact->step[landed].status == STATE_COMPLETED;
    sim_danger(shop->world, INVARIANT_COMPENSATE_ONLY_LANDED);
    if (!fact->aborted || !landed_durably)
      sim_violated(shop->world, INVARIANT_COMPENSATE_ONLY_LANDED, "The %s of registration:%" PRId64 " is asked for while %s.",
                   name_of(which_step), fact->registration,
                   !fact->aborted ? "the registration stands" : "what it undoes is not known to have landed");
    if (which_step != SAGA_DISABLE) {
      sim_danger(shop->world, INVARIANT_REFUND_FOLLOWS_CHARGE);
      if (fact->refunds[which(which_step)] > 0) sim_danger(shop->world, INVARIANT_REFUND_AT_MOST_ONCE);
      if (!landed_durably)
        sim_violated(shop->world, INVARIANT_REFUND_FOLLOWS_CHARGE,
                     "A refund for registration:%" PRId64 " is asked for while its payment is %s.", fact->registration,
                     model_state_name(fact->step[landed].status));
    }
  }
  if (which_step == SAGA_ACCOUNT && fact->accounts > 0) sim_danger(shop->world, INVARIANT_ACCOUNT_AT_MOST_ONCE);
  if (is_payment(which_step) && charged(fact, which_step)) sim_danger(shop->world, INVARIANT_AT_MOST_ONE_CHARGE);
  step->reference = request->id.hash;
  step->requests++;
  step->open = true;
  step->open_since_ns = sim_world_now(shop->world);
  step->definite_mask = 0;
}

static void told(struct sim_node *node, const struct sim_message *message) {
  struct model_shop *shop = model_shop_of(node);
  struct registration_fact *fact = fact_of(shop, message->subject);
  bool is_registered = fact->durable && fact->complete && !fact->aborted;
  sim_danger(shop->world, INVARIANT_HONEST_REPLY);
  if (message->kind == KIND_REGISTRATION_ACCEPTED) {
    fact->told_accepted = true;
    sim_danger(shop->world, INVARIANT_NO_LOST_COMMAND);
    sim_danger(shop->world, INVARIANT_ACK_IMPLIES_DURABLE);
    if (!fact->durable && !fact->deleted)
      sim_violated(shop->world, INVARIANT_ACK_IMPLIES_DURABLE, "registration:%" PRId64 " is accepted before its saga is durable.",
                   fact->registration);
  } else if (message->kind == KIND_REGISTERED && (!is_registered || fact->alive == 0 || fact->charges[0] == 0)) {
    sim_violated(shop->world, INVARIANT_HONEST_REPLY, "The user of registration:%" PRId64 " is told \"registered\"; %s.",
                 fact->registration,
                 !is_registered     ? "durably it is not"
                 : fact->alive == 0 ? "there is no account"
                                    : "there is no charge");
  } else if (message->kind == KIND_REGISTRATION_REFUSED) {
    bool said = message->value[VALUE_REASON] != REASON_DECLINED || fact->step[SAGA_PAYMENT].provider_declined ||
                fact->step[SAGA_ACCOUNT].provider_declined || fact->saga[SAGA_ACCOUNT] == STATE_COMPLETED;
    if (!fact->aborted)
      sim_violated(shop->world, INVARIANT_HONEST_REPLY, "The user of registration:%" PRId64 " is told \"refused\"; durably it is not.",
                   fact->registration);
    else if (!said)
      sim_violated(shop->world, INVARIANT_HONEST_REPLY, "The user of registration:%" PRId64 " is told of a refusal that nobody made.",
                   fact->registration);
    else if (fact->charges[0] > fact->refunds[0] || fact->charges[1] > fact->refunds[1])
      sim_violated(shop->world, INVARIANT_HONEST_REPLY,
                   "The user of registration:%" PRId64 " is told \"refused, nothing was kept\"; a payment is in the ledger.",
                   fact->registration);
  }
}

/* Count and pace: a crash or an exception may repeat a query at once, a design that has no pause repeats them all. */
static void poll_leaves(struct model_shop *shop, const struct sim_message *query, enum saga_step which_step) {
  static const int64_t hasty_ns = 5 * SIM_SECOND;
  enum { HASTY_MAX = 14 };
  struct step_fact *step = &fact_of(shop, query->subject)->step[which_step];
  int64_t now_ns = sim_world_now(shop->world);
  if (++step->polls > 1) sim_danger(shop->world, INVARIANT_POLLING_IS_BOUNDED);
  if (step->polls > 1 && now_ns - step->polled_ns < hasty_ns) step->hasty_polls++;
  step->polled_ns = now_ns;
  if (step->polls > (uint32_t)shop->config->polls_max)
    sim_violated(shop->world, INVARIANT_POLLING_IS_BOUNDED, "The provider is asked about the %s of registration:%" PRId64 " without end.",
                 name_of(which_step), query->subject);
  else if (step->hasty_polls > HASTY_MAX)
    sim_violated(shop->world, INVARIANT_POLLING_IS_BOUNDED,
                 "The provider is asked about the %s of registration:%" PRId64 " without a pause.", name_of(which_step), query->subject);
}

static void on_leaves(struct sim_node *node, const struct sim_message *message) {
  struct model_shop *shop = model_shop_of(node);
  enum saga_step step;
  if (message->call != NULL) shop->call_count++;
  switch ((int)message->kind) {
    case KIND_CHARGE:
    case KIND_MAKE_REFUND:
    case KIND_CREATE_ACCOUNT:
    case KIND_DISABLE:
      if (request_step(message, &step)) request_leaves(node, message, step);
      return;
    case KIND_LOOK_UP:
    case KIND_ASK_REFUND:
    case KIND_ASK_ACCOUNT:
    case KIND_ASK_DISABLE:
      if (!request_step(message, &step)) return;
      poll_leaves(shop, message, step);
      return;
    case KIND_REGISTRATION_ACCEPTED:
    case KIND_REGISTERED:
    case KIND_REGISTRATION_REFUSED: told(node, message); return;
    default: return;
  }
}

static bool is_definite(const struct model_shop *shop, const struct step_fact *step, enum saga_step which_step,
                        const struct sim_message *request, const struct sim_message *answer) {
  enum model_gateway_status status = (enum model_gateway_status)answer->value[VALUE_STATUS];
  if (request->kind == KIND_ASK_STATEMENT && status == GATEWAY_OK) return sim_id_same(&answer->id, &request->id); /* that line */
  if (status == GATEWAY_OK) return true;
  if (status == GATEWAY_DUPLICATE) return answer->value[VALUE_PAYMENT] != 0;
  if (status == GATEWAY_DECLINED)
    return request->kind != KIND_LOOK_UP || request->sent_ns - step->open_since_ns >= shop->config->gateway.failed_final_after_ns;
  if (status != GATEWAY_NOT_FOUND || step->reference != request->id.hash) return false;
  int64_t lag_ns = saga_step_info(which_step)->outsider == SERVICE_XYZ ? shop->config->accounts.can.look_up_lag_ns
                                                                       : shop->config->gateway.look_up_lag_ns;
  return request->sent_ns - step->open_since_ns >= shop->config->request_lifetime_ns + lag_ns + MODEL_GATEWAY_PROCESSING_MAX_NS;
}

static void on_answered(struct sim_node *node, const struct sim_message *request, const struct sim_message *answer) {
  struct model_shop *shop = model_shop_of(node);
  enum saga_step which_step;
  if (!request_step(request, &which_step)) return;
  struct step_fact *step = &fact_of(shop, request->subject)->step[which_step];
  if (answer != NULL && answer->value[VALUE_STATUS] == GATEWAY_DECLINED) {
    step->provider_declined = true;
    step->declined_life[sim_node_instance(node)] = sim_node_life(node);
    sim_danger(shop->world, INVARIANT_DECLINED_NOT_RETRIED);
  }
  if (answer != NULL && is_definite(shop, step, which_step, request, answer)) {
    bool durable = step->durable && (step->status == STATE_COMPLETED || step->status == STATE_FAILED);
    step->open = false;
    step->definite_mask = durable ? 0 : step->definite_mask | 1U << sim_node_instance(node);
    return;
  }
  sim_danger(shop->world, INVARIANT_UNKNOWN_IS_NOT_FAILED);
  sim_danger(shop->world, INVARIANT_PARKS_ONLY_IF_UNDECIDABLE);
}

/* A notice that tells how a payment ended is as good as an answer. */
static void notice_delivered(struct sim_node *node, const struct sim_message *notice) {
  struct model_shop *shop = model_shop_of(node);
  static const enum saga_step payments[] = {SAGA_PAYMENT, SAGA_SECOND};
  bool declined = notice->value[VALUE_STATUS] == GATEWAY_DECLINED;
  if (notice->value[VALUE_STATUS] != GATEWAY_OK && !declined) return;
  for (size_t i = 0; i < 2; i++) {
    struct step_fact *step = &fact_of(shop, notice->subject)->step[payments[i]];
    if (step->reference != notice->id.hash || (declined && shop->config->gateway.failed_final_after_ns > 0)) continue;
    bool durable = step->durable && (step->status == STATE_COMPLETED || step->status == STATE_FAILED);
    step->open = false;
    step->definite_mask = durable ? 0 : step->definite_mask | 1U << sim_node_instance(node);
  }
}

static void on_delivered(struct sim_node *node, const struct sim_message *message) {
  struct model_shop *shop = model_shop_of(node);
  if (message->kind == KIND_PAYMENT_NOTICE) notice_delivered(node, message);
  if (message->delivery == 0) return;
  struct registration_fact *fact = fact_of(shop, message->subject);
  if (message->delivery > 1) sim_danger(shop->world, INVARIANT_REDELIVERY_IS_BOUNDED);
  if (message->delivery > (uint32_t)shop->config->redeliveries_max)
    sim_violated(shop->world, INVARIANT_REDELIVERY_IS_BOUNDED, "%s %s is delivered for the %" PRIu32 "th time.",
                 sim_world_kind(shop->world, message->kind)->text, message->id.text, message->delivery);
  for (int s = 0; s < SAGA_STEP_COUNT; s++) { /* a command or a question about what has its effect already reaches its guard */
    const struct saga_step_info *info = saga_step_info((enum saga_step)s);
    if (message->kind != info->command && message->kind != info->verify) continue;
    if (is_payment((enum saga_step)s) && charged(fact, (enum saga_step)s)) sim_danger(shop->world, INVARIANT_AT_MOST_ONE_CHARGE);
    if (s == SAGA_ACCOUNT && fact->accounts > 0) sim_danger(shop->world, INVARIANT_ACCOUNT_AT_MOST_ONCE);
    if (saga_step_info((enum saga_step)s)->undoes != SAGA_STEP_COUNT && fact->refunds[which((enum saga_step)s)] > 0)
      sim_danger(shop->world, INVARIANT_REFUND_AT_MOST_ONCE);
  }
  if (message->kind == KIND_BEGIN_REGISTRATION && fact->sagas > 0) sim_danger(shop->world, INVARIANT_ONE_SAGA_PER_REGISTRATION);
}

static void on_given_up(struct sim_world *world, size_t service, const struct sim_message *message) {
  struct model_shop *shop = sim_world_model(world);
  (void)service;
  fact_of(shop, message->subject)->given_up++;
}

static void on_crashed(struct sim_node *node) {
  struct model_shop *shop = model_shop_of(node);
  shop->registrations->trouble = true;
  uint32_t bit = 1U << sim_node_instance(node);
  for (int64_t r = 1; r <= MODEL_PURCHASES_MAX; r++) {
    for (int s = 0; s < SAGA_STEP_COUNT; s++) {
      struct step_fact *step = &fact_of(shop, r)->step[s];
      if ((step->definite_mask & bit) == 0 || saga_step_info((enum saga_step)s)->service != sim_node_service(node)) continue;
      step->definite_mask &= ~bit;
      if (step->definite_mask == 0) step->open = true; /* the answer died with the last process that had it */
    }
  }
}

/* The refusal that a handler had heard died with it. (Whether another handler of this process knows the answer too is not
   followed: what a process knew counts as known until it crashes.) */
static void on_threw(struct sim_node *node, const struct sim_message *message) {
  for (int s = 0; s < SAGA_STEP_COUNT; s++) {
    if (saga_step_info((enum saga_step)s)->service == sim_node_service(node))
      fact_of(model_shop_of(node), message->subject)->step[s].declined_life[sim_node_instance(node)] = 0;
  }
}

static void on_recovered(struct sim_node *node) {
  struct model_shop *shop = model_shop_of(node);
  for (int64_t r = 1; r <= shop->config->purchases; r++) {
    struct registration_fact *fact = fact_of(shop, r);
    if (fact->told_accepted && !fact->durable && !fact->deleted)
      sim_violated(shop->world, INVARIANT_ACK_IMPLIES_DURABLE, "After recovery registration:%" PRId64 " is gone, though it was accepted.",
                   r);
    if (fact->charges[0] == 0) continue;
    sim_danger(shop->world, INVARIANT_CHARGE_HAS_INTENT);
    if (!fact->step[SAGA_PAYMENT].durable || (!fact->durable && !fact->deleted))
      sim_violated(shop->world, INVARIANT_CHARGE_HAS_INTENT, "After recovery the charge of registration:%" PRId64 " has lost its intent.",
                   r);
  }
}

/* ---- the end ---- */

static bool parked(const struct registration_fact *fact, enum saga_step step) {
  return fact->step[step].durable && fact->step[step].status == STATE_PARKED;
}

static bool any_parked(const struct registration_fact *fact) {
  for (int s = 0; s < SAGA_STEP_COUNT; s++) {
    if (parked(fact, (enum saga_step)s)) return true;
  }
  return false;
}

/* Does the registration wait for a human to decide one of its steps? */
static bool waits_for_human(const struct registration_fact *fact) {
  return !fact->aborted && (parked(fact, SAGA_PAYMENT) || parked(fact, SAGA_ACCOUNT) || parked(fact, SAGA_SECOND));
}

static enum model_ending ending_of(const struct registration_fact *fact) {
  if (any_parked(fact) || fact->given_up > 0) return ENDING_OPEN;
  if (fact->deleted || (fact->complete && !fact->aborted)) return ENDING_FULFILLED;
  if (!fact->aborted) return ENDING_UNDECIDED;
  if (fact->refunds[0] > 0) return ENDING_REFUNDED;
  return fact->step[SAGA_PAYMENT].provider_declined ? ENDING_REFUSED : ENDING_CANCELLED;
}

static void judge_resolves(struct model_shop *shop, const struct registration_fact *fact) {
  bool open_case = any_parked(fact) || fact->given_up > 0;
  if (shop->registrations->trouble || sim_world_fault_count(shop->world) > 0) sim_danger(shop->world, INVARIANT_EVERY_INTENT_RESOLVES);
  if (open_case || fact->deleted || !fact->durable) return;
  bool ended = fact->complete || fact->aborted;
  enum saga_step waits = SAGA_STEP_COUNT;
  for (int s = 0; s < SAGA_STEP_COUNT; s++) {
    bool undecided = fact->saga[s] == STATE_PENDING || fact->saga[s] == STATE_UNKNOWN;
    bool not_undone = fact->aborted && undoes((enum saga_step)s) && fact->saga[s] == STATE_NOT_REQUESTED &&
                      fact->saga[saga_step_info((enum saga_step)s)->undoes] == STATE_COMPLETED;
    if (undecided || not_undone) waits = (enum saga_step)s;
  }
  if (ended && waits == SAGA_STEP_COUNT) return;
  sim_violated(shop->world, INVARIANT_EVERY_INTENT_RESOLVES, "registration:%" PRId64 " still waits for its %s at the end.",
               fact->registration, waits != SAGA_STEP_COUNT ? name_of(waits) : "next step");
}

static void judge_charges(struct model_shop *shop, const struct registration_fact *fact) {
  for (size_t second = 0; second < 2; second++) {
    if (fact->charges[second] == 0) continue;
    enum saga_step step = second ? SAGA_SECOND : SAGA_PAYMENT;
    enum saga_step back = second ? SAGA_REFUND_SECOND : SAGA_REFUND;
    sim_danger(shop->world, INVARIANT_CHARGED_IMPLIES_FULFILLED_OR_REFUNDED);
    sim_danger(shop->world, INVARIANT_LEDGERS_RECONCILE);
    bool registered = fact->complete && !fact->aborted;
    bool given_back = fact->refunds[second] >= fact->charges[second];
    bool a_case = parked(fact, step) || parked(fact, back) || waits_for_human(fact) || fact->given_up > 0;
    if (!registered && !given_back && !a_case && !fact->deleted)
      sim_violated(shop->world, INVARIANT_CHARGED_IMPLIES_FULFILLED_OR_REFUNDED,
                   "The %s of registration:%" PRId64 " is in the ledger; it is neither registered nor refunded nor a case.", name_of(step),
                   fact->registration);
    bool recorded = fact->step[step].status == STATE_COMPLETED && fact->step[step].result > 0;
    if (!recorded && !a_case)
      sim_violated(shop->world, INVARIANT_LEDGERS_RECONCILE, "The %s of registration:%" PRId64 " is in the ledger; our records say %s.",
                   name_of(step), fact->registration, model_state_name(fact->step[step].status));
    if (fact->step[back].status == STATE_COMPLETED && fact->refunds[second] == 0)
      sim_violated(shop->world, INVARIANT_LEDGERS_RECONCILE,
                   "Our records say that registration:%" PRId64 " was refunded; the ledger does not.", fact->registration);
    if (registered && fact->refunds[second] > 0)
      sim_violated(shop->world, INVARIANT_EXACTLY_ONE_ENDING, "registration:%" PRId64 " is registered and refunded.", fact->registration);
  }
}

static void judge_accounts(struct model_shop *shop, const struct registration_fact *fact) {
  if (fact->accounts == 0) return;
  sim_danger(shop->world, INVARIANT_ACCOUNT_IMPLIES_REGISTERED_OR_DISABLED);
  bool registered = fact->complete && !fact->aborted;
  bool a_case = parked(fact, SAGA_ACCOUNT) || parked(fact, SAGA_DISABLE) || waits_for_human(fact) || fact->given_up > 0 || fact->deleted;
  if (fact->alive > 0 && !registered && !a_case)
    sim_violated(shop->world, INVARIANT_ACCOUNT_IMPLIES_REGISTERED_OR_DISABLED,
                 "An account of registration:%" PRId64 " is alive; it is neither registered nor a case.", fact->registration);
  if (fact->alive == 0 && registered)
    sim_violated(shop->world, INVARIANT_EXACTLY_ONE_ENDING, "registration:%" PRId64 " is registered; its account is disabled.",
                 fact->registration);
}

static void judge_parking(struct model_shop *shop, const struct registration_fact *fact) {
  for (int s = 0; s < SAGA_STEP_COUNT; s++) {
    const struct step_fact *step = &fact->step[s];
    if (!parked(fact, (enum saga_step)s)) continue;
    const struct saga_step_info *info = saga_step_info((enum saga_step)s);
    const struct sim_row *row = NULL;
    struct sim_id id = saga_operation_id(fact->registration, (enum saga_step)s);
    for (size_t i = 0; i < sim_durable_count(shop->world, info->service, TABLE_STEP_CASES); i++) {
      const struct sim_row *each = sim_durable_row(shop->world, info->service, TABLE_STEP_CASES, i);
      if (strcmp(each->cell[CASE_OPERATION].text, id.text) == 0) row = each;
    }
    sim_danger(shop->world, INVARIANT_MANUAL_QUEUE_IS_COMPLETE);
    if (row == NULL)
      sim_violated(shop->world, INVARIANT_MANUAL_QUEUE_IS_COMPLETE, "%s is parked, but the human's queue does not list it.", id.text);
    bool xyz = info->outsider == SERVICE_XYZ;
    const struct model_gateway_profile *gateway = &shop->config->gateway;
    bool by_statement = gateway->statements || (gateway->reverses && is_payment((enum saga_step)s));
    bool looks_up = xyz ? shop->config->accounts.can.looks_up : gateway->looks_up || by_statement;
    bool receipts = !xyz && is_payment((enum saga_step)s) && gateway->repeat == MODEL_REPEAT_RECEIPT && !looks_up;
    bool takes_keys = xyz ? shop->config->accounts.can.takes_keys : model_gateway_repeats_safely(gateway);
    bool was_refused = row != NULL && strcmp(row->cell[CASE_LAST_RESULT].text, "refused") == 0;
    bool bounds_used_up = step->attempts + step->asks > shop->config->resolve_attempts;
    bool resubmitted = !takes_keys && step->attempts >= 2;
    sim_danger(shop->world, INVARIANT_PARKS_ONLY_IF_UNDECIDABLE);
    bool could_be_undone = was_refused && shop->config->accounts.undoes;
    if (xyz) shop->undecided_count[MODEL_OF_ACCOUNTS] += !bounds_used_up && !could_be_undone;
    else if (is_payment((enum saga_step)s)) shop->undecided_count[MODEL_OF_GATEWAY] += !bounds_used_up;
    int64_t retention_ns = xyz ? shop->config->accounts.can.key_retention_ns : gateway->key_retention_ns;
    bool aged = !looks_up && takes_keys && row != NULL &&
                row->cell[CASE_OPENED].number - step->created_ns >= retention_ns - shop->config->request_lifetime_ns;
    if (was_refused || bounds_used_up || resubmitted || aged || receipts || (!looks_up && !takes_keys)) continue;
    sim_violated(shop->world, INVARIANT_PARKS_ONLY_IF_UNDECIDABLE, "%s is parked after %" PRId64 " tries; the provider would have told.",
                 id.text, step->attempts + step->asks);
  }
}

static void judge_quiet(struct model_shop *shop, const struct registration_fact *fact) {
  if (sim_world_fault_count(shop->world) > 0) return;
  sim_danger(shop->world, INVARIANT_QUIET_RUN_COMPLETES);
  if (fact->complete || fact->aborted || fact->deleted) return;
  sim_violated(shop->world, INVARIANT_QUIET_RUN_COMPLETES, "Nothing went wrong, yet registration:%" PRId64 " is not completed.",
               fact->registration);
}

static void judge_outboxes(struct model_shop *shop) {
  static const size_t services[] = {SERVICE_REGISTRATIONS, SERVICE_CHARGES, SERVICE_ACCOUNTS};
  for (size_t i = 0; i < 3; i++) {
    if (sim_durable_count(shop->world, services[i], TABLE_SAGA_OUTBOX) == 0) continue;
    const struct sim_row *row = sim_durable_row(shop->world, services[i], TABLE_SAGA_OUTBOX, 0);
    if (fact_of(shop, row->cell[3].number)->given_up > 0) continue;
    sim_violated(shop->world, INVARIANT_OUTBOX_DRAINS, "A message about %s is still in the outbox at the end.", row->cell[2].text);
  }
}

static void on_judge(struct sim_world *world) {
  struct model_shop *shop = sim_world_model(world);
  for (int64_t r = 1; r <= shop->config->purchases; r++) {
    struct registration_fact *fact = fact_of(shop, r);
    if (fact->sagas == 0 && !fact->told_accepted) continue;
    shop->ending_count[ending_of(fact)]++;
    judge_resolves(shop, fact);
    judge_charges(shop, fact);
    judge_accounts(shop, fact);
    judge_parking(shop, fact);
    judge_quiet(shop, fact);
    if (fact->complete || fact->aborted) sim_danger(world, INVARIANT_EXACTLY_ONE_ENDING);
    if (fact->told_accepted && !fact->durable && !fact->deleted)
      sim_violated(world, INVARIANT_NO_LOST_COMMAND, "registration:%" PRId64 " was accepted; its saga is nowhere.", r);
  }
  judge_outboxes(shop);
}

const struct sim_observer saga_observer = {.row = on_row,
                                           .leaves = on_leaves,
                                           .answered = on_answered,
                                           .delivered = on_delivered,
                                           .crashed = on_crashed,
                                           .recovered = on_recovered,
                                           .threw = on_threw,
                                           .given_up = on_given_up,
                                           .judge = on_judge};
