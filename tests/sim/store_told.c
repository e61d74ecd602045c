/* What holders tell: <prefix>,data:<name>, and the script that alone writes it. */
#include "tests/sim/store_told.h"

#include "proto/names.h"
#include "tests/sim/mutant.h"
#include "tests/sim/store_queue.h"

static bool is_holder(const struct store *s, int64_t now_ms, const struct store_command *command)
{
    const struct store_key *key = store_key(s, command->name, 0);
    return store_there(key, now_ms) && key->readers == 0 && key->list == 0 && key->tok == command->tok;
}

static bool is_adopted(const struct store *s, const struct store_command *command)
{
    const struct store_told *told = &s->told[command->name];
    return told->there && (told->tok == command->other || mutant(MUTANT_ADOPT_BLIND));
}

bool told_writes(const struct store *s, int64_t now_ms, const struct store_command *command)
{
    return is_holder(s, now_ms, command) && (command->verb == COMMAND_DATA || is_adopted(s, command));
}

void told_run(struct store *s, int64_t now_ms, const struct store_command *command, struct vote *vote)
{
    struct store_told *told = &s->told[command->name];
    if (!told_writes(s, now_ms, command))
        return;
    vote->kind = VOTE_YES;
    if (command->verb == COMMAND_DATA) {
        told->since_ms = command->waited_ms;
        data_copy(&told->data, &command->data);
    } else {
        vote->kind = VOTE_DATA;
        vote->number = told->since_ms;
        data_copy(&vote->data, &told->data);
    }
    told->there = true;
    told->tok = command->tok;
    told->fence = command->number;
    told->expires_ms = store_key(s, command->name, 0)->expires_ms;
}

static bool has_slots_taken(const struct store *s, int64_t now_ms, unsigned name)
{
    unsigned slots = now_ms <= s->slots[name].expires_ms && s->slots[name].n != 0 ? s->slots[name].n : 64;
    for (unsigned i = 0; i < s->slot_keys; i++)
        if (s->slot[i].name == name && s->slot[i].slot <= slots && store_there(&s->slot[i].key, now_ms))
            return true;
    return false;
}

void told_see(const struct store *s, int64_t now_ms, const struct store_command *command,
              const struct publisher *to, struct vote *vote)
{
    const struct store_key *key = store_key(s, command->name, 0);
    const struct store_told *told = store_told(s, now_ms, command->name);
    vote->kind = VOTE_SEEN;
    vote->who.kind = SEEN_NOBODY;
    vote->who.fence = vote->who.ttl_ms = vote->who.data.len = 0;
    if (store_there(key, now_ms) && key->readers > 0) {
        vote->who.kind = SEEN_READERS;
    } else if (store_there(key, now_ms)) {
        vote->who.kind = SEEN_TOKEN;
        vote->number = key->tok;
        vote->who.ttl_ms = (uint64_t)(key->expires_ms - now_ms);
        if (key->maker != command->self && to->publish != NULL)
            to->publish(to->arg, key->maker, 'v', command->name, command->self);
    } else if (has_slots_taken(s, now_ms, command->name)) {
        vote->who.kind = SEEN_SLOTS;
    }
    if (told == NULL || vote->who.kind != SEEN_TOKEN || key->list != 0)
        return;
    vote->who.fence = told->fence;
    data_copy(&vote->who.data, &told->data);
}

const struct store_told *store_told(const struct store *s, int64_t now_ms, unsigned name)
{
    const struct store_told *told = &s->told[name];
    const struct store_key *key = store_key(s, name, 0);
    bool there = told->there && now_ms <= told->expires_ms && store_there(key, now_ms) && key->readers == 0;
    return there && key->tok == told->tok ? told : NULL;
}
