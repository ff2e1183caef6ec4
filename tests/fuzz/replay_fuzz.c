/* Any bytes: the replay reader takes them or says why not, and each fault it takes reads the same by its own words. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults/catalogue.h"
#include "runner/replayfile.h"
#include "sim/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_faults(const struct runner_replay *replay) {
  ENSURE(replay->fault_count <= SIM_FAULTS_MAX);
  for (size_t i = 0; i < replay->fault_count; i++) {
    const struct sim_fault *fault = &replay->fault[i];
    struct sim_fault again = {0};
    ENSURE(fault->point < fault_catalogue()->count);
    ENSURE(fault->answer > 0 && fault->answer < fault_catalogue()->point[fault->point].answer_count);
    ENSURE(sim_fault_parse(fault_catalogue(), fault->words, &again) == NULL);
    ENSURE(again.address == fault->address && again.answer == fault->answer);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char error[RUNNER_ERROR_SIZE] = "";
  if (size > RUNNER_REPLAY_SIZE_MAX) return 0; /* the reader of files refuses it */
  struct runner_replay *replay = runner_replay_parse("fuzz", (const char *)data, size, error, sizeof error);
  if (replay == NULL) {
    ENSURE(strncmp(error, "fuzz:", 5) == 0 && strlen(error) < sizeof error);
    return 0;
  }
  check_faults(replay);
  runner_replay_free(replay);
  return 0;
}
