#include "client/lib/sample.h"

enum {
    /* A Unix socket may lead to another machine (ssh forwards them), whose clock may by chance show nearly
     * the same as ours. The smaller this bound, the smaller that chance. */
    SAME_WITHIN_MS = 20,
    /* How far two readings of one clock may be apart, beyond 0.1 % and the time of the answer. Two machines
     * seldom start so close together. */
    GOES_ON_WITHIN_MS = 1000,
};

/* The daemon read its clock after `sent`, so `until` is at least until - now after `sent`. One ms is
 * subtracted because both clocks are cut to whole milliseconds, and 0.1 % because they may run at
 * different speeds. */
int64_t sample_deadline_ms(const struct sample *sample, int64_t until_ms)
{
    int64_t left_ms = until_ms - sample->now_ms;

    if (sample->same)
        return until_ms;
    if (left_ms <= 0)
        return sample->sent_ms - 1;
    return sample->sent_ms + left_ms - (left_ms + 999) / 1000 - 1;
}

/* Two samples of the same clock are both right, and the one that gives the later deadline is better. But
 * if by the older sample the daemon's `now` is still in our future, one of the clocks has stood still (as
 * in a virtual machine that was paused), and only the newer sample counts. */
bool sample_take(struct sample *sample, int64_t sent_ms, int64_t now_ms, int64_t received_ms, bool local)
{
    bool same =
        local && sent_ms <= now_ms && now_ms <= received_ms && received_ms - sent_ms <= SAME_WITHIN_MS;
    int64_t expected_ms = sample_deadline_ms(sample, now_ms);

    /* A slow answer does not prove that the clocks differ. */
    if (sample->any && sample->same && !same && sent_ms <= now_ms && now_ms <= received_ms)
        return false;
    if (sample->any && !sample->same && !same && expected_ms >= sent_ms && expected_ms <= received_ms)
        return false;
    *sample = (struct sample){.any = true, .same = same, .sent_ms = sent_ms, .now_ms = now_ms};
    return true;
}

bool sample_is_refuted(const struct sample *older, int64_t now_ms, int64_t received_ms)
{
    return older->any && sample_deadline_ms(older, now_ms) > received_ms;
}

bool sample_goes_on(const struct sample *before, int64_t sent_ms, int64_t now_ms, int64_t received_ms,
                    int64_t grown_ms)
{
    int64_t ours_ms = sent_ms - before->sent_ms;
    int64_t room_ms = GOES_ON_WITHIN_MS + ours_ms / 1000 + (received_ms - sent_ms);
    int64_t ahead_ms = now_ms - before->now_ms - ours_ms;

    if (!before->any)
        return false;
    /* If daemon and library share a host, a pause of it stops both clocks alike; otherwise the daemon's clock
     * lags by grown_ms. */
    return (ahead_ms >= -room_ms && ahead_ms <= room_ms) ||
           (ahead_ms + grown_ms >= -room_ms && ahead_ms + grown_ms <= room_ms);
}
