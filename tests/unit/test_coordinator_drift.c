/* Traces: a master's clock runs fast, by much or by little. */
#include "tests/unit/trace.h"

#define FULL 60602 /* max_ttl and its drift */

static void all_are_up(void)
{
    for (unsigned i = 0; i < config.masters; i++)
        EXPECT_MASTER(i, "up");
}

static void drift(int64_t per_mille)
{
    for (int i = 0; i < 15; i++) {
        at(now + 990);
        markers[1].clock_ms += per_mille;
        at(now + 10);
    }
}

T(a_clock_that_is_fast_by_four_percent_is_kept_out)
{
    start(5);
    grant(1, "LOCK job ttl=60s");
    drift(40);
    struct master_row row;
    coordinator_master_row(core, now, 1, &row);
    ck_assert_int_eq(row.state, MASTER_QUARANTINE);
    ck_assert_int_eq(row.why, WHY_CLOCK);
    ck_assert_int_eq(coordinator_behind_ms(core), 0);
    ck_assert_uint_eq(coordinator_voters(core), 4);
    forget();
}

T(a_clock_that_is_slewed_is_not)
{
    start(5);
    drift(2);
    all_are_up();
    EXPECT_NOTHING();
}

static bool is_asked_something(void)
{
    for (unsigned i = 0; i < 5; i++)
        if (unanswered(i) != 0)
            return true;
    return false;
}

/* Each answer comes rtt_ms after its question. */
static void drift_over(int64_t per_mille, int64_t rtt_ms)
{
    start(5);
    show_probes = true;
    for (int i = 0; i < 400; i++) {
        while (!is_asked_something())
            at(coordinator_deadline(core) > now ? coordinator_deadline(core) : now);
        forget();
        at_without_work(now + rtt_ms);
        markers[1].clock_ms = INT64_C(1700000000000) + (now - 1000) * per_mille / 1000;
        for (unsigned k = 0; k < 5; k++) {
            char master[2] = {(char)('0' + k), 0}, text[64];
            while (unanswered(k) != 0) {
                snprintf(text, sizeof text, "%s OK", unanswered_verb(k));
                vote(master, text);
            }
        }
        forget();
    }
}

static void is_kept_out(int64_t per_mille, int64_t rtt_ms)
{
    struct master_row row;
    drift_over(per_mille, rtt_ms);
    coordinator_master_row(core, now, 1, &row);
    ck_assert_int_eq(row.state, MASTER_QUARANTINE);
}

/* The limits of redlockd.yaml(5): 1 % over less than 70 ms, 2 % over less than 170 ms. */
T(a_round_trip_hides_no_drift)
{
    is_kept_out(20, 20);
}

T(a_long_round_trip_hides_no_drift_of_one_percent)
{
    is_kept_out(10, 60);
}

T(a_very_long_round_trip_hides_no_drift_of_two_percent)
{
    is_kept_out(20, 150);
}
