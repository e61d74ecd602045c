/* Traces: doubts about a master whose key of the group is much younger than the other masters'. */
#include "tests/unit/trace.h"

#include <string.h>

/* Another daemon wrote the key so long ago. */
static void old_key(unsigned master, int64_t age_ms)
{
    newcomer_writes(master);
    markers[master].group.from_ms -= age_ms;
}

/* This daemon has just started and reaches only master 0, which has no key. Then master 1 can be reached. */
static void reaches_others_later(int64_t later_ms)
{
    start_alone(3);
    old_key(1, 70000);
    old_key(2, 70000);
    lose(1);
    lose(2);
    dial(0);
    shake(0);
    EXPECT_MASTER(0, "up");
    handshakes_until(now + later_ms);
    dial(1);
    shake(1);
    EXPECT_MASTER(1, "up");
    forget();
}

T(a_master_that_was_taken_for_a_new_one)
{
    reaches_others_later(2000);
    EXPECT_MASTER(0, "quarantine memory left=60602");
    at(now + 1000);
    ck_assert_int_gt(markers[0].group.from_ms, markers[0].clock_ms + now + 59000); /* all daemons are told */
    forget();
}

T(what_a_new_master_may_have_forgotten_is_over)
{
    reaches_others_later(61000);
    EXPECT_MASTER(0, "up");
}

/* The young key was written by another daemon. */
static void reads_a_young_key(int64_t age_ms, int64_t other_age_ms, const char *why)
{
    start_alone(2);
    old_key(0, age_ms);
    old_key(1, other_age_ms);
    strcpy(markers[1].group.why, why);
    dial(1);
    shake(1);
    dial(0);
    shake(0);
    EXPECT_MASTER(1, "up");
    forget();
}

T(another_daemon_took_it_for_a_new_one)
{
    reads_a_young_key(3000, 64000, "");
    EXPECT_MASTER(0, "quarantine memory left=60602");
    reads_a_young_key(3000, 4000, "restart"); /* a doubt is as old as its quarantine */
    EXPECT_MASTER(0, "quarantine memory left=60602");
}

/* The key shows that another daemon keeps the master out already. */
T(a_young_key_with_a_doubt_is_doubted_no_more)
{
    start_alone(2);
    old_key(0, -30000);
    strcpy(markers[0].group.why, "restart");
    old_key(1, 200000);
    reach_all();
    EXPECT_MASTER(0, "quarantine restart left=30000");
    forget();
}

/* Since then, all keys may have run out while all daemons were away. */
T(what_was_read_long_ago_proves_no_age)
{
    start_alone(2);
    old_key(1, 200000);
    dial(1);
    shake(1);
    lose(1);
    at(now + 61000);
    old_key(0, 1000);
    dial(0);
    shake(0);
    EXPECT_MASTER(0, "up");
    forget();
}

T(a_group_that_is_young_itself)
{
    reads_a_young_key(3000, 63000, "");
    EXPECT_MASTER(0, "up");
    reads_a_young_key(61000, 200000, "");
    EXPECT_MASTER(0, "up");
}

/* Master 1's clock is set back, so that its key seems to be written much later than master 0's, or in the future. */
static void set_back(int64_t by_ms, int64_t age_ms)
{
    start_alone(3);
    for (unsigned i = 0; i < 3; i++)
        old_key(i, age_ms);
    reach_all();
    at(now + 2000);
    markers[1].clock_ms -= by_ms;
    at(now + 2000);
    lose(2);
    dial(2);
    shake(2);
    vote("2", "KILL 1");
    forget();
}

T(a_clock_that_is_set_back_makes_no_key_young)
{
    set_back(7200000, 600000);
    EXPECT_MASTER(1, "up");
    set_back(7200000, 7210000);
    EXPECT_MASTER(1, "up");
}

/* This daemon started after that. */
T(a_key_from_the_future_is_not_young)
{
    start_alone(2);
    old_key(0, 600000);
    old_key(1, -30000);
    reach_all();
    EXPECT_MASTER(1, "quarantine doubted left=30000");
    forget();
}
