#include "tests/fuzz/masters.h"

#include <assert.h>
#include <string.h>

#include "daemon/coordinator/base/quorum.h"
#include "proto/names.h"
#include "proto/slot.h"
#include "tests/group_model.h"

void master_start(struct fake_master *m, unsigned index, int64_t started_ms)
{
    memset(m, 0, sizeof *m);
    m->index = index;
    m->started_ms = started_ms;
    m->next_client_id = 3;
}

void master_restart(struct fake_master *m, int64_t now_ms)
{
    assert(!m->connected);
    memset(m->keys, 0, sizeof m->keys);
    memset(m->slot_keys, 0, sizeof m->slot_keys);
    memset(m->said, 0, sizeof m->said);
    memset(m->scores, 0, sizeof m->scores);
    m->group_ends_ms = 0;
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

uint32_t master_bucket(unsigned name)
{
    const struct name text = {.len = 1, .text = {(char)('a' + name)}};
    return quorum_bucket(&text);
}

/* The names whose fences the command asks for: no two of them share a bucket. */
static uint16_t names_of_buckets(const struct command *command)
{
    uint16_t names = 0;
    for (unsigned n = 0; n < NAMES; n++)
        for (unsigned i = 0; i < command->bucket; i++)
            if (command->buckets[i] == master_bucket(n))
                names |= (uint16_t)(1u << n);
    return names;
}

uint64_t *master_score(struct fake_master *m, uint32_t bucket)
{
    for (unsigned i = 0; i < SCORES; i++) {
        struct score *score = &m->scores[i];
        if (score->highest == 0)
            score->bucket = bucket;
        if (score->bucket == bucket)
            return &score->highest;
    }
    return NULL;
}

/* A slot is a lock of one holder, without readers and without a queue of its own. */
static bool is_for_slots(enum command_verb verb)
{
    bool keys = verb == COMMAND_SET || verb == COMMAND_HEAL || verb == COMMAND_GET || verb == COMMAND_RELEASE;
    bool holders = verb == COMMAND_EXTEND || verb == COMMAND_CHECK || verb == COMMAND_MOVE;
    return keys || holders || verb == COMMAND_SETTLE || verb == COMMAND_ZADD || verb == COMMAND_ZSCORE;
}

static void queue_name(struct sent *sent, const struct command *command)
{
    bool fences = command->verb == COMMAND_ZADD_ALL || command->verb == COMMAND_ZSCORE_ALL;
    struct name name;
    sent->slot = slot_base(&name, &command->name);
    sent->names = fences ? names_of_buckets(command) : master_names(&name);
    sent->name = name.len > 0 ? (unsigned)(name.text[0] - 'a') : 0;
    assert(sent->slot < 0 || (is_for_slots(sent->verb) && sent->name < SINGLE_NAMES));
}

void master_queue(struct fake_master *m, const struct command *command)
{
    m->full |= m->count == QUEUE;
    if (m->full) /* a stream loses its end, never its middle */
        return;
    struct sent *sent = &m->queue[(m->first + m->count++) % QUEUE];
    sent->verb = command->verb;
    sent->ref = command->ref;
    sent->number = command->number;
    sent->client_id = m->client_id;
    sent->token = command->token;
    sent->to = command->to;
    sent->has_other = command->has_other;
    if (sent->has_other)
        sent->other = command->other;
    sent->has_third = command->has_third;
    if (sent->has_third)
        sent->third = command->third;
    sent->group = command->group;
    sent->waited_ms = command->waited_ms;
    sent->bucket = command->bucket;
    sent->slots = command->slots;
    queue_name(sent, command);
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

static void vote_yes_no(struct vote *vote, bool yes)
{
    vote->kind = yes ? VOTE_YES : VOTE_NO;
}

static void vote_number(struct vote *vote, uint64_t number)
{
    vote->kind = VOTE_NUMBER;
    vote->number = number;
}

static void run_group(struct fake_master *m, const struct sent *sent, int64_t now_ms, struct vote *vote)
{
    bool there = m->group_ends_ms > now_ms;
    int64_t ends_ms = now_ms + (int64_t)sent->number;
    bool marks = sent->verb >= COMMAND_GROUP_SET && sent->verb <= COMMAND_GROUP_NEW;
    struct group group = sent->group;
    if (marks) {
        bool writes =
            group_model_writes(sent->verb, there, &m->group, &group, (int64_t)sent->waited_ms, now_ms);
        vote->kind = writes ? VOTE_YES : VOTE_NO;
        m->group = writes ? group : m->group;
        m->group_ends_ms = writes ? ends_ms : m->group_ends_ms;
    } else {
        vote->kind = there ? VOTE_GROUP : VOTE_NO;
        vote->group = m->group;
        if (there && sent->verb == COMMAND_PROBE)
            m->group_ends_ms = ends_ms;
    }
}

/* The reader's place; READERS: there is none. */
static unsigned reader_at(const struct key *key, const struct token *token)
{
    for (unsigned i = 0; i < key->readers; i++)
        if (memcmp(&key->reader[i], token, sizeof *token) == 0)
            return i;
    return READERS;
}

static void run_share(struct key *key, const struct sent *sent, int64_t now_ms, int64_t ends_ms,
                      struct vote *vote)
{
    bool there = key->ends_ms > now_ms, at = sent->verb == COMMAND_SHARE_AT;
    unsigned count = there ? key->readers : 0, place = count > 0 ? reader_at(key, &sent->token) : READERS;
    bool refused = (there && count == 0) || (count == READERS && place == READERS) || ends_ms <= now_ms ||
                   (at && place < READERS);
    vote_yes_no(vote, !refused);
    if (refused)
        return;
    if (!there)
        *key = (struct key){.ends_ms = ends_ms};
    if (place == READERS)
        key->reader[key->readers++] = sent->token;
    if (ends_ms > key->ends_ms)
        key->ends_ms = ends_ms;
}

/* Replaces the reader's token, or (NULL) removes it; returns whether others are left. */
static bool reader_put(struct key *key, const struct token *token, const struct token *to)
{
    unsigned place = reader_at(key, token);
    key->reader[place] = to != NULL ? *to : key->reader[--key->readers];
    return key->readers > 0;
}

static void run_release(struct key *key, const struct sent *sent, int64_t now_ms, bool ours,
                        struct vote *vote)
{
    static const struct token nobody;
    bool wakes = memcmp(&sent->to, &nobody, sizeof nobody) != 0;
    vote_yes_no(vote, ours);
    if (!ours || (key->readers > 0 && reader_put(key, &sent->token, NULL)))
        return;
    key->ends_ms = 0;
    if (wakes && sent->number % 2 == 0 && now_ms % 3 == 0) /* the queue's other daemons are made up */
        vote->kind = now_ms % 2 ? VOTE_HEARD : VOTE_UNHEARD;
}

static bool is_token(const struct key *key, const struct token *token)
{
    return key->names == 0 && memcmp(&key->token, token, sizeof *token) == 0;
}

static void run_settle(struct key *key, const struct sent *sent, int64_t now_ms, struct vote *vote)
{
    bool ours = key->ends_ms > now_ms && key->readers == 0 &&
                (is_token(key, &sent->token) || is_token(key, &sent->to));
    vote->kind = VOTE_NO;
    if (!ours)
        return;
    key->token = sent->to;
    if (now_ms + (int64_t)sent->number > key->ends_ms)
        key->ends_ms = now_ms + (int64_t)sent->number;
    vote_number(vote, (uint64_t)(key->ends_ms - now_ms));
}

static void run_down(struct key *key, const struct sent *sent, int64_t now_ms, bool ours, struct vote *vote)
{
    int64_t ends_ms = now_ms + (int64_t)sent->number;
    bool is_in = key->ends_ms > now_ms && key->readers > 0 && reader_at(key, &sent->to) < READERS;
    vote->kind = VOTE_NO;
    if (!is_in && (key->readers > 0 || !ours))
        return;
    if (!is_in)
        key->reader[key->readers++] = sent->to;
    if (ends_ms > key->ends_ms)
        key->ends_ms = ends_ms;
    vote_number(vote, (uint64_t)(key->ends_ms - now_ms));
}

static void run_score(struct fake_master *m, const struct sent *sent, struct vote *vote)
{
    uint64_t *score = master_score(m, sent->bucket);
    if (sent->verb == COMMAND_ZSCORE) {
        vote_number(vote, score != NULL ? *score : 0);
    } else if (score == NULL) {
        vote->kind = VOTE_ERROR;
        vote->error = ERROR_OOM;
    } else {
        vote_yes_no(vote, sent->number > *score);
        if (sent->number > *score)
            *score = sent->number;
    }
}

static void run_set(struct key *key, const struct sent *sent, int64_t now_ms, int64_t ends_ms,
                    struct vote *vote)
{
    if (key == NULL) {
        vote->kind = VOTE_ERROR;
        vote->error = ERROR_OOM;
        return;
    }
    vote_yes_no(vote, key->ends_ms <= now_ms);
    if (key->ends_ms <= now_ms)
        *key = (struct key){.token = sent->token, .ends_ms = ends_ms};
}

/* The key is there and was set with the token, or with another one that the command names. */
static bool is_ours(const struct key *key, const struct sent *sent, int64_t now_ms)
{
    if (key->ends_ms <= now_ms)
        return false;
    if (key->readers > 0)
        return reader_at(key, &sent->token) < READERS;
    return is_token(key, &sent->token) || (sent->has_other && is_token(key, &sent->other)) ||
           (sent->has_third && is_token(key, &sent->third));
}

void master_run(struct fake_master *m, const struct sent *sent, int64_t now_ms, struct vote *vote)
{
    struct key none = {.ends_ms = 0}, *place = &m->keys[sent->name];
    if (sent->slot >= 0)
        place = master_slot_key(m, sent->name, (unsigned)sent->slot, now_ms);
    struct key *key = place != NULL ? place : &none;
    bool there = key->ends_ms > now_ms, ours = is_ours(key, sent, now_ms);
    bool lives = sent->verb == COMMAND_SET || sent->verb == COMMAND_EXTEND || sent->verb == COMMAND_SHARE;
    int64_t ends_ms = lives ? now_ms + (int64_t)sent->number : 0;

    memset(vote, 0, sizeof *vote);
    switch (sent->verb) {
    case COMMAND_CLIENT_ID: vote_number(vote, sent->client_id); break;
    case COMMAND_INFO:
        vote->kind = VOTE_INFO;
        master_info(m, now_ms, &vote->info);
        break;
    case COMMAND_KILL:
        kill_ghosts(m, sent->number);
        vote_number(vote, 1);
        break;
    case COMMAND_SET: run_set(place, sent, now_ms, ends_ms, vote); break;
    case COMMAND_ZADD:
    case COMMAND_ZSCORE: run_score(m, sent, vote); break;
    case COMMAND_RELEASE: run_release(key, sent, now_ms, ours, vote); break;
    case COMMAND_EXTEND:
        if (ours && ends_ms > key->ends_ms)
            key->ends_ms = ends_ms;
        /* fall through */
    case COMMAND_CHECK:
        vote->kind = VOTE_NO;
        if (ours)
            vote_number(vote, (uint64_t)(key->ends_ms - now_ms));
        break;
    case COMMAND_TRY: vote_yes_no(vote, true); break;
    case COMMAND_TIME: vote_number(vote, (uint64_t)(CLOCK_MS + now_ms)); break;
    case COMMAND_GROUP:
    case COMMAND_PROBE:
    case COMMAND_GROUP_SET:
    case COMMAND_GROUP_NEW: run_group(m, sent, now_ms, vote); break;
    case COMMAND_HEAL: run_set(place, sent, now_ms, (int64_t)sent->number - CLOCK_MS, vote); break;
    case COMMAND_GET:
        vote->kind = there ? VOTE_TOKEN : VOTE_NO;
        vote->token = key->token;
        break;
    case COMMAND_LETTER:
    case COMMAND_DEQUEUE: vote_yes_no(vote, true); break;
    case COMMAND_ENQUEUE:
        vote->kind = there ? now_ms % 3 ? VOTE_HEARD : VOTE_UNHEARD : VOTE_NO;
        vote->number = there ? (uint64_t)(key->ends_ms - now_ms) : 0;
        break;
    case COMMAND_LOOK: master_look(m, sent, now_ms, vote); break;
    case COMMAND_ALONG: vote_yes_no(vote, !there); break;
    case COMMAND_PASS: vote_yes_no(vote, master_has_free(m, sent->name, now_ms)); break;
    case COMMAND_SHARE: run_share(key, sent, now_ms, ends_ms, vote); break;
    case COMMAND_SHARE_AT: run_share(key, sent, now_ms, (int64_t)sent->number - CLOCK_MS, vote); break;
    case COMMAND_MOVE:
        if (ours && key->readers > 0)
            reader_put(key, &sent->token, &sent->to);
        else if (ours)
            key->token = sent->to;
        vote_yes_no(vote, ours);
        break;
    case COMMAND_SETTLE: run_settle(key, sent, now_ms, vote); break;
    case COMMAND_CUT: vote_number(vote, 0); break; /* no clock is set back here */
    case COMMAND_DOWN: run_down(key, sent, now_ms, ours, vote); break;
    case COMMAND_SET_ALL:
    case COMMAND_HEAL_ALL:
    case COMMAND_ZADD_ALL:
    case COMMAND_ZSCORE_ALL:
    case COMMAND_RELEASE_ALL:
    case COMMAND_EXTEND_ALL:
    case COMMAND_CHECK_ALL:
    case COMMAND_MOVE_ALL: master_run_list(m, sent, now_ms, vote); break;
    }
}
