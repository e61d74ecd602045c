/* The last hundred things that an operator should know of: for the status page, beside the log. */
#ifndef REDLOCKD_EVENTS_H
#define REDLOCKD_EVENTS_H

#include <stdint.h>

enum { EVENTS_KEPT = 100, EVENT_TEXT_BYTES = 320 };

enum event_tone { TONE_GOOD, TONE_WARN, TONE_BAD };

struct event_row {
    int64_t wall_ms; /* since 1970 */
    enum event_tone tone;
    const char *kind; /* one word, static text */
    char text[EVENT_TEXT_BYTES];
};

/* Begins zeroed. */
struct events {
    uint64_t count; /* the number of all events so far; the last one is in rows[(count - 1) % EVENTS_KEPT] */
    struct event_row rows[EVENTS_KEPT];
};

/* The text may have bytes from outside as they are: readers escape it. What does not fit is cut. */
void events_add(struct events *events, enum event_tone tone, const char *kind, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The event that came i events before the last one; NULL: there was none, or it is forgotten. */
const struct event_row *events_row(const struct events *events, unsigned i);

#endif
