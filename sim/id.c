#include "sim/id.h"

#include <string.h>

#include "sim/check.h"
#include "sim/hash.h"

struct sim_id sim_id_of(const char *text) {
  struct sim_id id = {0};
  size_t size = strlen(text);
  REQUIRE(size < SIM_ID_SIZE);
  memcpy(id.text, text, size);
  id.hash = size == 0 ? 0 : sim_hash_bytes(text, size);
  return id;
}

struct sim_id sim_id_join(const char *prefix, int64_t number, const char *suffix) {
  struct sim_id id = {0};
  size_t prefix_size = strlen(prefix);
  size_t suffix_size = strlen(suffix);
  char digits[20];
  size_t digit_count = 0;
  REQUIRE(number >= 0);
  do {
    digits[digit_count++] = (char)('0' + number % 10);
    number /= 10;
  } while (number > 0);
  REQUIRE(prefix_size + digit_count + suffix_size < SIM_ID_SIZE);
  memcpy(id.text, prefix, prefix_size);
  for (size_t i = 0; i < digit_count; i++) id.text[prefix_size + i] = digits[digit_count - 1 - i];
  memcpy(id.text + prefix_size + digit_count, suffix, suffix_size);
  id.hash = sim_hash_bytes(id.text, prefix_size + digit_count + suffix_size);
  return id;
}
