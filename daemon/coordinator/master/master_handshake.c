/* The handshake: which server is this, and may it be used at all? CLIENT ID (but not with no_kill), INFO, TIME
 * and the group's key are asked in one go, on every new connection before anything else, and again while a master is refused.
 * The answer about the group's key arrives last, and decides. */
#include <string.h>

#include "daemon/coordinator/master/master_private.h"
#include "daemon/coordinator/master/native.h"
#include "daemon/coordinator/master/trial.h"

enum { VERSION_6_2 = 0x060200, POLICY_MS = 60000 };

static void handshake_ask(struct coordinator *c, struct master *m, enum command_verb verb)
{
    master_ask(c, m, &(struct command){.verb = verb});
}

/* The group's key is asked for by a command that counts as a write, so that a master that refuses writes is
 * found; but its TTL stays, since N or max_ttl are changed by letting the key expire. */
void handshake_begin(struct coordinator *c, struct master *m)
{
    m->handshake.asking = true;
    m->handshake.has_info = false;
    m->handshake.waiting = m->handshake.agreed = m->handshake.writing = m->handshake.read_back = false;
    m->handshake.refusal = WHY_NONE;
    m->handshake.lacks = LACKING_NOTHING;
    m->info_ms = c->now_ms;
    if (m->client_id == 0 && !master_is_unkillable(c, m))
        handshake_ask(c, m, COMMAND_CLIENT_ID);
    handshake_ask(c, m, COMMAND_INFO);
    try_ask(c, m);
    native_ask(c, m);
    trial_ask_time(c, m);
    handshake_ask(c, m, COMMAND_GROUP);
}

enum master_why why_of_error(enum vote_error error)
{
    switch (error) {
    case ERROR_LOADING: return WHY_LOADING;
    case ERROR_BUSY: return WHY_BUSY;
    case ERROR_MISCONF: return WHY_MISCONF;
    case ERROR_NOREPLICAS: return WHY_NOREPLICAS;
    case ERROR_READONLY: return WHY_REPLICA;
    case ERROR_OOM: return WHY_OOM;
    default: return WHY_NOPERM;
    }
}

static bool is_duplicate(const struct coordinator *c, const struct master *m, const struct master_info *info)
{
    for (unsigned i = 0; i < c->config.masters; i++) {
        const struct master *other = &c->masters[i];
        bool in_use =
            other->state == MASTER_KILLING || (c->releasers & masters_bit(i)) || other->handshake.waiting;
        if (other != m && other->known && in_use && memcmp(other->run_id, info->run_id, RUN_ID_HEX) == 0)
            return true;
    }
    return false;
}

static enum master_why why_refused(const struct coordinator *c, const struct master *m,
                                   const struct master_info *info)
{
    if (m->client_id == 0 && !master_is_unkillable(c, m)) /* the connection could not be killed later */
        return WHY_NOPERM;
    if (info->replica)
        return WHY_REPLICA;
    if (info->loading)
        return WHY_LOADING;
    return is_duplicate(c, m, info) ? WHY_DUPLICATE : WHY_NONE;
}

static void told_info(struct master *m, const struct vote *vote)
{
    m->handshake.has_info = vote->kind == VOTE_INFO;
    if (!m->handshake.has_info)
        return;
    m->handshake.info = vote->info;
    if (m->handshake.info.replica) /* noted even if the master is refused for another reason */
        m->memory.was_replica = true;
}

/* A server of another kind, which refuses other questions for that reason. */
static enum master_why why_of_kind(const struct master_info *info)
{
    if (info->cluster)
        return WHY_CLUSTER;
    return info->version < VERSION_6_2 ? WHY_VERSION : WHY_NONE;
}

static void handshake_decide(struct coordinator *c, struct master *m, const struct vote *group)
{
    m->handshake.asking = false;
    enum master_why why = WHY_NONE;
    if (m->handshake.has_info)
        why = why_of_kind(&m->handshake.info);
    if (why == WHY_NONE)
        why = m->handshake.refusal;
    if (why == WHY_NONE)
        why = m->handshake.has_info ? why_refused(c, m, &m->handshake.info) : WHY_NOPERM;
    if (why != WHY_NONE && m->handshake.has_info && group->kind != VOTE_ERROR)
        doubt_note_amiss(c, m, group); /* the next handshake may find the key gone, or written anew */
    if (why != WHY_NONE)
        master_exclude(c, m, why);
    else if (m->handshake.not_loaded != 0)
        handshake_begin(c, m); /* the script is there by now */
    else
        memory_judge(c, m, group);
}

enum lacking handshake_lacking(enum command_verb verb)
{
    switch (verb) {
    case COMMAND_CLIENT_ID: return LACKING_CLIENT_ID;
    case COMMAND_INFO: return LACKING_INFO;
    case COMMAND_TIME: return LACKING_TIME;
    case COMMAND_TRY: return LACKING_EVALSHA;
    default: return LACKING_GETEX;
    }
}

void handshake_told(struct coordinator *c, struct master *m, enum command_verb verb, const struct vote *vote)
{
    bool error = vote->kind == VOTE_ERROR, tries = verb == COMMAND_TRY;
    enum master_why why = tries ? try_told(m, vote) : WHY_NONE;
    /* A missing client id is found by why_refused(). A full memory refuses TRY, but not what follows. */
    if (error && why == WHY_NONE && verb != COMMAND_CLIENT_ID && !(tries && vote->error == ERROR_OOM))
        why = why_of_error(vote->error);
    if (error && m->handshake.lacks == LACKING_NOTHING) /* shown only if that is the reason */
        m->handshake.lacks = handshake_lacking(verb);
    if (m->handshake.refusal == WHY_NONE)
        m->handshake.refusal = why;
    if (verb == COMMAND_CLIENT_ID && vote->kind == VOTE_NUMBER)
        m->client_id = vote->number;
    else if (verb == COMMAND_INFO)
        told_info(m, vote);
    else if (verb == COMMAND_GROUP)
        handshake_decide(c, m, vote);
}

/* ---- in service ---- */

/* An operator may set another maxmemory-policy while the master serves. INFO is dear, so it is rarely asked for. */
void policy_ask(struct coordinator *c, struct master *m)
{
    if (c->now_ms - m->info_ms < POLICY_MS)
        return;
    m->info_ms = c->now_ms;
    handshake_ask(c, m, COMMAND_INFO);
    native_ask_denied(c, m);
}

void policy_told(struct master *m, const struct vote *vote)
{
    if (vote->kind != VOTE_INFO)
        return;
    m->changes += m->evicts != vote->info.evicts;
    m->evicts = vote->info.evicts;
}
