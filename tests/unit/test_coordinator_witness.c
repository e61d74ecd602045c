/* Traces: which masters' readings bear witness in a trial, and which quarantine counts. */
#include "tests/unit/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FULL 60602 /* max_ttl and its drift */

/* The daemon's host stands still without counting the time: all masters' clocks are ahead by that
 * much. */
static void stand_still(int64_t ms)
{
    for (unsigned i = 0; i < config.masters; i++)
        markers[i].clock_ms += ms;
}

/* The master answers all that it was asked up to now. */
static void answer(unsigned master)
{
    char name[2] = {(char)('0' + master), '\0'}, text[32];
    for (unsigned left = unanswered(master); left > 0; left--) {
        const char *verb = unanswered_verb(master);
        snprintf(text, sizeof text, "%s %s", verb, strcmp(verb, "KILL") == 0 ? "1" : "OK");
        vote(name, text);
    }
}

/* The answer to a TIME that the master runs now. */
static const char *time_now(unsigned master)
{
    static char text[32];
    snprintf(text, sizeof text, "TIME %" PRId64, now + markers[master].clock_ms);
    return text;
}

/* Three of five clocks are set back while the host stands still. Two show by themselves that they were, and
 * must not outvote the others. */
T(a_clock_that_was_set_back_is_no_witness)
{
    start(5);
    show_probes = true;
    at(2000);
    stand_still(6000);
    markers[2].clock_ms -= 9000;
    markers[3].clock_ms -= 4000;
    markers[4].clock_ms -= 7000;
    vote("0", "TIME OK");
    vote("2", "TIME OK, PROBE OK, TIME OK");
    vote("4", "TIME OK, PROBE OK, TIME OK");
    vote("3", "TIME OK");
    forget();
    vote("1", "TIME OK");
    ck_assert_int_eq(coordinator_behind_ms(core), 5998);
    show_probes = false;
    forget();
}

/* The masters read their clocks before this daemon slept, so their answers say nothing of a stall. */
T(an_answer_that_took_long_is_no_witness)
{
    char before[5][32];
    start(5);
    show_probes = true;
    at(2000);
    vote("0-4", "TIME OK, PROBE OK");
    for (unsigned i = 1; i < 5; i++)
        strcpy(before[i], time_now(i));
    stand_still(500);
    lose(0);
    dial(0);
    vote("0", "CLIENT_ID OK, INFO OK, TIME OK"); /* the others are asked now */
    at_without_work(now + 5000);
    for (unsigned i = 1; i < 5; i++) {
        char master[2] = {(char)('0' + i), '\0'};
        vote(master, before[i]);
    }
    work(); /* the trial's time is over, and no other answers came */
    ck_assert_int_eq(coordinator_behind_ms(core), 500);
    show_probes = false;
    forget();
}

/* Master 0 read its clock in the middle of a stall, and its answer was under way for long. That reading is its
 * base, so that it shows a part of the stall only; master 1, which shows all of it, must not be blamed. */
T(a_base_read_within_a_stall_bounds_nothing)
{
    char read_within[32];
    start_alone(3);
    dial(1), shake(1);
    dial(2), shake(2);
    at(3000);
    show_probes = true;
    dial(0);
    at_without_work(now + 100);
    lose(1), dial(1);
    answer(1);
    lose(2);
    stand_still(470);
    strcpy(read_within, time_now(0));
    stand_still(780);
    at_without_work(now + 100);
    vote("0", "CLIENT_ID OK, INFO OK");
    vote("0", read_within);
    answer(0);
    work();
    for (unsigned i = 0; i < 4; i++)
        answer(0), answer(1);
    ck_assert_int_eq(coordinator_behind_ms(core), 1250);
    show_probes = false;
    forget();
}

/* Master 1 became known between a stall and its discovery, so that what was then believed hides a part of the
 * next stall behind its base. */
T(what_was_believed_since_the_base_may_hide_a_stall)
{
    start_alone(3);
    dial(0), shake(0);
    dial(2), shake(2);
    show_probes = true;
    stand_still(300);
    dial(1);
    at_without_work(now + 40); /* the answer is as late as that, and read at the end */
    vote("1", "CLIENT_ID OK, INFO OK, TIME OK, GROUP OK");
    lose(0), dial(0);
    answer(0);
    answer(2);
    int64_t first_ms = coordinator_behind_ms(core);
    ck_assert_int_ge(first_ms, 290);
    answer(0);
    lose(1), dial(1);
    lose(2);
    stand_still(1000);
    answer(1);
    answer(0);
    answer(0);
    ck_assert_int_ge(coordinator_behind_ms(core), first_ms + 990);
    show_probes = false;
    forget();
}

/* Two clocks jump, so this daemon believes in a stall between the TIME and the doubt of the third master, and
 * its own time there is too late. Another daemon's doubt is newer, and its quarantine ends later. */
T(a_quarantine_ends_no_sooner_than_anothers)
{
    start(3);
    restart(2, 1);
    dial(2);
    show_probes = true;
    vote("2", "CLIENT_ID OK, INFO OK, TIME OK");
    markers[0].clock_ms += 5000;
    markers[1].clock_ms += 5000;
    lose(0);
    dial(0);
    vote("0", "CLIENT_ID OK, INFO OK, TIME OK");
    vote("1", "TIME OK");
    ck_assert_int_eq(coordinator_behind_ms(core), 5000);
    vote("2", "GROUP OK");
    at_without_work(now + 40);
    struct marker *marker = &markers[2];
    marker->there = true;
    marker->group = markers[1].group;
    marker->group.from_ms = marker->clock_ms + now + FULL;
    memcpy(marker->group.run_id, info[2].run_id, RUN_ID_HEX);
    vote("2", "TIME OK, TIME OK, GROUP_NEW OK, GROUP OK");
    answer(2);
    work();
    EXPECT_MASTER(2, "quarantine restart left=60602");
    show_probes = false;
    forget();
}

/* The key shows a time far ahead, for which no daemon waits: a full quarantine is enough. A doubt that begins
 * later must show in the key all the same. */
T(a_doubt_shows_where_the_key_has_a_later_time)
{
    start(3);
    struct group *group = &markers[2].group;
    group->from_ms = markers[2].clock_ms + now + 5 * FULL;
    at(3000);
    EXPECT_MASTER(2, "quarantine doubted left=59602");
    at(3000 + FULL);
    EXPECT_MASTER(2, "up");
    int64_t from_ms = group->from_ms;
    markers[2].clock_ms += 300;
    at(now + 2000);
    EXPECT_MASTER(2, "quarantine clock left=59000");
    ck_assert_int_eq(group->from_ms, from_ms + 1);
    forget();
}

/* Two daemons wrote their doubts at the same time, and the earlier time stayed in the key. That is taken for
 * another sign of lost memory; the clock that runs fast stays out all the same. */
T(a_fast_clock_stays_out_whatever_else_is_found)
{
    start(3);
    markers[2].clock_ms += 60;
    at(3000);
    EXPECT_MASTER(2, "quarantine clock left=59602");
    markers[2].group.from_ms -= 1;
    at(5000);
    EXPECT_MASTER(2, "quarantine memory left=59602");
    markers[2].clock_ms += 20;
    at(7000);
    EXPECT_MASTER(2, "quarantine clock left=59602");
    forget();
}
