/* The troubles in words: the first thing on the status page. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "daemon/http/http_private.h"

enum { LONG_WAIT_MS = 60000, NEARLY_FULL = 80 /* percent */ };

struct finder {
    const struct snapshot *s;
    const struct rates *rates;
    struct trouble *list;
    unsigned count;
};

static void __attribute__((format(printf, 3, 4)))
trouble(struct finder *f, enum event_tone tone, const char *format, ...)
{
    va_list args;
    if (f->count == TROUBLES)
        return;
    struct trouble *found = &f->list[f->count++];
    found->tone = tone;
    va_start(args, format);
    vsnprintf(found->text, sizeof found->text, format, args);
    va_end(args);
}

static void find_quorum(struct finder *f)
{
    const struct snapshot *s = f->s;
    if (s->voting < s->quorum)
        trouble(f, TONE_BAD, "No lock is granted: %u of %u masters may vote, %u are needed.", s->voting,
                s->voters, s->quorum);
    if (s->draining)
        trouble(f, TONE_WARN, "This daemon shuts down: it grants no more locks, and holders may finish.");
    else if (s->unready && strcmp(s->unready, "starting") == 0)
        trouble(f, TONE_WARN, "This daemon starts: it waits until it has heard of each master.");
    if (s->voting == s->quorum && s->voters > s->quorum)
        trouble(f, TONE_WARN, "One more master away, and no lock is granted.");
}

/* A change that goes its way is worth a line, too: whoever looks has begun it, or wonders at the masters' states. */
static void find_group(struct finder *f)
{
    const struct snapshot_group *group = &f->s->group;
    char time[DURATION_BYTES], left[DURATION_BYTES + 32] = "";
    bool steady = strcmp(group->state, "steady") == 0;
    if (steady && group->why[0] == '\0')
        return;
    if (group->left_ms > 0)
        snprintf(left, sizeof left, ", %s or more to go", words_duration(group->left_ms, time));
    trouble(f, group->usual ? TONE_WARN : TONE_BAD,
            "%s generation %" PRIu32 " of the masters (step %" PRIu32 "%s)%s%s.",
            strcmp(group->state, "outdated") == 0 ? "Nothing is granted or renewed here with"
            : steady                              ? "Something is wrong with"
                                                  : "On the way to",
            group->generation, group->step, left, group->text[0] ? ": " : "", group->text);
}

static void find_lost(struct finder *f)
{
    uint64_t lost = 0;
    const struct snapshot_sample *second;
    for (unsigned i = 0; (second = rates_second(f->rates, i)); i++)
        lost += second->lost;
    if (lost > 0)
        trouble(f, TONE_BAD, "%" PRIu64 " %s lost in the last minute although nobody gave %s back.", lost,
                lost == 1 ? "lock was" : "locks were", lost == 1 ? "it" : "them");
}

const char *troubles_advice(const char *why)
{
    static const char *const known[][2] = {
        {"replica", "it is a replica: list only masters"},
        {"cluster", "it is part of a cluster: list servers that stand alone"},
        {"version", "it is older than Redis 6.2"},
        {"twin", "it is the same server as another one of the list"},
        {"noperm", "its ACL lacks a right: the log has the line to paste"},
        {"loading", "it reads its data from disk"},
        {"restart", "it restarted, and may have forgotten locks"},
        {"memory", "keys that were stored there are gone"},
        {"clock", "its clock jumped forward"},
        {"doubted", "another daemon keeps it out"},
        {"reconnect", "its connection was lost, and it allows no CLIENT KILL (no_kill)"},
        {"promoted", "another server has its place"},
        {"demoted", "it was a replica for a while"},
        {"group", "its other daemons have another number of masters, other masters or another max_ttl"},
        {"unreadable", "its group key is not as a redlockd writes it"},
        {"oom", "its memory is full"},
        {"misconf", "it cannot save to disk, and refuses writes"},
        {"noreplicas", "it has too few replicas, and refuses writes"},
        {"busy", "a script runs there without end"},
        {"silent", "it does not answer"},
        {"timeout", "it does not answer"},
        {"connect", "nothing listens there"},
        {"connect_timeout", "nothing answers there"},
        {"login_timeout", "it accepts the connection and then says nothing"},
        {"socket_error", "the connection broke"},
        {"resolve", "its name is not found"},
        {"noscript", "a command that locks need does not work there: the log names it"},
        {"login_refused", "it refuses the login: the log has its words"},
        {"maxclients", "it has no room for more clients: raise maxclients there"},
        {"closed_by_master", "it closed the connection"},
        {"handshake", "it left a question of the handshake unanswered"},
        {"tls", "TLS failed: the log has the reason"},
        {"tls_timeout", "it accepts the connection and then does not finish TLS: does that port speak TLS?"},
        {"protocol", "its answer is no RESP: does something else listen there?"},
        {"unsolicited_reply", "it sent an answer that nobody had asked for: does a proxy stand between?"},
        {"backlog", "it reads too slowly: more than node_backlog waited for it"},
        {"no_memory", "this daemon had no memory for it"},
    };
    for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i][0], why) == 0)
            return known[i][1];
    return NULL;
}

static const char *advice(const char *why)
{
    const char *known = troubles_advice(why);
    return known ? known : why;
}

static void find_masters(struct finder *f)
{
    char time[DURATION_BYTES];
    enum event_tone tone = f->s->voting < f->s->quorum ? TONE_BAD : TONE_WARN;
    for (unsigned i = 0; i < f->s->master_count; i++) {
        const struct snapshot_master *master = &f->s->masters[i];
        if (master->left_ms > 0)
            trouble(f, tone, "Master %.200s is kept out for %s more: %s.", master->address,
                    words_duration(master->left_ms, time), advice(master->why));
        else if (!master->voting)
            trouble(f, tone, "Master %.200s has been %s for %s%s%s.", master->address, master->state,
                    words_duration(master->for_ms, time), master->why[0] ? ": " : "", advice(master->why));
        else if (strcmp(master->why, "fence") == 0)
            trouble(f, TONE_WARN,
                    "Master %.200s has a fence that no clock explains: the log says what to do.",
                    master->address);
        else if (master->evicts)
            trouble(f, TONE_WARN, "Master %.200s may evict locks: set maxmemory-policy noeviction.",
                    master->address);
    }
}

static void find_limits(struct finder *f)
{
    for (unsigned i = 0; i < SNAPSHOT_LIMITS; i++) {
        const struct snapshot_limit *limit = &f->s->limits[i];
        if (limit->used >= limit->limit)
            trouble(f, TONE_BAD, "%s is reached: %" PRIu64 ". More are refused.", limit->key, limit->limit);
        else if (limit->used * 100 >= limit->limit * NEARLY_FULL)
            trouble(f, TONE_WARN, "%s is nearly reached: %" PRIu64 " of %" PRIu64 ".", limit->key,
                    limit->used, limit->limit);
    }
}

static void find_rest(struct finder *f)
{
    char time[DURATION_BYTES], client[CLIENT_BYTES];
    const struct snapshot_wait *wait = &f->s->oldest_waits[0];
    if (f->s->wait_rows > 0 && wait->waited_ms >= LONG_WAIT_MS)
        trouble(f, TONE_WARN, "A client has waited %s for %.*s; %s has it.",
                words_duration(wait->waited_ms, time), wait->name.len, wait->name.text,
                wait->held ? words_client(&wait->holder, wait->holder_session, client)
                           : "another daemon's client");
    if (f->s->reload_failed)
        trouble(f, TONE_WARN,
                "The configuration was read again and refused: redlockd --check lists the errors.");
}

unsigned troubles_find(const struct snapshot *snapshot, const struct rates *rates,
                       struct trouble troubles[TROUBLES])
{
    struct finder f = {snapshot, rates, troubles, 0};
    find_quorum(&f);
    find_group(&f);
    find_lost(&f);
    find_masters(&f);
    find_limits(&f);
    find_rest(&f);
    return f.count;
}
