#include "model/design.h"

#include <string.h>

static struct model_axis_info axes[MODEL_AXIS_COUNT];

static void add_choice(int axis, struct model_choice choice) {
  struct model_axis_info *info = &axes[axis];
  info->choice[info->choice_count++] = choice;
}

const struct model_axis_info *model_axes(void) {
  if (axes[0].name != NULL) return axes;
#define AXIS(id, axis_name, axis_about, axis_remedy, axis_source) \
  axes[AXIS_##id] = (struct model_axis_info){.name = axis_name, .about = axis_about, .remedy = axis_remedy, .source = axis_source};
#define CHOICE(axis, id, choice_name, choice_mark, choice_does, choice_breaks) \
  add_choice(AXIS_##axis, (struct model_choice){choice_name, MODEL_##choice_mark, choice_does, choice_breaks});
#define AXIS_END(axis) _Static_assert((int)axis##_COUNT <= (int)MODEL_CHOICES_MAX, "MODEL_CHOICES_MAX");
#include "model/axes.def"
#undef AXIS
#undef CHOICE
#undef AXIS_END
  return axes;
}

int model_axis_find(const char *name) {
  const struct model_axis_info *info = model_axes();
  for (int a = 0; a < MODEL_AXIS_COUNT; a++) {
    if (strcmp(info[a].name, name) == 0) return a;
  }
  return -1;
}

int model_choice_find(int axis, const char *name) {
  const struct model_axis_info *info = &model_axes()[axis];
  for (size_t c = 0; c < info->choice_count; c++) {
    if (strcmp(info->choice[c].name, name) == 0) return (int)c;
  }
  return -1;
}
