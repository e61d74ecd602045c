/* Compares the daemon's clock with ours by the now= of HELLO, to convert until= into an instant of our clock.
 *
 * Pure. All times are in ms on CLOCK_BOOTTIME, of the daemon or of this machine. */
#ifndef REDLOCK_LIB_SAMPLE_H
#define REDLOCK_LIB_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

struct sample {
    bool any;
    bool same;       /* the client and the daemon read the same clock */
    int64_t sent_ms; /* ours, before HELLO was handed to the kernel */
    int64_t now_ms;  /* the daemon's, when it answered */
};

/* Takes in a HELLO: when it was sent and received by our clock, and over a Unix socket or not. Returns
 * true if the sample has changed. */
bool sample_take(struct sample *sample, int64_t sent_ms, int64_t now_ms, int64_t received_ms, bool local);

/* Whether by the older sample the daemon's `now`, which we have received already, is still in our future: then one of
 * the clocks has stood still, and deadlines that were computed with the older sample may be too late. */
bool sample_is_refuted(const struct sample *older, int64_t now_ms, int64_t received_ms);

/* Whether a HELLO on a new connection shows the clock of the connection before: it has gone on as far as ours
 * has, or less far by grown_ms, for which the daemon says it has stood still since. */
bool sample_goes_on(const struct sample *before, int64_t sent_ms, int64_t now_ms, int64_t received_ms,
                    int64_t grown_ms);

/* Returns until= as an instant of our clock. The instant is never later than the daemon's deadline,
 * however slow the answer was, as long as the speeds of the two clocks differ by at most 0.1 %. */
int64_t sample_deadline_ms(const struct sample *sample, int64_t until_ms);

#endif
