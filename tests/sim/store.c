#include "tests/sim/store.h"

#include <assert.h>
#include <string.h>

enum mutant store_mutant = MUTANT_NONE;

static bool is_there(const struct store_key *key, int64_t now_ms)
{
    return key->there && now_ms <= key->expires_ms;
}

bool store_has(const struct store *s, int64_t now_ms, unsigned name)
{
    return is_there(&s->key[name], now_ms);
}

static void key_set(struct store_key *key, uint32_t tok, int64_t expires_ms)
{
    *key = (struct store_key){.there = true, .tok = tok, .expires_ms = expires_ms};
}

/* ---- <prefix>,fences ---- */

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

static void store_zadd(struct store *s, const struct store_command *command, struct vote *vote)
{
    unsigned i = store_bucket(s, command->bucket);
    if (s->score[i] != 0 && command->number <= s->score[i])
        return;
    s->score[i] = command->number;
    vote->kind = VOTE_YES;
}

/* ---- <prefix>,group ---- */

static bool group_there(const struct store *s, int64_t now_ms)
{
    return s->group.kind != STORE_GROUP_NONE && now_ms <= s->group.expires_ms;
}

static void store_group(struct store *s, int64_t now_ms, const struct store_command *command,
                        struct vote *vote)
{
    if (!group_there(s, now_ms))
        return;
    if (command->verb == COMMAND_PROBE)
        s->group.expires_ms = now_ms + (int64_t)command->number;
    vote->kind = VOTE_UNREADABLE;
    if (s->group.kind == STORE_GROUP_RUBBISH)
        return;
    vote->kind = VOTE_GROUP;
    vote->group = s->group.group;
}

static void store_group_set(struct store *s, int64_t now_ms, const struct store_command *command,
                            struct vote *vote)
{
    enum command_verb verb = command->verb;
    if (group_there(s, now_ms) == (verb == COMMAND_GROUP_NEW))
        return;
    s->group = (struct store_group){
        .kind = STORE_GROUP_OURS, .expires_ms = now_ms + (int64_t)command->number, .group = command->group};
    vote->kind = VOTE_YES;
}

/* ---- locks ---- */

/* A time in the past sets nothing, and yet the answer is OK. */
static void store_set(struct store_key *key, int64_t now_ms, const struct store_command *command,
                      struct vote *vote)
{
    bool from_now = command->verb == COMMAND_SET || store_mutant == MUTANT_HEAL_BY_PX;
    if (is_there(key, now_ms))
        return;
    key_set(key, command->tok, (from_now ? now_ms : 0) + (int64_t)command->number);
    vote->kind = VOTE_YES;
}

static void store_get(const struct store_key *key, int64_t now_ms, struct vote *vote)
{
    if (!is_there(key, now_ms))
        return;
    vote->kind = VOTE_TOKEN;
    vote->number = key->tok;
}

static void store_release(struct store *s, int64_t now_ms, const struct store_command *command,
                          struct vote *vote)
{
    struct store_key *key = &s->key[command->name];
    const struct store_key *want = &s->want[command->name];
    if (!is_there(key, now_ms) || (key->tok != command->tok && store_mutant != MUTANT_PLAIN_DEL))
        return;
    key->there = false;
    bool wanted = command->to != 0 && is_there(want, now_ms) && want->tok != command->to;
    vote->kind = wanted ? VOTE_WANTED : VOTE_YES;
}

static void store_extend(struct store_key *key, int64_t now_ms, const struct store_command *command,
                         struct vote *vote)
{
    bool there = is_there(key, now_ms);
    if (!there && store_mutant == MUTANT_EXTEND_RESURRECTS) {
        key_set(key, command->tok, now_ms + (int64_t)command->number);
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

static void store_check(const struct store_key *key, int64_t now_ms, const struct store_command *command,
                        struct vote *vote)
{
    if (!is_there(key, now_ms) || key->tok != command->tok)
        return;
    vote->kind = VOTE_NUMBER;
    vote->number = (uint64_t)(key->expires_ms - now_ms);
}

static void store_move(struct store_key *key, int64_t now_ms, const struct store_command *command,
                       struct vote *vote)
{
    if (!is_there(key, now_ms) || (key->tok != command->tok && store_mutant != MUTANT_MOVE_NO_COMPARE))
        return;
    key->tok = command->to;
    vote->kind = VOTE_YES;
}

void store_run(struct store *s, int64_t now_ms, const struct store_command *command, struct vote *vote)
{
    struct store_key *key = &s->key[command->name];
    *vote = (struct vote){.kind = VOTE_NO};
    switch (command->verb) {
    case COMMAND_TIME: *vote = (struct vote){.kind = VOTE_NUMBER, .number = (uint64_t)now_ms}; return;
    case COMMAND_GROUP:
    case COMMAND_PROBE: store_group(s, now_ms, command, vote); return;
    case COMMAND_GROUP_SET:
    case COMMAND_GROUP_NEW: store_group_set(s, now_ms, command, vote); return;
    case COMMAND_SET:
    case COMMAND_HEAL: store_set(key, now_ms, command, vote); return;
    case COMMAND_GET: store_get(key, now_ms, vote); return;
    case COMMAND_ZADD: store_zadd(s, command, vote); return;
    case COMMAND_ZSCORE:
        vote->kind = VOTE_NUMBER;
        vote->number = s->score[store_bucket(s, command->bucket)];
        return;
    case COMMAND_WANT:
        key_set(&s->want[command->name], command->to, now_ms + (int64_t)command->number);
        vote->kind = VOTE_YES;
        return;
    case COMMAND_RELEASE: store_release(s, now_ms, command, vote); return;
    case COMMAND_EXTEND: store_extend(key, now_ms, command, vote); return;
    case COMMAND_CHECK: store_check(key, now_ms, command, vote); return;
    case COMMAND_MOVE: store_move(key, now_ms, command, vote); return;
    default: assert(false && "not a command for the store");
    }
}

/* ---- a server that refuses ---- */

static bool script_writes(const struct store *s, int64_t now_ms, const struct store_command *command)
{
    const struct store_key *key = &s->key[command->name];
    bool ours = is_there(key, now_ms) && key->tok == command->tok;
    return ours && (command->verb != COMMAND_EXTEND || now_ms + (int64_t)command->number > key->expires_ms);
}

bool store_refuses(const struct store *s, int64_t now_ms, const struct store_command *command,
                   enum vote_error error)
{
    enum command_verb verb = command->verb;
    bool asks = verb <= COMMAND_TIME;
    bool writes = false, grows = false;
    switch (verb) {
    case COMMAND_GROUP_SET:
    case COMMAND_GROUP_NEW:
    case COMMAND_SET:
    case COMMAND_HEAL:
    case COMMAND_ZADD:
    case COMMAND_WANT: writes = grows = true; break;
    case COMMAND_PROBE: writes = true; break; /* GETEX is a write, though it needs no memory */
    case COMMAND_RELEASE:
    case COMMAND_EXTEND: writes = script_writes(s, now_ms, command); break;
    case COMMAND_MOVE: writes = grows = script_writes(s, now_ms, command); break;
    default: break;
    }
    switch (error) {
    case ERROR_BUSY: return true;
    case ERROR_OOM: return grows;
    case ERROR_READONLY:
    case ERROR_MISCONF:
    case ERROR_NOREPLICAS: return writes;
    default: return !asks; /* LOADING */
    }
}
