#include "tests/chaos/client.h"

#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The client acts like a client that is paused after it looked at its deadline: only the fence can stop
 * it. */
enum { CARELESS_US = 300000 };

/* A fenced resource: it remembers the highest fence that it was shown and refuses a lower fence, when
 * reading too, since a write depends on what was read. -1: refused. */
static const char counter_read[] = "local seen = tonumber(redis.call('GET', KEYS[2]) or '0') "
                                   "if tonumber(ARGV[1]) < seen then return -1 end "
                                   "redis.call('SET', KEYS[2], ARGV[1]) "
                                   "return tonumber(redis.call('GET', KEYS[1]) or '0')";
static const char counter_write[] = "local seen = tonumber(redis.call('GET', KEYS[2]) or '0') "
                                    "if tonumber(ARGV[1]) < seen then return -1 end "
                                    "redis.call('SET', KEYS[2], ARGV[1]) "
                                    "redis.call('SET', KEYS[1], ARGV[2]) "
                                    "return redis.call('INCR', KEYS[3])";

bool client_believes(const struct client *c)
{
    return c->hold.granted && !c->hold.given_up && now_us() < c->hold.until_us;
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
                            .name = hold->name,
                            .daemon = hold->daemon,
                            .lease = hold->lease};
    snprintf(record.text, sizeof record.text, "%.*s", RECORD_TEXT - 1, text);
    history_add(&c->shared->history, &record, kind);
}

void client_wrong(struct client *c, const char *what)
{
    client_record(c, RECORD_WRONG, 0, what);
}

static int64_t counter_ask(struct client *c, const char *script, int64_t value)
{
    unsigned name = c->hold.name;
    redisReply *reply = redisCommand(c->counter, "EVAL %s 3 count:%u fence:%u done:%u %" PRIu64 " %" PRId64,
                                     script, name, name, name, c->hold.fence, value);
    if (reply == NULL || reply->type != REDIS_REPLY_INTEGER) {
        fprintf(stderr, "client %" PRIu32 ": the counter's redis: %s\n", c->who,
                reply != NULL && reply->str != NULL ? reply->str : c->counter->errstr);
        _exit(1);
    }
    int64_t answer = reply->integer;
    freeReplyObject(reply);
    return answer;
}

/* A higher fence was there. If the client still holds the lock, then another client holds it too, or fences
 * fell. */
static void counter_refused(struct client *c)
{
    client_record(c, RECORD_FENCED, c->hold.fence, "");
    if (client_believes(c))
        client_wrong(c, "fenced off while it holds");
}

void client_work(struct client *c, int64_t sleep_us)
{
    if (!client_believes(c))
        return;
    int64_t value = counter_ask(c, counter_read, 0);
    if (value < 0) {
        counter_refused(c);
        return;
    }
    client_record(c, RECORD_READ, (uint64_t)value, "");
    bool careless = client_draw(c, 40) == 0;
    links_listen(c, now_us() + sleep_us + (careless ? CARELESS_US : 0), NULL);
    if (!client_believes(c) && !careless)
        return;
    client_record(c, RECORD_WRITE, (uint64_t)value + 1, "");
    if (counter_ask(c, counter_write, value + 1) < 0)
        counter_refused(c);
    else
        client_record(c, RECORD_WRITTEN, (uint64_t)value + 1, "");
}
