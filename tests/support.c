#include "tests/support.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

uint64_t support_random(uint64_t *state) {
  uint64_t word = *state += UINT64_C(0x9E3779B97F4A7C15);
  word = (word ^ (word >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  word = (word ^ (word >> 27)) * UINT64_C(0x94D049BB133111EB);
  return word ^ (word >> 31);
}

uint64_t support_below(uint64_t *state, uint64_t limit) { return support_random(state) % limit; }

/* Run the body in a child; returns its wait status, and the beginning of what it wrote to stderr. */
static int status_of_child(void (*body)(void *), void *argument, char *out, size_t size) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  fflush(NULL);
  pid_t child = fork();
  if (child < 0) return -1;
  if (child == 0) {
    static const int signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) signal(signals[i], SIG_DFL);
    close(ends[0]);
    dup2(ends[1], STDERR_FILENO);
    body(argument);
    _exit(0);
  }
  close(ends[1]);
  size_t used = 0;
  char spill[512];
  for (;;) {
    size_t room = size - 1 - used;
    ssize_t got = room > 0 ? read(ends[0], out + used, room) : read(ends[0], spill, sizeof spill);
    if (got <= 0) break;
    if (room > 0) used += (size_t)got;
  }
  out[used] = '\0';
  close(ends[0]);
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

bool support_aborts(void (*body)(void *), void *argument, const char *words) {
  char text[2048];
  int status = status_of_child(body, argument, text, sizeof text);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && strstr(text, words) != NULL) return true;
  print_message("expected an abort with \"%s\", got status %d and:\n%s\n", words, status, text);
  return false;
}

bool support_survives(void (*body)(void *), void *argument) {
  char text[2048];
  int status = status_of_child(body, argument, text, sizeof text);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
  print_message("%s", text);
  return false;
}

bool support_dies_of(void (*body)(void *), void *argument, int signal) {
  char text[512];
  int status = status_of_child(body, argument, text, sizeof text);
  return WIFSIGNALED(status) && WTERMSIG(status) == signal;
}
