/* Reads the history in order of time when all is over, and says which promise was broken. */
#ifndef CHAOS_VERDICT_H
#define CHAOS_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/chaos/history.h"

enum violation_kind {
    VIOLATION_OVERLAP, /* two clients, not both readers, believed at once that they held one name */
    VIOLATION_FENCE,   /* a later grant of a name had no higher fence, and not both were readers' */
    VIOLATION_TOKEN,   /* two grants had one token */
    VIOLATION_STARVED, /* after all was healed a name was not granted to anybody any more */
    VIOLATION_LOST,    /* a held lock was lost, though masters were only restarted, one after the other */
    VIOLATION_BROKEN,  /* a lock was renewed after a BREAK had deleted its key */
    VIOLATION_SEEN,    /* a RECORD_WRONG */
    VIOLATION_KINDS
};

enum { WORDS = 16, VIOLATIONS_KEPT = 4 };

struct violation {
    enum violation_kind kind;
    int64_t at_us;
    uint32_t ask[2]; /* the numbers of the locks that break it; 0: none */
    char text[160];
};

struct tally {
    unsigned words;
    struct {
        char text[RECORD_TEXT];
        unsigned count;
    } word[WORDS];
};

struct verdict {
    bool keeps;      /* (in) held locks must not be lost */
    unsigned broken; /* locks that a BREAK took from their holders */
    unsigned grants, resumed, handed_over, written[CHAOS_NAMES], writing[CHAOS_NAMES], fenced;
    unsigned fewest; /* grants between two steps of a change of masters */
    unsigned shared, beside, lists,
        slots; /* grants to readers, beside a reader at that time, of lists, of slots */
    int64_t max_wait_us;
    struct tally refused, lost, given_up;
    unsigned violations[VIOLATION_KINDS];
    unsigned kept;
    struct violation violation[VIOLATIONS_KEPT];
};

/* Sorts the history by time; no process may write to it any more. */
void verdict_find(struct verdict *verdict, struct history *history);
bool verdict_clean(const struct verdict *verdict);
/* Prints the records that break the promise, and what happened around them. */
void verdict_explain(FILE *out, const struct verdict *verdict, const struct history *history,
                     int64_t start_us);

/* Checks that the verdict sees the broken promise in each of several planted histories; aborts if it
 * does not. */
void verdict_prove(void);

#endif
