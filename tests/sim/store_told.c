/* What holders tell: <prefix>,data:<name>, and the script that alone writes it. */
#include "tests/sim/store_told.h"

#include "proto/names.h"
#include "tests/sim/mutant.h"

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

const struct store_told *store_told(const struct store *s, int64_t now_ms, unsigned name)
{
    const struct store_told *told = &s->told[name];
    const struct store_key *key = store_key(s, name, 0);
    bool there = told->there && now_ms <= told->expires_ms && store_there(key, now_ms) && key->readers == 0;
    return there && key->tok == told->tok ? told : NULL;
}
