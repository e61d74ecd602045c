/* Traces: a master's clock jumps. */
#include "tests/unit/trace.h"

#define FULL 60602 /* max_ttl and its drift */

T(a_clock_that_jumped_forward)
{
    start(3);
    markers[2].clock_ms += 51;
    at(2000);
    EXPECT_MASTER(2, "up"); /* 50 ms, and what slewing explains: not more */
    markers[2].clock_ms += 52;
    at(3000);
    EXPECT_MASTER(2, "quarantine clock left=60602");
    ck_assert_int_eq(markers[2].group.from_ms, markers[2].clock_ms + now + FULL);
    forget();
}

T(a_clock_that_jumped_while_it_was_away)
{
    start(3);
    lose(2);
    at(11000);
    markers[2].clock_ms += 100;
    dial(2);
    shake(2);
    vote("2", "KILL 1");
    EXPECT_MASTER(2, "quarantine clock left=60602");
    forget();
}

/* A jump so far that the group's key runs out there, as it would if no daemon had been there for ten
 * minutes. */
T(a_clock_that_jumped_by_an_hour)
{
    start(5);
    markers[1].clock_ms += 3600000;
    markers[1].there = false;
    at(2000);
    EXPECT_MASTER(1, "quarantine clock left=60602");
    ck_assert_int_eq(markers[1].group.from_ms, markers[1].clock_ms + now + FULL);
    lose(2);
    at(3000);
    markers[2].clock_ms += 3600000;
    markers[2].there = false;
    dial(2);
    shake(2);
    vote("2", "KILL 1");
    EXPECT_MASTER(2, "quarantine clock left=60602");
    ck_assert_int_eq(markers[2].group.from_ms, markers[2].clock_ms + now + FULL);
    forget();
}

T(a_clock_that_jumped_back_is_told_only)
{
    start(3);
    markers[2].clock_ms -= 5000;
    at(2000);
    EXPECT_MASTER(2, "up");
    struct master_row row;
    coordinator_master_row(core, now, 2, &row);
    ck_assert_uint_eq(row.clock_backs, 1);
    ck_assert_int_eq(row.clock_back_ms, 5000);
    at(3000);
    coordinator_master_row(core, now, 2, &row);
    ck_assert_uint_eq(row.clock_backs, 1);
    forget();
}
