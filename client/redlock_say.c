#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "client/redlock_cmd.h"

int64_t boot_ms(void)
{
    struct timespec now;

    if (clock_gettime(CLOCK_BOOTTIME, &now) < 0)
        return INT64_MAX; /* cannot happen; every deadline would be over */
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Prints in one write, since several redlocks may share a terminal or log. */
void say_line(const char *format, ...)
{
    char line[4096];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    (void)fprintf(stderr, "redlock: %s\n", line);
}

const char *duration_text(int64_t ms, char *out)
{
    long long t = ms < 0 ? -ms : ms;
    const char *minus = ms < 0 ? "-" : "";

    if (t < 1000)
        (void)snprintf(out, DURATION_TEXT, "%s%lldms", minus, t);
    else if (t < 60 * 1000)
        (void)snprintf(out, DURATION_TEXT, "%s%lld.%llds", minus, t / 1000, t / 100 % 10);
    else if (t < 3600 * 1000)
        (void)snprintf(out, DURATION_TEXT, "%s%lldm%02llds", minus, t / 60000, t / 1000 % 60);
    else if (t < 48 * 3600 * 1000)
        (void)snprintf(out, DURATION_TEXT, "%s%lldh%02lldm", minus, t / 3600000, t / 60000 % 60);
    else
        (void)snprintf(out, DURATION_TEXT, "%s%lldd%02lldh", minus, t / 86400000, t / 3600000 % 24);
    return out;
}

#define WHO "`redlock who %s` says who"

static const struct rule {
    enum redlock_error error;
    enum code code;
    const char *what; /* the event; redlockd's text for people follows if there is one */
    const char *hint; /* what to do */
} rules[] = {
    {REDLOCK_BUSY, CODE_BUSY, "another has it", WHO},
    {REDLOCK_TIMEOUT, CODE_TIMEOUT, "another has it, and the wait is over", WHO},
    {REDLOCK_NOQUORUM, CODE_NOQUORUM, "too few masters answered", "`redlock show nodes` says why"},
    {REDLOCK_NOTHELD, CODE_LOST, "this token does not hold it",
     "the lock has ended, or has a new token since it was resumed (see $REDLOCK_TOKEN in redlock(1))"},
    {REDLOCK_LOST, CODE_LOST, "it was lost", ""},
    {REDLOCK_CONNECT, CODE_CONNECT, "", "is redlockd running there? Another address: -a, or REDLOCK_ADDRESS"},
    {REDLOCK_NOANSWER, CODE_CONNECT, "redlockd does not answer", "what became of the request is not known"},
    {REDLOCK_PROTOCOL, CODE_CONNECT, "", "is that a redlockd? Another address: -a, or REDLOCK_ADDRESS"},
    {REDLOCK_LIMIT, CODE_FAILED, "a limit is reached", "see limits in redlockd.yaml(5)"},
    {REDLOCK_DRAINING, CODE_CONNECT, "redlockd is shutting down", "try again when it is back"},
    {REDLOCK_DENIED, CODE_FAILED, "not allowed", "see users in redlockd.yaml(5)"},
    {REDLOCK_AUTH, CODE_FAILED, "redlockd does not know us",
     "see REDLOCK_USER and REDLOCK_SECRET_FILE in redlock(1)"},
    {REDLOCK_MODE, CODE_FAILED, "it is held in another mode", ""},
    {REDLOCK_BADREQUEST, CODE_FAILED, "redlockd refuses that", "`redlock show config` has its bounds"},
    {REDLOCK_UNSUPPORTED, CODE_FAILED, "this redlockd cannot do that", ""},
};

/* Whether a quorum is missing because masters are in quarantine, which redlockd says by retry= and by a ~
 * for each such master. These masters did answer. */
static bool is_quarantine(const char *text)
{
    bool quarantined = false, until = false;
    struct redlock_pair pair;

    for (const char *at = text; redlock_next_pair(&at, &pair);) {
        quarantined |= pair.key_len == 5 && memcmp(pair.key, "nodes", 5) == 0 &&
                       memchr(pair.value, '~', pair.value_len) != NULL;
        until |= pair.key_len == 5 && memcmp(pair.key, "retry", 5) == 0;
    }
    return quarantined && until;
}

/* Returns what follows " : " in a line of redlockd as "-NOQUORUM job votes=2/5 nodes=++!!? : 3 votes are
 * needed", and a sentence of the library as it is. */
const char *text_for_people(const char *text)
{
    if (text[0] != '-')
        return text;
    const char *colon = strstr(text, " : ");
    return colon ? colon + 3 : "";
}

int say_error(const struct redlock *redlock, const char *name)
{
    return say_result(redlock_error(redlock), redlock_error_text(redlock), name);
}

static struct rule rule_of(enum redlock_error error)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].error == error)
            return rules[i];
    return (struct rule){error, CODE_FAILED, "", ""};
}

int error_code(enum redlock_error error)
{
    return (int)rule_of(error).code;
}

/* What to do. Nothing is added where libredlock's own text says that, as it does about TLS. */
static void hint_of(const struct rule *rule, const char *text, const char *name, char *out, size_t size)
{
    bool said =
        rule->error == REDLOCK_CONNECT && (strstr(text, "REDLOCK_") || strstr(text, "tls://host:port"));

    if (rule->error == REDLOCK_DENIED && strstr(text, "allow_break"))
        (void)snprintf(out, size, "see allow_break in redlockd.yaml(5)");
    else if (strcmp(rule->hint, WHO) == 0)
        (void)snprintf(out, size, WHO, name ? name : "NAME");
    else
        (void)snprintf(out, size, "%s", said ? "" : rule->hint);
}

int say_result(enum redlock_error error, const char *told, const char *name)
{
    const char *text = text_for_people(told);
    struct rule rule = rule_of(error);
    char hint[1280];

    hint_of(&rule, text, name, hint, sizeof hint);
    if (error == REDLOCK_NOQUORUM && is_quarantine(told))
        rule.what = "too few masters may vote yet";
    say_line("%s%s%s%s%s%s%s", name ? name : "", name ? ": " : "", rule.what,
             rule.what[0] && text[0] ? ": " : "", text, hint[0] ? "; " : "", hint);
    return (int)rule.code;
}
