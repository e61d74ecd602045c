#include "daemon/coordinator/watch/sight.h"

#include <string.h>

#include "proto/names.h"

/* ---- answers ---- */

void sight_begin(struct sight *seen)
{
    seen->keys = seen->readers = seen->slots = 0;
    seen->ttl_ms = 0;
    seen->tellings = 0;
}

static bool same_token(const struct token *a, const struct token *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static bool is_telling(const struct telling *telling, const struct seen *who)
{
    return same_token(&telling->token, &who->token) && telling->fence == who->fence &&
           telling->data.len == who->data.len &&
           memcmp(telling->data.text, who->data.text, who->data.len) == 0;
}

/* Where there is no place, so many masters tell something else that no Q of them tell this. */
static void telling_add(struct sight *seen, masters_t bit, const struct seen *who)
{
    unsigned i = 0;
    while (i < seen->tellings && !is_telling(&seen->telling[i], who))
        i++;
    if (i == TELLINGS)
        return;
    struct telling *telling = &seen->telling[i];
    if (i < seen->tellings) {
        telling->masters |= bit;
        return;
    }
    seen->tellings++;
    telling->masters = bit;
    telling->token = who->token;
    telling->fence = who->fence;
    data_copy(&telling->data, &who->data);
}

void sight_told(struct sight *seen, unsigned master, const struct seen *who)
{
    masters_t bit = masters_bit(master);
    if (who->kind == SEEN_READERS)
        seen->readers |= bit;
    if (who->kind == SEEN_SLOTS)
        seen->slots |= bit;
    if (who->kind != SEEN_TOKEN)
        return;
    seen->keys |= bit;
    seen->token[master] = who->token;
    if (who->ttl_ms != 0 && (seen->ttl_ms == 0 || who->ttl_ms < seen->ttl_ms))
        seen->ttl_ms = who->ttl_ms;
    if (who->data.len != 0)
        telling_add(seen, bit, who);
}

/* ---- what they come to ---- */

/* How many masters have the key that most of them have, and which that is. */
static unsigned most_have(const struct coordinator *c, const struct sight *seen, struct token *token)
{
    unsigned most = 0;
    for (unsigned i = 0; i < c->config.masters; i++) {
        unsigned same = 0;
        for (unsigned k = 0; k < c->config.masters; k++)
            same += (seen->keys & masters_bit(i)) && (seen->keys & c->quorum.of & masters_bit(k)) &&
                    same_token(&seen->token[i], &seen->token[k]);
        if (same <= most)
            continue;
        most = same;
        *token = seen->token[i];
    }
    return most;
}

/* A holder that tells something is told once a quorum tells the same of it: a moment after its key is there. */
static enum sight_verdict judge_telling(const struct coordinator *c, const struct sight *seen,
                                        masters_t silent, const struct token *holder, struct now *now)
{
    const struct telling *best = NULL;
    unsigned most = 0;
    for (unsigned i = 0; i < seen->tellings; i++) {
        const struct telling *telling = &seen->telling[i];
        if (!same_token(&telling->token, holder) || quorum_count(&c->quorum, telling->masters) <= most)
            continue;
        most = quorum_count(&c->quorum, telling->masters);
        best = telling;
    }
    if (best != NULL && most >= c->quorum.needed) {
        now->fence = best->fence;
        data_copy(&now->data, &best->data);
        return SIGHT_SURE;
    }
    if (most + quorum_count(&c->quorum, silent) >= c->quorum.needed)
        return SIGHT_OPEN;
    return token_tells(holder) ? SIGHT_UNSURE : SIGHT_SURE;
}

static enum sight_verdict judge_holder(const struct coordinator *c, const struct sight *seen,
                                       masters_t silent, const struct token *holder, struct now *now)
{
    if (token_is_mark(holder)) {
        now->state = NOW_KEPT;
        return SIGHT_SURE;
    }
    now->state = NOW_HELD;
    now->is_known = token_is_made(holder);
    for (unsigned i = 0; now->is_known && i < TOKEN_ID_BYTES; i++)
        now->daemon = now->daemon << 8 | holder->bytes[i];
    return judge_telling(c, seen, silent, holder, now);
}

enum sight_verdict sight_judge(const struct coordinator *c, const struct sight *seen, masters_t answered,
                               masters_t silent, struct now *now, struct token *holder)
{
    static const struct token none;
    bool readers = quorum_has(&c->quorum, seen->readers), slots = quorum_has(&c->quorum, seen->slots);
    unsigned open = masters_count(masters_without(c->quorum.of, answered));
    unsigned taken = quorum_count(&c->quorum, seen->keys | seen->readers | seen->slots);
    if (most_have(c, seen, holder) >= c->quorum.needed)
        return judge_holder(c, seen, silent, holder, now);
    *holder = none;
    if (readers || slots) {
        now->state = NOW_HELD;
        now->shared = readers;
        return SIGHT_SURE;
    }
    if (taken + open < c->quorum.needed) {
        now->state = NOW_FREE;
        return SIGHT_SURE;
    }
    if (silent != 0)
        return SIGHT_OPEN;
    return quorum_has(&c->quorum, answered) ? SIGHT_UNSURE : SIGHT_SURE;
}
