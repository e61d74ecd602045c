/* Everything that the clients did and were told, in one memory that all processes share.
 *
 * Times are CLOCK_BOOTTIME in µs, one clock for all processes since they run on one host. A grant is stamped
 * after its line was read and a release before it is sent, so that a recorded hold is never longer
 * than the real hold: records that overlap belong to holds that did overlap. */
#ifndef CHAOS_HISTORY_H
#define CHAOS_HISTORY_H

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

/* The names: some that are locked alone, pages that many read and some write, accounts of which several
 * are locked at once, and the slots of one name, each of which counts as a name of its own. */
enum {
    PLAIN_NAMES = 12,
    PAGES = 3,
    ACCOUNTS = 5,
    SLOTS = 3,
    FIRST_SLOT = PLAIN_NAMES + PAGES + ACCOUNTS,
    CHAOS_NAMES = FIRST_SLOT + SLOTS,
    RECORD_TEXT = 28,
    RECORDS = 8 << 20,
    /* A BREAK's old holder is handed on from its redlockd's memory no later than this after the BREAK was answered. */
    BREAK_AFTER_US = 250000
};

/* What a BREAK did: it deleted the key on all masters, on some or nobody knows, or on none. */
#define BROKEN_ALL  "all"
#define BROKEN_SOME "some"
#define BROKEN_NONE "none"

#define CHANGE          "generation "     /* so begin the texts of the steps of a change of masters */
#define ROLLING_RESTART "rolling restart" /* how the text of such a RECORD_FAULT begins */

enum record_kind {
    RECORD_NONE,
    RECORD_ASK,     /* LOCK or RESUME is about to be sent; number: wait in ms, or the lock that is resumed */
    RECORD_GRANT,   /* +LOCKED was read; number: fence */
    RECORD_UNTIL,   /* a later deadline was read */
    RECORD_END,     /* the release is about to be sent; text: how */
    RECORD_REFUSED, /* LOCK or RESUME was answered otherwise; text: the code */
    RECORD_LOST,    /* !LOST was read; text: the reason */
    RECORD_READ,    /* the counter was read under this lock; number: its value */
    RECORD_WRITE,   /* the counter is about to be written */
    RECORD_WRITTEN, /* the write was accepted */
    RECORD_FENCED,  /* the read or the write was refused: a higher fence had been there */
    RECORD_KILL,    /* this client is about to be killed */
    RECORD_BREAK,   /* BREAK is about to be sent */
    RECORD_BROKEN,  /* it was answered, or can have no effect any more; text: BROKEN_ALL, ... */
    RECORD_FAULT,   /* a fault begins; text: which */
    RECORD_CALM,    /* no more faults from here on */
    RECORD_WRONG,   /* a promise was seen broken; text: which */
};

struct record {
    int64_t at_us;
    int64_t until_us; /* GRANT, UNTIL */
    uint64_t number;
    uint32_t ask;   /* which LOCK or RESUME; 0: none */
    uint32_t who;   /* which client process */
    uint32_t names; /* bit i: the name i; 0: a slot, which is not known yet */
    uint8_t daemon, lease, shared;
    _Atomic uint8_t kind;   /* stored last, since a process may be killed in the middle */
    char text[RECORD_TEXT]; /* GRANT: the beginning of the token */
};

struct history {
    atomic_uint asks;
    atomic_uint used;
    struct record record[RECORDS];
};

int64_t now_us(void);
/* Stores a copy; beyond RECORDS no copy is stored, and history_full() reports it. */
void history_add(struct history *history, const struct record *record, enum record_kind kind);
int history_full(const struct history *history);
uint32_t history_length(const struct history *history); /* how many records are stored */
void record_print(FILE *out, const struct record *record, int64_t start_us);

/* A number that depends only on these four values, so that leaving out one draw does not shuffle the
 * others. */
uint64_t draw(uint64_t seed, uint64_t who, uint64_t count, uint64_t what);

#endif
