#include "sim/world.h"
#include <stdio.h>
#include "tests/sim/toy.h"
#include "tests/support.h"
static struct toy toy;
int main(int argc, char **argv) {
  toy_open(&toy);
  if (argc > 1 && argv[1][0] != '-') {
    const char *why = toy_run_words(&toy, (const char *const *)(argv + 1), (size_t)argc - 1);
    if (why) printf("%s\n", why);
  } else toy_run_words(&toy, NULL, 0);
  toy_print(&toy);
  printf("end %d violated %lx broken %d unreached %s jobs %d %d %d\n", toy.end, (unsigned long)toy.violated, toy.broken, toy_not_reached(&toy), (int)toy_job_state(&toy, 1),(int)toy_job_state(&toy, 2),(int)toy_job_state(&toy, 3));
  toy_close(&toy);
}
