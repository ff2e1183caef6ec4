#include "runner/names.h"

#include <stdio.h>

#include "faults/catalogue.h"
#include "model/design.h"
#include "model/facts.h"
#include "model/shop.h"
#include "runner/scenario.h"

static int chosen_axis;
static int chosen_point;

const char *runner_axis_name(size_t index) { return model_axes()[index].name; }
size_t runner_axis_count(void) { return MODEL_AXIS_COUNT; }
const char *runner_point_name(size_t index) { return fault_catalogue()->point[index].name.text; }
size_t runner_point_count(void) { return fault_catalogue()->count; }
const char *runner_invariant_name(size_t index) { return model_invariants[index].name; }
size_t runner_invariant_count(void) { return MODEL_INVARIANT_COUNT; }
void runner_invariant_names(uint64_t mask, char *out, size_t size) {
  size_t used = 0;
  out[0] = '\0';
  for (size_t i = 0; i < MODEL_INVARIANT_COUNT && used < size; i++) {
    if ((mask >> i & 1) != 0) used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", model_invariants[i].name);
  }
}

static size_t chosen_provider;

const char *runner_provider_name(size_t provider) {
  static const char *const name[RUNNER_PROVIDERS] = {"gateway", "mail", "broker", "accounts"};
  return name[provider];
}

void runner_profiles_of(size_t provider) { chosen_provider = provider; }

const char *runner_profile_name(size_t index) {
  switch ((enum runner_provider)chosen_provider) {
    case RUNNER_GATEWAY: return model_gateway_profile_at(index)->name;
    case RUNNER_MAIL: return model_mail_profile_at(index)->name;
    case RUNNER_BROKER: return model_broker_at(index)->broker.name;
    case RUNNER_ACCOUNTS: return model_account_profile_at(index)->name;
    case RUNNER_PROVIDERS: break;
  }
  return "";
}

size_t runner_profile_count(void) {
  switch ((enum runner_provider)chosen_provider) {
    case RUNNER_GATEWAY: return model_gateway_profile_count();
    case RUNNER_MAIL: return model_mail_profile_count();
    case RUNNER_BROKER: return model_broker_count();
    case RUNNER_ACCOUNTS: return model_account_profile_count();
    case RUNNER_PROVIDERS: break;
  }
  return 0;
}

static size_t our_services(size_t index, const char **name_out) {
  size_t count = 0;
  for (size_t s = 0; s < MODEL_SERVICE_COUNT; s++) {
    if (model_services[s].outside) continue;
    if (count++ == index) *name_out = model_services[s].name;
  }
  return count;
}

const char *runner_service_name(size_t index) {
  const char *name = "";
  our_services(index, &name);
  return name;
}

size_t runner_service_count(void) {
  const char *name;
  return our_services(SIZE_MAX, &name);
}

void runner_choices_of(int axis) { chosen_axis = axis; }
const char *runner_choice_name(size_t index) { return model_axes()[chosen_axis].choice[index].name; }
size_t runner_choice_count(void) { return model_axes()[chosen_axis].choice_count; }
void runner_answers_of(int point) { chosen_point = point; }
const char *runner_answer_name(size_t index) { return fault_catalogue()->point[chosen_point].answer[index].text; }
size_t runner_answer_count(void) { return fault_catalogue()->point[chosen_point].answer_count; }
