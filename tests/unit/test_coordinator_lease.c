/* Traces: a lock that is held is renewed, extended, checked, and lost. */
#include "tests/unit/trace.h"

/* ---- renewal ---- */

T(renewed_at_a_third_of_its_ttl)
{
    start(5);
    grant(1, "LOCK job ttl=10s");
    at(3999); /* 3333 - 10 % */
    EXPECT_NOTHING();
    chance(666);
    at(4000);
    EXPECT("m0-4 EXTEND job T1 10000");
    at(4002);
    vote("0-1", "EXTEND 10000");
    vote("2", "EXTEND NO");
    EXPECT_NOTHING();
    vote("3", "EXTEND 10000");
    EXPECT("s1 !RENEWED job token=T1 valid=9895 until=13897");
    vote("4", "EXTEND 10000");
    at(4002 + 3665); /* 3333 + 10 % after the success */
    EXPECT_NOTHING();
    at(4002 + 3666);
    EXPECT("m0-4 EXTEND job T1 10000");
}

T(renewal_fails_until_it_is_lost)
{
    start(3);
    grant(1, "LOCK job ttl=10s");
    lose(0);
    lose(1);
    at(4000);
    EXPECT_DEADLINE(4000 + 20 + 333); /* again soon */
    at(7563);
    EXPECT_NOTHING();
    at(7564);
    EXPECT("s1 !EXPIRING job token=T1 valid=3333");
    at(10896);
    EXPECT_NOTHING();
    at(10897);
    EXPECT("s1 !LOST job token=T1 reason=expired"); /* and nothing is deleted, now or ... */
    dial(0);
    shake(0);
    vote("0", "KILL 0");
    work();
    EXPECT("m0 CLIENT_ID", "m0 INFO", "m0 KILL 101");
    EXPECT_MASTER(0, "up");
    ask(2, "LOCK job"); /* ... when another client asks */
    EXPECT("m0,2 SET job T2 10000", "m0,2 ZADD job *");
}

/* A renewal that finds max_renewals under way is tried again after a random pause. */
T(renewals_wait_for_each_other)
{
    config.max_renewals = 1;
    start(3);
    grant(1, "LOCK a ttl=10s");
    grant(1, "LOCK b ttl=10s");
    chance(0);
    at(4000);
    EXPECT("m0-2 EXTEND a T1 10000");
    vote("0-2", "EXTEND 10000");
    EXPECT("s1 !RENEWED a token=T1 *");
    at(4000 + 20 + 332);
    EXPECT_NOTHING();
    at(4000 + 20 + 333);
    EXPECT("m0-2 EXTEND b T2 10000");
    release(1); /* a renewal that is under way when its lock is given back counts no more */
    work();
    vote("0-2", "EXTEND 10000, RELEASE YES, RELEASE YES");
    forget();
    grant(2, "LOCK c ttl=10s");
    at(now + 3000);
    EXPECT("m0-2 EXTEND c T3 10000");
}

T(a_renewal_that_hurries_waits_less)
{
    config.max_renewals = 1;
    start(3);
    grant(1, "LOCK a ttl=10s");
    grant(1, "LOCK b ttl=10s");
    grant(1, "LOCK c ttl=10s");
    chance(0);
    at_without_work(7563 - 533 + 1); /* the longest pause would end after !EXPIRING */
    work();
    EXPECT("m0-2 EXTEND c T3 10000", "m0-2 EXTEND a T1 10000");
    vote("0-2", "EXTEND 10000, EXTEND 10000");
    EXPECT("s1 !RENEWED c token=T3 *", "s1 !RENEWED a token=T1 *");
    at(now + 353);
    EXPECT("m0-2 EXTEND b T2 10000");
}

T(a_last_chance_does_not_wait)
{
    config.max_renewals = 1;
    start(3);
    grant(1, "LOCK a ttl=10s");
    grant(1, "LOCK b ttl=10s");
    grant(1, "LOCK c ttl=10s");
    at_without_work(10897 - 533); /* after the longest pause the locks would be lost */
    work();
    EXPECT("s1 !EXPIRING c token=T3 *", "m0-2 EXTEND c T3 10000", "s1 !EXPIRING a token=T1 *",
           "m0-2 EXTEND a T1 10000", "s1 !EXPIRING b token=T2 *", "m0-2 EXTEND b T2 10000");
}

/* Otherwise the first failure would be the last chance where retry_max is not far below the TTL. */
T(the_pause_is_a_tenth_of_what_is_left_at_most)
{
    config.retry_max_ms = 9000;
    start(3);
    grant(1, "LOCK job ttl=10s");
    at(4000);
    chance(8980); /* the longest pause */
    vote("0-2", "EXTEND MISCONF");
    forget();
    at(4000 + 689);
    EXPECT("m0-2 EXTEND job T1 10000"); /* 6,897 ms were left */
    vote("0-2", "EXTEND MISCONF");
    at(4689 + 620);
    EXPECT("m0-2 EXTEND job T1 10000");
    vote("0-2", "EXTEND 10000");
    EXPECT("s1 !RENEWED *");
}

T(a_crowd_waits_also_where_retry_max_is_long)
{
    config.max_renewals = 1;
    config.retry_max_ms = 9000;
    start(3);
    grant(1, "LOCK a ttl=10s");
    grant(1, "LOCK b ttl=10s");
    at(4000);
    EXPECT("m0-2 EXTEND a T1 10000");
    vote("0-2", "EXTEND 10000");
    at(4000 + 689);
    EXPECT("s1 !RENEWED a *", "m0-2 EXTEND b T2 10000");
}

T(renewal_comes_back)
{
    start(3);
    grant(1, "LOCK job ttl=10s");
    at(4000);
    vote("0", "EXTEND 10000");
    vote("1", "EXTEND MISCONF");
    EXPECT("m0-2 EXTEND job T1 10000");
    vote("2", "EXTEND LOADING");
    at(4353);
    EXPECT("m0-2 EXTEND job T1 10000");
    at(4403); /* node_timeout: all masters are slow, and none can be asked */
    at(7564);
    EXPECT("close m* silent", "close m* silent", "close m* silent", "s1 !EXPIRING job token=T1 valid=3333");
    for (unsigned i = 0; i < 2; i++) {
        dial(i);
        shake(i);
    }
    vote("0-1", "KILL 1");
    forget();
    at(7580);
    EXPECT("m0-1 EXTEND job T1 10000");
    vote("0-1", "EXTEND 10000");
    EXPECT("s1 !RENEWED job token=T1 valid=9897 until=17477");
    lose(0);
    lose(1);
    at(14144); /* !EXPIRING is said again when renewals fail again */
    EXPECT("s1 !EXPIRING job token=T1 valid=3333");
}

T(gone_before_its_deadline)
{
    start(5);
    grant(1, "LOCK job ttl=10s");
    ask(2, "LOCK job wait=1m");
    at(4000);
    vote("0-1", "EXTEND NO");
    EXPECT("m0-4 EXTEND job T1 10000");
    vote("2", "EXTEND 10000");
    EXPECT_NOTHING();
    vote("3", "EXTEND NO"); /* no quorum can have it: another client released it elsewhere */
    EXPECT("s1 !LOST job token=T1 reason=gone", "m0-4 SET job T2 10000", "m0-4 ZADD job 4000007");
    at(4001);
    vote("4", "EXTEND 10000, SET NO, ZADD YES");
    EXPECT_NOTHING();
}

T(masters_in_quarantine_do_not_count)
{
    start(3);
    grant(1, "LOCK job ttl=10s");
    restart(2, 0);
    dial(2);
    shake(2);
    EXPECT_MASTER(2, "quarantine restart left=60602");
    forget();
    ask(1, "EXTEND job token=T1");
    vote("0,2", "EXTEND 10000");
    vote("1", "EXTEND LOADING"); /* only master 0 is left: the answer of master 2 does not count */
    EXPECT("m0-2 EXTEND job T1 10000", "s1 #2 -NOQUORUM job votes=2/3 nodes=+!+*");
    at(4000);
    vote("0,2", "EXTEND 10000");
    EXPECT("m0-2 EXTEND job T1 10000");
    vote("1", "EXTEND 10000");
    EXPECT("s1 !RENEWED *");
}

/* The daemon slept: the events that it reads first do not revive a lock that is over. */
T(renewal_that_is_answered_after_the_deadline)
{
    config.node_timeout_ms = 10000;
    start(3);
    grant(1, "LOCK job ttl=10s");
    at(4000);
    EXPECT("m0-2 EXTEND job T1 10000");
    at_without_work(10897);
    vote("0-2", "EXTEND 10000");
    work();
    EXPECT("s1 !LOST job token=T1 reason=expired");
}

/* The masters keep the key to the end of its TTL; the holder was promised no more than max=. */
T(asked_past_its_deadline_before_its_loss_was_told)
{
    start(3);
    grant(1, "LOCK job ttl=10s max=12s");
    at(4000);
    vote("0-2", "EXTEND 10000");
    forget();
    at_without_work(13000);
    ask(1, "CHECK job token=T1");
    ask(2, "EXTEND job token=T1");
    EXPECT("s1 #2 -NOTHELD job : *", "s2 #3 -NOTHELD job : *");
    work();
    EXPECT("s1 !LOST job token=T1 reason=max");
}

/* ---- EXTEND and CHECK ---- */

T(extend_on_a_minority_fails_and_the_lock_stays)
{
    start(5);
    grant(1, "LOCK job ttl=10s");
    at(2000);
    ask(1, "EXTEND job token=T1");
    vote("0-1", "EXTEND 10000");
    vote("2", "EXTEND NO");
    EXPECT("m0-4 EXTEND job T1 10000");
    at(2050);
    EXPECT("s1 #2 -NOQUORUM job votes=2/5 nodes=++-?? *");
    ask(2, "CHECK job token=T1"); /* bound here: no master is asked */
    EXPECT("s2 #3 +HELD job valid=8847 until=10897");
}

T(extend_sets_the_ttl_of_renewals)
{
    start(3);
    grant(1, "LOCK job ttl=10s");
    at(2000);
    ask(2, "EXTEND job token=T1 ttl=30s");
    vote("0-2", "EXTEND 30000");
    EXPECT("m0-2 EXTEND job T1 30000", "s1 !RENEWED job token=T1 valid=29697 until=31697",
           "s2 #2 +EXTENDED job valid=29697 until=31697");
    at(11000); /* a third, less 10 % */
    EXPECT("m0-2 EXTEND job T1 30000");
    ask(1, "EXTEND job token=T1 ttl=61s");
    ask(1, "EXTEND job token=T1 ttl=99ms");
    EXPECT("s1 #3 -BADARG job : ttl is at most 1m *", "s1 #4 -BADARG job : ttl is at least 100ms *");
}

T(extend_only_lengthens)
{
    start(3);
    grant(1, "LOCK job ttl=20s hold=lease");
    at(2000);
    ask(2, "EXTEND job token=T1 ttl=1s");
    vote("0-1", "EXTEND 19000"); /* the keys had more left than was asked for */
    EXPECT("m0-2 EXTEND job T1 1000", "s2 #2 +EXTENDED job valid=18807 until=20807");
    vote("2", "EXTEND 19000");
    ask(2, "CHECK job token=T1"); /* a lock with hold=lease may have been released elsewhere */
    EXPECT("m0-2 CHECK job T1");
    vote("0", "CHECK 18500");
    vote("1", "CHECK 18900");
    EXPECT("s2 #3 +HELD job valid=18312 until=20312"); /* the Q-th largest, less drift */
}

/* Masters that the EXTEND did not reach hold the key no longer than before; the others do. */
T(extend_takes_back_nothing_that_was_told)
{
    start(3);
    grant(1, "LOCK job ttl=5s hold=lease");
    ask(1, "EXTEND job token=T1 ttl=20s");
    vote("0-1", "EXTEND 20000");
    EXPECT("m0-2 EXTEND job T1 20000", "s1 #2 +EXTENDED job valid=19797 until=20797");
    vote("2", "EXTEND LOADING");
    at(2000);
    ask(1, "EXTEND job token=T1 ttl=1s");
    vote("1", "EXTEND 19000");
    vote("2", "EXTEND 4000");
    EXPECT("m0-2 EXTEND job T1 1000", "s1 #3 +EXTENDED job valid=18797 until=20797");
    vote("0", "EXTEND 19000");
    at(20797); /* then it is forgotten */
    ask(1, "UNLOCK job");
    EXPECT("s1 #4 -NOTHELD job : *");
}

/* A key may be longer because an operator changed it, or a master may lie: no daemon sends more than max_ttl.
 * 59397 is what is left of max_ttl after the drift and 1 ms for rounding. */
T(a_month_from_a_master_is_cut_to_max_ttl)
{
    start(3);
    ask(1, "CHECK job token=X");
    vote("0-1", "CHECK 2592000000");
    EXPECT("m0-2 CHECK job X", "s1 #1 +HELD job valid=59397 until=60397");
    vote("2", "CHECK 2592000000");
    ask(1, "EXTEND job token=X ttl=10s");
    vote("0-2", "CHECK 2592000000");
    vote("0-2", "EXTEND 18446744073709551615");
    EXPECT("m0-2 CHECK job X", "m0-2 EXTEND job X 10000", "s1 #2 +EXTENDED job valid=59397 until=60397");
    grant(1, "LOCK held");
    at(4000);
    vote("0-2", "EXTEND 2592000000");
    EXPECT("m0-2 EXTEND held T1 10000", "s1 !RENEWED held token=T1 valid=59397 until=63397");
}

T(extend_of_a_lease_that_runs_out_meanwhile)
{
    start(3);
    grant(1, "LOCK job ttl=10s hold=lease");
    at(10890);
    ask(1, "EXTEND job token=T1");
    at(10900);
    vote("0-1", "EXTEND 10000");
    EXPECT("m0-2 EXTEND job T1 10000", "s1 #2 +EXTENDED job valid=9887 until=20787");
}

T(extend_of_a_token_unknown_here_checks_first)
{
    start(5);
    ask(1, "EXTEND job token=X ttl=5s");
    EXPECT("m0-4 CHECK job X");
    at(1010);
    vote("0-2", "CHECK 1000");
    EXPECT("m0-4 EXTEND job X 5000");
    vote("3", "CHECK NO"); /* the first question's; no answer to the second */
    at(1020);
    vote("0", "EXTEND 9000");
    vote("3", "EXTEND NO");
    vote("1", "EXTEND 5000");
    vote("4", "CHECK 900, EXTEND 7000");
    EXPECT("s1 #1 +EXTENDED job valid=4937 until=5957"); /* 1010 + 5000 - drift - 1: of 9000, 7000, 5000 */
    vote("2", "EXTEND 5000");
    EXPECT_NOTHING();
}

T(extend_and_check_of_a_token_that_nobody_holds)
{
    start(3);
    ask(1, "EXTEND job token=X");
    ask(1, "CHECK job token=X");
    forget();
    vote("0", "CHECK NO, CHECK 100");
    vote("1", "CHECK NO, CHECK 3"); /* no time is left of it */
    EXPECT("s1 #1 -NOTHELD job", "s1 #2 -NOTHELD job : *");
    vote("2", "CHECK NO, CHECK NO");
    lose(0);
    lose(1);
    ask(1, "CHECK job token=X");
    ask(1, "EXTEND job token=X");
    EXPECT("s1 #3 -NOQUORUM job votes=1/3 nodes=!!+ *", "s1 #4 -NOQUORUM job votes=1/3 nodes=!!+ *");
}

/* ---- scripts that were not run ---- */

T(not_run_is_repeated_while_it_is_wanted)
{
    start(3);
    grant(1, "LOCK job ttl=10s");
    at(4000);
    vote("0", "EXTEND NOT_RUN");
    EXPECT("m0-2 EXTEND job T1 10000", "m0 EXTEND job T1 10000");
    vote("0", "EXTEND 10000");
    vote("1", "EXTEND 10000");
    EXPECT("s1 !RENEWED *");
    ask(1, "UNLOCK job");
    vote("2", "EXTEND NOT_RUN"); /* the lock is given back: its EXTEND is not wanted any more */
    EXPECT("m0-2 RELEASE job T1");
    vote("0", "RELEASE NOT_RUN");
    EXPECT("m0 RELEASE job T1");
    vote("0-1", "RELEASE YES");
    EXPECT("s1 #2 +UNLOCKED job confirmed=2/3");
    ask(1, "CHECK job token=X");
    vote("0-1", "CHECK NO");
    EXPECT("m0-2 CHECK job X", "s1 #3 -NOTHELD job");
    vote("2", "RELEASE YES, CHECK NOT_RUN"); /* answered without it */
    EXPECT_NOTHING();
}
