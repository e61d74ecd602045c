#include "tests/chaos/verdict.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* The time after the last fault within which each name must have been granted again: its last holder's TTL
 * (2 s) runs out, quarantine (2 s) ends, connections come back (1 s). */
enum { HEALED_US = 6000000 };

/* A LOCK or RESUME, from the sending of its line. */
struct attempt {
    int64_t asked_us, granted_us;
    int64_t until_us; /* believed until this time, unless the belief has ended */
    int64_t by_us;    /* the grant was made between asked_us and this */
    uint64_t fence;
    uint32_t who;
    uint8_t name;
    bool granted, ended, believed, resume;
    int64_t renewed_us; /* when a later deadline was told first; 0: never */
    char token[RECORD_TEXT];
};

struct court {
    struct verdict *verdict;
    struct attempt *attempt; /* indexed by the LOCK's number */
    uint32_t attempts;
    bool *dead; /* indexed by client */
    uint32_t clients;
    uint32_t holder[CHAOS_NAMES]; /* the last believer */
    uint32_t fence[CHAOS_NAMES];  /* the last believed grant */
    int64_t freed_us[CHAOS_NAMES];
    uint32_t freed_by[CHAOS_NAMES];
    int64_t calm_us, end_us;
    int64_t restart_us; /* when a rolling restart killed a master last */
    bool served[CHAOS_NAMES];
};

static void violate(struct court *court, enum violation_kind kind, int64_t at_us, uint32_t one, uint32_t two,
                    const char *format, ...) __attribute__((format(printf, 6, 7)));

static void violate(struct court *court, enum violation_kind kind, int64_t at_us, uint32_t one, uint32_t two,
                    const char *format, ...)
{
    struct verdict *verdict = court->verdict;
    verdict->violations[kind]++;
    if (verdict->kept == VIOLATIONS_KEPT)
        return;
    struct violation *violation = &verdict->violation[verdict->kept++];
    *violation = (struct violation){.kind = kind, .at_us = at_us, .ask = {one, two}};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(violation->text, sizeof violation->text, format, arguments);
    va_end(arguments);
}

static void tally_add(struct tally *tally, const char *text)
{
    unsigned i = 0;
    while (i < tally->words && strncmp(tally->word[i].text, text, RECORD_TEXT) != 0)
        i++;
    if (i == WORDS)
        return;
    if (i == tally->words) {
        tally->words++;
        snprintf(tally->word[i].text, RECORD_TEXT, "%s", text);
    }
    tally->word[i].count++;
}

/* ---- who believes ---- */

static void hold_ends(struct court *court, uint32_t ask, int64_t at_us)
{
    struct attempt *attempt = &court->attempt[ask];
    if (court->holder[attempt->name] == ask && !attempt->ended) {
        court->freed_us[attempt->name] = at_us;
        court->freed_by[attempt->name] = attempt->who;
    }
    attempt->ended = true;
}

static void hold_begins(struct court *court, uint32_t ask, int64_t at_us, int64_t until_us)
{
    struct attempt *attempt = &court->attempt[ask];
    uint32_t other = court->holder[attempt->name];
    if (attempt->ended || court->dead[attempt->who] || until_us <= at_us)
        return;
    if (until_us > attempt->until_us)
        attempt->until_us = until_us;
    const struct attempt *was = &court->attempt[other];
    if (other != 0 && other != ask && !was->ended && was->until_us > at_us)
        violate(court, VIOLATION_OVERLAP, at_us, other, ask,
                "n%u: lock %" PRIu32 " (client %" PRIu32 ") is held for %.3f ms more while lock %" PRIu32
                " (client %" PRIu32 ") is granted",
                attempt->name, other, was->who, (double)(was->until_us - at_us) / 1e3, ask, attempt->who);
    court->holder[attempt->name] = ask;
    uint32_t before = court->fence[attempt->name];
    if (before != 0 && before != ask && !attempt->believed && court->attempt[before].fence >= attempt->fence)
        violate(court, VIOLATION_FENCE, at_us, before, ask,
                "n%u: fence %" PRIu64 " of lock %" PRIu32 ", then %" PRIu64 " of lock %" PRIu32,
                attempt->name, court->attempt[before].fence, before, attempt->fence, ask);
    attempt->believed = true;
    court->fence[attempt->name] = ask;
}

static void client_dies(struct court *court, const struct record *record)
{
    for (unsigned name = 0; name < CHAOS_NAMES; name++) {
        uint32_t ask = court->holder[name];
        if (ask != 0 && court->attempt[ask].who == record->who)
            hold_ends(court, ask, record->at_us);
    }
    court->dead[record->who] = true;
}

/* ---- record by record ---- */

static void see_grant(struct court *court, const struct record *record)
{
    struct verdict *verdict = court->verdict;
    struct attempt *attempt = &court->attempt[record->ask];
    if (attempt->granted)
        violate(court, VIOLATION_SEEN, record->at_us, record->ask, 0, "one LOCK was granted twice");
    attempt->granted = true;
    attempt->granted_us = record->at_us;
    attempt->fence = record->number;
    attempt->by_us = record->until_us < record->at_us ? record->until_us : record->at_us;
    memcpy(attempt->token, record->text, RECORD_TEXT);
    verdict->grants++;
    verdict->resumed += attempt->resume;
    int64_t wait_us = record->at_us - attempt->asked_us;
    if (wait_us > verdict->max_wait_us)
        verdict->max_wait_us = wait_us;
    unsigned name = attempt->name;
    if (court->freed_us[name] > attempt->asked_us && court->freed_by[name] != attempt->who)
        verdict->handed_over++;
    court->served[name] |= court->calm_us > 0 && record->at_us > court->calm_us;
    hold_begins(court, record->ask, record->at_us, record->until_us);
}

/* Before its first renewal a lock may be on no more than a majority, so that one restart may end it. */
static void see_lost(struct court *court, const struct record *record)
{
    const struct attempt *attempt = &court->attempt[record->ask];
    bool unwanted = strncmp(record->text, "expired", 7) == 0 || strncmp(record->text, "gone", 4) == 0;
    bool renewed = attempt->renewed_us != 0 && attempt->renewed_us < court->restart_us;
    if (court->verdict->keeps && unwanted && renewed && !attempt->ended)
        violate(court, VIOLATION_LOST, record->at_us, record->ask, 0,
                "n%u: lock %" PRIu32 " was lost (%.*s), though masters were only restarted, one by one",
                attempt->name, record->ask, RECORD_TEXT, record->text);
}

static void see(struct court *court, const struct record *record)
{
    struct verdict *verdict = court->verdict;
    struct attempt *attempt = &court->attempt[record->ask];
    court->end_us = record->at_us;
    switch (atomic_load(&record->kind)) {
    case RECORD_ASK:
        *attempt = (struct attempt){.asked_us = record->at_us,
                                    .name = record->name,
                                    .who = record->who,
                                    .resume = record->text[0] != '\0'};
        break;
    case RECORD_GRANT: see_grant(court, record); break;
    case RECORD_UNTIL:
        if (attempt->renewed_us == 0)
            attempt->renewed_us = record->at_us;
        hold_begins(court, record->ask, record->at_us, record->until_us);
        break;
    case RECORD_END:
        tally_add(&verdict->given_up, record->text);
        hold_ends(court, record->ask, record->at_us);
        break;
    case RECORD_LOST:
        tally_add(&verdict->lost, record->text);
        if (record->ask != 0) {
            see_lost(court, record);
            hold_ends(court, record->ask, record->at_us);
        }
        break;
    case RECORD_FAULT:
        if (strncmp(record->text, ROLLING_RESTART, strlen(ROLLING_RESTART)) == 0)
            court->restart_us = record->at_us;
        break;
    case RECORD_REFUSED: tally_add(&verdict->refused, record->text); break;
    case RECORD_WRITE: verdict->writing[record->name]++; break;
    case RECORD_WRITTEN: verdict->written[record->name]++; break;
    case RECORD_FENCED: verdict->fenced++; break;
    case RECORD_KILL: client_dies(court, record); break;
    case RECORD_CALM: court->calm_us = record->at_us; break;
    case RECORD_WRONG:
        violate(court, VIOLATION_SEEN, record->at_us, record->ask, 0, "%s", record->text);
        break;
    default: break;
    }
}

/* ---- over all grants ---- */

static const struct attempt *order_base; /* qsort() has no argument of its own */

static int by_number(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int order_asked(const void *a, const void *b)
{
    return by_number((uint64_t)order_base[*(const uint32_t *)a].asked_us,
                     (uint64_t)order_base[*(const uint32_t *)b].asked_us);
}

static int order_by(const void *a, const void *b)
{
    return by_number((uint64_t)order_base[*(const uint32_t *)a].by_us,
                     (uint64_t)order_base[*(const uint32_t *)b].by_us);
}

static int order_token(const void *a, const void *b)
{
    return strncmp(order_base[*(const uint32_t *)a].token, order_base[*(const uint32_t *)b].token,
                   RECORD_TEXT);
}

/* Grants that were read too late to be believed count for fences too. The time of such a grant is not
 * known, only that it lies after its request and before its reading or its deadline. */
static void fences_compare(struct court *court, uint32_t *asked, uint32_t *by, uint32_t count)
{
    uint32_t highest[CHAOS_NAMES] = {0};
    qsort(asked, count, sizeof *asked, order_asked);
    qsort(by, count, sizeof *by, order_by);
    for (uint32_t i = 0, j = 0; i < count; i++) {
        const struct attempt *later = &court->attempt[asked[i]];
        for (; j < count && court->attempt[by[j]].by_us < later->asked_us; j++) {
            uint32_t *high = &highest[court->attempt[by[j]].name];
            if (*high == 0 || court->attempt[by[j]].fence > court->attempt[*high].fence)
                *high = by[j];
        }
        uint32_t before = highest[later->name];
        if (before != 0 && court->attempt[before].fence >= later->fence)
            violate(court, VIOLATION_FENCE, later->granted_us, before, asked[i],
                    "n%u: lock %" PRIu32 " was asked for after lock %" PRIu32 " was granted, fence %" PRIu64
                    " after %" PRIu64,
                    later->name, asked[i], before, later->fence, court->attempt[before].fence);
    }
}

static void tokens_compare(struct court *court, uint32_t *list, uint32_t count)
{
    qsort(list, count, sizeof *list, order_token);
    for (uint32_t i = 1; i < count; i++)
        if (order_token(&list[i - 1], &list[i]) == 0)
            violate(court, VIOLATION_TOKEN, court->attempt[list[i]].granted_us, list[i - 1], list[i],
                    "locks %" PRIu32 " and %" PRIu32 " have one token", list[i - 1], list[i]);
}

static void grants_compare(struct court *court)
{
    uint32_t *lists = calloc(2 * (size_t)court->attempts + 1, sizeof *lists), count = 0;
    if (lists == NULL)
        abort();
    for (uint32_t ask = 1; ask < court->attempts; ask++)
        if (court->attempt[ask].granted)
            lists[count++] = ask;
    memcpy(lists + court->attempts, lists, count * sizeof *lists);
    order_base = court->attempt;
    fences_compare(court, lists, lists + court->attempts, count);
    tokens_compare(court, lists, count);
    free(lists);
}

/* ---- the whole ---- */

/* Among records of the same µs, an end comes before a beginning: a release was sent before the grant that
 * it made possible. */
static int order_time(const void *a, const void *b)
{
    const struct record *one = a, *two = b;
    int order = by_number((uint64_t)one->at_us, (uint64_t)two->at_us);
    return order != 0 ? order : (two->kind == RECORD_END) - (one->kind == RECORD_END);
}

static uint32_t history_count(const struct history *history)
{
    uint32_t used = atomic_load(&history->used);
    return used < RECORDS ? used : RECORDS;
}

void verdict_find(struct verdict *verdict, struct history *history)
{
    uint32_t count = history_count(history);
    struct court court = {.verdict = verdict, .attempts = atomic_load(&history->asks) + 1, .clients = 1};
    *verdict = (struct verdict){.keeps = verdict->keeps};
    qsort(history->record, count, sizeof history->record[0], order_time);
    for (uint32_t i = 0; i < count; i++)
        if (history->record[i].who >= court.clients)
            court.clients = history->record[i].who + 1;
    court.attempt = calloc(court.attempts, sizeof *court.attempt);
    court.dead = calloc(court.clients, sizeof *court.dead);
    if (court.attempt == NULL || court.dead == NULL)
        abort();
    for (uint32_t i = 0; i < count; i++)
        see(&court, &history->record[i]);
    grants_compare(&court);
    for (unsigned name = 0; name < CHAOS_NAMES; name++)
        if (court.calm_us > 0 && court.end_us - court.calm_us > HEALED_US && !court.served[name])
            violate(&court, VIOLATION_STARVED, court.calm_us, court.holder[name], 0,
                    "n%u was not granted once in the %.1f s after all was healed", name,
                    (double)(court.end_us - court.calm_us) / 1e6);
    free(court.attempt);
    free(court.dead);
}

bool verdict_clean(const struct verdict *verdict)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < VIOLATION_KINDS; i++)
        sum += verdict->violations[i];
    return sum == 0;
}

static void violation_explain(FILE *out, const struct violation *v, const struct history *history,
                              int64_t start_us)
{
    enum { BEFORE_US = 2500000, AFTER_US = 100000 };
    uint32_t count = history_count(history), who[2] = {0};
    int64_t from_us = v->at_us - BEFORE_US;
    for (uint32_t i = 0; i < count; i++)
        for (unsigned k = 0; k < 2; k++) {
            const struct record *record = &history->record[i];
            if (record->ask == 0 || record->ask != v->ask[k])
                continue;
            from_us = record->at_us < from_us ? record->at_us : from_us;
            who[k] = record->who;
        }
    fprintf(out, "\nVIOLATION at %.6f: %s\n", (double)(v->at_us - start_us) / 1e6, v->text);
    for (uint32_t i = 0; i < count; i++) {
        const struct record *record = &history->record[i];
        bool theirs = record->ask != 0 && (record->ask == v->ask[0] || record->ask == v->ask[1]);
        bool near = record->at_us >= from_us && record->at_us <= v->at_us + AFTER_US;
        bool fault = record->kind == RECORD_FAULT || record->kind == RECORD_WRONG ||
                     (record->kind == RECORD_KILL && (record->who == who[0] || record->who == who[1]));
        if (theirs || (near && fault))
            record_print(out, record, start_us);
    }
}

void verdict_explain(FILE *out, const struct verdict *verdict, const struct history *history,
                     int64_t start_us)
{
    for (unsigned i = 0; i < verdict->kept; i++)
        violation_explain(out, &verdict->violation[i], history, start_us);
}
