/* The masters' scripts for lists of names. */
#include <string.h>

#include "tests/fuzz/masters.h"

static bool list_has(const struct sent *sent, unsigned name)
{
    return sent->names & 1u << name;
}

static bool list_is_ours(const struct key *key, const struct sent *sent, int64_t now_ms)
{
    return key->ends_ms > now_ms && key->names == sent->names &&
           memcmp(&key->token, &sent->token, sizeof key->token) == 0;
}

static bool list_is_all_ours(const struct fake_master *m, const struct sent *sent, int64_t now_ms)
{
    for (unsigned n = 0; n < NAMES; n++)
        if (list_has(sent, n) && !list_is_ours(&m->keys[n], sent, now_ms))
            return false;
    return true;
}

/* The vote tells the place of the first name that is there. */
static void list_set(struct fake_master *m, const struct sent *sent, int64_t now_ms, struct vote *vote)
{
    int64_t ends_ms = (int64_t)sent->number + (sent->verb == COMMAND_SET_ALL ? now_ms : -CLOCK_MS);
    vote->kind = VOTE_NO;
    for (unsigned n = 0; n < NAMES; n++) {
        if (!list_has(sent, n))
            continue;
        if (m->keys[n].ends_ms > now_ms)
            return;
        vote->number++;
    }
    vote->number = 0;
    vote->kind = VOTE_YES;
    for (unsigned n = 0; n < NAMES; n++)
        if (list_has(sent, n))
            m->keys[n] = (struct key){.token = sent->token, .names = sent->names, .ends_ms = ends_ms};
}

static void list_release(struct fake_master *m, const struct sent *sent, int64_t now_ms, struct vote *vote)
{
    vote->kind = VOTE_NO;
    for (unsigned n = 0; n < NAMES; n++) {
        if (!list_has(sent, n) || !list_is_ours(&m->keys[n], sent, now_ms))
            continue;
        m->keys[n].ends_ms = 0;
        vote->kind = VOTE_YES;
    }
}

static void list_extend(struct fake_master *m, const struct sent *sent, int64_t now_ms, struct vote *vote)
{
    int64_t wanted_ms = sent->verb == COMMAND_EXTEND_ALL ? now_ms + (int64_t)sent->number : 0;
    int64_t least_ms = INT64_MAX;
    vote->kind = VOTE_NO;
    if (!list_is_all_ours(m, sent, now_ms))
        return;
    for (unsigned n = 0; n < NAMES; n++) {
        if (!list_has(sent, n))
            continue;
        struct key *key = &m->keys[n];
        if (wanted_ms > key->ends_ms)
            key->ends_ms = wanted_ms;
        if (key->ends_ms < least_ms)
            least_ms = key->ends_ms;
    }
    vote->kind = VOTE_NUMBER;
    vote->number = (uint64_t)(least_ms - now_ms);
}

static void list_move(struct fake_master *m, const struct sent *sent, int64_t now_ms, struct vote *vote)
{
    vote->kind = VOTE_NO;
    if (!list_is_all_ours(m, sent, now_ms))
        return;
    vote->kind = VOTE_YES;
    for (unsigned n = 0; n < NAMES; n++)
        if (list_has(sent, n))
            m->keys[n].token = sent->to;
}

static void list_fences(struct fake_master *m, const struct sent *sent, struct vote *vote)
{
    vote->kind = VOTE_NUMBER;
    for (unsigned n = 0; n < NAMES; n++) {
        if (!list_has(sent, n))
            continue;
        uint64_t *score = master_score(m, master_bucket(n));
        if (score == NULL && sent->verb == COMMAND_ZADD_ALL) {
            *vote = (struct vote){.kind = VOTE_ERROR, .error = ERROR_OOM};
            return;
        }
        if (score != NULL && sent->verb == COMMAND_ZSCORE_ALL) {
            vote->number = *score > vote->number ? *score : vote->number;
        } else if (score != NULL && sent->number > *score) {
            *score = sent->number;
            vote->number++;
        }
    }
}

void master_run_list(struct fake_master *m, const struct sent *sent, int64_t now_ms, struct vote *vote)
{
    switch (sent->verb) {
    case COMMAND_SET_ALL:
    case COMMAND_HEAL_ALL: list_set(m, sent, now_ms, vote); return;
    case COMMAND_RELEASE_ALL: list_release(m, sent, now_ms, vote); return;
    case COMMAND_EXTEND_ALL:
    case COMMAND_CHECK_ALL: list_extend(m, sent, now_ms, vote); return;
    case COMMAND_MOVE_ALL: list_move(m, sent, now_ms, vote); return;
    default: list_fences(m, sent, vote); return;
    }
}
