/* For the examples: the Redis that has the data which a lock guards. This Redis belongs to the application
 * and is none of redlockd's masters. Your own program should handle a failure better than by ending. */
#ifndef REDLOCK_EXAMPLES_RESOURCE_H
#define REDLOCK_EXAMPLES_RESOURCE_H

#include <hiredis/hiredis.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

enum { RESOURCE_S = 10, RESOURCE_PORT = 6379 };

/* Connects to "/path", "host" or "host:port". */
static inline redisContext *resource_open(const char *address)
{
    const struct timeval limit = {.tv_sec = RESOURCE_S};
    char host[256];
    long port = RESOURCE_PORT;
    redisContext *redis;

    (void)snprintf(host, sizeof host, "%s", address);
    char *colon = strrchr(host, ':');
    if (colon) {
        *colon = '\0';
        port = strtol(colon + 1, NULL, 10);
    }
    if (address[0] == '/')
        redis = redisConnectUnixWithTimeout(address, limit);
    else
        redis = redisConnectWithTimeout(host, (int)port, limit);
    if (!redis || redis->err || redisSetTimeout(redis, limit) != REDIS_OK) {
        fprintf(stderr, "%s: %s\n", address, redis && redis->err ? redis->errstr : "out of memory");
        exit(EXIT_FAILURE);
    }
    return redis;
}

/* Returns the reply to a command, to be freed with freeReplyObject(). Without a reply nobody knows whether
 * the command was done, and an error is not handled here: the program ends, and a session lock with it (a
 * lease runs out). */
static inline redisReply *resource_ask(redisContext *redis, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    redisReply *reply = redisvCommand(redis, format, arguments);
    va_end(arguments);
    if (!reply || reply->type == REDIS_REPLY_ERROR) {
        fprintf(stderr, "Redis: %s\n", reply ? reply->str : redis->errstr);
        exit(EXIT_FAILURE);
    }
    return reply;
}

/* Returns the reply as a number, or 0 if it is none, and frees it. */
static inline long long resource_number(redisReply *reply)
{
    long long number = reply->type == REDIS_REPLY_INTEGER ? reply->integer : 0;

    freeReplyObject(reply);
    return number;
}

#endif
