/* The daemon's clock and ours, from HELLO's now=: when is until= here?
 *
 * Pure. All times are in ms on CLOCK_BOOTTIME, of the daemon or of this machine. */
#ifndef REDLOCK_LIB_SAMPLE_H
#define REDLOCK_LIB_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

struct sample {
    bool any;
    bool same;       /* one clock */
    int64_t sent_ms; /* ours, before HELLO was handed to the kernel */
    int64_t now_ms;  /* the daemon's, when it answered */
};

/* A HELLO that was sent and received at these times (ours), over a Unix socket or not. True: the
 * sample is another one now, and deadlines are to be computed again. */
bool sample_take(struct sample *sample, int64_t sent_ms, int64_t now_ms, int64_t received_ms, bool local);

/* Whether a HELLO on a new connection shows the clock that was there before: as far along as ours, or as far
 * as that less what the daemon says it stood still since (grown_ms). */
bool sample_goes_on(const struct sample *before, int64_t sent_ms, int64_t now_ms, int64_t received_ms,
                    int64_t grown_ms);

/* until= as an instant of our clock: never later than the daemon means it, however slow the answer was,
 * while the two clocks run within 0.1 % of each other. */
int64_t sample_deadline_ms(const struct sample *sample, int64_t until_ms);

#endif
