/* Messages: a kind, the id of the operation or message in the protocol's words, and a few integers. */
#ifndef SIM_MESSAGE_H
#define SIM_MESSAGE_H

#include <stdint.h>

#include "sim/id.h"
#include "sim/limits.h"

struct sim_node;
struct sim_call;

struct sim_message {
  uint16_t kind;    /* index into the world's kinds */
  uint32_t attempt; /* which try of the sender this is, from 1 */
  int64_t subject;  /* whose business it is; an actor node handles one message a subject at a time */
  struct sim_id id;
  int64_t value[SIM_VALUES_MAX]; /* meaning is the kind's; absent ones are 0 */

  /* Filled in by the link. */
  struct sim_node *from;
  uint32_t from_life;
  int64_t sent_ns;
  uint32_t delivery;     /* to an endpoint: which delivery of the broker this is, from 1 */
  uint32_t copy;         /* 1, or 2 for the copy of a doubled message */
  int64_t resend_at_ns;  /* when the sender's own timer for it fires; 0 when it has none */
  struct sim_call *call; /* set when it is the request of a call */
};

#endif
