/* Other people's systems in words: gateways, mail providers, account providers, brokers. */
#ifndef RUNNER_PROFILES_H
#define RUNNER_PROFILES_H

#include <stdbool.h>

#include "model/gateways/payment_gateway.h"

/* Print every profile that is called so, by its name or by what people call it. Returns false when there is none. */
bool runner_explain_profiles(const char *word);
/* Print all of them, a line each, by kind. */
void runner_list_profiles(void);
/* "holds", "holds by parking", "cannot hold". */
const char *runner_row_words(enum model_row row);

#endif
