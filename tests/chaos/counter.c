/* Questions to a redis-server, from the parent. */
#include <hiredis/hiredis.h>
#include <string.h>
#include <time.h>

#include "tests/chaos/world.h"

enum { READY_US = 10000000 };

static redisContext *redis_open(const char *path)
{
    struct timeval bound = {.tv_sec = 2};
    redisContext *context = redisConnectUnixWithTimeout(path, bound);
    if (context != NULL && !context->err && redisSetTimeout(context, bound) == REDIS_OK)
        return context;
    if (context != NULL)
        redisFree(context);
    return NULL;
}

bool redis_ready(const char *path)
{
    for (int64_t end_us = now_us() + READY_US; now_us() < end_us;) {
        redisContext *context = redis_open(path);
        redisReply *reply = context != NULL ? redisCommand(context, "PING") : NULL;
        bool ready = reply != NULL && reply->type == REDIS_REPLY_STATUS;
        if (reply != NULL)
            freeReplyObject(reply);
        if (context != NULL)
            redisFree(context);
        if (ready)
            return true;
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    return false;
}

static int64_t redis_integer(const char *path, const char *script, const char *key)
{
    redisContext *context = redis_open(path);
    redisReply *reply = context != NULL ? redisCommand(context, "EVAL %s 1 %s", script, key) : NULL;
    int64_t answer = reply != NULL && reply->type == REDIS_REPLY_INTEGER ? reply->integer : -1;
    if (reply != NULL)
        freeReplyObject(reply);
    if (context != NULL)
        redisFree(context);
    return answer;
}

int64_t redis_number(const char *path, const char *key, unsigned name)
{
    char full[64];
    snprintf(full, sizeof full, "%s:%u", key, name);
    return redis_integer(path, "return tonumber(redis.call('GET', KEYS[1]) or '0')", full);
}

int64_t redis_balances(const char *path)
{
    return redis_integer(path,
                         "local sum = 0 "
                         "for _, key in ipairs(redis.call('KEYS', KEYS[1] .. '*')) do "
                         "sum = sum + tonumber(redis.call('GET', key)) end "
                         "return sum",
                         "balance:");
}

int64_t redis_locks(const char *path)
{
    return redis_integer(
        path,
        "local locks = 0 "
        "for _, key in ipairs(redis.call('KEYS', KEYS[1] .. '*')) do "
        "if string.sub(key, #KEYS[1] + 1, #KEYS[1] + 1) ~= ',' then locks = locks + 1 end end "
        "return locks",
        "redlock:");
}
