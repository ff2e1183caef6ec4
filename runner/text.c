#include "runner/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/world.h"

static const struct {
  const char *unit;
  int64_t ns;
} units[] = {{"ns", 1}, {"us", 1000}, {"ms", SIM_MS}, {"s", SIM_SECOND}, {"m", SIM_MINUTE}, {"h", SIM_HOUR}, {"d", SIM_DAY}};

bool runner_text_integer(const char *text, int64_t *out) {
  char *end = NULL;
  if (text[0] == '\0' || strspn(text, "-0123456789") != strlen(text)) return false;
  errno = 0;
  long long number = strtoll(text, &end, 10);
  if (errno != 0 || *end != '\0' || end == text) return false;
  *out = number;
  return true;
}

const char *runner_text_duration(const char *text, int64_t *ns_out) {
  char *end = NULL;
  if (text[0] < '0' || text[0] > '9') return "a duration is a whole number with a unit, such as 250ms, 10m or 7d";
  errno = 0;
  long long number = strtoll(text, &end, 10);
  if (*end == '\0') return "a duration needs a unit: ns, us, ms, s, m, h or d";
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
    if (strcmp(end, units[i].unit) != 0) continue;
    if (errno != 0 || number > INT64_MAX / units[i].ns) return "this duration is too long";
    *ns_out = number * units[i].ns;
    return NULL;
  }
  return "unknown unit; units are ns, us, ms, s, m, h and d";
}

void runner_text_duration_words(int64_t ns, char *out, size_t size) {
  for (size_t i = sizeof units / sizeof units[0]; i > 0; i--) {
    if (ns < units[i - 1].ns || ns % units[i - 1].ns != 0) continue;
    snprintf(out, size, "%" PRId64 "%s", ns / units[i - 1].ns, units[i - 1].unit);
    return;
  }
  snprintf(out, size, "%" PRId64 "ns", ns);
}

const char *runner_text_odds(const char *text, struct sim_odds *out) {
  char *end = NULL;
  if (text[0] < '0' || text[0] > '9') return "odds are a decimal such as 0.02 or a ratio such as 1/50";
  errno = 0;
  unsigned long long whole = strtoull(text, &end, 10);
  unsigned long long denominator = 1;
  if (*end == '/') {
    char *start = end + 1;
    if (*start < '0' || *start > '9') return "a ratio is two whole numbers, such as 1/50";
    denominator = strtoull(start, &end, 10);
  } else if (*end == '.') {
    size_t digits = 0;
    for (end++; *end >= '0' && *end <= '9'; end++, digits++) {
      if (digits == 9) return "odds have at most nine decimals";
      whole = whole * 10 + (unsigned long long)(*end - '0');
      denominator *= 10;
    }
    if (digits == 0) return "a decimal needs a digit behind the point";
  }
  if (*end != '\0' || errno != 0) return "odds are a decimal such as 0.02 or a ratio such as 1/50";
  if (denominator == 0 || denominator > UINT32_MAX) return "the lower part of a ratio is from 1 to 4294967295";
  if (whole > denominator) return "odds are at most 1";
  *out = (struct sim_odds){(uint32_t)whole, whole == 0 ? 0 : (uint32_t)denominator};
  return NULL;
}

/* Length of the UTF-8 sequence that starts with this byte, by RFC 3629; 0 when none does. */
static size_t sequence_size(const unsigned char *at, size_t left) {
  size_t size = at[0] < 0x80                    ? 1
                : at[0] >= 0xC2 && at[0] < 0xE0 ? 2
                : at[0] >= 0xE0 && at[0] < 0xF0 ? 3
                : at[0] >= 0xF0 && at[0] < 0xF5 ? 4
                                                : 0;
  if (size == 0 || size > left) return 0;
  for (size_t i = 1; i < size; i++) {
    if ((at[i] & 0xC0) != 0x80) return 0;
  }
  bool overlong = (at[0] == 0xE0 && at[1] < 0xA0) || (at[0] == 0xF0 && at[1] < 0x90);
  bool surrogate = at[0] == 0xED && at[1] >= 0xA0;
  bool beyond = at[0] == 0xF4 && at[1] >= 0x90;
  return overlong || surrogate || beyond ? 0 : size;
}

bool runner_text_utf8(const char *text, size_t size, size_t *bad_at_out) {
  const unsigned char *bytes = (const unsigned char *)text;
  for (size_t at = 0; at < size;) {
    size_t step = sequence_size(bytes + at, size - at);
    if (step == 0) {
      *bad_at_out = at;
      return false;
    }
    at += step;
  }
  return true;
}

char *runner_text_read_file(const char *path, size_t most, size_t *size_out, char *error_out, size_t error_size) {
  struct stat about;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 || fstat(fd, &about) != 0) {
    snprintf(error_out, error_size, "%s: %s", path, strerror(errno));
    if (fd >= 0) close(fd);
    return NULL;
  }
  const char *reason = S_ISDIR(about.st_mode)            ? "is a directory"
                       : !S_ISREG(about.st_mode)         ? "is not a regular file"
                       : (uintmax_t)about.st_size > most ? "is too large"
                                                         : NULL;
  if (reason != NULL) {
    snprintf(error_out, error_size, "%s: %s%s", path, reason,
             (uintmax_t)about.st_size > most && S_ISREG(about.st_mode) ? " (more than 1 MiB)" : "");
    close(fd);
    return NULL;
  }
  char *text = malloc((size_t)about.st_size + 1);
  size_t size = 0;
  ssize_t got = 0;
  while (text != NULL && size < (size_t)about.st_size && (got = read(fd, text + size, (size_t)about.st_size - size)) > 0)
    size += (size_t)got;
  close(fd);
  if (text == NULL || got < 0) {
    snprintf(error_out, error_size, "%s: %s", path, strerror(errno));
    free(text);
    return NULL;
  }
  text[size] = '\0';
  *size_out = size;
  return text;
}

bool runner_text_write_file(const char *path, const char *text, size_t size, char *error_out, size_t error_size) {
  char aside[600];
  snprintf(aside, sizeof aside, "%s.%ld.part", path, (long)getpid());
  FILE *file = fopen(aside, "w");
  bool written = file != NULL && fwrite(text, 1, size, file) == size && fflush(file) == 0;
  int failed = errno;
  if (file != NULL && fclose(file) != 0 && written) {
    written = false;
    failed = errno;
  }
  if (written && rename(aside, path) == 0) return true;
  if (written) failed = errno;
  snprintf(error_out, error_size, "%s: %s", path, strerror(failed));
  if (file != NULL) unlink(aside);
  return false;
}

void runner_text_time(int64_t ns, char *out, size_t size) {
  int64_t days = ns / SIM_DAY, hours = ns % SIM_DAY / SIM_HOUR, minutes = ns % SIM_HOUR / SIM_MINUTE;
  int64_t ms = ns % SIM_MINUTE / SIM_MS;
  if (days > 0) snprintf(out, size, "%" PRId64 " d %02" PRId64 ":%02" PRId64 ":%06.3f", days, hours, minutes, (double)ms / 1000.0);
  else snprintf(out, size, "%02" PRId64 ":%02" PRId64 ":%06.3f", hours, minutes, (double)ms / 1000.0);
}
