/* A checker that has never been seen to find anything proves nothing. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/chaos/verdict.h"

enum { MS = 1000, EVENTS = 12 };

/* The number of a RECORD_ASK: which names (0: the first alone), and whether a reader asks; or A_SLOT, and then the
 * number of the RECORD_GRANT is the fence with the slot above it. */
#define NAMES(one, two) (1u << (one) | 1u << (two))
#define SHARED          (UINT64_C(1) << 32)
#define A_SLOT          (UINT64_C(1) << 33)
#define SLOT_SHIFT      40
#define SLOT(i)         (((uint64_t)(i) + 1) << SLOT_SHIFT)

struct event {
    enum record_kind kind;
    int64_t at_ms;
    uint32_t ask, who;
    int64_t until_ms;
    uint64_t number;
    const char *text;
};

struct planted {
    const char *name;
    unsigned violations[VIOLATION_KINDS];
    struct event event[EVENTS];
};

static const struct planted plants[] = {
    {"one after the other",
     {0},
     {{RECORD_ASK, 1, 1, 1, 0, 0, ""},
      {RECORD_GRANT, 2, 1, 1, 900, 5, "a"},
      {RECORD_ASK, 3, 2, 2, 0, 0, ""},
      {RECORD_END, 4, 1, 1, 0, 0, "UNLOCK"},
      {RECORD_GRANT, 5, 2, 2, 900, 6, "b"}}},
    {"a second grant while the first is held",
     {[VIOLATION_OVERLAP] = 1},
     {{RECORD_ASK, 1, 1, 1, 0, 0, ""},
      {RECORD_GRANT, 2, 1, 1, 900, 5, "a"},
      {RECORD_ASK, 1, 2, 2, 0, 0, ""},
      {RECORD_GRANT, 5, 2, 2, 900, 6, "b"},
      {RECORD_END, 6, 1, 1, 0, 0, "UNLOCK"}}},
    {"a deadline that was told later",
     {[VIOLATION_OVERLAP] = 1},
     {{RECORD_ASK, 1, 1, 1, 0, 0, ""},
      {RECORD_GRANT, 2, 1, 1, 100, 5, "a"},
      {RECORD_UNTIL, 50, 1, 1, 300, 0, ""},
      {RECORD_ASK, 60, 2, 2, 0, 0, ""},
      {RECORD_GRANT, 200, 2, 2, 900, 6, "b"}}},
    {"a grant after the deadline, after !LOST, after the holder's death",
     {0},
     {{RECORD_ASK, 1, 1, 1, 0, 0, ""},
      {RECORD_GRANT, 2, 1, 1, 100, 5, "a"},
      {RECORD_ASK, 3, 2, 2, 0, 0, ""},
      {RECORD_GRANT, 101, 2, 2, 900, 6, "b"},
      {RECORD_LOST, 120, 2, 2, 0, 0, "gone"},
      {RECORD_ASK, 121, 3, 3, 0, 0, ""},
      {RECORD_GRANT, 122, 3, 3, 900, 7, "c"},
      {RECORD_KILL, 123, 0, 3, 0, 0, ""},
      {RECORD_ASK, 124, 4, 4, 0, 0, ""},
      {RECORD_GRANT, 125, 4, 4, 900, 8, "d"}}},
    {"a grant that was read after its asker had left",
     {0},
     {{RECORD_ASK, 1, 1, 1, 0, 0, ""},
      {RECORD_END, 2, 1, 1, 0, 0, "FIN"},
      {RECORD_GRANT, 3, 1, 1, 900, 5, "a"},
      {RECORD_ASK, 4, 2, 2, 0, 0, ""},
      {RECORD_GRANT, 5, 2, 2, 900, 6, "b"}}},
    {"a fence that falls",
     {[VIOLATION_FENCE] = 1},
     {{RECORD_ASK, 1, 1, 1, 0, 0, ""},
      {RECORD_ASK, 1, 2, 2, 0, 0, ""},
      {RECORD_GRANT, 2, 1, 1, 900, 5, "a"},
      {RECORD_END, 3, 1, 1, 0, 0, "UNLOCK"},
      {RECORD_GRANT, 5, 2, 2, 900, 4, "b"}}},
    {"a fence that stays, of a grant that was read too late",
     {[VIOLATION_FENCE] = 1},
     {{RECORD_ASK, 1, 1, 1, 0, 0, ""},
      {RECORD_GRANT, 20, 1, 1, 10, 5, "a"},
      {RECORD_ASK, 15, 2, 2, 0, 0, ""},
      {RECORD_GRANT, 16, 2, 2, 900, 5, "b"}}},
    {"one token for two",
     {[VIOLATION_TOKEN] = 1},
     {{RECORD_ASK, 1, 1, 1, 0, 0, ""},
      {RECORD_GRANT, 2, 1, 1, 900, 5, "a"},
      {RECORD_END, 3, 1, 1, 0, 0, ""},
      {RECORD_ASK, 4, 2, 2, 0, 0, ""},
      {RECORD_GRANT, 5, 2, 2, 900, 6, "a"}}},
    {"nobody is served after all was healed",
     {[VIOLATION_STARVED] = FIRST_SLOT + PAGES}, /* all names but one, and the readers of each page */
     {{RECORD_CALM, 1, 0, 0, 0, 0, ""},
      {RECORD_ASK, 2, 1, 1, 0, 0, ""},
      {RECORD_GRANT, 3, 1, 1, 900, 5, "a"},
      {RECORD_END, 9000, 1, 1, 0, 0, ""}}},
    {"a lock that lived on renewals is lost after a master's restart",
     {[VIOLATION_LOST] = 1},
     {{RECORD_ASK, 1, 1, 1, 0, 0, ""},
      {RECORD_GRANT, 2, 1, 1, 900, 5, "a"},
      {RECORD_UNTIL, 50, 1, 1, 950, 0, ""},
      {RECORD_FAULT, 60, 0, 0, 0, 0, ROLLING_RESTART " of m0"},
      {RECORD_LOST, 120, 1, 1, 0, 0, "gone"}}},
    {"... but not one that was not renewed yet, or that was given up",
     {0},
     {{RECORD_ASK, 1, 1, 1, 0, 0, ""},
      {RECORD_GRANT, 2, 1, 1, 900, 5, "a"},
      {RECORD_FAULT, 60, 0, 0, 0, 0, ROLLING_RESTART " of m0"},
      {RECORD_LOST, 120, 1, 1, 0, 0, "gone"},
      {RECORD_ASK, 121, 2, 2, 0, 0, ""},
      {RECORD_GRANT, 122, 2, 2, 900, 6, "b"},
      {RECORD_UNTIL, 123, 2, 2, 950, 0, ""},
      {RECORD_FAULT, 124, 0, 0, 0, 0, ROLLING_RESTART " of m1"},
      {RECORD_END, 125, 2, 2, 0, 0, "UNLOCK elsewhere"},
      {RECORD_LOST, 126, 2, 2, 0, 0, "gone"}}},
    {"readers beside each other, then a writer, then a reader",
     {0},
     {{RECORD_ASK, 1, 1, 1, 0, SHARED, ""},
      {RECORD_GRANT, 2, 1, 1, 900, 6, "a"},
      {RECORD_ASK, 3, 2, 2, 0, SHARED, ""},
      {RECORD_GRANT, 4, 2, 2, 900, 6, "b"},
      {RECORD_END, 5, 1, 1, 0, 0, "UNLOCK"},
      {RECORD_END, 6, 2, 2, 0, 0, "UNLOCK"},
      {RECORD_ASK, 7, 3, 3, 0, 0, ""},
      {RECORD_GRANT, 8, 3, 3, 900, 7, "c"},
      {RECORD_END, 9, 3, 3, 0, 0, "UNLOCK"},
      {RECORD_ASK, 10, 4, 4, 0, SHARED, ""},
      {RECORD_GRANT, 11, 4, 4, 900, 8, "d"}}},
    {"a writer beside the first of two readers",
     {[VIOLATION_OVERLAP] = 1},
     {{RECORD_ASK, 1, 1, 1, 0, SHARED, ""},
      {RECORD_GRANT, 2, 1, 1, 900, 6, "a"},
      {RECORD_ASK, 3, 2, 2, 0, SHARED, ""},
      {RECORD_GRANT, 4, 2, 2, 900, 6, "b"},
      {RECORD_END, 5, 2, 2, 0, 0, "UNLOCK"},
      {RECORD_ASK, 7, 3, 3, 0, 0, ""},
      {RECORD_GRANT, 8, 3, 3, 900, 7, "c"}}},
    {"a reader beside a writer",
     {[VIOLATION_OVERLAP] = 1},
     {{RECORD_ASK, 1, 1, 1, 0, 0, ""},
      {RECORD_GRANT, 2, 1, 1, 900, 6, "a"},
      {RECORD_ASK, 1, 2, 2, 0, SHARED, ""},
      {RECORD_GRANT, 4, 2, 2, 900, 7, "b"}}},
    {"a writer whose fence is not above that of the higher of two readers",
     {[VIOLATION_FENCE] = 1},
     {{RECORD_ASK, 1, 1, 1, 0, SHARED, ""},
      {RECORD_ASK, 1, 2, 2, 0, SHARED, ""},
      {RECORD_ASK, 1, 3, 3, 0, 0, ""},
      {RECORD_GRANT, 2, 1, 1, 900, 7, "a"},
      {RECORD_GRANT, 4, 2, 2, 900, 6, "b"},
      {RECORD_END, 5, 1, 1, 0, 0, "UNLOCK"},
      {RECORD_END, 6, 2, 2, 0, 0, "UNLOCK"},
      {RECORD_GRANT, 8, 3, 3, 900, 7, "c"}}},
    {"the fence of a reader who asked after a writer was granted, and that was read too late",
     {[VIOLATION_FENCE] = 1},
     {{RECORD_ASK, 1, 1, 1, 0, 0, ""},
      {RECORD_GRANT, 20, 1, 1, 10, 5, "a"},
      {RECORD_ASK, 15, 2, 2, 0, SHARED, ""},
      {RECORD_GRANT, 16, 2, 2, 900, 5, "b"}}},
    {"lists with one name in common",
     {[VIOLATION_OVERLAP] = 1},
     {{RECORD_ASK, 1, 1, 1, 0, NAMES(1, 2), ""},
      {RECORD_GRANT, 2, 1, 1, 900, 6, "a"},
      {RECORD_ASK, 1, 2, 2, 0, NAMES(3, 2), ""},
      {RECORD_GRANT, 4, 2, 2, 900, 7, "b"}}},
    {"lists with no name in common, and a name after its list",
     {0},
     {{RECORD_ASK, 1, 1, 1, 0, NAMES(1, 2), ""},
      {RECORD_GRANT, 2, 1, 1, 900, 7, "a"},
      {RECORD_ASK, 1, 2, 2, 0, NAMES(3, 4), ""},
      {RECORD_GRANT, 4, 2, 2, 900, 6, "b"},
      {RECORD_END, 5, 1, 1, 0, 0, "UNLOCK"},
      {RECORD_ASK, 6, 3, 3, 0, NAMES(1, 1), ""},
      {RECORD_GRANT, 7, 3, 3, 900, 8, "c"}}},
    {"a list's fence above that of one of its names only",
     {[VIOLATION_FENCE] = 1},
     {{RECORD_ASK, 1, 1, 1, 0, NAMES(1, 1), ""},
      {RECORD_GRANT, 2, 1, 1, 900, 7, "a"},
      {RECORD_ASK, 1, 2, 2, 0, NAMES(2, 1), ""},
      {RECORD_END, 5, 1, 1, 0, 0, "UNLOCK"},
      {RECORD_GRANT, 6, 2, 2, 900, 6, "b"}}},
    {"a slot beside another, and a second holder of the first",
     {[VIOLATION_OVERLAP] = 1},
     {{RECORD_ASK, 1, 1, 1, 0, A_SLOT, ""},
      {RECORD_GRANT, 2, 1, 1, 900, SLOT(0) | 7, "a"},
      {RECORD_ASK, 1, 2, 2, 0, A_SLOT, ""},
      {RECORD_GRANT, 4, 2, 2, 900, SLOT(1) | 6, "b"},
      {RECORD_ASK, 1, 3, 3, 0, A_SLOT, ""},
      {RECORD_GRANT, 5, 3, 3, 900, SLOT(0) | 8, "c"}}},
    {"a slot's fence that falls",
     {[VIOLATION_FENCE] = 1},
     {{RECORD_ASK, 1, 1, 1, 0, A_SLOT, ""},
      {RECORD_GRANT, 2, 1, 1, 900, SLOT(2) | 7, "a"},
      {RECORD_END, 3, 1, 1, 0, 0, "UNLOCK"},
      {RECORD_ASK, 1, 2, 2, 0, A_SLOT, ""},
      {RECORD_GRANT, 4, 2, 2, 900, SLOT(2) | 6, "b"}}},
    {"a holder that was broken, one that was handed its lock, and the next",
     {0},
     {{RECORD_ASK, 1, 1, 1, 0, 0, ""},
      {RECORD_ASK, 1, 2, 2, 0, 0, ""},
      {RECORD_GRANT, 2, 1, 1, 900, 5, "a"},
      {RECORD_BREAK, 3, 0, 0, 0, 0, ""},
      {RECORD_BROKEN, 4, 0, 0, 0, 0, BROKEN_ALL},
      {RECORD_ASK, 300, 3, 3, 0, 0, ""},
      {RECORD_GRANT, 301, 3, 3, 900, 8, "c"},
      {RECORD_GRANT, 302, 2, 2, 900, 6, "b"},
      {RECORD_ASK, 303, 4, 2, 0, 0, "RESUME"}}},
    {"two who asked after a BREAK",
     {[VIOLATION_OVERLAP] = 1},
     {{RECORD_BREAK, 3, 0, 0, 0, 0, ""},
      {RECORD_BROKEN, 4, 0, 0, 0, 0, BROKEN_SOME},
      {RECORD_ASK, 255, 1, 1, 0, 0, ""},
      {RECORD_GRANT, 256, 1, 1, 900, 5, "a"},
      {RECORD_ASK, 257, 2, 2, 0, 0, ""},
      {RECORD_GRANT, 258, 2, 2, 900, 6, "b"}}},
    {"an overlap before a BREAK, and beside one that did nothing or was of another name",
     {[VIOLATION_OVERLAP] = 2},
     {{RECORD_ASK, 1, 1, 1, 0, 0, ""},
      {RECORD_ASK, 1, 2, 2, 0, 0, ""},
      {RECORD_GRANT, 2, 1, 1, 900, 5, "a"},
      {RECORD_BREAK, 3, 0, 0, 0, 0, ""},
      {RECORD_BROKEN, 4, 0, 0, 0, 0, BROKEN_NONE},
      {RECORD_GRANT, 5, 2, 2, 900, 6, "b"},
      {RECORD_END, 6, 1, 1, 0, 0, "UNLOCK"},
      {RECORD_BREAK, 7, 0, 0, 0, NAMES(1, 1), ""},
      {RECORD_BROKEN, 8, 0, 0, 0, NAMES(1, 1), BROKEN_ALL},
      {RECORD_ASK, 9, 3, 3, 0, 0, ""},
      {RECORD_GRANT, 10, 3, 3, 900, 7, "c"},
      {RECORD_BREAK, 11, 0, 0, 0, 0, ""}}},
    {"a fence that falls after a BREAK",
     {[VIOLATION_FENCE] = 2}, /* as it is believed, and over all grants */
     {{RECORD_ASK, 1, 1, 1, 0, 0, ""},
      {RECORD_GRANT, 2, 1, 1, 900, 5, "a"},
      {RECORD_BREAK, 3, 0, 0, 0, 0, ""},
      {RECORD_BROKEN, 4, 0, 0, 0, 0, BROKEN_ALL},
      {RECORD_ASK, 300, 2, 2, 0, 0, ""},
      {RECORD_GRANT, 301, 2, 2, 900, 5, "b"}}},
    {"a lock that is renewed after a BREAK",
     {[VIOLATION_BROKEN] = 1},
     {{RECORD_ASK, 1, 1, 1, 0, 0, ""},
      {RECORD_GRANT, 2, 1, 1, 900, 5, "a"},
      {RECORD_BREAK, 3, 0, 0, 0, 0, ""},
      {RECORD_BROKEN, 4, 0, 0, 0, 0, BROKEN_ALL},
      {RECORD_UNTIL, 5, 1, 1, 2104, 0, ""},
      {RECORD_UNTIL, 6, 1, 1, 2105, 0, ""}}},
    {"somebody saw it", {[VIOLATION_SEEN] = 1}, {{RECORD_WRONG, 1, 0, 1, 0, 0, "a reply to nothing"}}},
};

void verdict_prove(void)
{
    /* Most of the memory is never touched. */
    struct history *history = mmap(NULL, sizeof *history, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (history == MAP_FAILED)
        abort();
    for (size_t i = 0; i < sizeof plants / sizeof plants[0]; i++) {
        const struct planted *planted = &plants[i];
        atomic_store(&history->used, 0);
        atomic_store(&history->asks, 9);
        for (unsigned k = 0; k < EVENTS && planted->event[k].kind != RECORD_NONE; k++) {
            const struct event *event = &planted->event[k];
            struct record record = {.at_us = event->at_ms * MS,
                                    .until_us = event->until_ms * MS,
                                    .number = event->number,
                                    .ask = event->ask,
                                    .names = (uint32_t)event->number,
                                    .shared = (event->number & SHARED) != 0,
                                    .who = event->who};
            if (record.names == 0 && event->number != A_SLOT)
                record.names = 1;
            if (event->kind == RECORD_GRANT && event->number >> SLOT_SHIFT != 0) {
                record.names = 1u << (FIRST_SLOT + (event->number >> SLOT_SHIFT) - 1);
                record.number &= (UINT64_C(1) << SLOT_SHIFT) - 1;
            }
            snprintf(record.text, sizeof record.text, "%s", event->text);
            history_add(history, &record, event->kind);
        }
        struct verdict verdict = {.keeps = true};
        verdict_find(&verdict, history);
        if (memcmp(verdict.violations, planted->violations, sizeof verdict.violations) == 0)
            continue;
        fprintf(stderr, "chaos: the checker is wrong about: %s\n", planted->name);
        abort();
    }
    munmap(history, sizeof *history);
}
