/* The scripts for lists of names, as proto/lua/ has them. */
#include <assert.h>

#include "tests/sim/mutant.h"
#include "tests/sim/store_queue.h"

static bool is_there(const struct store *s, int64_t now_ms, unsigned name)
{
    return store_there(&s->key[name], now_ms);
}

static bool is_ours(const struct store *s, int64_t now_ms, const struct store_command *command, unsigned name)
{
    const struct store_key *key = &s->key[name];
    return is_there(s, now_ms, name) && key->tok == command->tok && key->list == command->name;
}

/* How many of the names are ours, and how many are there at all. */
static unsigned count(const struct store *s, int64_t now_ms, const struct store_command *command,
                      unsigned *ours)
{
    unsigned there = 0;
    *ours = 0;
    FOR_NAMES(n, command->name)
    {
        there += is_there(s, now_ms, n);
        *ours += is_ours(s, now_ms, command, n);
    }
    return there;
}

static unsigned names_count(const struct store_command *command)
{
    return (unsigned)__builtin_popcountll(names_of(command->name));
}

/* Numbers are counted by the places in the list. */
static void list_set(struct store *s, int64_t now_ms, const struct store_command *command, struct vote *vote)
{
    bool from_now = command->verb == COMMAND_SET || mutant(MUTANT_HEAL_BY_PX);
    bool some = mutant(MUTANT_LIST_SET_SOME), set = false;
    uint64_t place = 0;
    FOR_NAMES(n, command->name)
    {
        if (is_there(s, now_ms, n) && !some) {
            vote->number = place;
            return;
        }
        place++;
    }
    FOR_NAMES(n, command->name)
    {
        if (is_there(s, now_ms, n))
            continue;
        set = true;
        s->key[n].there = true;
        s->key[n].tok = command->tok;
        s->key[n].maker = command->maker;
        s->key[n].list = command->name;
        s->key[n].expires_ms = (from_now ? now_ms : 0) + (int64_t)command->number;
        s->key[n].readers = 0;
    }
    if (set)
        vote->kind = VOTE_YES;
}

static void list_release(struct store *s, int64_t now_ms, const struct store_command *command,
                         const struct publisher *to, struct vote *vote)
{
    FOR_NAMES(n, command->name)
    {
        if (!is_ours(s, now_ms, command, n))
            continue;
        s->key[n].there = false;
        vote->kind = VOTE_YES;
        if (mutant(MUTANT_LIST_RELEASE_ONE))
            return;
    }
    if (vote->kind == VOTE_YES)
        queue_letter(command, to, command->maker);
}

static void list_extend(struct store *s, int64_t now_ms, const struct store_command *command,
                        struct vote *vote)
{
    unsigned ours;
    int64_t least_ms = INT64_MAX, wanted_ms = now_ms + (int64_t)command->number;
    count(s, now_ms, command, &ours);
    if (ours < names_count(command))
        return;
    FOR_NAMES(n, command->name)
    {
        struct store_key *key = &s->key[n];
        if (command->verb == COMMAND_EXTEND && wanted_ms > key->expires_ms)
            key->expires_ms = wanted_ms;
        else if (command->most_ms != 0 && key->expires_ms > now_ms + (int64_t)command->most_ms)
            key->expires_ms = now_ms + (int64_t)command->most_ms;
        least_ms = key->expires_ms < least_ms ? key->expires_ms : least_ms;
    }
    vote->kind = VOTE_NUMBER;
    vote->number = (uint64_t)(least_ms - now_ms);
}

static void list_move(struct store *s, int64_t now_ms, const struct store_command *command, struct vote *vote)
{
    unsigned ours;
    count(s, now_ms, command, &ours);
    if (ours < names_count(command))
        return;
    FOR_NAMES(n, command->name)
    {
        s->key[n].tok = command->to;
        s->key[n].maker = command->to_maker;
    }
    vote->kind = VOTE_YES;
}

static void list_raise(struct store *s, const struct store_command *command, struct vote *vote)
{
    vote->kind = VOTE_NUMBER;
    for (unsigned i = 0; i < command->bucket; i++) {
        enum vote_kind kind = store_raise(s, command->buckets[i], command->number);
        if (kind == VOTE_ERROR) {
            *vote = (struct vote){.kind = VOTE_ERROR, .error = ERROR_OOM};
            return;
        }
        vote->number += kind == VOTE_YES;
    }
}

static void list_highest(struct store *s, const struct store_command *command, struct vote *vote)
{
    vote->kind = VOTE_NUMBER;
    for (unsigned i = 0; i < command->bucket; i++) {
        uint64_t score = store_score(s, command->buckets[i]);
        vote->number = score > vote->number ? score : vote->number;
    }
}

void store_run_list(struct store *s, int64_t now_ms, const struct store_command *command,
                    const struct publisher *to, struct vote *vote)
{
    switch (command->verb) {
    case COMMAND_SET:
    case COMMAND_HEAL: list_set(s, now_ms, command, vote); return;
    case COMMAND_RELEASE: list_release(s, now_ms, command, to, vote); return;
    case COMMAND_EXTEND:
    case COMMAND_CHECK: list_extend(s, now_ms, command, vote); return;
    case COMMAND_MOVE: list_move(s, now_ms, command, vote); return;
    case COMMAND_CUT:
        vote->kind = VOTE_NUMBER;
        FOR_NAMES(n, command->name) vote->number += store_cut(&s->key[n], now_ms, (int64_t)command->number);
        return;
    case COMMAND_ZADD: list_raise(s, command, vote); return;
    case COMMAND_ZSCORE: list_highest(s, command, vote); return;
    default: assert(false && "not a command for a list");
    }
}

/* Whether a key would live longer. */
static bool lengthens(const struct store *s, int64_t now_ms, const struct store_command *command)
{
    bool longer = false;
    FOR_NAMES(n, command->name) longer |= now_ms + (int64_t)command->number > s->key[n].expires_ms;
    return longer;
}

bool store_list_writes(const struct store *s, int64_t now_ms, const struct store_command *command,
                       bool *grows)
{
    unsigned ours, there = count(s, now_ms, command, &ours);
    bool all = ours == names_count(command);
    switch (command->verb) {
    case COMMAND_SET:
    case COMMAND_HEAL: return *grows = there == 0;
    case COMMAND_ZADD: return *grows = true;
    case COMMAND_RELEASE: return ours > 0;
    case COMMAND_EXTEND: return all && lengthens(s, now_ms, command);
    case COMMAND_MOVE: return *grows = all;
    default: return false;
    }
}
