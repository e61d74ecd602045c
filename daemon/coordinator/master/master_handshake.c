/* The handshake: which server is this, and may it be used at all? CLIENT ID (but not with no_kill), INFO, TIME
 * and the group's key are asked in one go, on every new connection before anything else, and again while a master is refused.
 * The answer about the group's key arrives last, and decides. */
#include <string.h>

#include "daemon/coordinator/master/master_private.h"
#include "daemon/coordinator/master/trial.h"

enum { VERSION_6_2 = 0x060200 };

static void handshake_ask(struct coordinator *c, struct master *m, enum command_verb verb)
{
    master_ask(c, m, &(struct command){.verb = verb});
}

static void ask_all(struct coordinator *c, struct master *m)
{
    m->handshake.asking = true;
    m->handshake.has_info = false;
    m->handshake.waiting = false;
    m->handshake.refusal = WHY_NONE;
    if (m->client_id == 0 && !master_is_unkillable(c, m))
        handshake_ask(c, m, COMMAND_CLIENT_ID);
    handshake_ask(c, m, COMMAND_INFO);
    trial_ask_time(c, m);
}

void handshake_begin(struct coordinator *c, struct master *m)
{
    ask_all(c, m);
    handshake_ask(c, m, COMMAND_GROUP);
}

/* A master that refused writes is asked with a PROBE, because only a write shows whether it takes writes
 * again. Other refused masters are asked with a read, which does not renew the group's key: N or max_ttl
 * are changed by letting the key expire. */
void handshake_again(struct coordinator *c, struct master *m)
{
    bool refused_writes = m->why == WHY_MISCONF || m->why == WHY_NOREPLICAS;
    ask_all(c, m);
    if (refused_writes)
        master_ask(c, m, &(struct command){.verb = COMMAND_PROBE, .number = (uint64_t)master_group_px_ms(c)});
    else
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
    if (info->cluster)
        return WHY_CLUSTER;
    if (info->version < VERSION_6_2)
        return WHY_VERSION;
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

static void handshake_decide(struct coordinator *c, struct master *m, const struct vote *group)
{
    m->handshake.asking = false;
    enum master_why why = m->handshake.refusal;
    if (why == WHY_NONE && !m->handshake.has_info)
        why = WHY_NOPERM;
    if (why == WHY_NONE)
        why = why_refused(c, m, &m->handshake.info);
    if (why == WHY_NONE)
        memory_judge(c, m, group);
    else
        master_exclude(c, m, why);
}

void handshake_told(struct coordinator *c, struct master *m, enum command_verb verb, const struct vote *vote)
{
    bool error = vote->kind == VOTE_ERROR;
    /* A missing client id is found by why_refused(). */
    if (error && m->handshake.refusal == WHY_NONE && verb != COMMAND_CLIENT_ID)
        m->handshake.refusal = why_of_error(vote->error);
    if (verb == COMMAND_CLIENT_ID && vote->kind == VOTE_NUMBER)
        m->client_id = vote->number;
    else if (verb == COMMAND_INFO)
        told_info(m, vote);
    else if (verb == COMMAND_GROUP || verb == COMMAND_PROBE)
        handshake_decide(c, m, vote);
}
