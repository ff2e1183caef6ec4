/* Reading and writing the small values that people type: numbers, durations, odds, UTF-8, files. */
#ifndef RUNNER_TEXT_H
#define RUNNER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/decision.h"

bool runner_text_integer(const char *text, int64_t *out);
/* "250ms", "7d"; units ns, us, ms, s, m, h, d. Returns NULL, or the reason it is none. */
const char *runner_text_duration(const char *text, int64_t *ns_out);
void runner_text_duration_words(int64_t ns, char *out, size_t size);
/* "1/50", "0.02", "0": a ratio of two integers, at most 1. Returns NULL, or the reason. */
const char *runner_text_odds(const char *text, struct sim_odds *out);
/* Is this UTF-8 (RFC 3629)? If not, where is the first bad byte? */
bool runner_text_utf8(const char *text, size_t size, size_t *bad_at_out);
/* Read a whole file of at most `most` bytes; NULL and a message on any error. The caller frees it. */
char *runner_text_read_file(const char *path, size_t most, size_t *size_out, char *error_out, size_t error_size);
/* Write a whole file: aside, then rename. Returns false and a message on any error; the old file then stays. */
bool runner_text_write_file(const char *path, const char *text, size_t size, char *error_out, size_t error_size);
/* Virtual time for people: "0 s", "12 ms", "3 d 2 h". */
void runner_text_time(int64_t ns, char *out, size_t size);

#endif
