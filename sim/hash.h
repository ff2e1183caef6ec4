/* Mixing and hashing. Addresses and digests are mixes of 64-bit words, always in a written order, never of struct memory. */
#ifndef SIM_HASH_H
#define SIM_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Fold one word into a running hash: one multiply-rotate round, order-sensitive.
   Source: the accumulate round of XXH64. */
static inline uint64_t sim_mix(uint64_t hash, uint64_t word) {
  hash += word * UINT64_C(0xC2B2AE3D27D4EB4F);
  hash = (hash << 31) | (hash >> 33);
  return hash * UINT64_C(0x9E3779B185EBCA87);
}

/* Spread a mixed hash over all its bits, for use as a table index or a die.
   Source: the finaliser of splitmix64. */
static inline uint64_t sim_finish(uint64_t hash) {
  hash = (hash ^ (hash >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  hash = (hash ^ (hash >> 27)) * UINT64_C(0x94D049BB133111EB);
  return hash ^ (hash >> 31);
}

/* Hash `size` bytes (XXH3). */
uint64_t sim_hash_bytes(const void *bytes, size_t size);
/* Hash the text up to its NUL. */
uint64_t sim_hash_text(const char *text);

/* A name with its hash: made once at start, so that a run never hashes the words again. */
struct sim_name {
  const char *text;
  uint64_t hash;
};
struct sim_name sim_name_of(const char *text);

#endif
