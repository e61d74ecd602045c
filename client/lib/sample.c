#include "client/lib/sample.h"

enum {
    /* A Unix socket may lead to another machine (ssh forwards them), whose clock may by chance show
     * nearly what ours does: the less room for that chance, the better. */
    SAME_WITHIN_MS = 20,
    /* What clocks that run unlike and a slow answer may come to. Two machines seldom start so close together. */
    GOES_ON_WITHIN_MS = 1000,
};

/* The daemon read its clock after `sent`, so `until` lies at least until - now behind that; one more
 * for what both clocks cut off below a millisecond, and 0.1 % for clocks that run unlike. */
int64_t sample_deadline_ms(const struct sample *sample, int64_t until_ms)
{
    int64_t left_ms = until_ms - sample->now_ms;

    if (sample->same)
        return until_ms;
    if (left_ms <= 0)
        return sample->sent_ms - 1;
    return sample->sent_ms + left_ms - (left_ms + 999) / 1000 - 1;
}

/* Of two samples of one clock both are right, and the later deadline is the better one. But where the
 * older says that the daemon's `now` is still to come here, one of the clocks has stood still (a virtual
 * machine that was paused): only the newer counts. */
bool sample_take(struct sample *sample, int64_t sent_ms, int64_t now_ms, int64_t received_ms, bool local)
{
    bool same =
        local && sent_ms <= now_ms && now_ms <= received_ms && received_ms - sent_ms <= SAME_WITHIN_MS;
    int64_t expected_ms = sample_deadline_ms(sample, now_ms);

    /* A slow answer is no proof that the clock is another. */
    if (sample->any && sample->same && !same && sent_ms <= now_ms && now_ms <= received_ms)
        return false;
    if (sample->any && !sample->same && !same && expected_ms >= sent_ms && expected_ms <= received_ms)
        return false;
    *sample = (struct sample){.any = true, .same = same, .sent_ms = sent_ms, .now_ms = now_ms};
    return true;
}

bool sample_goes_on(const struct sample *before, int64_t sent_ms, int64_t now_ms, int64_t received_ms,
                    int64_t grown_ms)
{
    int64_t ours_ms = sent_ms - before->sent_ms;
    int64_t room_ms = GOES_ON_WITHIN_MS + ours_ms / 1000 + (received_ms - sent_ms);
    int64_t ahead_ms = now_ms - before->now_ms - ours_ms;

    if (!before->any)
        return false;
    /* A host that we share stood still for both of us; another's clock shows that it stood. */
    return (ahead_ms >= -room_ms && ahead_ms <= room_ms) ||
           (ahead_ms + grown_ms >= -room_ms && ahead_ms + grown_ms <= room_ms);
}
