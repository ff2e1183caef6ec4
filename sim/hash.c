#include "sim/hash.h"

#include <string.h>

#define XXH_INLINE_ALL
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wundef"
#pragma GCC diagnostic ignored "-Wswitch-enum"
#pragma GCC diagnostic ignored "-Wconversion"
#include <xxhash.h>
#pragma GCC diagnostic pop

uint64_t sim_hash_bytes(const void *bytes, size_t size) { return XXH3_64bits(bytes, size); }

uint64_t sim_hash_text(const char *text) { return XXH3_64bits(text, strlen(text)); }

struct sim_name sim_name_of(const char *text) {
  return (struct sim_name){text, sim_hash_text(text)};
}
