#include "daemon/figures.h"

#include <string.h>

#define ROW(part, field, kind_, ...) \
    {.name = #field, .offset = offsetof(struct figures, part.field), .kind = FIGURE_##kind_, __VA_ARGS__},
#define LOOP(...)  ROW(loop, __VA_ARGS__)
#define CONNS(...) ROW(conns, __VA_ARGS__)
#define CORE(...)  ROW(core, __VA_ARGS__)
#define HTTP(...)  ROW(http, __VA_ARGS__)

#define SHOWN .shown = true
#define METRIC(place_, family_, labels_, help_) \
    .place = METRICS_##place_, .family = (family_), .labels = (labels_), .help = (help_)

const struct figure figures_table[FIGURES_COUNT] = {FIGURES(LOOP, CONNS, CORE, HTTP)};

uint64_t figures_value(const struct figures *figures, const struct figure *figure)
{
    uint64_t value;
    memcpy(&value, (const char *)figures + figure->offset, sizeof value);
    return value;
}
