#include "daemon/events.h"

#include <stdarg.h>
#include <stdio.h>

#include "daemon/clock.h"

void events_add(struct events *events, enum event_tone tone, const char *kind, const char *format, ...)
{
    struct event_row *row = &events->rows[events->count++ % EVENTS_KEPT];
    va_list args;
    row->wall_ms = clock_wall_us() / 1000;
    row->tone = tone;
    row->kind = kind;
    va_start(args, format);
    vsnprintf(row->text, sizeof row->text, format, args);
    va_end(args);
}

const struct event_row *events_row(const struct events *events, unsigned i)
{
    if (i >= EVENTS_KEPT || i >= events->count)
        return NULL;
    return &events->rows[(events->count - 1 - i) % EVENTS_KEPT];
}
