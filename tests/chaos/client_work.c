#include "tests/chaos/client.h"

#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The client acts like a client that is paused after it looked at its deadline: only the fence can stop
 * it. */
enum { CARELESS_US = 300000 };

/* A fenced resource. For each name it remembers the highest fences that writers and readers showed, and refuses
 * a lower fence, when reading too, since a write depends on what was read; readers do not refuse each
 * other. KEYS: the names; ARGV: the fence, 1 for a reader; nil: refused. */
#define SHOW_FENCE                                                                                           \
    "local fence, reads = tonumber(ARGV[1]), ARGV[2] == '1' "                                                \
    "local function seen(who, name) return tonumber(redis.call('GET', who .. name) or '0') end "             \
    "for _, name in ipairs(KEYS) do "                                                                        \
    "if fence < seen('writer:', name) or not reads and fence < seen('reader:', name) then return false end " \
    "end "                                                                                                   \
    "for _, name in ipairs(KEYS) do "                                                                        \
    "if not reads then redis.call('SET', 'writer:' .. name, ARGV[1]) "                                       \
    "elseif fence > seen('reader:', name) then redis.call('SET', 'reader:' .. name, ARGV[1]) end "           \
    "end "
/* Replies with the counter and the balance of each name. */
static const char ledger_read[] =
    SHOW_FENCE "local values = {} "
               "for _, name in ipairs(KEYS) do "
               "table.insert(values, tonumber(redis.call('GET', 'count:' .. name) or '0')) "
               "table.insert(values, tonumber(redis.call('GET', 'balance:' .. name) or '0')) "
               "end "
               "return values";
/* ARGV goes on with the counter and the balance of each name. */
static const char ledger_write[] = SHOW_FENCE "for i, name in ipairs(KEYS) do "
                                              "redis.call('SET', 'count:' .. name, ARGV[1 + 2 * i]) "
                                              "redis.call('SET', 'balance:' .. name, ARGV[2 + 2 * i]) "
                                              "redis.call('INCR', 'done:' .. name) "
                                              "end "
                                              "return {}";

bool client_believes(const struct client *c)
{
    return c->hold.granted && !c->hold.given_up && now_us() < c->hold.until_us;
}

bool client_holds(const struct client *c)
{
    bool broken = false;
    for (unsigned i = 0; i < c->hold.names; i++)
        broken |= c->hold.asked_us < atomic_load(&c->shared->broken_us[c->hold.name[i]]);
    return client_believes(c) && !broken;
}

void client_record(struct client *c, enum record_kind kind, uint64_t number, const char *text)
{
    const struct hold *hold = &c->hold;
    bool told = kind == RECORD_GRANT || kind == RECORD_UNTIL;
    struct record record = {.at_us = now_us(),
                            .until_us = told ? hold->until_us : 0,
                            .number = number,
                            .ask = hold->ask,
                            .who = c->who,
                            .daemon = hold->daemon,
                            .lease = hold->lease,
                            .shared = hold->shared};
    for (unsigned i = 0; i < hold->names; i++)
        record.names |= 1u << hold->name[i];
    snprintf(record.text, sizeof record.text, "%.*s", RECORD_TEXT - 1, text);
    history_add(&c->shared->history, &record, kind);
}

void client_wrong(struct client *c, const char *what)
{
    client_record(c, RECORD_WRONG, 0, what);
}

enum { VALUES = 2 * LIST_NAMES, ARGUMENTS = 3 + LIST_NAMES + 2 + VALUES };

struct ledger {
    int64_t value[VALUES]; /* the counter and the balance of each name */
};

/* The command's words, and the memory that they lie in. */
struct words {
    int count;
    const char *word[ARGUMENTS];
    char text[ARGUMENTS][24];
};

static void words_add(struct words *words, int64_t number)
{
    snprintf(words->text[words->count], sizeof words->text[0], "%" PRId64, number);
    words->word[words->count] = words->text[words->count];
    words->count++;
}

static bool ledger_take(const redisReply *reply, struct ledger *ledger)
{
    for (size_t i = 0; i < reply->elements && i < VALUES; i++) {
        if (reply->element[i]->type != REDIS_REPLY_INTEGER)
            return false;
        ledger->value[i] = reply->element[i]->integer;
    }
    return true;
}

/* False: refused because of the fence. */
static bool ledger_ask(struct client *c, const char *script, struct ledger *ledger)
{
    const struct hold *hold = &c->hold;
    struct words words = {.count = 2, .word = {"EVAL", script}};
    words_add(&words, hold->names);
    for (unsigned i = 0; i < hold->names; i++)
        words_add(&words, hold->name[i]);
    words_add(&words, (int64_t)hold->fence);
    words_add(&words, hold->shared);
    for (unsigned i = 0; script == ledger_write && i < 2u * hold->names; i++)
        words_add(&words, ledger->value[i]);
    redisReply *reply = redisCommandArgv(c->counter, words.count, words.word, NULL);
    bool refused = reply != NULL && reply->type == REDIS_REPLY_NIL;
    if (!refused && (reply == NULL || reply->type != REDIS_REPLY_ARRAY || !ledger_take(reply, ledger))) {
        fprintf(stderr, "client %" PRIu32 ": the counter's redis: %s\n", c->who,
                reply != NULL && reply->str != NULL ? reply->str : c->counter->errstr);
        _exit(1);
    }
    freeReplyObject(reply);
    return !refused;
}

/* A higher fence was there. If the client still holds the lock, then another client holds it too, or fences
 * fell. */
static void counter_refused(struct client *c)
{
    client_record(c, RECORD_FENCED, c->hold.fence, "");
    if (client_holds(c))
        client_wrong(c, "fenced off while it holds");
}

/* A reader that still holds must read the value that it read before. */
static void ledger_again(struct client *c, const struct ledger *before)
{
    struct ledger now = *before;
    if (!ledger_ask(c, ledger_read, &now))
        counter_refused(c);
    else if (memcmp(&now, before, sizeof now) != 0 && client_holds(c))
        client_wrong(c, "written beside a reader");
    else
        client_record(c, RECORD_READ, (uint64_t)now.value[0], "again");
}

static void ledger_change(struct client *c, struct ledger *ledger)
{
    unsigned last = c->hold.names - 1u;
    int64_t amount = 1 + (int64_t)client_draw(c, 100);
    for (unsigned i = 0; i <= last; i++)
        ledger->value[2 * i]++;
    ledger->value[1] -= amount;
    ledger->value[2 * last + 1] += amount;
    uint64_t count = (uint64_t)ledger->value[0];
    client_record(c, RECORD_WRITE, count, "");
    if (ledger_ask(c, ledger_write, ledger))
        client_record(c, RECORD_WRITTEN, count, "");
    else
        counter_refused(c);
}

void client_work(struct client *c, int64_t sleep_us)
{
    struct ledger ledger = {0};
    if (!client_believes(c))
        return;
    if (!ledger_ask(c, ledger_read, &ledger)) {
        counter_refused(c);
        return;
    }
    client_record(c, RECORD_READ, (uint64_t)ledger.value[0], "");
    bool careless = client_draw(c, 40) == 0;
    links_listen(c, now_us() + sleep_us + (careless ? CARELESS_US : 0), NULL);
    if (!client_believes(c) && !careless)
        return;
    if (c->hold.shared)
        ledger_again(c, &ledger);
    else
        ledger_change(c, &ledger);
}
