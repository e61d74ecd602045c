#include "daemon/coordinator/master/native.h"

static const struct {
    enum command_verb question, native;
} natives[NATIVES] = {
#define NATIVE(name, form, vote, words) {COMMAND_TRY_##form, COMMAND_##name##_##form},
#include "proto/command.def"
};

static void set(struct coordinator *c, const struct master *m, enum command_verb native, bool knows)
{
    masters_t *set = &c->natives[native - (COMMAND_VERBS - NATIVES)], bit = masters_bit(m->index);
    *set = knows ? (masters_t)(*set | bit) : masters_without(*set, bit);
}

void native_ask(struct coordinator *c, struct master *m)
{
    if (c->config.by_script)
        return;
    for (unsigned i = 0; i < NATIVES; i++)
        action_send(c, masters_bit(m->index),
                    &(struct command){.verb = natives[i].question, .to = c->config.self});
}

void native_told(struct coordinator *c, struct master *m, enum command_verb verb, const struct vote *vote)
{
    for (unsigned i = 0; i < NATIVES; i++)
        if (natives[i].question == verb)
            set(c, m, natives[i].native, vote->kind == VOTE_YES || vote->kind == VOTE_NO);
}

/* Errors that say nothing of the command, such as READONLY, would be the script's answer, too. Where a value is
 * compared, a key of another type (readers have the name) says nothing of the next key. */
bool native_refused(struct coordinator *c, struct master *m, enum command_verb verb, const struct vote *vote)
{
    if (vote->kind != VOTE_ERROR)
        return false;
    bool of_key = vote->error == ERROR_WRONGTYPE && verb != COMMAND_SET_MSETEX;
    bool lacks = vote->error == ERROR_OTHER || vote->error == ERROR_NOPERM || vote->error == ERROR_NOAUTH ||
                 vote->error == ERROR_WRONGTYPE;
    if (lacks && !of_key)
        set(c, m, verb, false);
    return lacks;
}

void native_forget(struct coordinator *c, struct master *m)
{
    for (unsigned i = 0; i < NATIVES; i++)
        set(c, m, natives[i].native, false);
}
