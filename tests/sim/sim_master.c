/* A simulated master: a process that may hang, crash, lose its memory or refuse, around a store. */
#include <assert.h>
#include <string.h>

#include "daemon/coordinator/base/quorum.h"
#include "proto/names.h"
#include "tests/sim/sim.h"

static const int64_t LONG_AGO_US = INT64_C(1000000000);

int64_t master_young_us(const struct sim_master *m, int64_t full_us)
{
    return m->lost_us == NEVER ? NEVER : m->lost_us + full_us;
}

bool master_is_unkillable(const struct sim_world *w, const struct sim_master *m)
{
    return w->plan->param[P_NO_KILL] >> m->index & 1;
}

void master_loses(struct sim_world *w, struct sim_master *m, bool unseen)
{
    m->losses++;
    m->lost_us = w->now_us;
    m->forgot_us = m->wrote_us;
    m->unseen = unseen;
    for (unsigned i = 0; i < w->daemons; i++) {
        struct sim_node *node = &w->daemon[i].node[m->index];
        node->blind_before = node->blind;
        node->blind = node->unaware = unseen;
        node->suspect_us = 0;
        node->loss_behind_ms = node->time_behind_ms;
        node->loss_rtt_us = node->time_rtt_us;
        node->loss_in_quarantine =
            w->daemon[i].running && daemon_master_state(&w->daemon[i], m->index) == MASTER_QUARANTINE;
        node->group_before_us = node->group_us;
    }
    oracle_memory(w);
}

void master_forgets(struct sim_world *w, struct sim_master *m, bool by_clock)
{
    master_loses(w, m, true);
    if (!by_clock)
        m->held_us = w->now_us;
    queue_push(w, w->now_us + ORACLE_NOTICE_US, ITEM_NOTICED, m->index, m->losses, 0);
}

const struct store_key *master_key(const struct sim_master *m, unsigned name)
{
    return store_key(&m->store, key_base(name), key_slot(name));
}

void master_save(struct sim_world *w, struct sim_master *m)
{
    if (m->running && w->old_data)
        store_copy(&w->saved[m->index][m->saves++ % SNAPSHOTS], &m->store);
}

void master_restore(const struct sim_world *w, struct sim_master *m, unsigned back)
{
    bool there = back < SNAPSHOTS && back < m->saves;
    if (there)
        store_copy(&m->store, &w->saved[m->index][(m->saves - 1 - back) % SNAPSHOTS]);
    else
        store_clear(&m->store);
    m->restored = m->restored || there;
}

/* The master's data is empty, whole or old: the disk's data, or that of the server that is there now. */
static void master_load(struct sim_world *w, struct sim_master *m)
{
    bool old = m->crash == FAULT_CRASH_OLD || m->crash == FAULT_PROMOTE;
    if (m->crash != FAULT_CRASH_KEEP)
        master_restore(w, m, old && m->crash_arg_us >= 0 ? (unsigned)(m->crash_arg_us / 1000000) : SNAPSHOTS);
}

void master_start(struct sim_world *w, struct sim_master *m)
{
    master_load(w, m);
    m->running = true;
    m->started_us = w->now_us - (m->crash == FAULT_PROMOTE ? LONG_AGO_US : 0);
    m->next_client = 1;
    m->scripts = false;
    trace_add(w, TRACE_MASTER, m->index, m->epoch, m->crash == FAULT_CRASH_KEEP, 0, 0, 0, 0);
    m->lost_us = m->kept_us;
    if (w->plan->param[P_UNGUARDED] != 0 && m->crash == FAULT_CRASH_KEEP)
        return; /* daemons may rely on that */
    m->held_us = w->now_us;
    master_loses(w, m, m->crash == FAULT_PROMOTE);
}

void master_crash(struct sim_world *w, struct sim_master *m, const struct sim_record *fault)
{
    if (!m->running)
        return;
    m->running = false;
    m->crash = (enum fault_kind)fault->field[F_KIND];
    m->crash_arg_us = fault->field[F_ARG];
    m->epoch++;
    m->hung_until_us = 0;
    w->oracle.crashed_us = w->now_us;
    oracle_crashed(w, m);
    m->kept_us = m->lost_us;
    m->lost_us = NEVER; /* until the master starts again */
    for (uint32_t i = 0; i < w->conns; i++) {
        struct sim_conn *conn = &w->conn[i];
        if (conn->master != m->index || !conn->open_master)
            continue;
        conn->open_master = false;
        struct sim_msg closed = {.kind = MSG_CLOSED};
        link_send(w, i, DOWN, &closed);
    }
    queue_push(w, w->now_us + fault->field[F_FOR], ITEM_MASTER_BACK, m->index, 0, m->epoch);
}

static void master_kill(struct sim_world *w, struct sim_master *m, uint64_t client_id, uint32_t caller,
                        struct vote *vote)
{
    *vote = (struct vote){.kind = VOTE_NUMBER, .number = 0};
    for (uint32_t i = 0; i < w->conns; i++) {
        struct sim_conn *conn = &w->conn[i];
        if (conn->master != m->index || !conn->open_master || conn->client_id != client_id || i == caller)
            continue;
        conn->open_master = false;
        struct sim_msg closed = {.kind = MSG_CLOSED};
        link_send(w, i, DOWN, &closed);
        vote->number = 1;
        return;
    }
}

void master_run_id(const struct sim_world *w, unsigned master, uint32_t epoch, char run_id[RUN_ID_HEX])
{
    for (unsigned i = 0; i < RUN_ID_HEX; i++) {
        uint64_t h = chance(w->seed, master * 1000 + epoch, i, CHANCE_RUN_ID);
        run_id[i] = "0123456789abcdef"[h & 15];
    }
}

static void master_info(struct sim_world *w, const struct sim_master *m, struct vote *vote)
{
    /* Whole seconds of the master's own clock, as Redis counts them. */
    int64_t now_s = clock_us(&m->clock, w->now_us) / 1000000;
    int64_t start_s = clock_us(&m->clock, m->started_us) / 1000000;
    *vote = (struct vote){.kind = VOTE_INFO};
    vote->info.version = 0x07000f;
    vote->info.uptime_s = now_s - start_s;
    vote->info.replica = w->now_us < m->replica_until_us;
    vote->info.loading = w->now_us < m->error_until_us && m->error == ERROR_LOADING;
    vote->info.connections = m->next_client - 1;
    master_run_id(w, m->index, m->epoch, vote->info.run_id);
}

static bool is_script(unsigned verb, unsigned name)
{
    if (name & SIM_LIST)
        return verb != COMMAND_ZADD;
    return (verb >= COMMAND_ENQUEUE && verb <= COMMAND_SEE) || verb == COMMAND_GROUP_SET ||
           verb == COMMAND_GROUP_NEW || verb == COMMAND_TRY;
}

/* Whether the command needs one that the master does not have. Scripts that do not come to it still run. */
static bool master_lacks(const struct sim_master *m, int64_t now_ms, const struct store_command *command)
{
    switch (m->lacks) {
    case LACKS_GETEX: return command->verb == COMMAND_GROUP || command_is_probe(command->verb);
    case LACKS_EVALSHA: return is_script(command->verb, command->name);
    case LACKS_PEXPIRE:
        return (command->verb == COMMAND_EXTEND || command->verb == COMMAND_SETTLE ||
                command->verb == COMMAND_DOWN) &&
               store_refuses(&m->store, now_ms, command, ERROR_READONLY);
    default:
        return command->verb == COMMAND_RELEASE && store_refuses(&m->store, now_ms, command, ERROR_READONLY);
    }
}

/* The reason for which a command is not run; false: there is none. */
static bool master_refuses(const struct sim_world *w, const struct sim_master *m, int64_t now_ms,
                           const struct store_command *command, struct vote *vote)
{
    *vote = (struct vote){.kind = VOTE_ERROR};
    vote->error = ERROR_READONLY;
    if (w->now_us < m->replica_until_us && store_refuses(&m->store, now_ms, command, vote->error))
        return true;
    vote->error = m->error;
    if (w->now_us < m->error_until_us && store_refuses(&m->store, now_ms, command, vote->error))
        return true;
    vote->error = ERROR_OTHER;
    if (w->now_us < m->lacks_until_us && command->native == 0 && master_lacks(m, now_ms, command))
        return true;
    if (!native_is_known(w, m, command, vote))
        return true;
    vote->error = ERROR_OTHER;
    if (w->now_us < m->lacks_until_us && command->verb == COMMAND_TRY && m->lacks > LACKS_EVALSHA) {
        *vote = (struct vote){.kind = VOTE_NO, .number = LACKING_PEXPIRE};
        return true;
    }
    vote->error = ERROR_WRONGTYPE;
    return w->now_us < m->zadd_error_until_us && command->verb == COMMAND_ZADD;
}

/* Whether this answer makes a daemon believe that the master has a key or a fence. */
static bool is_counted_on(unsigned verb, const struct vote *vote)
{
    switch (verb) {
    case COMMAND_ZADD: return vote->kind != VOTE_ERROR; /* NO: it has a higher one */
    case COMMAND_SET:
    case COMMAND_SHARE:
    case COMMAND_SHARE_AT:
    case COMMAND_HEAL:
    case COMMAND_MOVE: return vote->kind == VOTE_YES;
    case COMMAND_EXTEND:
    case COMMAND_SETTLE:
    case COMMAND_DOWN:
    case COMMAND_CHECK: return vote->kind == VOTE_NUMBER;
    default: return false;
    }
}

/* Of each name of the list. */
static void buckets_of(struct store_command *command)
{
    command->bucket = 0;
    FOR_NAMES(n, command->name)
    {
        const struct name text = {.len = 2, .text = {'n', (char)('0' + n)}};
        command->buckets[command->bucket++] = quorum_bucket(&text);
    }
}

bool master_lies(const struct sim_world *w, const struct sim_master *m)
{
    return w->plan->param[P_LIAR] == 1 + (int64_t)m->index;
}

/* SET and the other commands of the store. The vote takes the place of what the message brings. */
static void master_stores(struct sim_world *w, struct sim_master *m, const struct sim_msg *msg,
                          struct vote *vote)
{
    int64_t now_ms = msg->clock_ms;
    struct store_command command = {.verb = msg->verb,
                                    .native = msg->native,
                                    .name = key_base(msg->name),
                                    .slot = key_slot(msg->name),
                                    .tok = msg->tok,
                                    .maker = store_id(&w->oracle.tok[msg->tok].token),
                                    .to = msg->to,
                                    .to_maker = store_id(&w->oracle.tok[msg->to].token),
                                    .other = msg->other,
                                    .third = msg->third,
                                    .self = msg->self,
                                    .waited_ms = msg->waited_ms,
                                    .stays = msg->stays,
                                    .shared = msg->shared,
                                    .slots = msg->slots,
                                    .most_ms = msg->most_ms,
                                    .bucket = msg->bucket,
                                    .number = msg->number};
    if (msg->verb == COMMAND_GROUP_SET || msg->verb == COMMAND_GROUP_NEW)
        command.group = msg->vote.group;
    if (msg->verb == COMMAND_DATA)
        data_copy(&command.data, &msg->vote.data);
    if (msg->name & SIM_LIST && (msg->verb == COMMAND_ZADD || msg->verb == COMMAND_ZSCORE))
        buckets_of(&command);
    bool script = is_script(msg->verb, msg->name) && msg->native == 0;
    if (script && !m->scripts)
        *vote = (struct vote){.kind = VOTE_NOT_RUN};
    else if (!master_refuses(w, m, now_ms, &command, vote))
        store_run(&m->store, now_ms, &command, ear_publish, &(struct ear_master){w, m}, vote);
    if (is_counted_on(msg->verb, vote))
        m->wrote_us = w->now_us;
    if (vote->kind == VOTE_SEEN && vote->who.kind == SEEN_TOKEN) {
        vote->who.token = w->oracle.tok[vote->number].token;
        if (master_lies(w, m)) {
            vote->who.fence = FENCE_MAX;
            vote->who.data = (struct data){.len = 1, .text = "0"};
        }
    }
    if (vote->kind == VOTE_TOKEN)
        vote->token = w->oracle.tok[vote->number].token;
}

static void master_command(struct sim_world *w, struct sim_master *m, struct sim_msg *msg)
{
    struct vote *vote = &msg->vote;
    const struct sim_conn *conn = &w->conn[msg->conn];
    msg->ran_us = w->now_us;
    msg->clock_ms = clock_ms(&m->clock, w->now_us);
    msg->jumps_ms = m->jumps_ms;
    msg->losses = m->losses;
    msg->lost_us = m->lost_us;
    msg->forgot_us = m->forgot_us;
    msg->held_us = m->held_us;
    msg->unseen = m->unseen;
    msg->epoch = m->epoch;
    if (msg->verb <= COMMAND_KILL && w->now_us < m->error_until_us && m->error == ERROR_BUSY) {
        *vote = (struct vote){.kind = VOTE_ERROR, .error = ERROR_BUSY};
        return;
    }
    if (master_is_unkillable(w, m) && (msg->verb == COMMAND_CLIENT_ID || msg->verb == COMMAND_KILL)) {
        *vote = (struct vote){.kind = VOTE_ERROR, .error = ERROR_NOPERM};
        return;
    }
    if (msg->verb == COMMAND_CLIENT_ID) {
        *vote = (struct vote){.kind = VOTE_NUMBER, .number = conn->client_id};
        return;
    }
    if (msg->verb == COMMAND_INFO) {
        master_info(w, m, vote);
        return;
    }
    if (msg->verb == COMMAND_KILL) {
        master_kill(w, m, msg->number, msg->conn, vote);
        return;
    }
    uint32_t before[SIM_KEYS] = {0};
    uint32_t reader = msg->verb == COMMAND_DOWN ? msg->to : msg->tok;
    FOR_NAMES(n, msg->name) before[n] = store_tok(master_key(m, n), msg->clock_ms, reader);
    const struct store_key *key = master_key(m, first_name(msg->name));
    unsigned readers = key->readers;
    if (readers > 0)
        w->oracle.key_before = *key;
    if (msg->verb == COMMAND_GROUP_SET)
        w->oracle.group_before = m->store.group;
    oracle_runs(w, m, msg);
    master_stores(w, m, msg, vote);
    oracle_ran(w, m, msg, before, vote);
    if ((readers > 0 || key->readers > 0) && !(msg->name & SIM_LIST)) /* no list is a reader's */
        oracle_ran_readers(w, m, msg, readers);
}

/* SCRIPT LOAD; false: refused, whereupon the daemon closes the connection. */
static bool master_load_scripts(const struct sim_world *w, struct sim_master *m)
{
    bool refuses = m->error == ERROR_LOADING || m->error == ERROR_BUSY;
    if (w->now_us < m->error_until_us && refuses)
        return false;
    m->scripts = true;
    return true;
}

static enum msg_kind master_login(struct sim_world *w, struct sim_master *m, uint32_t index)
{
    struct sim_conn *conn = &w->conn[index];
    if (!m->running)
        return MSG_REFUSED;
    conn->open_master = true;
    conn->epoch = m->epoch;
    conn->client_id = m->next_client++;
    if (conn->ear)
        ear_subscribed(w, m, index);
    else if (!master_load_scripts(w, m))
        return MSG_REFUSED;
    return MSG_LOGGED_IN;
}

bool master_receive(struct sim_world *w, struct sim_master *m, struct sim_msg *msg)
{
    switch ((enum msg_kind)msg->kind) {
    case MSG_LOGIN: msg->kind = (uint8_t)master_login(w, m, msg->conn); return true;
    case MSG_LOAD: msg->kind = MSG_REFUSED; return !master_load_scripts(w, m);
    case MSG_GONE: w->conn[msg->conn].open_master = false; return false;
    case MSG_MARK: oracle_mark(w, m, msg); return false;
    case MSG_PING: return true;
    default:
        master_command(w, m, msg);
        trace_add(w, TRACE_RUN, w->conn[msg->conn].daemon, m->index, msg->verb, msg->tok, msg->number,
                  msg->vote.kind, msg->name);
        msg->kind = MSG_REPLY;
        return true;
    }
}
