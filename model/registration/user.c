/* Users who register: they begin, repeat until they have an answer, click twice, take it back, and come again days later. They are
   people: no fault of ours touches them. */
#include <string.h>

#include "model/registration/registration.h"
#include "sim/check.h"

enum user_step { USER_AWAY, USER_BEGINNING, USER_WITHDRAWING, USER_DONE };
enum { STAYS, WITHDRAWS_AT_ONCE, WITHDRAWS_LATER };
enum { ONCE, TWICE, AGAIN_DAYS_LATER };

struct user {
  enum user_step step;
  int64_t registration;
  uint32_t tries;
  struct sim_id id;
  struct sim_timer resubmit;
};

struct saga_users {
  struct user user[MODEL_PURCHASES_MAX];
  int64_t busy;
};

static const int64_t RESUBMIT_NS = 40 * SIM_SECOND;
static const int64_t RESUBMIT_MAX_NS = 6 * SIM_HOUR;
enum { TRIES_MAX = 14, TRIES_OF_WITHDRAWING = 50 };

static int ask(struct model_shop *shop, const char *name, const struct user *user, const char *step) {
  struct sim_subject subject = {.id = &user->id, .step = step, .what = sim_world_kind(shop->world, KIND_BEGIN_REGISTRATION)};
  return model_ask(shop, name, &subject);
}

static struct sim_message message_of(const struct model_shop *shop, const struct user *user, enum model_kind kind) {
  struct sim_message message = {.kind = (uint16_t)kind, .attempt = user->tries, .subject = user->registration, .id = user->id};
  message.value[VALUE_AMOUNT] = shop->config->amount_minor;
  message.value[VALUE_CARD] = 1;
  return message;
}

static void submit(struct sim_node *node, struct user *user) {
  struct model_shop *shop = model_shop_of(node);
  user->tries++;
  struct sim_message message = message_of(shop, user, user->step == USER_WITHDRAWING ? KIND_WITHDRAW : KIND_BEGIN_REGISTRATION);
  sim_send(node, SERVICE_REGISTRATIONS, &message, 0);
  struct sim_message timer = message_of(shop, user, KIND_RESUBMIT);
  sim_timer_cancel(node, &user->resubmit);
  uint32_t tries = user->step == USER_WITHDRAWING ? user->tries - TRIES_OF_WITHDRAWING : user->tries;
  user->resubmit = sim_timer_set(node, model_back_off(RESUBMIT_NS, RESUBMIT_MAX_NS, tries), &timer);
}

static void finish(struct sim_node *node, struct user *user) {
  struct model_shop *shop = model_shop_of(node);
  sim_timer_cancel(node, &user->resubmit);
  bool was_busy = user->step != USER_DONE;
  user->step = USER_DONE;
  if (was_busy && --shop->users->busy == 0) sim_world_workload_done(shop->world);
}

static void set_timer(struct sim_node *node, const struct user *user, enum model_kind kind, int64_t delay_ns) {
  struct sim_message timer = message_of(model_shop_of(node), user, kind);
  sim_timer_set(node, delay_ns, &timer);
}

static void arrive(struct sim_node *node, struct user *user) {
  struct model_shop *shop = model_shop_of(node);
  user->step = USER_BEGINNING;
  submit(node, user);
  int begins = ask(shop, "user.begins", user, "arrival");
  if (begins == TWICE) submit(node, user);
  if (begins == AGAIN_DAYS_LATER) set_timer(node, user, KIND_ARRIVE, 10 * SIM_DAY);
  int withdraws = ask(shop, "user.withdraws", user, "arrival");
  if (withdraws != STAYS) set_timer(node, user, KIND_RECONSIDER_REGISTRATION, withdraws == WITHDRAWS_AT_ONCE ? SIM_SECOND : SIM_MINUTE);
}

static void reconsider(struct sim_node *node, struct user *user) {
  struct model_shop *shop = model_shop_of(node);
  if (user->step == USER_DONE) shop->users->busy++;
  user->step = USER_WITHDRAWING;
  user->tries = TRIES_OF_WITHDRAWING;
  submit(node, user);
}

void saga_user_handle(struct sim_node *node, const struct sim_message *message) {
  struct model_shop *shop = model_shop_of(node);
  if (message->subject < 1 || message->subject > MODEL_PURCHASES_MAX) return;
  struct user *user = &shop->users->user[message->subject - 1];
  uint32_t tries = user->tries > TRIES_OF_WITHDRAWING ? user->tries - TRIES_OF_WITHDRAWING : user->tries;
  switch ((int)message->kind) {
    case KIND_ARRIVE:
      if (user->step == USER_AWAY) arrive(node, user);
      else if (user->step == USER_DONE) { /* once more, with the same registration id */ shop->users->busy++;
        user->step = USER_BEGINNING;
        user->tries = 20;
        submit(node, user);
      }
      return;
    case KIND_RESUBMIT:
      if (user->step == USER_DONE || user->step == USER_AWAY) return;
      if (tries >= TRIES_MAX) finish(node, user);
      else submit(node, user);
      return;
    case KIND_RECONSIDER_REGISTRATION: reconsider(node, user); return;
    case KIND_REGISTRATION_ACCEPTED:
    case KIND_REGISTRATION_PENDING: return; /* the end is waited for */
    case KIND_REGISTERED:
    case KIND_REGISTRATION_REFUSED: finish(node, user); return;
    default: UNREACHABLE("a message no user gets");
  }
}

void saga_users_begin(struct model_shop *shop) {
  struct sim_node *node = sim_world_node(shop->world, SERVICE_USERS, 0);
  struct saga_users *users = sim_arena_take(sim_world_arena(shop->world), sizeof *users);
  shop->users = users;
  int64_t at_ns = 0;
  for (int64_t r = 1; r <= shop->config->purchases; r++) {
    struct user *user = &users->user[r - 1];
    user->registration = r;
    user->id = sim_id_join("registration:", r, "");
    if (r > 1 && ask(shop, "customer.comes", user, "arrival") == 0) continue;
    if (r > 1) {
      int arrival = ask(shop, "customer.arrives", user, "arrival");
      at_ns += arrival == 1 ? 0 : arrival == 2 ? SIM_HOUR : SIM_SECOND;
    }
    users->busy++;
    set_timer(node, user, KIND_ARRIVE, at_ns);
  }
}
