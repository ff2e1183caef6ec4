/* Any bytes: the scenario reader takes them or says why not, and what it takes it can print and take again. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/scenario.h"
#include "sim/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *printed(const struct runner_scenario *scenario, size_t *size_out) {
  char *text = NULL;
  FILE *file = open_memstream(&text, size_out);
  ENSURE(file != NULL);
  runner_scenario_print(scenario, file);
  fclose(file);
  return text;
}

static void print_and_take_again(const struct runner_scenario *scenario) {
  char error[RUNNER_ERROR_SIZE] = "";
  size_t size = 0, again_size = 0;
  char *text = printed(scenario, &size);
  struct runner_scenario *again = runner_scenario_parse("printed", text, size, error, sizeof error);
  if (again == NULL) fprintf(stderr, "%s\n%s", error, text);
  ENSURE(again != NULL);
  char *again_text = printed(again, &again_size);
  ENSURE(size == again_size && memcmp(text, again_text, size) == 0);
  runner_scenario_free(again);
  free(again_text);
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char error[RUNNER_ERROR_SIZE] = "";
  struct runner_scenario *scenario = runner_scenario_parse("fuzz", (const char *)data, size, error, sizeof error);
  if (scenario == NULL) {
    ENSURE(strncmp(error, "fuzz:", 5) == 0 && strlen(error) < sizeof error);
    return 0;
  }
  print_and_take_again(scenario);
  runner_scenario_free(scenario);
  return 0;
}
