#include "daemon/coordinator/master/native.h"

static void set_member(masters_t *set, masters_t bit, bool member)
{
    *set = member ? (masters_t)(*set | bit) : masters_without(*set, bit);
}

/* error: why it is not known; ERROR_OTHER also where nothing was asked. */
static void set(struct coordinator *c, struct master *m, unsigned i, bool knows, enum vote_error error)
{
    masters_t bit = masters_bit(m->index), before = c->natives_denied[i];
    set_member(&c->natives[i], bit, knows);
    set_member(&c->natives_denied[i], bit, !knows && error == ERROR_NOPERM);
    m->changes += before != c->natives_denied[i];
}

static void question(struct coordinator *c, const struct master *m, unsigned i)
{
    action_send(c, masters_bit(m->index),
                &(struct command){.verb = command_question(i), .to = c->config.self});
}

void native_ask(struct coordinator *c, struct master *m)
{
    for (unsigned i = 0; i < NATIVES && !c->config.by_script; i++)
        question(c, m, i);
}

void native_ask_denied(struct coordinator *c, struct master *m)
{
    for (unsigned i = 0; i < NATIVES; i++)
        if (c->natives_denied[i] & masters_bit(m->index))
            question(c, m, i);
}

void native_told(struct coordinator *c, struct master *m, enum command_verb verb, const struct vote *vote)
{
    for (unsigned i = 0; i < NATIVES; i++)
        if (command_question(i) == verb)
            set(c, m, i, vote->kind == VOTE_YES || vote->kind == VOTE_NO, vote->error);
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
        set(c, m, native_number(verb), false, vote->error);
    return lacks;
}

void native_forget(struct coordinator *c, struct master *m)
{
    for (unsigned i = 0; i < NATIVES; i++)
        set(c, m, i, false, ERROR_OTHER);
}
