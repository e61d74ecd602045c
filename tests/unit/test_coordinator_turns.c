/* Traces: turns between daemons, and how a lock is handed on within one. */
#include "tests/unit/trace.h"

/* Session 1 has "job" since 1000, when the turn began; sessions 2, 3, ... wait for it. Where none waits
 * behind the head, its lease is not handed on (test_coordinator_hand.c). */
static void held_and_waited_for(unsigned waiters)
{
    start(3);
    grant(1, "LOCK job");
    for (uint64_t session = 2; session < 2 + waiters; session++)
        ask(session, "LOCK job wait=1m");
    EXPECT_NOTHING();
}

/* ---- a young turn ---- */

T(the_next_heads_sets_follow_the_release_at_once)
{
    held_and_waited_for(1);
    at(1049);
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T1", "m0-2 SET job T2 10000", "m0-2 ZADD job 1049007");
    vote("0", "RELEASE YES, SET YES, ZADD YES");
    EXPECT_NOTHING();
    vote("1", "RELEASE YES, SET YES, ZADD YES");
    EXPECT("s1 #3 +UNLOCKED job confirmed=2/3", "s2 #2 +LOCKED job token=T2 fence=1049007 *");
    vote("2", "RELEASE YES, SET YES, ZADD YES");
    EXPECT_NOTHING();
}

T(who_comes_behind_the_release_follows_it_too)
{
    held_and_waited_for(0);
    ask(1, "UNLOCK job");
    ask(2, "LOCK job");
    EXPECT("m0-2 RELEASE job T1", "m0-2 SET job T2 10000", "m0-2 ZADD job *");
    vote("0-1", "RELEASE YES, SET YES, ZADD YES");
    EXPECT("s1 #2 +UNLOCKED *", "s2 #3 +LOCKED job token=T2 *");
}

T(all_ways_to_give_a_lock_back_hand_it_over)
{
    held_and_waited_for(1);
    release(1);
    work();
    EXPECT("s1 !LOST job *", "m0-2 RELEASE job T1", "s1 ended", "m0-2 SET job T2 10000", "m0-2 ZADD job *");
    vote("0-2", "RELEASE YES, SET YES, ZADD YES");
    EXPECT("s2 #2 +LOCKED job token=T2 *");
    ask(3, "LOCK job wait=1m");
    undelivered(2, 2);
    EXPECT("m0-2 RELEASE job T2", "m0-2 SET job T3 10000", "m0-2 ZADD job *");
    vote("0-2", "RELEASE YES, SET YES, ZADD YES");
    EXPECT("s3 #3 +LOCKED job token=T3 *");
    ask(4, "LOCK job wait=1m");
    ask(9, "UNLOCK job token=T3");
    EXPECT("s3 !LOST job token=T3 reason=released", "m0-2 RELEASE job T3", "m0-2 SET job T4 10000",
           "m0-2 ZADD job *");
    vote("0-2", "RELEASE YES, SET YES, ZADD YES");
    EXPECT("s9 #5 +UNLOCKED *", "s4 #4 +LOCKED job token=T4 *");
    ask(4, "LOCK job token=T4");
    ask(4, "UNLOCK job");
    EXPECT("s4 #6 +LOCKED * depth=2", "s4 #7 +UNLOCKED job confirmed=0/3 depth=1"); /* not given back yet */
}

/* Otherwise a client that unlocks with made-up tokens would make the head ask each time. */
T(a_token_that_was_not_granted_here_hands_nothing_over)
{
    start(3);
    ask(1, "LOCK job hold=lease");
    ask(2, "LOCK job wait=1m");
    vote("0-2", "SET YES, ZADD YES");
    forget();
    ask(9, "UNLOCK job token=X");
    EXPECT("m0-2 RELEASE job X WAKE*");
    vote("0-2", "RELEASE NO");
    EXPECT("s9 #3 -NOTHELD job");
    EXPECT_DEADLINE(1020); /* its retry */
    ask(9, "UNLOCK job token=T1");
    EXPECT("m0-2 RELEASE job T1", "m0-2 SET job T2 10000", "m0-2 ZADD *");
}

T(a_release_that_was_not_run_lets_the_head_ask_again_at_once)
{
    held_and_waited_for(1);
    chance(180);
    ask(1, "UNLOCK job");
    forget();
    vote("0-2", "RELEASE NOT_RUN");
    EXPECT("m0 RELEASE job T1", "m1 RELEASE job T1", "m2 RELEASE job T1");
    vote("0-2", "SET NO, ZADD NO");
    EXPECT("m0-2 RELEASE job T2", "m0-2 ENQUEUE job *");
    vote("0-1", "RELEASE YES");
    EXPECT("s1 #3 +UNLOCKED *", "m0-2 SET job T3 10000");
    vote("0-1", "RELEASE NO, ENQUEUE UNHEARD, SET YES");
    vote("0-1", "ZADD YES");
    EXPECT("m0-1 ZADD job *", "s2 #2 +LOCKED job token=T3 *");
}

T(a_release_that_is_not_answered_yet_does_not_hold_up_the_next)
{
    held_and_waited_for(1);
    ask(1, "UNLOCK job");
    vote("0-2", "RELEASE NOT_RUN");
    forget();
    vote("0-1", "SET YES, ZADD YES"); /* the key had run out */
    EXPECT("s2 #2 +LOCKED job token=T2 *");
    ask(3, "LOCK job wait=1m");
    ask(2, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T2", "m0-2 SET job T3 10000", "m0-2 ZADD job *");
    vote("0-1", "RELEASE NO, RELEASE YES, SET YES, ZADD YES");
    EXPECT("s1 #3 -NOTHELD job *", "s2 #5 +UNLOCKED *", "s3 #4 +LOCKED job token=T3 *");
    vote("2", "SET YES, ZADD YES, RELEASE YES, RELEASE YES, SET YES, ZADD YES");
}

T(a_head_that_leaves_is_undone_and_the_next_follows_that)
{
    held_and_waited_for(2);
    ask(1, "UNLOCK job");
    forget();
    cancel(2, 2);
    EXPECT("s2 #2 -CANCELLED job", "m0-2 RELEASE job T2 WAKE STAY", "s2 #5 +OK", "m0-2 SET job T3 10000",
           "m0-2 ZADD job *");
    vote("0-1", "RELEASE YES, SET YES, ZADD YES, RELEASE YES, SET YES, ZADD YES");
    EXPECT("s1 #4 +UNLOCKED *", "s3 #3 +LOCKED job token=T3 *");
}

T(a_master_that_is_lost_gets_the_release_when_it_is_back)
{
    held_and_waited_for(1);
    ask(1, "UNLOCK job");
    forget();
    lose(2);
    work();
    EXPECT_MASTER(2, "down undo=1");
    vote("0-1", "RELEASE YES, SET YES, ZADD YES");
    EXPECT("s1 #3 +UNLOCKED job confirmed=2/3", "s2 #2 +LOCKED job token=T2 *");
    dial(2);
    shake(2);
    EXPECT("m2 CLIENT_ID", "m2 INFO", "m2 KILL 301");
    vote("2", "KILL 1");
    work();
    EXPECT("m2 RELEASE job T1");
}

T(nothing_is_handed_over_while_the_daemon_stops)
{
    held_and_waited_for(1);
    drain();
    work();
    EXPECT("s2 #2 -DRAINING job");
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T1");
    vote("0-2", "RELEASE YES");
    EXPECT("s1 #3 +UNLOCKED *");
}

/* ---- later in a turn ---- */

T(after_50_ms_the_release_asks_and_is_waited_for)
{
    held_and_waited_for(1);
    at(1050);
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T1 WAKE*");
    vote("0", "RELEASE YES");
    EXPECT_NOTHING();
    vote("1", "RELEASE YES");
    EXPECT("s1 #3 +UNLOCKED *", "m0-2 SET job T2 10000", "m0-2 ZADD job *");
    vote("2", "RELEASE UNHEARD"); /* too late: the request has been sent */
    vote("0-1", "SET YES, ZADD YES");
    EXPECT("s2 #2 +LOCKED job token=T2 *");
    ask(3, "LOCK job wait=1m");
    at(1099);
    ask(2, "UNLOCK job"); /* no client waited elsewhere: that grant began a turn */
    EXPECT("m0-2 RELEASE job T2", "m0-2 SET job T3 10000", "m0-2 ZADD job *");
}

T(nobody_is_asked_about_when_nobody_waits_here)
{
    held_and_waited_for(0);
    at(1100);
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T1");
    vote("0-2", "RELEASE YES");
    EXPECT("s1 #2 +UNLOCKED job confirmed=2/3");
}

T(others_who_wait_get_their_turn)
{
    held_and_waited_for(1);
    at(2000);
    ask(1, "UNLOCK job");
    vote("0", "RELEASE YES");
    vote("1", "RELEASE UNHEARD"); /* on one of Q is enough */
    EXPECT("m0-2 RELEASE job T1 WAKE*", "s1 #3 +UNLOCKED *");
    vote("2", "RELEASE YES");
    EXPECT_DEADLINE(2250); /* 1.25 x retry_max */
    at(2249);
    EXPECT_NOTHING();
    at(2250);
    EXPECT("m0-2 SET job T2 10000", "m0-2 ZADD job *");
    vote("0-2", "SET YES, ZADD YES");
    EXPECT("s2 #2 +LOCKED job token=T2 *");
    ask(3, "LOCK job wait=1m");
    at(2299); /* a new turn, since that grant */
    ask(2, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T2", "m0-2 SET job T3 10000", "m0-2 ZADD job *");
}

T(a_refused_attempt_ends_the_turn)
{
    held_and_waited_for(1);
    at(1040);
    ask(1, "UNLOCK job");
    vote("0-2", "RELEASE YES, SET NO, ZADD NO"); /* another daemon's SET came in between */
    EXPECT("m0-2 RELEASE job T1", "m0-2 SET job T2 10000", "m0-2 ZADD *", "s1 #3 +UNLOCKED *",
           "m0-2 RELEASE job T2", "m0-2 ENQUEUE job *");
    vote("0-2", "RELEASE NO, ENQUEUE UNHEARD");
    at(1060);
    EXPECT("m0-2 SET job T3 10000");
    vote("0-2", "SET YES");
    vote("0-2", "ZADD YES");
    EXPECT("m0-1 ZADD *", "m2 ZADD *", "s2 #2 +LOCKED job token=T3 *");
    ask(3, "LOCK job wait=1m");
    at(1109); /* 49 ms after the new turn began */
    ask(2, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T3", "m0-2 SET job T4 10000", "m0-2 ZADD *");
}

T(a_wait_may_end_while_others_have_their_turn)
{
    start(3);
    grant(1, "LOCK job");
    at(1900);
    ask(2, "LOCK job wait=200ms");
    ask(3, "LOCK job wait=10s");
    at(2000);
    ask(1, "UNLOCK job");
    vote("0-2", "RELEASE UNHEARD");
    EXPECT("m0-2 RELEASE job T1 WAKE*", "s1 #4 +UNLOCKED *");
    at(2100);
    EXPECT("s2 #2 -TIMEOUT job waited=200");
    cancel(3, 3);
    EXPECT("s3 #3 -CANCELLED job", "m0-2 DEQUEUE job", "s3 #5 +OK");
    vote("0-2", "DEQUEUE YES");
    EXPECT_REST();
    ask(4, "LOCK job"); /* no client waits here, so there is no pause for others */
    EXPECT("m0-2 SET job T2 10000", "m0-2 ZADD *");
}

/* A request with wait=0 is answered now, and does not give way either. */
T(wait_0_while_others_have_their_turn)
{
    held_and_waited_for(1);
    at(2000);
    ask(1, "UNLOCK job");
    ask(3, "LOCK job");
    EXPECT("m0-2 RELEASE job T1 WAKE*");
    vote("0-2", "RELEASE UNHEARD");
    work();
    EXPECT("s1 #3 +UNLOCKED *", "s3 #4 -BUSY job");
    ask(4, "LOCK job");
    EXPECT("s4 #5 -BUSY job");
    at(2250);
    EXPECT("m0-2 SET job T2 10000", "m0-2 ZADD *");
}

T(wait_0_alone_does_not_give_way)
{
    start(3);
    grant(1, "LOCK job hold=lease");
    at(2000);
    ask(1, "UNLOCK job");
    ask(2, "LOCK job");
    forget();
    vote("0-1", "RELEASE YES");
    EXPECT("s1 #2 +UNLOCKED *", "m0-2 SET job T2 10000", "m0-2 ZADD *");
    ask(3, "LOCK job");
    vote("2", "RELEASE YES");
    vote("0-2", "SET NO, ZADD NO");
    vote("0-2", "RELEASE NO");
    EXPECT("m0-2 RELEASE job T2", "s2 #3 -BUSY job");
    ask(1, "UNLOCK job token=X"); /* before the head asks for itself */
    vote("0-1", "RELEASE UNHEARD");
    EXPECT("m0-2 RELEASE job X WAKE*", "s1 #5 +UNLOCKED *", "m0-2 SET job T3 10000", "m0-2 ZADD *");
}

/* ---- a client that gives back and asks anew, again and again ---- */

/* Granted at 1000, and given back at 1025 while no other client was there. */
static void used_a_moment_ago(void)
{
    held_and_waited_for(0);
    at(1025);
    ask(1, "UNLOCK job");
    vote("0-2", "RELEASE YES");
    EXPECT("m0-2 RELEASE job T1", "s1 #2 +UNLOCKED *");
}

T(it_gives_way_as_the_waiters_do)
{
    used_a_moment_ago();
    at(1030);
    grant(1, "LOCK job wait=1m");
    at(1050); /* the same turn, 50 ms after it began */
    ask(1, "UNLOCK job");
    vote("0-2", "RELEASE UNHEARD");
    EXPECT("m0-2 RELEASE job T2 WAKE*", "s1 #4 +UNLOCKED *");
    at(1060);
    ask(1, "LOCK job wait=1m");
    at(1299);
    ask(2, "LOCK job");
    EXPECT("s2 #6 -BUSY job");
    at(1300);
    EXPECT("m0-2 SET job T3 10000", "m0-2 ZADD *");
    vote("0-2", "SET YES, ZADD YES");
    EXPECT("s1 #5 +LOCKED *");
    at(1349);
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T3");
}

T(but_not_when_it_does_not_wait)
{
    used_a_moment_ago();
    grant(1, "LOCK job");
    at(1100);
    ask(1, "UNLOCK job");
    vote("0-2", "RELEASE UNHEARD");
    forget();
    ask(1, "LOCK job");
    EXPECT("m0-2 SET job T3 10000", "m0-2 ZADD *");
}

T(alone_it_asks_about_others_now_and_then)
{
    used_a_moment_ago();
    grant(1, "LOCK job wait=1m");
    at(1100);
    ask(1, "UNLOCK job");
    vote("0-2", "RELEASE YES");
    EXPECT("m0-2 RELEASE job T2 WAKE*", "s1 #4 +UNLOCKED *");
    grant(1, "LOCK job wait=1m");
    at(1149);
    ask(1, "UNLOCK job");
    vote("0-2", "RELEASE YES");
    EXPECT("m0-2 RELEASE job T3", "s1 #6 +UNLOCKED *");
    grant(1, "LOCK job wait=1m");
    at(1150);
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T4 WAKE*");
}

T(a_name_that_was_free_for_long_begins_anew)
{
    used_a_moment_ago();
    at(1225); /* within retry_max each waiting daemon has asked for the name */
    grant(1, "LOCK job wait=1m");
    at(1274);
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T2");
    vote("0-2", "RELEASE YES");
    EXPECT("s1 #4 +UNLOCKED *");
}

T(another_name_knows_nothing_of_it)
{
    used_a_moment_ago();
    grant(1, "LOCK other wait=1m");
    at(1149);
    ask(1, "UNLOCK other");
    EXPECT("m0-2 RELEASE other T2");
}

/* ---- the queue on the masters ---- */

T(a_head_that_is_refused_joins_the_queue)
{
    start(3);
    ask(1, "LOCK job wait=1m");
    chance(179);
    vote("0-2", "SET NO, ZADD NO");
    EXPECT("m0-2 SET *", "m0-2 ZADD *", "m0-2 RELEASE job T1", "m0-2 ENQUEUE job *");
    vote("0-2", "RELEASE NO, ENQUEUE UNHEARD");
    at(1199);
    vote("0-2", "SET NO");
    vote("0-2", "RELEASE NO");
    EXPECT("m0-2 SET job T2 10000", "m0-2 RELEASE job T2"); /* the mark is still there */
    at(1398);
    vote("0-2", "SET NO");
    EXPECT("m0-2 SET job T3 10000", "m0-2 RELEASE job T3", "m0-2 ENQUEUE job *");
}

T(who_does_not_wait_joins_no_queue)
{
    start(3);
    ask(1, "LOCK job");
    vote("0-2", "SET NO, ZADD NO");
    EXPECT("m0-2 SET *", "m0-2 ZADD *", "m0-2 RELEASE job T1", "s1 #1 -BUSY job");
    ask(2, "LOCK other wait=1m");
    vote("0-2", "RELEASE NO, SET OOM, ZADD OOM");
    EXPECT("m0-2 SET other *", "m0-2 ZADD *", "m0-2 RELEASE other T2"); /* no master is known to have it */
}
