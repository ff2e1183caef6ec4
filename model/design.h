/* A design: one choice on each axis (axes.def). */
#ifndef MODEL_DESIGN_H
#define MODEL_DESIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum model_axis {
#define AXIS(id, ...) AXIS_##id,
#define CHOICE(...)
#define AXIS_END(...)
#include "model/axes.def"
#undef AXIS
#undef CHOICE
#undef AXIS_END
  MODEL_AXIS_COUNT
};

#define AXIS(id, ...) enum {
#define CHOICE(axis, id, ...) axis##_##id,
#define AXIS_END(axis) \
  axis##_COUNT         \
  }                    \
  ;
#include "model/axes.def"
#undef AXIS
#undef CHOICE
#undef AXIS_END

struct model_design {
  uint8_t choice[MODEL_AXIS_COUNT]; /* all zero: the recommended design */
};

/* Is this choice taken? The axis is named once, the choice by its short name. */
#define MODEL_CHOSEN(design, axis, name) ((design)->choice[AXIS_##axis] == axis##_##name)

enum model_mark { MODEL_STAR, MODEL_VARIANT, MODEL_MISTAKE, MODEL_GUARD };

struct model_choice {
  const char *name;
  enum model_mark mark;
  const char *does;
  const char *breaks;
};

enum { MODEL_CHOICES_MAX = 8 };

struct model_axis_info {
  const char *name;
  const char *about;
  const char *remedy;
  const char *source;
  struct model_choice choice[MODEL_CHOICES_MAX];
  size_t choice_count;
};

/* All axes, in the order of axes.def; MODEL_AXIS_COUNT entries. */
const struct model_axis_info *model_axes(void);
/* Find an axis, or a choice of one, by name; -1 when there is none. */
int model_axis_find(const char *name);
int model_choice_find(int axis, const char *name);

#endif
