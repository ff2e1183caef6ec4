/* The closed lists that people name on the command line and in files, as index -> name, for checks and suggestions. */
#ifndef RUNNER_NAMES_H
#define RUNNER_NAMES_H

#include <stddef.h>

const char *runner_axis_name(size_t index);
size_t runner_axis_count(void);
const char *runner_point_name(size_t index);
size_t runner_point_count(void);
const char *runner_invariant_name(size_t index);
size_t runner_invariant_count(void);
const char *runner_profile_name(size_t index);
size_t runner_profile_count(void);
const char *runner_mail_profile_name(size_t index);
size_t runner_mail_profile_count(void);
const char *runner_broker_name(size_t index);
size_t runner_broker_count(void);
const char *runner_account_profile_name(size_t index);
size_t runner_account_profile_count(void);
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
