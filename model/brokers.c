/* The brokers that ship, as data. */
#include <string.h>

#include "model/shop.h"

/* Such as a withdrawal whose registration never arrived: its handler waits for the saga, and nobody gives the message up. */
#define FOR_EVER "what can never be handled is delivered for ever"

static const struct model_broker brokers[] = {
#define BROKER(name, about, row, lost, why, ...) {{name, about, __VA_ARGS__}, row, lost, why},
#define ALIAS(alias, name)
#include "model/brokers.def"
#undef BROKER
#undef ALIAS
};

static const struct model_alias aliases[] = {
#define BROKER(...)
#define ALIAS(alias, name) {alias, name},
#include "model/brokers.def"
#undef BROKER
#undef ALIAS
};

size_t model_broker_count(void) { return sizeof brokers / sizeof brokers[0]; }
const struct model_broker *model_broker_at(size_t index) { return &brokers[index]; }

const struct model_broker *model_broker_find(const char *name) {
  name = model_name_of(name, aliases, sizeof aliases / sizeof aliases[0]);
  for (size_t i = 0; i < model_broker_count(); i++) {
    if (strcmp(brokers[i].broker.name, name) == 0) return &brokers[i];
  }
  return NULL;
}
