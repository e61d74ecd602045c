#include "tests/sim/store.h"

#include <assert.h>
#include <stddef.h>

#include "tests/group_model.h"
#include "tests/sim/mutant.h"
#include "tests/sim/store_queue.h"
#include "tests/sim/store_readers.h"
#include "tests/sim/store_told.h"

enum mutant mutant_active = MUTANT_NONE;
bool (*store_made)(uint32_t tok);
bool (*store_marks)(uint32_t tok);

/* The token, or the other one of a lease that settles. */
static bool is_ours(const struct store_key *key, const struct store_command *command)
{
    if (key->list != 0)
        return false;
    return key->tok == command->tok || (command->other != 0 && key->tok == command->other) ||
           (command->third != 0 && key->tok == command->third);
}

static void key_set(struct store_key *key, const struct store_command *command, int64_t expires_ms)
{
    key->there = true;
    key->readers = key->list = 0;
    key->tok = command->tok;
    key->maker = command->maker;
    key->expires_ms = expires_ms;
}

uint32_t store_id(const struct token *token)
{
    uint32_t id = 0;
    for (unsigned i = 0; i < TOKEN_ID_BYTES; i++)
        id = id << 8 | token->bytes[i];
    return id;
}

/* ---- <prefix>,fences ---- */

/* NULL: it has none, and there is no room for more. */
static uint64_t *score_of(struct store *s, uint32_t bucket)
{
    for (unsigned i = 0; i < s->buckets; i++) {
        if (s->bucket[i] == bucket)
            return &s->score[i];
    }
    if (s->buckets == STORE_BUCKETS)
        return NULL;
    s->bucket[s->buckets] = bucket;
    s->score[s->buckets] = 0;
    return &s->score[s->buckets++];
}

enum vote_kind store_raise(struct store *s, uint32_t bucket, uint64_t score)
{
    uint64_t *highest = score_of(s, bucket);
    if (highest == NULL)
        return VOTE_ERROR;
    if (*highest != 0 && score <= *highest)
        return VOTE_NO;
    *highest = score;
    return VOTE_YES;
}

uint64_t store_score(struct store *s, uint32_t bucket)
{
    const uint64_t *highest = score_of(s, bucket);
    return highest != NULL ? *highest : 0;
}

static void store_zadd(struct store *s, const struct store_command *command, struct vote *vote)
{
    vote->kind = store_raise(s, command->bucket, command->number);
    vote->error = ERROR_OOM;
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
    if (command->verb == COMMAND_PROBE_LASTING)
        s->group.expires_ms = INT64_MAX;
    vote->kind = VOTE_UNREADABLE;
    if (s->group.kind == STORE_GROUP_RUBBISH)
        return;
    vote->kind = VOTE_GROUP;
    vote->group = s->group.group;
}

/* Whether the script writes, and what. */
static bool group_written(const struct store *s, int64_t now_ms, const struct store_command *command,
                          struct group *written)
{
    bool there = group_there(s, now_ms);
    *written = command->group;
    if (there && s->group.kind == STORE_GROUP_RUBBISH)
        return false;
    if (mutant(MUTANT_STEP_LOWERED) && there && s->group.group.step > written->step)
        return true;
    if (!group_model_writes(command->verb, there, &s->group.group, written, (int64_t)command->waited_ms,
                            now_ms))
        return false;
    if (mutant(MUTANT_FROM_LOWERED) && written->back_ms != 0) {
        written->from_ms = written->back_ms + (int64_t)command->waited_ms;
        written->back_ms = 0;
    }
    return true;
}

static void store_group_set(struct store *s, int64_t now_ms, const struct store_command *command,
                            struct vote *vote)
{
    struct group written;
    if (!group_written(s, now_ms, command, &written))
        return;
    int64_t expires_ms = command->number != 0 ? now_ms + (int64_t)command->number : INT64_MAX;
    s->group = (struct store_group){.kind = STORE_GROUP_OURS, .expires_ms = expires_ms, .group = written};
    vote->kind = VOTE_YES;
}

/* ---- locks ---- */

/* A time in the past sets nothing, and yet the answer is OK. */
static void store_set(struct store_key *key, int64_t now_ms, const struct store_command *command,
                      struct vote *vote)
{
    bool from_now = command->verb == COMMAND_SET || mutant(MUTANT_HEAL_BY_PX);
    if (store_there(key, now_ms) && !(mutant(MUTANT_SHARE_OVER) && key->readers > 0))
        return;
    key_set(key, command, (from_now ? now_ms : 0) + (int64_t)command->number);
    vote->kind = VOTE_YES;
}

static void store_get(const struct store_key *key, int64_t now_ms, struct vote *vote)
{
    if (!store_there(key, now_ms))
        return;
    vote->kind = VOTE_TOKEN;
    vote->number = key->readers > 0 ? 0 : key->tok;
}

static void store_release(struct store *s, struct store_key *key, int64_t now_ms,
                          const struct store_command *command, const struct publisher *to, struct vote *vote)
{
    if (readers_have(key, now_ms)) {
        readers_over(key, now_ms);
        if (!readers_leave(key, command->tok))
            return;
        vote->kind = VOTE_YES;
        queue_letter(command, to, command->maker);
        if (key->there)
            return;
    } else if (!store_there(key, now_ms) || (!is_ours(key, command) && !mutant(MUTANT_PLAIN_DEL)))
        return;
    else
        queue_letter(command, to, key->maker);
    key->there = false;
    key->readers = 0;
    vote->kind = VOTE_YES;
    if (command->self == 0)
        return;
    queue_released(s, now_ms, command, to, vote);
}

static void store_extend(struct store_key *key, int64_t now_ms, const struct store_command *command,
                         struct vote *vote)
{
    bool there = store_there(key, now_ms);
    if (readers_have(key, now_ms)) {
        readers_extend(key, now_ms, command, vote);
        return;
    }
    if (!there && mutant(MUTANT_EXTEND_RESURRECTS)) {
        key_set(key, command, now_ms + (int64_t)command->number);
        there = true;
    }
    if (!there || ((key->tok != command->tok || key->list != 0) && !mutant(MUTANT_EXTEND_NO_COMPARE)))
        return;
    int64_t wanted_ms = now_ms + (int64_t)command->number;
    if (wanted_ms > key->expires_ms || mutant(MUTANT_EXTEND_SHORTENS))
        key->expires_ms = wanted_ms;
    else if (command->most_ms != 0 && key->expires_ms > now_ms + (int64_t)command->most_ms)
        key->expires_ms = now_ms + (int64_t)command->most_ms;
    vote->kind = VOTE_NUMBER;
    vote->number = (uint64_t)(key->expires_ms - now_ms);
}

unsigned store_cut(struct store_key *key, int64_t now_ms, int64_t most_ms)
{
    if (readers_have(key, now_ms))
        return readers_cut(key, now_ms + most_ms);
    bool made = (store_made == NULL || store_made(key->tok)) && !queue_is_kept(key);
    if (!store_there(key, now_ms) || key->expires_ms <= now_ms + most_ms || !made)
        return 0;
    key->expires_ms = now_ms + most_ms;
    return 1;
}

static void store_cuts(struct store *s, int64_t now_ms, const struct store_command *command,
                       struct vote *vote)
{
    int64_t most_ms = (int64_t)command->number;
    vote->kind = VOTE_NUMBER;
    if (command->slots == 0)
        vote->number = store_cut(&s->key[command->name], now_ms, most_ms);
    for (unsigned i = 0; i < s->slot_keys; i++)
        if (s->slot[i].name == command->name && s->slot[i].slot <= command->slots)
            vote->number += store_cut(&s->slot[i].key, now_ms, most_ms);
}

static void store_check(const struct store_key *key, int64_t now_ms, const struct store_command *command,
                        struct vote *vote)
{
    const struct store_reader *reader = readers_find(key, now_ms, command->tok);
    if (readers_have(key, now_ms) && reader != NULL) {
        vote->kind = VOTE_NUMBER;
        vote->number = (uint64_t)(reader->ends_ms - now_ms);
    }
    if (!store_there(key, now_ms) || key->readers > 0 || key->tok != command->tok || key->list != 0)
        return;
    vote->kind = VOTE_NUMBER;
    vote->number = (uint64_t)(key->expires_ms - now_ms);
}

static void store_move(struct store_key *key, int64_t now_ms, const struct store_command *command,
                       struct vote *vote)
{
    const struct store_reader *reader = readers_find(key, now_ms, command->tok);
    if (readers_have(key, now_ms)) {
        if (reader == NULL)
            return;
        int64_t ends_ms = reader->ends_ms, expires_ms = key->expires_ms;
        unsigned at = (unsigned)(reader - key->reader);
        if (readers_find(key, now_ms, command->to) != NULL) {
            readers_join(key, command->to, command->to_maker, ends_ms);
            readers_out(key, at);
        } else {
            key->reader[at] = (struct store_reader){command->to, command->to_maker, ends_ms};
        }
        key->expires_ms = expires_ms;
        vote->kind = VOTE_YES;
        return;
    }
    if (!store_there(key, now_ms) || (!is_ours(key, command) && !mutant(MUTANT_MOVE_NO_COMPARE)))
        return;
    key->tok = command->to;
    key->maker = command->to_maker;
    vote->kind = VOTE_YES;
}

static void store_settle(struct store_key *key, int64_t now_ms, const struct store_command *command,
                         struct vote *vote)
{
    bool secret = key->tok == command->tok;
    if (!store_there(key, now_ms) || key->readers > 0 || (!secret && key->tok != command->to) ||
        key->list != 0)
        return;
    if (secret && mutant(MUTANT_SETTLE_BLIND))
        return;
    key->tok = command->to;
    key->maker = command->to_maker;
    if (now_ms + (int64_t)command->number > key->expires_ms)
        key->expires_ms = now_ms + (int64_t)command->number;
    vote->kind = VOTE_NUMBER;
    vote->number = (uint64_t)(key->expires_ms - now_ms);
}

static void store_down(struct store_key *key, int64_t now_ms, const struct store_command *command,
                       struct vote *vote)
{
    struct store_command extend = *command;
    int64_t ends_ms = now_ms + (int64_t)command->number;
    extend.verb = COMMAND_EXTEND;
    extend.most_ms = 0;
    extend.tok = command->to;
    extend.maker = command->to_maker;
    if (readers_have(key, now_ms)) {
        readers_extend(key, now_ms, &extend, vote);
        return;
    }
    if (!store_there(key, now_ms) || (!is_ours(key, command) && !mutant(MUTANT_DOWN_BLIND)))
        return;
    key->readers = 0;
    readers_join(key, command->to, command->to_maker, ends_ms > key->expires_ms ? ends_ms : key->expires_ms);
    vote->kind = VOTE_NUMBER;
    vote->number = (uint64_t)(key->expires_ms - now_ms);
    if (mutant(MUTANT_DOWN_NO_TTL))
        key->expires_ms = INT64_MAX;
}

/* Commands for the key of a name, or of a slot. */
static void run_key(struct store *s, int64_t now_ms, const struct store_command *command,
                    const struct publisher *to, struct vote *vote)
{
    struct store_key *key = store_place(s, now_ms, command->name, command->slot);
    if (key == NULL) {
        if (command->verb == COMMAND_SET || command->verb == COMMAND_HEAL)
            *vote = (struct vote){.kind = VOTE_ERROR, .error = ERROR_OOM};
        return;
    }
    if (store_native(key, now_ms, command, vote))
        return;
    switch (command->verb) {
    case COMMAND_SET:
    case COMMAND_HEAL: store_set(key, now_ms, command, vote); return;
    case COMMAND_GET: store_get(key, now_ms, vote); return;
    case COMMAND_RELEASE: store_release(s, key, now_ms, command, to, vote); return;
    case COMMAND_EXTEND: store_extend(key, now_ms, command, vote); return;
    case COMMAND_CHECK: store_check(key, now_ms, command, vote); return;
    case COMMAND_MOVE: store_move(key, now_ms, command, vote); return;
    case COMMAND_SETTLE: store_settle(key, now_ms, command, vote); return;
    case COMMAND_DOWN: store_down(key, now_ms, command, vote); return;
    default: assert(false && "not a command for the store");
    }
}

void store_run(struct store *s, int64_t now_ms, const struct store_command *command, store_publish *publish,
               void *arg, struct vote *vote)
{
    const struct publisher to = {publish, arg};
    *vote = (struct vote){.kind = VOTE_NO};
    store_expire(s, now_ms, command->name);
    if (command->name & SIM_LIST) {
        store_run_list(s, now_ms, command, &to, vote);
        if (command->native == COMMAND_SET_MSETEX)
            vote->number = LIST_NAMES; /* it names no key */
        return;
    }
    switch (command->verb) {
    case COMMAND_TRY: vote->kind = VOTE_YES; return;
    case COMMAND_TRY_DELEX:
    case COMMAND_TRY_DELIFEQ:
    case COMMAND_TRY_IFEQ:
    case COMMAND_TRY_MSETEX: return; /* the key is not there */
    case COMMAND_TIME: *vote = (struct vote){.kind = VOTE_NUMBER, .number = (uint64_t)now_ms}; return;
    case COMMAND_GROUP:
    case COMMAND_PROBE:
    case COMMAND_PROBE_LASTING: store_group(s, now_ms, command, vote); return;
    case COMMAND_GROUP_SET:
    case COMMAND_GROUP_NEW: store_group_set(s, now_ms, command, vote); return;
    case COMMAND_ZADD: store_zadd(s, command, vote); return;
    case COMMAND_ZSCORE:
        vote->kind = VOTE_NUMBER;
        vote->number = store_score(s, command->bucket);
        return;
    case COMMAND_LETTER: queue_say(&to, command->self, 'g', command); return;
    case COMMAND_DEQUEUE: queue_dequeue(s, command, vote); return;
    case COMMAND_ENQUEUE: queue_enqueue(s, now_ms, command, &to, vote); return;
    case COMMAND_LOOK: queue_look(s, now_ms, command, &to, vote); return;
    case COMMAND_PASS: queue_pass(s, now_ms, command, &to, vote); return;
    case COMMAND_ALONG: queue_along(s, now_ms, command, &to, vote); return;
    case COMMAND_SHARE:
    case COMMAND_SHARE_AT: readers_share(s, now_ms, command, vote); return;
    case COMMAND_CUT: store_cuts(s, now_ms, command, vote); return;
    case COMMAND_SEE: told_see(s, now_ms, command, &to, vote); return;
    case COMMAND_NEWS: queue_say(&to, command->self, 'n', command); return;
    case COMMAND_DATA:
    case COMMAND_ADOPT: told_run(s, now_ms, command, vote); return;
    default: run_key(s, now_ms, command, &to, vote);
    }
}

/* ---- a server that refuses ---- */

static bool script_writes(const struct store *s, int64_t now_ms, const struct store_command *command)
{
    const struct store_key *key = store_key(s, command->name, command->slot);
    if (readers_have(key, now_ms))
        return readers_write(key, now_ms, command);
    bool settled = command->verb == COMMAND_SETTLE && key->list == 0 && key->tok == command->to;
    bool ours = is_ours(key, command) || settled;
    ours = ours && store_there(key, now_ms);
    return ours && (command->verb != COMMAND_EXTEND || now_ms + (int64_t)command->number > key->expires_ms);
}

bool store_refuses(const struct store *s, int64_t now_ms, const struct store_command *command,
                   enum vote_error error)
{
    enum command_verb verb = command->verb;
    bool asks = (verb <= COMMAND_TIME && (verb < COMMAND_TRY || verb == COMMAND_TIME)) ||
                verb == COMMAND_LETTER || verb == COMMAND_NEWS; /* PUBLISH */
    bool writes = false, grows = false;
    struct group group;
    if (error != ERROR_LOADING && error != ERROR_BUSY && store_native_refuses(command, error, &writes))
        return writes;
    if (command->name & SIM_LIST)
        writes = store_list_writes(s, now_ms, command, &grows);
    switch (command->name & SIM_LIST ? COMMAND_TIME : verb) {
    case COMMAND_GROUP_SET:
    case COMMAND_GROUP_NEW: writes = grows = group_written(s, now_ms, command, &group); break;
    case COMMAND_TRY:
    case COMMAND_SET:
    case COMMAND_HEAL:
    case COMMAND_ZADD:
    case COMMAND_LOOK:
    case COMMAND_ENQUEUE: writes = grows = true; break;
    case COMMAND_CUT:
    case COMMAND_DEQUEUE: writes = true; break;
    case COMMAND_ALONG:
    case COMMAND_PASS: writes = queue_writes(s, now_ms, command); break;
    case COMMAND_SHARE:
    case COMMAND_SHARE_AT:
        writes = readers_share_writes(s, now_ms, command, false);
        grows = readers_share_writes(s, now_ms, command, true);
        break;
    case COMMAND_GROUP:
    case COMMAND_PROBE:
    case COMMAND_PROBE_LASTING: writes = true; break; /* GETEX is a write, though it needs no memory */
    case COMMAND_RELEASE:
    case COMMAND_SETTLE: /* the script writes first what needs no memory */
    case COMMAND_DOWN:
    case COMMAND_EXTEND: writes = script_writes(s, now_ms, command); break;
    case COMMAND_DATA:
    case COMMAND_ADOPT: writes = grows = told_writes(s, now_ms, command); break;
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
