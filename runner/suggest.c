/* Method. Levenshtein distance with one row of the matrix; near means at most a third of the word's length, and at least
   two. */
#include "runner/suggest.h"

#include <stdio.h>
#include <string.h>

enum { WORD_MAX = 64 };

static size_t least(size_t a, size_t b, size_t c) {
  size_t least_two = a < b ? a : b;
  return least_two < c ? least_two : c;
}

static size_t distance(const char *a, const char *b) {
  size_t row[WORD_MAX + 1];
  size_t a_size = strlen(a);
  size_t b_size = strlen(b);
  if (a_size > WORD_MAX || b_size > WORD_MAX) return WORD_MAX;
  for (size_t j = 0; j <= b_size; j++) row[j] = j;
  for (size_t i = 1; i <= a_size; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b_size; j++) {
      size_t above = row[j];
      row[j] = least(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
      diagonal = above;
    }
  }
  return row[b_size];
}

size_t runner_suggest_index(const char *word, const char *(*known)(size_t index), size_t count) {
  size_t best = count;
  size_t best_distance = strlen(word) / 3 < 2 ? 3 : strlen(word) / 3 + 1;
  for (size_t i = 0; i < count; i++) {
    size_t d = distance(word, known(i));
    if (d >= best_distance) continue;
    best = i;
    best_distance = d;
  }
  return best;
}

const char *runner_suggest(const char *word, const char *(*known)(size_t index), size_t count) {
  size_t best = runner_suggest_index(word, known, count);
  return best < count ? known(best) : NULL;
}

void runner_suggest_words(char *out, size_t size, const char *word, const char *(*known)(size_t index), size_t count) {
  const char *best = runner_suggest(word, known, count);
  if (best == NULL) snprintf(out, size, "%s", "");
  else snprintf(out, size, "; did you mean \"%s\"?", best);
}
