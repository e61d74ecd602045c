/* Traces: held locks outlive masters that lose their memory. */
#include "tests/unit/trace.h"

/* Restarts the master, which comes back in quarantine. The votes of the test say whether it has the key. */
static void empty(unsigned master)
{
    restart(master, 0);
    dial(master);
    shake(master);
    EXPECT_MASTER(master, "quarantine restart left=60602");
    forget();
}

T(healed_by_the_next_renewal_and_counted_then)
{
    start(3);
    grant(1, "LOCK job ttl=10s");
    empty(2);
    at(4000);
    vote("0", "EXTEND 10000");
    vote("2", "EXTEND NO");
    EXPECT("m0-2 EXTEND job T1 10000");
    vote("1", "EXTEND 10000");
    /* The healed key ends at the told deadline, by that master's clock. */
    EXPECT("s1 !RENEWED job token=T1 valid=9897 until=13897", "m2 HEAL job T1 1700000013897");
    vote("2", "HEAL YES");
    lose(0); /* master 2 counts now, though still in quarantine */
    ask(1, "EXTEND job token=T1");
    vote("1-2", "EXTEND 10000");
    EXPECT("m1-2 EXTEND job T1 10000", "s1 !RENEWED *", "s1 #2 +EXTENDED job *");
}

T(a_late_no_is_healed_too)
{
    start(3);
    grant(1, "LOCK job ttl=10s");
    empty(2);
    at(4000);
    vote("0-1", "EXTEND 10000");
    EXPECT("m0-2 EXTEND job T1 10000", "s1 !RENEWED *");
    vote("2", "EXTEND NO");
    EXPECT("m2 HEAL job T1 1700000013897");
}

T(all_restarted_one_after_the_other)
{
    start(3);
    grant(1, "LOCK job ttl=10s");
    for (unsigned i = 0; i < 3; i++) {
        char word[8];
        empty(i);
        at(now + 3000);
        snprintf(word, sizeof word, "%u", i);
        vote(word, "EXTEND NO");
        snprintf(word, sizeof word, "%u,%u", (i + 1) % 3, (i + 2) % 3);
        vote(word, "EXTEND 10000");
        EXPECT("m0-2 EXTEND job T1 10000", "s1 !RENEWED *", "m* HEAL job T1 *");
        snprintf(word, sizeof word, "%u", i);
        vote(word, "HEAL YES");
    }
    ck_assert_uint_eq(coordinator_voters(core), 0);
    ask(2, "LOCK other");
    EXPECT("s2 #2 -NOQUORUM other votes=0/3 nodes=~~~ *");
    at(now + 3000);
    vote("0-1", "EXTEND 10000"); /* yet the lock lives on */
    EXPECT("m0-2 EXTEND job T1 10000", "s1 !RENEWED *");
    vote("2", "EXTEND 10000");
}

T(an_old_token_that_came_back_counts_for_nothing)
{
    start(3);
    grant(1, "LOCK job ttl=10s");
    empty(1); /* from a snapshot that has the key */
    empty(2);
    at(4000); /* only master 0 knows for certain */
    EXPECT_NOTHING();
    ask(1, "EXTEND job token=T1");
    EXPECT("s1 #2 -NOQUORUM job votes=1/3 nodes=+~~ *");
}

T(confirmed_by_an_extension_that_had_its_quorum_without_it)
{
    start(3);
    grant(1, "LOCK job ttl=10s");
    empty(2); /* from a snapshot that has the key */
    at(4000);
    vote("0-1", "EXTEND 10000");
    vote("2", "EXTEND 10000"); /* late, but it confirms the key there all the same */
    EXPECT("m0-2 EXTEND job T1 10000", "s1 !RENEWED *");
    lose(0);
    ask(1, "EXTEND job token=T1");
    vote("1-2", "EXTEND 10000");
    EXPECT("m1-2 EXTEND job T1 10000", "s1 !RENEWED *", "s1 #2 +EXTENDED job *");
}

T(confirmed_also_where_it_answered_first)
{
    start(3);
    grant(1, "LOCK job ttl=10s");
    empty(2);
    at(4000);
    vote("2", "EXTEND 10000");
    vote("0-1", "EXTEND 10000");
    EXPECT("m0-2 EXTEND job T1 10000", "s1 !RENEWED *");
    lose(0);
    ask(1, "EXTEND job token=T1");
    vote("1-2", "EXTEND 10000");
    EXPECT("m1-2 EXTEND job T1 10000", "s1 !RENEWED *", "s1 #2 +EXTENDED job *");
}

T(a_confirmation_ends_with_the_memory)
{
    start(3);
    grant(1, "LOCK job ttl=10s");
    empty(2);
    at(4000);
    vote("2", "EXTEND NO");
    vote("0-1", "EXTEND 10000");
    vote("2", "HEAL YES");
    lose(0);
    empty(2); /* once more */
    at(7000);
    EXPECT_NOTHING(); /* no quorum of masters that count: they are not asked */
}

T(what_was_acknowledged_and_is_gone_is_never_set_again)
{
    start(5);
    grant(1, "LOCK job ttl=10s");
    at(4000);
    vote("0-2", "EXTEND 10000");
    vote("3", "EXTEND NO"); /* an UNLOCK through another daemon got there */
    EXPECT("m0-4 EXTEND job T1 10000", "s1 !RENEWED *");
    vote("4", "EXTEND 10000");
    for (int64_t ms = 7000; ms <= 16000; ms += 3000) { /* nor when it would have run out there */
        at(ms);
        vote("0-2,4", "EXTEND 10000");
        vote("3", "EXTEND NO");
        EXPECT("m0-4 EXTEND job T1 10000", "s1 !RENEWED *");
    }
}

T(what_ran_out_is_set_again)
{
    start(3);
    grant(1, "LOCK job ttl=2s");
    lose(2);
    for (int64_t ms = 1600; ms < 4000; ms += 600) {
        at(ms);
        vote("0-1", "EXTEND 2000");
    }
    dial(2);
    shake(2);
    vote("2", "KILL 1");
    EXPECT_MASTER(2, "up");
    at(4000);
    forget();
    vote("2", "EXTEND NO");
    vote("0-1", "EXTEND 2000");
    EXPECT("s1 !RENEWED job token=T1 valid=1977 until=5977", "m2 HEAL job T1 1700000005977");
}

/* A RESUME that found no quorum had moved the token, and set it back: nobody has released it. */
T(what_was_moved_and_set_back_is_set_again_when_it_has_run_out)
{
    start(3);
    grant(1, "LOCK job ttl=2s");
    ask(2, "RESUME job token=T1");
    ask(1, "EXTEND job token=T1");
    vote("2", "MOVE YES, EXTEND NO");
    at(1050);
    EXPECT_LAST("s1 #3 -NOQUORUM *");
    vote("0-1", "MOVE YES, EXTEND NO, MOVE YES");
    vote("2", "MOVE YES");
    at(1600);
    vote("0-2", "EXTEND 2000");
    lose(2);
    for (int64_t ms = 2200; ms < 4400; ms += 600) {
        at(ms);
        vote("0-1", "EXTEND 2000");
    }
    dial(2);
    shake(2);
    vote("2", "KILL 1");
    at(4600);
    forget();
    vote("2", "EXTEND NO");
    vote("0-1", "EXTEND 2000");
    EXPECT("s1 !RENEWED *", "m2 HEAL job T1 *");
}

static void renew_until(int64_t ms)
{
    while (now < ms) {
        at(now + 100);
        if (strcmp(unanswered_verb(0), "EXTEND") == 0)
            vote("0-1", "EXTEND 5000");
    }
    forget();
}

/* The lock was granted after this daemon's host had stood still for 1.5 s, and before that was noticed: its key lives
 * longer than was recorded. So a master that does not have it before that is over did not forget it. */
T(what_was_set_within_a_stall_is_not_over_so_soon)
{
    start(3);
    at(1900);
    for (unsigned i = 0; i < 3; i++)
        markers[i].clock_ms += 1500;
    grant(1,
          "LOCK job ttl=5s"); /* recorded until 6900, or until 5402 by the clock as it is since the stall */
    lose(2);
    renew_until(5600);
    dial(2);
    shake(2);
    vote("2", "KILL 1");
    EXPECT_MASTER(2, "up");
    forget();
    ask(1, "EXTEND job token=T1");
    vote("0-1", "EXTEND 5000");
    forget();
    vote("2", "EXTEND NO");
    EXPECT_NOTHING();
    at(6950);
    ask(1, "EXTEND job token=T1");
    vote("0-1", "EXTEND 5000");
    forget();
    vote("2", "EXTEND NO");
    EXPECT("m2 HEAL job T1 *");
}

T(one_that_never_had_the_key_gets_it)
{
    start(3);
    lose(2);
    ask(1, "LOCK job ttl=2s");
    vote("0-1", "SET YES, ZADD YES");
    dial(2);
    shake(2);
    vote("2", "KILL 1");
    at(1600);
    forget();
    vote("2", "EXTEND NO");
    vote("0-1", "EXTEND 2000");
    EXPECT("s1 !RENEWED *", "m2 HEAL job T1 *");
}

/* The lease of no session is over, but an EXTEND on its way could still go on with it. */
T(no_heal_behind_a_release_by_token)
{
    start(3);
    ask(1, "LOCK job hold=lease ttl=10s");
    vote("0-1", "SET YES, ZADD YES");
    vote("2", "SET OOM, ZADD YES");
    forget();
    at(10890);
    ask(2, "EXTEND job token=T1 ttl=10s");
    vote("0", "EXTEND 10000");
    vote("2", "EXTEND NO");
    at_without_work(10897);
    ask(3, "UNLOCK job token=T1");
    EXPECT("m0-2 EXTEND job T1 10000", "m0-2 RELEASE job T1 WAKE");
    vote("1", "EXTEND 10000");
    EXPECT("s2 #2 -NOTHELD job*");
    vote("0-2", "RELEASE YES");
    EXPECT("s3 #3 +UNLOCKED job*");
}

T(no_heal_without_a_quorum)
{
    start(5);
    grant(1, "LOCK job ttl=10s");
    empty(4);
    at(4000);
    vote("0-1", "EXTEND 10000");
    vote("4", "EXTEND NO");
    vote("2-3", "EXTEND MISCONF");
    EXPECT("m0-4 EXTEND job T1 10000");
}

T(a_master_that_forgot_is_no_witness_that_it_is_gone)
{
    start(5);
    lose(3);
    lose(4);
    ask(1, "LOCK job ttl=10s");
    vote("0-2", "SET YES, ZADD YES");
    dial(3);
    dial(4);
    shake(3);
    shake(4);
    vote("3-4", "KILL 1");
    empty(2);
    at(4000);
    vote("0-1", "EXTEND 10000");
    vote("2-4", "EXTEND NO"); /* masters 3 and 4 never had the key, and master 2 cannot know */
    EXPECT("m0-4 EXTEND job T1 10000");
    at(7564);
    EXPECT_LAST("s1 !EXPIRING job token=T1 valid=3333");
    forget();
}

T(max_ends_a_heal_too)
{
    start(3);
    grant(1, "LOCK job ttl=10s max=12s");
    empty(2);
    at(4000);
    vote("0-1", "EXTEND 10000");
    vote("2", "EXTEND NO");
    EXPECT("m0-2 EXTEND job T1 10000", "s1 !RENEWED job token=T1 valid=9000 until=13000",
           "m2 HEAL job T1 1700000013000");
}

T(a_heal_is_released_like_any_key)
{
    start(3);
    grant(1, "LOCK job ttl=10s");
    empty(2);
    at(4000);
    vote("2", "EXTEND NO");
    vote("0-1", "EXTEND 10000");
    lose(2); /* the daemon does not know whether the heal ran */
    forget();
    ask(1, "UNLOCK job");
    vote("0-1", "RELEASE YES");
    EXPECT("m0-1 RELEASE job T1", "s1 #2 +UNLOCKED job confirmed=2/3");
    dial(2);
    shake(2);
    vote("2", "KILL 1");
    work();
    EXPECT_LAST("m2 RELEASE job T1");
    forget();
}

/* The heal would come there behind the move, which found nothing, and stand in the new token's way. */
T(a_token_that_is_moved_is_not_healed)
{
    start(3);
    grant(1, "LOCK job");
    restart(2, 0);
    dial(2);
    shake(2);
    forget();
    ask(1, "EXTEND job token=T1");
    ask(2, "RESUME job token=T1");
    EXPECT("m0-2 EXTEND job T1 10000", "m0-2 MOVE job T1 T2");
    vote("2", "EXTEND NO, MOVE NO");
    vote("0-1", "EXTEND 10000");
    EXPECT("s1 !RENEWED job *", "s1 #2 +EXTENDED job *");
    vote("0-1", "MOVE YES");
    forget();
    vote("0-1", "EXTEND 10000, ZADD YES");
    EXPECT("s1 !LOST job token=T1 reason=moved", "m2 HEAL job T2 *", "s2 #3 +LOCKED job token=T2 *");
    vote("2", "HEAL YES");
}

/* Two rounds found the key gone, and the second round moved the deadline on before the first heal was
 * answered. */
T(a_heal_is_good_until_its_own_deadline)
{
    start(3);
    grant(1, "LOCK job ttl=10s");
    empty(2);
    at(4000);
    ask(1, "EXTEND job token=T1 ttl=20s");
    vote("0-1", "EXTEND 10000");
    vote("2", "EXTEND NO");
    EXPECT("m0-2 EXTEND job T1 10000", "m0-2 EXTEND job T1 20000", "s1 !RENEWED *",
           "m2 HEAL job T1 1700000013897");
    vote("0-1", "EXTEND 20000");
    vote("2", "EXTEND NO");
    EXPECT("s1 !RENEWED *", "s1 #2 +EXTENDED *", "m2 HEAL job T1 1700000023797");
    vote("2", "HEAL YES, HEAL NO"); /* the second heal met the key of the first */
    lose(2);
    at(10000);
    vote("0-1", "EXTEND 20000");
    dial(2);
    shake(2);
    vote("2", "KILL 1");
    at(16000); /* the key of the first heal is over */
    forget();
    vote("2", "EXTEND NO");
    vote("0-1", "EXTEND 20000");
    EXPECT("s1 !RENEWED *", "m2 HEAL job T1 *");
}

/* Otherwise a key of somebody else that stays on a master would have the lock renewed several times as often,
 * for nothing. */
T(a_heal_that_is_refused_waits_for_the_next_renewal)
{
    start(3);
    grant(1, "LOCK job ttl=10s");
    empty(2);
    at(4000);
    vote("0-1", "EXTEND 10000");
    vote("2", "EXTEND NO");
    vote("2", "HEAL NO");
    forget();
    at(6999);
    EXPECT_NOTHING();
    at(7000);
    vote("2", "EXTEND NO");
    vote("0-1", "EXTEND 10000");
    EXPECT("m0-2 EXTEND job T1 10000", "s1 !RENEWED *", "m2 HEAL job T1 *");
}
