/* The handshake tries what this daemon relies on: EVALSHA, and what the scripts for exclusive locks call. Without
 * one of these a master would grant locks that can be neither renewed nor given back. A full memory, a replica, a
 * script that runs without end and the like prove nothing: after OOM, which ends no handshake, each probe tries
 * again. What else is missing (for the queue, readers, WHO ...) shows when it is needed, and costs only that. */
#include "daemon/coordinator/master/master_private.h"

enum { TRIES_IN_A_ROW = 3 /* while the server loads the script */ };

void try_ask(struct coordinator *c, struct master *m)
{
    m->handshake.untried = true;
    action_send(c, masters_bit(m->index), &(struct command){.verb = COMMAND_TRY, .to = c->config.self});
}

/* Returns whether the answer proves something. */
static bool proves(const struct vote *vote)
{
    if (vote->kind != VOTE_ERROR)
        return vote->kind != VOTE_NOT_RUN;
    return vote->error == ERROR_OTHER || vote->error == ERROR_NOPERM || vote->error == ERROR_NOAUTH ||
           vote->error == ERROR_WRONGTYPE;
}

enum master_why try_told(struct master *m, const struct vote *vote)
{
    m->handshake.not_loaded = vote->kind == VOTE_NOT_RUN ? m->handshake.not_loaded + 1 : 0;
    if (!proves(vote) && m->handshake.not_loaded <= TRIES_IN_A_ROW)
        return WHY_NONE;
    m->handshake.untried = false;
    if (vote->kind == VOTE_YES)
        return WHY_NONE;
    bool named = vote->kind == VOTE_NO && vote->number < LACKINGS;
    m->handshake.lacks = named ? (enum lacking)vote->number : LACKING_EVALSHA;
    return vote->kind == VOTE_ERROR && vote->error != ERROR_OTHER ? WHY_NOPERM : WHY_NOSCRIPT;
}
