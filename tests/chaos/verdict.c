#include "tests/chaos/verdict.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* The time after the last fault within which each name must have been granted again: its last holder's TTL
 * (2 s) runs out, quarantine (2 s, or 3 s where max_ttl changes) ends, connections come back (1 s). */
enum { HEALED_US = 6000000 };

/* More than clients: one that lets its leases run out may believe in several. */
enum { BELIEVERS = 128 };

/* Longer than any lock that is not renewed lives, and a margin for clocks. */
enum { BROKEN_OVER_US = 2100000, KILLED_US = 3000000 };

/* A LOCK or RESUME, from the sending of its line. */
struct attempt {
    int64_t asked_us, granted_us;
    int64_t until_us; /* believed until this time, unless the belief has ended */
    int64_t by_us;    /* the grant was made between asked_us and this */
    uint64_t fence;
    uint32_t who, names;
    bool shared, granted, ended, believed, resume;
    int64_t first_us;   /* when it, or the lock that it resumed, was asked for */
    int64_t broken_us;  /* a BREAK has deleted its key on all masters by then; 0: none did */
    int64_t renewed_us; /* when a later deadline was told first; 0: never */
    char token[RECORD_TEXT];
};

/* A BREAK: locks of the name that were asked for before until_us may have been taken, since from_us. */
struct breaking {
    int64_t from_us, until_us;
    uint32_t names;
};

struct believers {
    unsigned count;
    uint32_t ask[BELIEVERS];
};

struct court {
    struct verdict *verdict;
    struct attempt *attempt; /* indexed by the LOCK's number */
    uint32_t attempts;
    bool *dead; /* indexed by client */
    uint32_t clients;
    struct believers believers[CHAOS_NAMES];
    uint32_t fence[2][CHAOS_NAMES]; /* the believed grant of the highest fence: writers', readers' */
    int64_t freed_us[CHAOS_NAMES];
    uint32_t freed_by[CHAOS_NAMES];
    struct breaking *breaking;
    uint32_t breakings;
    int64_t killed_us; /* when masters were killed last */
    int64_t calm_us, end_us;
    int64_t restart_us; /* when a rolling restart killed a master last, or a change of masters began */
    unsigned granted;   /* grants before the last step of a change of masters */
    bool served[2][CHAOS_NAMES]; /* writers, readers */
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

static bool is_believed(const struct attempt *attempt, int64_t at_us)
{
    return attempt->believed && !attempt->ended && attempt->until_us > at_us;
}

/* Its holder may have been told nothing of a BREAK yet: only its fence counts. */
static bool is_doubtful(const struct court *court, const struct attempt *attempt, int64_t at_us)
{
    for (uint32_t i = 0; i < court->breakings; i++) {
        const struct breaking *breaking = &court->breaking[i];
        if ((breaking->names & attempt->names) != 0 && breaking->from_us <= at_us &&
            attempt->first_us < breaking->until_us)
            return true;
    }
    return false;
}

static bool has_name(const struct attempt *attempt, unsigned name)
{
    return attempt->names & 1u << name;
}

static void hold_ends(struct court *court, uint32_t ask, int64_t at_us)
{
    struct attempt *attempt = &court->attempt[ask];
    for (unsigned name = 0; is_believed(attempt, at_us) && name < CHAOS_NAMES; name++)
        if (has_name(attempt, name)) {
            court->freed_us[name] = at_us;
            court->freed_by[name] = attempt->who;
        }
    attempt->ended = true;
}

static void believers_prune(struct court *court, struct believers *list, int64_t at_us)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < list->count; i++)
        if (is_believed(&court->attempt[list->ask[i]], at_us))
            list->ask[kept++] = list->ask[i];
    list->count = kept;
}

/* The lock joins the believers in that name: only readers may stand beside each other. */
static void believers_join(struct court *court, unsigned name, uint32_t ask, int64_t at_us)
{
    struct believers *list = &court->believers[name];
    const struct attempt *attempt = &court->attempt[ask];
    bool there = false, beside = false;
    believers_prune(court, list, at_us);
    for (unsigned i = 0; i < list->count; i++) {
        uint32_t other = list->ask[i];
        const struct attempt *was = &court->attempt[other];
        there |= other == ask;
        beside |= other != ask && was->shared;
        bool doubtful = is_doubtful(court, was, at_us) || is_doubtful(court, attempt, at_us);
        if (other != ask && !(was->shared && attempt->shared) && !doubtful)
            violate(court, VIOLATION_OVERLAP, at_us, other, ask,
                    "n%u: %slock %" PRIu32 " (client %" PRIu32
                    ") is held for %.3f ms more while %slock %" PRIu32 " (client %" PRIu32 ") is granted",
                    name, was->shared ? "shared " : "", other, was->who,
                    (double)(was->until_us - at_us) / 1e3, attempt->shared ? "shared " : "", ask,
                    attempt->who);
    }
    if (there)
        return;
    if (list->count == BELIEVERS)
        abort();
    list->ask[list->count++] = ask;
    court->verdict->beside += attempt->shared && beside;
}

static void fence_follows(struct court *court, unsigned name, uint32_t before, uint32_t ask, int64_t at_us)
{
    const struct attempt *was = &court->attempt[before], *is = &court->attempt[ask];
    if (before != 0 && before != ask && was->fence >= is->fence)
        violate(court, VIOLATION_FENCE, at_us, before, ask,
                "n%u: fence %" PRIu64 " of lock %" PRIu32 ", then %" PRIu64 " of lock %" PRIu32, name,
                was->fence, before, is->fence, ask);
}

/* Readers share, so that their fences need no order among each other. */
static void fence_compare(struct court *court, unsigned name, uint32_t ask, int64_t at_us)
{
    const struct attempt *attempt = &court->attempt[ask];
    uint32_t *highest = &court->fence[attempt->shared][name];
    if (is_doubtful(court, attempt, at_us))
        return;
    fence_follows(court, name, court->fence[0][name], ask, at_us);
    if (!attempt->shared)
        fence_follows(court, name, court->fence[1][name], ask, at_us);
    if (*highest == 0 || !attempt->shared || court->attempt[*highest].fence < attempt->fence)
        *highest = ask;
}

static void hold_begins(struct court *court, uint32_t ask, int64_t at_us, int64_t until_us)
{
    struct attempt *attempt = &court->attempt[ask];
    bool was_believed = attempt->believed;
    if (attempt->ended || court->dead[attempt->who] || until_us <= at_us)
        return;
    if (until_us > attempt->until_us)
        attempt->until_us = until_us;
    attempt->believed = true;
    for (unsigned name = 0; name < CHAOS_NAMES; name++) {
        if (!has_name(attempt, name))
            continue;
        believers_join(court, name, ask, at_us);
        if (!was_believed)
            fence_compare(court, name, ask, at_us);
    }
}

static void client_dies(struct court *court, const struct record *record)
{
    for (unsigned name = 0; name < CHAOS_NAMES; name++) {
        const struct believers *list = &court->believers[name];
        for (unsigned i = 0; i < list->count; i++)
            if (court->attempt[list->ask[i]].who == record->who)
                hold_ends(court, list->ask[i], record->at_us);
    }
    court->dead[record->who] = true;
}

/* ---- record by record ---- */

/* After the faults; any slot serves the name that has slots. */
static void name_served(struct court *court, const struct attempt *attempt, unsigned name, int64_t at_us)
{
    unsigned served = name < FIRST_SLOT ? name : FIRST_SLOT;
    court->served[attempt->shared][served] |= court->calm_us > 0 && at_us > court->calm_us;
}

static void see_grant(struct court *court, const struct record *record)
{
    struct verdict *verdict = court->verdict;
    struct attempt *attempt = &court->attempt[record->ask];
    if (attempt->granted)
        violate(court, VIOLATION_SEEN, record->at_us, record->ask, 0, "one LOCK was granted twice");
    attempt->granted = true;
    if (attempt->names == 0)
        attempt->names = record->names;
    attempt->granted_us = record->at_us;
    attempt->fence = record->number;
    attempt->by_us = record->until_us < record->at_us ? record->until_us : record->at_us;
    memcpy(attempt->token, record->text, RECORD_TEXT);
    verdict->grants++;
    verdict->resumed += attempt->resume;
    verdict->shared += attempt->shared;
    verdict->lists += (attempt->names & (attempt->names - 1)) != 0;
    verdict->slots += attempt->names >> FIRST_SLOT != 0;
    int64_t wait_us = record->at_us - attempt->asked_us;
    if (wait_us > verdict->max_wait_us)
        verdict->max_wait_us = wait_us;
    bool handed_over = false;
    for (unsigned name = 0; name < CHAOS_NAMES; name++) {
        if (!has_name(attempt, name))
            continue;
        handed_over |= court->freed_us[name] > attempt->asked_us && court->freed_by[name] != attempt->who;
        name_served(court, attempt, name, record->at_us);
    }
    verdict->handed_over += handed_over;
    hold_begins(court, record->ask, record->at_us, record->until_us);
}

static void see_change(struct court *court, const struct record *record)
{
    struct verdict *verdict = court->verdict;
    unsigned since = verdict->grants - court->granted;
    if (court->granted != 0 && (verdict->fewest == 0 || since < verdict->fewest))
        verdict->fewest = since;
    court->granted = verdict->grants;
    court->restart_us = record->at_us;
}

/* Before its first renewal a lock may be on no more than a majority, so that one restart may end it. */
static void see_lost(struct court *court, const struct record *record)
{
    const struct attempt *attempt = &court->attempt[record->ask];
    bool unwanted = strncmp(record->text, "expired", 7) == 0 || strncmp(record->text, "gone", 4) == 0;
    bool renewed = attempt->renewed_us != 0 && attempt->renewed_us < court->restart_us;
    if (court->verdict->keeps && unwanted && renewed && !attempt->ended)
        violate(court, VIOLATION_LOST, record->at_us, record->ask, 0,
                "lock %" PRIu32
                " was lost (%.*s), though masters were only restarted, one by one, or changed",
                record->ask, RECORD_TEXT, record->text);
}

static void names_count(unsigned count[CHAOS_NAMES], uint32_t names)
{
    for (unsigned name = 0; name < CHAOS_NAMES; name++)
        count[name] += names >> name & 1u;
}

/* Whoever held the name alone all the while was its holder. A master that is killed may have a key set again. */
static void see_broken(struct court *court, const struct record *record)
{
    unsigned name = (unsigned)__builtin_ctz(record->names);
    struct believers *list = &court->believers[name];
    int64_t from_us = 0;
    for (uint32_t i = 0; i < court->breakings; i++)
        if (court->breaking[i].from_us <= record->at_us && (court->breaking[i].names & record->names) != 0)
            from_us = court->breaking[i].from_us;
    believers_prune(court, list, record->at_us);
    if (strncmp(record->text, BROKEN_ALL, strlen(BROKEN_ALL)) != 0)
        return;
    for (unsigned i = 0; i < list->count; i++) {
        struct attempt *attempt = &court->attempt[list->ask[i]];
        if (attempt->shared || attempt->granted_us >= from_us)
            continue;
        attempt->broken_us = record->at_us;
        court->verdict->broken++;
    }
}

static void see_renewed(struct court *court, const struct record *record)
{
    const struct attempt *attempt = &court->attempt[record->ask];
    if (attempt->broken_us != 0 && !attempt->ended &&
        (court->killed_us == 0 || court->killed_us < attempt->broken_us - KILLED_US) &&
        record->until_us > attempt->broken_us + BROKEN_OVER_US)
        violate(court, VIOLATION_BROKEN, record->at_us, record->ask, 0,
                "lock %" PRIu32 " (client %" PRIu32 ") was renewed after a BREAK had deleted its key",
                record->ask, attempt->who);
}

/* Whether the fault kills masters. */
static bool kills_masters(const char *text)
{
    return strncmp(text, "master-kill", 11) == 0 || strncmp(text, "majority-kill", 13) == 0 ||
           strncmp(text, "rolling", 7) == 0;
}

static void see(struct court *court, const struct record *record)
{
    struct verdict *verdict = court->verdict;
    struct attempt *attempt = &court->attempt[record->ask];
    court->end_us = record->at_us;
    switch (atomic_load(&record->kind)) {
    case RECORD_ASK:
        *attempt = (struct attempt){.asked_us = record->at_us,
                                    .names = record->names,
                                    .who = record->who,
                                    .shared = record->shared,
                                    .first_us = record->at_us,
                                    .resume = record->text[0] != '\0'};
        if (attempt->resume && record->number != 0 && record->number < court->attempts)
            attempt->first_us = court->attempt[record->number].first_us;
        break;
    case RECORD_GRANT: see_grant(court, record); break;
    case RECORD_UNTIL:
        if (attempt->renewed_us == 0)
            attempt->renewed_us = record->at_us;
        see_renewed(court, record);
        hold_begins(court, record->ask, record->at_us, record->until_us);
        /* Where locks must be kept, some are held for longer than the time without faults. */
        for (unsigned name = 0; verdict->keeps && name < CHAOS_NAMES; name++)
            if (has_name(attempt, name))
                name_served(court, attempt, name, record->at_us);
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
    case RECORD_BROKEN: see_broken(court, record); break;
    case RECORD_FAULT:
        if (kills_masters(record->text))
            court->killed_us = record->at_us;
        if (strncmp(record->text, ROLLING_RESTART, strlen(ROLLING_RESTART)) == 0)
            court->restart_us = record->at_us;
        if (strncmp(record->text, CHANGE, strlen(CHANGE)) == 0)
            see_change(court, record);
        break;
    case RECORD_REFUSED: tally_add(&verdict->refused, record->text); break;
    case RECORD_WRITE: names_count(verdict->writing, record->names); break;
    case RECORD_WRITTEN: names_count(verdict->written, record->names); break;
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

static void fences_raise(const struct court *court, uint32_t highest[CHAOS_NAMES], uint32_t ask)
{
    const struct attempt *attempt = &court->attempt[ask];
    for (unsigned name = 0; name < CHAOS_NAMES; name++)
        if (has_name(attempt, name) &&
            (highest[name] == 0 || attempt->fence > court->attempt[highest[name]].fence))
            highest[name] = ask;
}

static void fences_below(struct court *court, const uint32_t highest[CHAOS_NAMES], uint32_t ask)
{
    const struct attempt *later = &court->attempt[ask];
    for (unsigned name = 0; name < CHAOS_NAMES; name++) {
        uint32_t before = highest[name];
        if (!has_name(later, name) || before == 0 || court->attempt[before].fence < later->fence ||
            is_doubtful(court, later, later->granted_us))
            continue;
        violate(court, VIOLATION_FENCE, later->granted_us, before, ask,
                "n%u: lock %" PRIu32 " was asked for after lock %" PRIu32 " was granted, fence %" PRIu64
                " after %" PRIu64,
                name, ask, before, later->fence, court->attempt[before].fence);
    }
}

/* Grants that were read too late to be believed count for fences too. The time of such a grant is not
 * known, only that it lies after its request and before its reading or its deadline. */
static void fences_compare(struct court *court, uint32_t *asked, uint32_t *by, uint32_t count)
{
    uint32_t highest[2][CHAOS_NAMES] = {0}; /* writers', readers' */
    qsort(asked, count, sizeof *asked, order_asked);
    qsort(by, count, sizeof *by, order_by);
    for (uint32_t i = 0, j = 0; i < count; i++) {
        const struct attempt *later = &court->attempt[asked[i]];
        for (; j < count && court->attempt[by[j]].by_us < later->asked_us; j++)
            fences_raise(court, highest[court->attempt[by[j]].shared], by[j]);
        fences_below(court, highest[0], asked[i]);
        if (!later->shared)
            fences_below(court, highest[1], asked[i]);
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

static void starved_find(struct court *court)
{
    static const char *const to[] = {"a writer", "a reader"};
    for (unsigned name = 0; name <= FIRST_SLOT; name++)
        for (unsigned shared = 0; shared < 2; shared++) {
            bool wanted = !shared || (name >= PLAIN_NAMES && name < PLAIN_NAMES + PAGES);
            if (wanted && !court->served[shared][name])
                violate(court, VIOLATION_STARVED, court->calm_us, court->fence[shared][name], 0,
                        "n%u was not granted once to %s in the %.1f s after all was healed", name, to[shared],
                        (double)(court->end_us - court->calm_us) / 1e6);
        }
}

/* Among records of the same µs, an end comes before a beginning: a release was sent before the grant that
 * it made possible. */
static int order_time(const void *a, const void *b)
{
    const struct record *one = a, *two = b;
    int order = by_number((uint64_t)one->at_us, (uint64_t)two->at_us);
    return order != 0 ? order : (two->kind == RECORD_END) - (one->kind == RECORD_END);
}

/* One BREAK at a time; if none of its effects is recorded, it may be under way at the end. */
static void breakings_find(struct court *court, const struct history *history, uint32_t count)
{
    court->breaking = calloc((size_t)count + 1, sizeof *court->breaking);
    if (court->breaking == NULL)
        abort();
    for (uint32_t i = 0; i < count; i++) {
        const struct record *record = &history->record[i];
        unsigned kind = atomic_load(&record->kind);
        struct breaking *last = &court->breaking[court->breakings == 0 ? 0 : court->breakings - 1];
        if (kind == RECORD_BREAK)
            court->breaking[court->breakings++] =
                (struct breaking){.from_us = record->at_us, .until_us = INT64_MAX, .names = record->names};
        else if (kind == RECORD_BROKEN && strncmp(record->text, BROKEN_NONE, strlen(BROKEN_NONE)) == 0)
            last->names = 0;
        else if (kind == RECORD_BROKEN)
            last->until_us = record->at_us + BREAK_AFTER_US;
    }
}

void verdict_find(struct verdict *verdict, struct history *history)
{
    uint32_t count = history_length(history);
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
    breakings_find(&court, history, count);
    for (uint32_t i = 0; i < count; i++)
        see(&court, &history->record[i]);
    grants_compare(&court);
    if (court.calm_us > 0 && court.end_us - court.calm_us > HEALED_US)
        starved_find(&court);
    free(court.attempt);
    free(court.dead);
    free(court.breaking);
}

bool verdict_clean(const struct verdict *verdict)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < VIOLATION_KINDS; i++)
        sum += verdict->violations[i];
    return sum == 0;
}
