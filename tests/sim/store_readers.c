/* Names that readers have: sorted sets, as the scripts leave them. */
#include "tests/sim/store_readers.h"

#include <assert.h>
#include <stddef.h>

#include "tests/sim/mutant.h"

const struct store_reader *readers_find(const struct store_key *key, int64_t now_ms, uint32_t tok)
{
    for (unsigned i = 0; i < key->readers; i++)
        if (key->reader[i].tok == tok && key->reader[i].ends_ms > now_ms)
            return &key->reader[i];
    return NULL;
}

bool readers_have(const struct store_key *key, int64_t now_ms)
{
    return store_there(key, now_ms) && key->readers > 0;
}

int64_t store_keeps_ms(const struct store_key *key, int64_t now_ms, uint32_t tok)
{
    if (!readers_have(key, now_ms))
        return store_there(key, now_ms) && key->tok == tok ? key->expires_ms : 0;
    const struct store_reader *reader = readers_find(key, now_ms, tok);
    if (reader == NULL)
        return 0;
    return reader->ends_ms < key->expires_ms ? reader->ends_ms : key->expires_ms;
}

uint32_t store_tok(const struct store_key *key, int64_t now_ms, uint32_t tok)
{
    if (!readers_have(key, now_ms))
        return store_there(key, now_ms) ? key->tok : 0;
    if (readers_find(key, now_ms, tok) != NULL)
        return tok;
    for (unsigned i = 0; i < key->readers; i++) /* one that is over may stand there still */
        if (key->reader[i].ends_ms > now_ms)
            return key->reader[i].tok;
    return key->reader[0].tok;
}

static int64_t readers_last_ms(const struct store_key *key)
{
    int64_t last_ms = 0;
    for (unsigned i = 0; i < key->readers; i++)
        if (key->reader[i].ends_ms > last_ms)
            last_ms = key->reader[i].ends_ms;
    return last_ms;
}

void readers_out(struct store_key *key, unsigned at)
{
    key->reader[at] = key->reader[--key->readers];
    if (key->readers == 0)
        key->there = false;
}

/* As proto/lua/part/over.lua does it. */
void readers_over(struct store_key *key, int64_t now_ms)
{
    for (unsigned i = 0; i < key->readers;) {
        if (key->reader[i].ends_ms <= now_ms)
            readers_out(key, i);
        else
            i++;
    }
}

/* Removes the token; returns whether it was there. */
bool readers_leave(struct store_key *key, uint32_t tok)
{
    for (unsigned i = 0; i < key->readers; i++) {
        if (key->reader[i].tok != tok)
            continue;
        readers_out(key, i);
        if (mutant(MUTANT_LEAVE_ALL)) {
            key->readers = 0;
            key->there = false;
        }
        if (key->there)
            key->expires_ms = readers_last_ms(key);
        return true;
    }
    return false;
}

/* Adds the token, or lengthens its time. */
void readers_join(struct store_key *key, uint32_t tok, uint32_t maker, int64_t ends_ms)
{
    unsigned at = 0;
    while (at < key->readers && key->reader[at].tok != tok)
        at++;
    if (at == key->readers) {
        assert(key->readers < STORE_READERS);
        key->reader[key->readers++] = (struct store_reader){.tok = tok, .maker = maker, .ends_ms = ends_ms};
    } else if (key->reader[at].ends_ms < ends_ms) {
        key->reader[at].ends_ms = ends_ms;
    }
    key->there = true;
    key->list = 0;
    key->expires_ms = mutant(MUTANT_SHARE_TTL_FIRST) ? key->reader[0].ends_ms : readers_last_ms(key);
    if (mutant(MUTANT_SHARE_NO_TTL))
        key->expires_ms = INT64_MAX;
}

/* The mark of a writer of another daemon that came sooner. */
bool readers_barred(const struct store *s, int64_t now_ms, const struct store_command *command)
{
    const struct store_mark *mark = &s->mark[command->name];
    bool sooner = mark->came_ms < now_ms - (int64_t)command->waited_ms;
    return mark->id != 0 && now_ms <= mark->expires_ms && mark->id != command->self && sooner &&
           !mutant(MUTANT_MARK_UNSEEN);
}

void readers_share(struct store *s, int64_t now_ms, const struct store_command *command, struct vote *vote)
{
    struct store_key *key = &s->key[command->name];
    bool at = command->verb == COMMAND_SHARE_AT;
    int64_t ends_ms = (int64_t)command->number + (at ? 0 : now_ms);
    if (store_there(key, now_ms) && key->readers == 0 && !mutant(MUTANT_SHARE_PASSES))
        return;
    if (at ? ends_ms <= now_ms : readers_barred(s, now_ms, command))
        return;
    if (!readers_have(key, now_ms))
        key->readers = 0;
    readers_over(key, now_ms);
    if (at && readers_find(key, now_ms, command->tok) != NULL)
        return;
    if (key->readers == STORE_READERS && readers_find(key, now_ms, command->tok) == NULL)
        return; /* the model has no room for more */
    readers_join(key, command->tok, command->maker, ends_ms);
    vote->kind = VOTE_YES;
}

static bool reader_cut(struct store_key *key, unsigned at, int64_t most_ms)
{
    if (key->reader[at].ends_ms <= most_ms)
        return false;
    key->reader[at].ends_ms = most_ms;
    key->expires_ms = readers_last_ms(key);
    return true;
}

unsigned readers_cut(struct store_key *key, int64_t most_ms)
{
    unsigned count = 0;
    for (unsigned i = 0; i < key->readers; i++)
        if (store_made == NULL || store_made(key->reader[i].tok))
            count += reader_cut(key, i, most_ms);
    return count;
}

void readers_extend(struct store_key *key, int64_t now_ms, const struct store_command *command,
                    struct vote *vote)
{
    const struct store_reader *reader = readers_find(key, now_ms, command->tok);
    if (reader == NULL && !mutant(MUTANT_EXTEND_ADDS))
        return;
    if (command->verb == COMMAND_EXTEND)
        readers_join(key, command->tok, command->maker, now_ms + (int64_t)command->number);
    if (command->most_ms != 0)
        reader_cut(key, (unsigned)(readers_find(key, now_ms, command->tok) - key->reader),
                   now_ms + (int64_t)command->most_ms);
    vote->kind = VOTE_NUMBER;
    vote->number = (uint64_t)(readers_find(key, now_ms, command->tok)->ends_ms - now_ms);
}

/* Scripts that find readers: whether they write. A reader whose time is over is removed first, and that is the
 * write after which a script may go on when the memory is full; none refuses that. */
bool readers_write(const struct store_key *key, int64_t now_ms, const struct store_command *command)
{
    bool down = command->verb == COMMAND_DOWN;
    const struct store_reader *reader = readers_find(key, now_ms, down ? command->to : command->tok);
    switch (command->verb) {
    case COMMAND_DOWN:
    case COMMAND_EXTEND: return reader != NULL && now_ms + (int64_t)command->number > reader->ends_ms;
    case COMMAND_RELEASE:
    case COMMAND_MOVE: return reader != NULL;
    default: return false;
    }
}

/* Whether SHARE adds the first reader: to others it may add one though the memory is full. */
bool readers_share_writes(const struct store *s, int64_t now_ms, const struct store_command *command,
                          bool first)
{
    const struct store_key *key = &s->key[command->name];
    bool at = command->verb == COMMAND_SHARE_AT, others = false;
    if (store_there(key, now_ms) && key->readers == 0)
        return false;
    if (at ? (int64_t)command->number <= now_ms : readers_barred(s, now_ms, command))
        return false;
    for (unsigned i = 0; readers_have(key, now_ms) && i < key->readers; i++)
        others |= key->reader[i].ends_ms > now_ms;
    bool is_in = at && readers_have(key, now_ms) && readers_find(key, now_ms, command->tok) != NULL;
    return !is_in && !(first && others);
}
