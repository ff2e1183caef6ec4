/* The closed lists that people name on the command line and in files, as index -> name, for checks and suggestions. */
#ifndef RUNNER_NAMES_H
#define RUNNER_NAMES_H

#include <stddef.h>
#include <stdint.h>

const char *runner_axis_name(size_t index);
size_t runner_axis_count(void);
const char *runner_point_name(size_t index);
size_t runner_point_count(void);
const char *runner_invariant_name(size_t index);
size_t runner_invariant_count(void);
/* The invariants of a mask, as words with commas between; "" for none. */
void runner_invariant_names(uint64_t mask, char *out, size_t size);
/* Other people's systems ("gateway", "mail" …), and the profiles of one: set which first. */
const char *runner_provider_name(size_t provider);
void runner_profiles_of(size_t provider);
const char *runner_profile_name(size_t index);
size_t runner_profile_count(void);
/* The services of ours, not the outsiders. */
const char *runner_service_name(size_t index);
size_t runner_service_count(void);
/* Choices of one axis, answers of one point: set which first. */
void runner_choices_of(int axis);
const char *runner_choice_name(size_t index);
size_t runner_choice_count(void);
void runner_answers_of(int point);
const char *runner_answer_name(size_t index);
size_t runner_answer_count(void);

#endif
