#include "tests/fuzz/fake_master.h"

#include <assert.h>
#include <string.h>

#include "proto/names.h"
#include "proto/slot.h"

/* ---- tokens ---- */

enum { TOKENS_SEEN = 1 << 16 };

static struct {
    unsigned count;
    struct token token[TOKENS_SEEN]; /* the number of the first one is 1 */
} seen;

void token_numbers_clear(void)
{
    seen.count = 0;
}

/* Most commands are about a token that was seen lately. */
uint32_t token_number(const struct token *token)
{
    for (unsigned i = seen.count; i > 0; i--)
        if (memcmp(&seen.token[i - 1], token, sizeof *token) == 0)
            return i;
    assert(seen.count < TOKENS_SEEN);
    seen.token[seen.count++] = *token;
    return seen.count;
}

/* ---- the connection ---- */

void master_start(struct fake_master *m, unsigned index, int64_t started_ms)
{
    m->index = index;
    m->connected = false;
    m->connection = 0;
    m->first = m->count = m->ghost_count = m->run = 0;
    m->started_ms = started_ms;
    m->next_client_id = 3;
    store_clear(&m->store);
}

void master_restart(struct fake_master *m, int64_t now_ms)
{
    assert(!m->connected);
    store_clear(&m->store);
    m->ghost_count = 0;
    m->run++;
    m->started_ms = now_ms;
    m->next_client_id = 3; /* a new run deals the same client ids again */
}

void master_connect(struct fake_master *m)
{
    assert(!m->connected);
    m->connected = true;
    m->full = false;
    m->connection++;
    m->client_id = m->next_client_id++;
    m->first = m->count = 0;
}

void master_lose(struct fake_master *m, unsigned ran, int64_t now_ms)
{
    for (unsigned i = 0; m->count > 0; i++) {
        struct sent sent = master_next(m);
        struct vote vote;
        if (i < ran)
            master_run(m, &sent, now_ms, &vote);
        else if (m->ghost_count < GHOSTS)
            m->ghosts[m->ghost_count++] = sent;
    }
    m->connected = false;
}

uint16_t master_names(const struct name *list)
{
    const char *text;
    size_t at = 0, len;
    uint16_t names = 0;
    while ((len = names_next(list, &at, &text)) != 0) {
        assert(len == 1 && text[0] >= 'a' && text[0] < 'a' + NAMES);
        names |= (uint16_t)(1u << (text[0] - 'a'));
    }
    return names;
}

static void queue_name(struct store_command *what, const struct command *command)
{
    struct name name;
    what->slot = (unsigned)(slot_base(&name, &command->name) + 1);
    if (name.more != 0)
        what->name = (unsigned)SIM_LIST | master_names(&name);
    else if (name.len > 0)
        what->name = (unsigned)(name.text[0] - 'a');
    assert(what->slot == 0 || what->name < SINGLE_NAMES);
    if (command->verb == COMMAND_ZADD_ALL || command->verb == COMMAND_ZSCORE_ALL)
        memcpy(what->buckets, command->buckets, command->bucket * sizeof command->buckets[0]);
}

static void queue_tokens(struct store_command *what, const struct command *command)
{
    bool moves = what->verb == COMMAND_MOVE || what->verb == COMMAND_SETTLE || what->verb == COMMAND_DOWN;
    what->tok = token_number(&command->token);
    what->maker = store_id(&command->token);
    if (moves)
        what->to = token_number(&command->to);
    if (moves)
        what->to_maker = store_id(&command->to);
    else
        what->self = store_id(what->verb == COMMAND_LETTER ? &command->token : &command->to);
    if (command->has_other)
        what->other = token_number(&command->other);
    if (command->has_third)
        what->third = token_number(&command->third);
}

void master_queue(struct fake_master *m, const struct command *command)
{
    m->full |= m->count == QUEUE;
    if (m->full) /* a stream loses its end, never its middle */
        return;
    struct sent *sent = &m->queue[(m->first + m->count++) % QUEUE];
    *sent = (struct sent){
        .verb = command->verb, .ref = command->ref, .client_id = m->client_id, .token = command->token};
    sent->what = (struct store_command){.verb = command_for_one(command->verb),
                                        .native = command_is_native(command->verb) ? command->verb : 0,
                                        .number = command->number,
                                        .waited_ms = command->waited_ms,
                                        .most_ms = command->most_ms,
                                        .stays = command->stays,
                                        .shared = command->shared,
                                        .slots = command->slots,
                                        .bucket = command->bucket};
    if (command->verb >= COMMAND_GROUP_SET && command->verb <= COMMAND_GROUP_NEW)
        sent->what.group = command->group;
    if (command->verb == COMMAND_DATA)
        data_copy(&sent->what.data, &command->data);
    queue_name(&sent->what, command);
    queue_tokens(&sent->what, command);
}

struct sent master_next(struct fake_master *m)
{
    assert(m->count > 0);
    struct sent sent = m->queue[m->first];
    m->first = (m->first + 1) % QUEUE;
    m->count--;
    return sent;
}

void master_run_ghosts(struct fake_master *m, int64_t now_ms)
{
    struct vote vote;
    unsigned count = m->ghost_count;
    m->ghost_count = 0;
    for (unsigned i = 0; i < count; i++)
        if (m->ghosts[i].verb != COMMAND_KILL)
            master_run(m, &m->ghosts[i], now_ms, &vote);
}

/* ---- the server ---- */

static void kill_ghosts(struct fake_master *m, uint64_t client_id)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < m->ghost_count; i++)
        if (m->ghosts[i].client_id != client_id)
            m->ghosts[kept++] = m->ghosts[i];
    m->ghost_count = kept;
}

void master_info(const struct fake_master *m, int64_t now_ms, struct master_info *info)
{
    memset(info, 0, sizeof *info);
    memset(info->run_id, '0', RUN_ID_HEX);
    info->run_id[0] = (char)('a' + m->index % 16);
    for (unsigned i = 0, run = m->run; i < 8; i++, run >>= 4)
        info->run_id[8 - i] = "0123456789abcdef"[run & 15];
    info->version = 0x07000f;
    info->uptime_s = (now_ms - m->started_ms) / 1000;
    info->connections = m->next_client_id;
}

/* By the time it is decided whether a daemon listens at present. What the coordinator's own daemon hears are events
 * that come by themselves. */
static unsigned publish(void *arg, uint32_t id, char what, unsigned name, unsigned slot)
{
    const int64_t *now_ms = arg;
    (void)id, (void)what, (void)name, (void)slot;
    return *now_ms % 3 != 0;
}

void master_run(struct fake_master *m, const struct sent *sent, int64_t now_ms, struct vote *vote)
{
    static const struct token none;
    *vote = (struct vote){.kind = VOTE_NUMBER, .number = 1};
    switch (sent->verb) {
    case COMMAND_CLIENT_ID: vote->number = sent->client_id; return;
    case COMMAND_KILL: kill_ghosts(m, sent->what.number); return;
    case COMMAND_INFO:
        vote->kind = VOTE_INFO;
        master_info(m, now_ms, &vote->info);
        return;
    case COMMAND_TRY_DELEX:
    case COMMAND_TRY_DELIFEQ:
    case COMMAND_TRY_MSETEX:
    case COMMAND_TRY_IFEQ: /* every other master knows all of them */
        *vote = (struct vote){.kind = m->index % 2 ? VOTE_ERROR : VOTE_NO, .error = ERROR_OTHER};
        return;
    default: store_run(&m->store, CLOCK_MS + now_ms, &sent->what, publish, &now_ms, vote);
    }
    if (vote->kind == VOTE_TOKEN)
        vote->token = vote->number != 0 ? seen.token[vote->number - 1] : none;
}
