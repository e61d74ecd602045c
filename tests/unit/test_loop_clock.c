/* Events that share a reading of the clock, by a clock that the test sets. */
#include <check.h>
#include <stdlib.h>

#include "daemon/clock.h"
#include "tests/unit/suite.h"

static int64_t fake_boot_us(void), fake_boot_ms(void), fake_wall_us(void);
#define clock_boot_us fake_boot_us
#define clock_boot_ms fake_boot_ms
#define clock_wall_us fake_wall_us
#include "daemon/loop/loop_clock.c" /* NOLINT: its clock is a fake */

static int64_t boot_us;
static unsigned wall_reads;

static int64_t fake_boot_us(void)
{
    return boot_us;
}

static int64_t fake_boot_ms(void)
{
    return boot_us / 1000;
}

static int64_t fake_wall_us(void)
{
    wall_reads++;
    return boot_us + 7000000;
}

static struct loop_clock shell;
static struct coordinator_event event;

static void fresh(void)
{
    shell = (struct loop_clock){0};
    event = (struct coordinator_event){0};
    boot_us = 5000000;
    wall_reads = 0;
}

/* A millisecond passes before the event; true: the event got an earlier reading. */
static bool shares(enum event_kind kind, unsigned master, enum command_verb verb)
{
    boot_us += 1000;
    event.kind = kind;
    event.master = master;
    event.verb = verb;
    loop_clock_stamp(&shell, &event);
    return event.now_ms != boot_us / 1000;
}

static bool vote_shares(unsigned master, enum command_verb verb)
{
    return shares(EVENT_MASTER_VOTE, master, verb);
}

T(votes_of_one_master_share_up_to_eight)
{
    fresh();
    for (unsigned round = 0; round < 3; round++) {
        ck_assert(!vote_shares(2, COMMAND_SET));
        for (unsigned i = 1; i < 8; i++)
            ck_assert(vote_shares(2, i % 2 ? COMMAND_ZADD : COMMAND_RELEASE));
    }
    ck_assert(!vote_shares(2, COMMAND_SET));
    ck_assert(!vote_shares(3, COMMAND_SET));
    ck_assert(vote_shares(3, COMMAND_SET));
    ck_assert(!vote_shares(2, COMMAND_SET));
}

T(nothing_else_shares)
{
    for (enum command_verb verb = 0; (unsigned)verb < COMMAND_VERBS; verb++) {
        bool lasting = verb == COMMAND_SET || verb == COMMAND_ZADD || verb == COMMAND_RELEASE ||
                       verb == COMMAND_RELEASE_DELEX || verb == COMMAND_RELEASE_DELIFEQ;
        fresh();
        ck_assert(!vote_shares(0, COMMAND_SET));
        ck_assert_msg(vote_shares(0, verb) == lasting, "verb %d", (int)verb);
    }
    for (enum event_kind kind = 0; kind <= EVENT_DRAIN; kind++) {
        fresh();
        ck_assert(!vote_shares(0, COMMAND_SET));
        if (kind != EVENT_MASTER_VOTE)
            ck_assert_msg(!shares(kind, 0, COMMAND_SET), "event %d", (int)kind);
    }
    fresh();
    ck_assert(!shares(EVENT_REQUEST, 0, COMMAND_SET));
    ck_assert(!vote_shares(0, COMMAND_SET)); /* the request's reading may be from before the vote's recv() */
    loop_clock_sleep(&shell);
    ck_assert(!vote_shares(0, COMMAND_SET));
}

T(what_is_left_is_told_as_of_now)
{
    fresh();
    ck_assert(!vote_shares(0, COMMAND_SET));
    ck_assert_int_eq(loop_clock_left_ms(&shell, &event, 9000), 9000);
    ck_assert(vote_shares(0, COMMAND_ZADD));
    ck_assert_int_eq(loop_clock_left_ms(&shell, &event, 9000), 8999);
    boot_us += 5000000;
    ck_assert_int_eq(loop_clock_left_ms(&shell, &event, 9000), 3999);
    boot_us += 5000000;
    ck_assert_int_eq(loop_clock_left_ms(&shell, &event, 9000), 0);
    ck_assert_int_eq(loop_clock_left_ms(&shell, &event, 0), 0);
    ck_assert(!shares(EVENT_REQUEST, 0, COMMAND_SET));
    ck_assert_int_eq(loop_clock_left_ms(&shell, &event, 9000), 9000);
}

T(wall_clock_goes_along_for_a_millisecond)
{
    fresh();
    shares(EVENT_TIMER, 0, COMMAND_SET);
    ck_assert_int_eq(event.wall_us, boot_us + 7000000);
    ck_assert_uint_eq(wall_reads, 1);
    boot_us += 999;
    loop_clock_stamp(&shell, &event);
    ck_assert_uint_eq(wall_reads, 1);
    boot_us += 1;
    loop_clock_stamp(&shell, &event);
    ck_assert_uint_eq(wall_reads, 2);
}
