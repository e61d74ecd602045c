#include "tests/sim/store.h"

#include <assert.h>
#include <string.h>

enum mutant store_mutant = MUTANT_NONE;

bool store_has(const struct store *s, int64_t now_ms, unsigned name)
{
    return s->key[name].there && now_ms <= s->key[name].expires_ms;
}

static unsigned store_bucket(struct store *s, uint32_t bucket)
{
    for (unsigned i = 0; i < s->buckets; i++) {
        if (s->bucket[i] == bucket)
            return i;
    }
    assert(s->buckets < STORE_BUCKETS);
    s->bucket[s->buckets] = bucket;
    s->score[s->buckets] = 0;
    return s->buckets++;
}

static void store_set(struct store_key *key, uint32_t tok, int64_t expires_ms)
{
    key->there = true;
    key->tok = tok;
    key->expires_ms = expires_ms;
}

static void store_zadd(struct store *s, const struct store_command *command, struct vote *vote)
{
    unsigned i = store_bucket(s, command->bucket);
    if (s->score[i] != 0 && command->number <= s->score[i])
        return;
    s->score[i] = command->number;
    vote->kind = VOTE_YES;
}

static void store_extend(struct store_key *key, bool there, int64_t now_ms,
                         const struct store_command *command, struct vote *vote)
{
    if (!there && store_mutant == MUTANT_EXTEND_RESURRECTS) {
        store_set(key, command->tok, now_ms + (int64_t)command->number);
        there = true;
    }
    if (!there || (key->tok != command->tok && store_mutant != MUTANT_EXTEND_NO_COMPARE))
        return;
    int64_t wanted_ms = now_ms + (int64_t)command->number;
    if (wanted_ms > key->expires_ms || store_mutant == MUTANT_EXTEND_SHORTENS)
        key->expires_ms = wanted_ms;
    vote->kind = VOTE_NUMBER;
    vote->number = (uint64_t)(key->expires_ms - now_ms);
}

void store_run(struct store *s, int64_t now_ms, const struct store_command *command, struct vote *vote)
{
    struct store_key *key = &s->key[command->name];
    bool there = store_has(s, now_ms, command->name);
    *vote = (struct vote){.kind = VOTE_NO};
    switch (command->verb) {
    case COMMAND_SET:
        if (there)
            return;
        store_set(key, command->tok, now_ms + (int64_t)command->number);
        vote->kind = VOTE_YES;
        return;
    case COMMAND_ZADD: store_zadd(s, command, vote); return;
    case COMMAND_ZSCORE:
        vote->kind = VOTE_NUMBER;
        vote->number = s->score[store_bucket(s, command->bucket)];
        return;
    case COMMAND_RELEASE:
        if (!there || (key->tok != command->tok && store_mutant != MUTANT_PLAIN_DEL))
            return;
        key->there = false;
        vote->kind = VOTE_YES;
        return;
    case COMMAND_EXTEND: store_extend(key, there, now_ms, command, vote); return;
    case COMMAND_CHECK:
        if (!there || key->tok != command->tok)
            return;
        vote->kind = VOTE_NUMBER;
        vote->number = (uint64_t)(key->expires_ms - now_ms);
        return;
    default: assert(false && "not a command for the store");
    }
}
