/* Is this a build with sanitizers? They cost a factor of ten, and look at what is run, not at how often: less is run then. */
#ifndef TESTS_RUNNER_SANITIZED_H
#define TESTS_RUNNER_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__)
enum { RUNNER_SANITIZED = 1 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { RUNNER_SANITIZED = 1 };
#else
enum { RUNNER_SANITIZED = 0 };
#endif
#else
enum { RUNNER_SANITIZED = 0 };
#endif

#endif
