/* "Did you mean": the nearest known word. */
#ifndef RUNNER_SUGGEST_H
#define RUNNER_SUGGEST_H

#include <stddef.h>

/* The known word with the smallest edit distance to `word`, NULL when none is near. `known(i)` lists them. */
const char *runner_suggest(const char *word, const char *(*known)(size_t index), size_t count);
/* The same as an index; `count` when none is near. */
size_t runner_suggest_index(const char *word, const char *(*known)(size_t index), size_t count);
/* Write "; did you mean \"x\"?" or nothing into `out`. */
void runner_suggest_words(char *out, size_t size, const char *word, const char *(*known)(size_t index), size_t count);

#endif
