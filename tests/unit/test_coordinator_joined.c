/* Traces: how readers that share one key keep it, lose it and take it over. */
#include "tests/unit/trace.h"

/* Sessions 1 and 2 joined the common lease, whose key is T2, by T3 and T4. It is renewed at 4000, 7000, ... */
static void two_joined(void)
{
    config.join_from = 1;
    start(3);
    ask(9, "LOCK job mode=shared");
    vote("0-2", "SHARE YES, ZADD YES");
    ask(1, "LOCK job mode=shared");
    vote("0-2", "SHARE YES, ZADD YES");
    EXPECT_LAST("s1 #2 +LOCKED job token=T3 *");
    ask(2, "LOCK job mode=shared");
    EXPECT("s2 #3 +LOCKED job token=T4 *");
    ask(9, "UNLOCK job");
    vote("0-2", "RELEASE YES");
    EXPECT_LAST("s9 #4 +UNLOCKED *");
}

static void renew_at(int64_t ms)
{
    at(ms);
    vote("0-2", "EXTEND 10000");
}

/* ---- renewals ---- */

T(one_renewal_serves_all)
{
    two_joined();
    renew_at(4000);
    EXPECT("m0-2 EXTEND job T2 10000");
    at(6999);
    EXPECT("s2 !RENEWED job token=T4 * until=13897", "s1 !RENEWED job token=T3 * until=13897");
    for (int64_t ms = 7000; ms < 40000; ms += 3000) { /* and nobody is told !EXPIRING */
        renew_at(ms);
        at(ms + 2999);
        EXPECT("m0-2 EXTEND job T2 10000", "s* !RENEWED job *", "s* !RENEWED job *");
    }
}

T(it_is_renewed_while_one_reader_is_left)
{
    two_joined();
    ask(1, "UNLOCK job");
    drop(9);
    renew_at(4000);
    EXPECT("s1 #5 +UNLOCKED *", "s9 ended", "m0-2 EXTEND job T2 10000");
    drop(2);
    at(6999);
    EXPECT("s2 ended");
    at(10998); /* its deadline was 10897, and the drift of its TTL is 102 ms */
    EXPECT_NOTHING();
    at(10999);
    EXPECT("m0-2 RELEASE job T2 WAKE");
}

T(readers_are_warned_where_renewals_fail)
{
    two_joined();
    at(4000);
    vote("0-1", "EXTEND OOM");
    forget();
    at(7564);
    EXPECT_LAST("s1 !EXPIRING job token=T3 valid=3333");
}

T(readers_are_told_that_the_common_lease_is_gone)
{
    two_joined();
    at(4000);
    vote("0-2", "EXTEND NO");
    EXPECT("m0-2 EXTEND job T2 10000");
    ask(1, "CHECK job token=T3");
    ask(2, "EXTEND job token=T4");
    EXPECT("s1 #5 -NOTHELD job", "s2 #6 -NOTHELD job");
    at(7564); /* before the time of !EXPIRING; the deadline is at 10897 */
    EXPECT("s2 !LOST job token=T4 reason=gone", "s1 !LOST job token=T3 reason=gone");
    EXPECT_REST();
}

/* A writer of another daemon may have had the name since: a reader that comes is no reason to go on. */
T(readers_of_a_lost_lease_do_not_go_over)
{
    two_joined();
    at(4000);
    vote("0-2", "EXTEND NO");
    ask(3, "LOCK job mode=shared");
    vote("0-2", "SHARE YES, ZADD YES");
    EXPECT("m0-2 EXTEND job T2 10000", "m0-2 SHARE job T5 *", "m0-2 ZADD *", "s3 #5 +LOCKED job token=T6 *");
    at(6999);
    EXPECT("s2 !LOST job token=T4 reason=gone", "s1 !LOST job token=T3 reason=gone");
}

T(a_master_that_forgot_is_healed)
{
    two_joined();
    restart(2, 0);
    dial(2);
    shake(2);
    forget();
    at(4000);
    vote("0", "EXTEND 10000");
    vote("2", "EXTEND NO");
    vote("1", "EXTEND 10000");
    EXPECT("m0-2 EXTEND job T2 10000", "m2 SHARE_AT job T2 1700000013897");
}

/* ---- EXTEND and CHECK ---- */

T(who_has_it_may_enter_it_again)
{
    two_joined();
    ask(1, "LOCK job mode=shared token=T3");
    EXPECT("s1 #5 +LOCKED job token=T3 * depth=2");
    ask(2, "UNLOCK job");
    ask(1, "UNLOCK job");
    EXPECT("s2 #6 +UNLOCKED *", "s1 #7 +UNLOCKED job confirmed=0/3 depth=1");
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T2 WAKE");
}

T(extend_asks_by_the_common_token)
{
    two_joined();
    at(2000);
    ask(2, "EXTEND job token=T4 ttl=20s");
    EXPECT("m0-2 EXTEND job T2 20000");
    vote("0-2", "EXTEND 20000");
    EXPECT("s2 !RENEWED job token=T4 valid=19797 until=21797", "s2 #5 +EXTENDED job valid=19797 until=21797");
    ask(7, "CHECK job token=T4"); /* another connection */
    EXPECT("s7 #6 +HELD job valid=19797 until=21797");
    ask(7, "CHECK job token=T3");
    EXPECT("s7 #7 +HELD job valid=8897 until=10897");
    at(3700); /* the other reader looks */
    EXPECT("s1 !RENEWED job token=T3 *");
}

/* A shorter TTL of one reader is not that of the others. */
T(extend_shortens_no_common_lease)
{
    two_joined();
    ask(2, "EXTEND job token=T4 ttl=2s");
    EXPECT("m0-2 EXTEND job T2 10000");
    vote("0-2", "EXTEND 10000");
    EXPECT("s2 !RENEWED job token=T4 * until=10897", "s2 #5 +EXTENDED job * until=10897");
}

T(extend_of_a_reader_that_leaves_meanwhile)
{
    two_joined();
    ask(7, "EXTEND job token=T4");
    ask(2, "UNLOCK job");
    EXPECT("m0-2 EXTEND job T2 10000", "s2 #6 +UNLOCKED *");
    vote("0-2", "EXTEND 10000");
    EXPECT("s7 #5 -NOTHELD job");
    ask(7, "EXTEND job token=T3");
    ask(1, "UNLOCK job"); /* the last one */
    vote("0-1", "EXTEND 10000, RELEASE YES");
    EXPECT("m0-2 EXTEND job T2 10000", "m0-2 RELEASE job T2 WAKE", "s7 #7 -NOTHELD job",
           "s1 #8 +UNLOCKED job confirmed=2/3");
}

T(extend_of_a_broken_reader_that_runs_out_meanwhile)
{
    two_joined();
    drop(2);
    renew_at(4000);
    renew_at(7000);
    renew_at(10000);
    at(10890);
    forget();
    ask(7, "EXTEND job token=T4");
    at(10897);
    vote("0-2", "EXTEND 10000");
    EXPECT("m0-2 EXTEND job T2 10000", "s7 #5 -NOTHELD job");
}

T(extend_where_the_common_lease_is_gone)
{
    two_joined();
    ask(2, "EXTEND job token=T4");
    vote("0-2", "EXTEND NO");
    EXPECT("m0-2 EXTEND job T2 10000", "s2 #5 -NOTHELD job");
    at(7563);
    EXPECT("s2 !LOST job token=T4 reason=gone", "s1 !LOST job token=T3 reason=gone");
}

T(a_broken_readers_token_extends_it)
{
    two_joined();
    drop(2);
    work();
    EXPECT("s2 ended");
    at(2000);
    ask(7, "EXTEND job token=T4");
    vote("0-2", "EXTEND 10000");
    EXPECT("m0-2 EXTEND job T2 10000", "s7 #5 +EXTENDED job valid=9897 until=11897");
    ask(7, "CHECK job token=T4");
    EXPECT("s7 #6 +HELD job valid=9897 until=11897");
}

/* ---- RESUME ---- */

T(resume_moves_it_to_another_session)
{
    two_joined();
    ask(5, "RESUME job token=T3");
    EXPECT("s1 !LOST job token=T3 reason=moved", "s5 #5 +LOCKED job token=T5 fence=1000008 * until=10897");
    ask(5, "CHECK job token=T5");
    EXPECT("s5 #6 +HELD *");
    ask(2, "CHECK job token=T4");
    EXPECT("s2 #7 +HELD *");
    ask(1, "UNLOCK job");
    EXPECT("s1 #8 -NOTHELD job *");
    ask(6, "CHECK job token=T3");
    EXPECT("m0-2 CHECK job T3");
    vote("0-2", "CHECK NO");
    EXPECT("s6 #9 -NOTHELD job");
    ask(5, "UNLOCK job");
    EXPECT("s5 #10 +UNLOCKED job confirmed=0/3 handed=1");
    ask(2, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T2 WAKE");
}

T(resume_after_the_connection_broke)
{
    two_joined();
    drop(1);
    drop(2);
    at(5000);
    EXPECT("s1 ended", "s2 ended"); /* nobody renews it */
    ask(5, "RESUME job token=T3");
    EXPECT("s5 #5 +LOCKED job token=T5 * valid=5897 until=10897");
    ask(6, "UNLOCK job token=T4");
    EXPECT("s6 #6 +UNLOCKED job confirmed=0/3 handed=1");
    ask(5, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T2 WAKE");
}

T(resume_undelivered_sets_the_old_token_back)
{
    two_joined();
    uint64_t request = ask(5, "RESUME job token=T3");
    EXPECT("s1 !LOST job token=T3 reason=moved", "s5 #5 +LOCKED job token=T5 *");
    undelivered(5, request);
    drop(5);
    work();
    EXPECT("s5 ended");
    ask(6, "CHECK job token=T5");
    vote("0-2", "CHECK NO");
    EXPECT("m0-2 CHECK job T5", "s6 #6 -NOTHELD job");
    ask(6, "RESUME job token=T3");
    EXPECT("s6 #7 +LOCKED job token=T6 *");
    ask(2, "UNLOCK job");
    EXPECT("s2 #8 +UNLOCKED job confirmed=0/3 handed=1");
    ask(6, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T2 WAKE");
}

T(resume_ends_an_extend_of_the_old_token)
{
    two_joined();
    ask(7, "EXTEND job token=T3");
    ask(5, "RESUME job token=T3");
    EXPECT("m0-2 EXTEND job T2 10000", "s1 !LOST *", "s5 #6 +LOCKED job token=T5 *");
    vote("0-2", "EXTEND 10000");
    EXPECT("s7 #5 -NOTHELD job"); /* the new holder's deadline does not change */
}

T(resume_of_a_lost_lease)
{
    two_joined();
    at(4000);
    vote("0-2", "EXTEND NO");
    ask(5, "RESUME job token=T3");
    EXPECT("m0-2 EXTEND job T2 10000", "s5 #5 -NOTHELD job");
}

/* ---- several common leases ---- */

/* A second one, by T5, for session 3's T6. */
static void second_lease(void)
{
    two_joined();
    at(2000);
    ask(3, "LOCK job mode=shared");
    vote("0-2", "SHARE YES, ZADD YES");
    EXPECT("m0-2 SHARE job T5 *", "m0-2 ZADD *", "s3 #5 +LOCKED job token=T6 *");
}

T(readers_go_over_to_the_first)
{
    second_lease();
    renew_at(4000); /* Q masters had the first one's key after the second one was granted */
    at(4700);
    vote("0-2", "RELEASE YES");
    at(5210);
    EXPECT("m0-2 EXTEND job T2 10000", "s3 !RENEWED *", "m0-2 RELEASE job T5 WAKE", "s2 !RENEWED *",
           "s1 !RENEWED *");
    ask(1, "UNLOCK job");
    ask(2, "UNLOCK job");
    EXPECT_LAST("s2 #7 +UNLOCKED *");
    ask(3, "UNLOCK job");
    EXPECT_LAST("m0-2 RELEASE job T2 WAKE");
}

/* Otherwise the older one's key may have been deleted, and a writer may have had the name, before that. */
T(no_reader_goes_over_before_the_masters_had_its_key_again)
{
    second_lease();
    at(3999);
    EXPECT_NOTHING();
    ask(1, "EXTEND job token=T3");
    EXPECT("m0-2 EXTEND job T2 10000");
    vote("0-2", "EXTEND NO");
    work();
    EXPECT("s1 #6 -NOTHELD job", "s2 !LOST job token=T4 reason=gone", "s1 !LOST job token=T3 reason=gone");
}

T(a_broken_reader_stays_where_it_was)
{
    second_lease();
    drop(3);
    work();
    EXPECT("s3 ended");
    renew_at(4000);
    at(6999);
    EXPECT("m0-2 EXTEND job T2 10000", "s2 !RENEWED *", "s1 !RENEWED *"); /* T5 is not given back */
}
