/* Traces: a lock whose holder tells others something. */
#include "tests/unit/trace.h"

/* Session 1 leads by T1, and tells "a:1". */
static void lead(unsigned masters)
{
    start(masters);
    ask(1, "LOCK job data=a:1");
    forget();
    vote(masters == 5 ? "0-4" : "0-2", "SET YES, ZADD YES");
    forget();
    vote(masters == 5 ? "0-4" : "0-2", "DATA YES");
    EXPECT("s1 #1 +LOCKED job token=T1 *");
}

T(a_quorum_has_it_before_it_is_locked)
{
    start(5);
    ask(1, "LOCK job data=a:1");
    EXPECT("m0-4 SET job T1 10000", "m0-4 ZADD job 1000007");
    vote("0-1", "SET YES, ZADD YES");
    EXPECT_NOTHING();
    vote("2", "SET YES, ZADD YES");
    EXPECT("m0-2 DATA job T1 1000007 a:1");
    vote("0-1", "DATA YES");
    EXPECT_NOTHING();
    vote("3", "SET YES, ZADD YES");
    EXPECT("m3 DATA job T1 1000007 a:1");
    vote("2", "DATA YES");
    EXPECT("s1 #1 +LOCKED job token=T1 fence=1000007 valid=9897 until=10897");
    vote("3", "DATA YES");
}

T(a_master_that_grants_late_gets_it)
{
    start(3);
    ask(1, "LOCK job data=a:1");
    forget();
    vote("0-1", "SET YES, ZADD YES");
    forget();
    vote("0-1", "DATA YES");
    EXPECT("s1 #1 +LOCKED job *");
    vote("2", "SET YES");
    EXPECT("m2 DATA job T1 1000007 a:1");
    vote("2", "ZADD YES, DATA YES");
}

T(without_a_quorum_that_has_it_nothing_is_locked)
{
    start(3);
    ask(1, "LOCK job data=a:1");
    forget();
    vote("0-2", "SET YES, ZADD YES");
    EXPECT("m0-1 DATA job T1 * a:1", "m2 DATA job T1 * a:1");
    vote("0", "DATA YES");
    vote("1-2", "DATA OOM");
    EXPECT("m0* RELEASE job T1*", "s1 #1 -NOQUORUM job votes=1/3 nodes=+*");
}

T(silent_masters_are_late_with_it)
{
    start(3);
    ask(1, "LOCK job data=a:1");
    forget();
    vote("0-2", "SET YES, ZADD YES");
    forget();
    vote("0", "DATA YES");
    at(1050);
    EXPECT("m0* RELEASE job T1 WAKE", "s1 #1 -NOQUORUM job *");
}

T(a_lost_script_is_sent_again)
{
    start(3);
    ask(1, "LOCK job data=a:1");
    forget();
    vote("0-2", "SET YES, ZADD YES");
    forget();
    vote("0", "DATA NOT_RUN");
    EXPECT("m0 DATA job T1 1000007 a:1");
    vote("0-1", "DATA YES");
    EXPECT("s1 #1 +LOCKED job *");
}

T(its_holder_changes_it)
{
    lead(5);
    ask(1, "DATA job data=b:2");
    EXPECT("m0-4 DATA job T1 1000007 b:2");
    vote("0-1", "DATA YES");
    EXPECT_NOTHING();
    vote("2", "DATA YES");
    EXPECT("s1 #2 +DATA job confirmed=3/5");
    vote("3-4", "DATA YES");
    ask(2, "DATA job data=c:3");
    EXPECT("s2 #3 -NOTHELD job : this connection does not hold it*");
    ask(1, "DATA job data=d:4");
    forget();
    vote("0", "DATA YES");
    vote("1-3", "DATA NO");
    EXPECT("s1 #4 -NOTHELD job");
    vote("4", "DATA YES");
    ask(1, "DATA job data=e:5");
    forget();
    vote("0-1", "DATA YES");
    at(now + 50);
    EXPECT("s1 #5 -NOQUORUM job votes=2/5 nodes=++??? *");
}

T(a_lock_without_it_has_none)
{
    start(3);
    grant(1, "LOCK job");
    ask(1, "DATA job data=a:1");
    EXPECT("s1 #2 -MODE job : it was taken without data=*");
    ask(1, "DATA other data=a:1");
    EXPECT("s1 #3 -NOTHELD other : this connection does not hold it*");
}

T(it_is_renewed_with_the_lock)
{
    lead(3);
    at(4000);
    EXPECT("m0-2 EXTEND job T1 10000");
    vote("0-1", "EXTEND 10000");
    EXPECT("s1 !RENEWED job *", "m0-2 DATA job T1 1000007 a:1");
    vote("2", "EXTEND NO");
    forget();
}

/* Another waits, and gets a key of its own: nothing was handed on, and no secret token told. */
T(it_is_never_handed_on)
{
    start(3);
    ask(1, "LOCK job data=a:1");
    ask(2, "LOCK job wait=30s");
    forget();
    vote("0-2", "SET YES, ZADD YES");
    EXPECT("m0-1 DATA job T1 * a:1", "m2 DATA job T1 * a:1");
    vote("0-2", "DATA YES");
    EXPECT("s1 #1 +LOCKED job token=T1 *");
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T1", "m0-2 SET job T2 *", "m0-2 ZADD job *");
}

/* Nor is a lock without data handed to a request with data. */
T(nothing_is_handed_to_it)
{
    start(3);
    ask(1, "LOCK job");
    ask(2, "LOCK job wait=30s data=b:2");
    forget();
    vote("0-2", "SET YES, ZADD YES");
    EXPECT("s1 #1 +LOCKED job token=T1 *");
    ask(1, "UNLOCK job");
    forget();
    vote("0-2", "RELEASE YES, SET YES, ZADD YES");
    EXPECT("s1 #3 +UNLOCKED *", "m0-1 DATA job T2 * b:2", "m2 DATA job T2 * b:2");
    vote("0-2", "DATA YES");
    EXPECT("s2 #2 +LOCKED job token=T2 *");
}

T(it_is_adopted_behind_a_resume)
{
    lead(3);
    ask(2, "RESUME job token=T1");
    EXPECT("m0-2 MOVE job T1 T2");
    vote("0-2", "MOVE YES");
    EXPECT("m0-2 EXTEND job T2 10000", "m0-2 ZADD job *");
    vote("0-1", "EXTEND 10000, ZADD YES");
    EXPECT("s1 !LOST *", "s2 #2 +LOCKED job token=T2 fence=1000008 *", "m0-2 ADOPT job T2 1000008 T1");
    vote("2", "EXTEND 10000, ZADD YES, ADOPT NO");
    vote("0", "ADOPT NOT_RUN");
    EXPECT("m0 ADOPT job T2 1000008 T1");
    vote("1", "ADOPT told:a:1");
    vote("0", "ADOPT told:old");
    at(4000);
    EXPECT("m0-2 EXTEND job T2 10000");
    vote("0-1", "EXTEND 10000");
    EXPECT("s2 !RENEWED job *", "m0-2 DATA job T2 1000008 a:1");
    vote("2", "EXTEND 10000");
}

/* A DATA that a quorum confirmed does not get lost because a master that missed it answers first. */
T(what_most_masters_tell_is_adopted)
{
    lead(3);
    ask(2, "RESUME job token=T1");
    vote("0-2", "MOVE YES");
    vote("0-2", "EXTEND 10000, ZADD YES");
    vote("2", "ADOPT told:old");
    vote("0-1", "ADOPT told:a:1");
    forget();
    at(4000);
    EXPECT("m0-2 EXTEND job T2 10000");
    vote("0-1", "EXTEND 10000");
    EXPECT("s2 !RENEWED job *", "m0-2 DATA job T2 1000008 a:1");
    vote("2", "EXTEND 10000");
}

T(a_reader_tells_nothing)
{
    lead(3);
    ask(1, "LOCK job mode=shared token=T1");
    EXPECT("m0-2 DOWN job T1|T1 T2 10000");
    vote("0-1", "DOWN 10000");
    forget();
    vote("2", "DOWN 10000");
    forget();
    ask(1, "DATA job data=b:2");
    EXPECT("s1 #3 -MODE job : it was taken without data=*");
}

/* The master had lost its scripts, and its key is not a reader's yet. */
T(a_text_is_repeated_as_it_was_although_the_lock_is_a_readers_now)
{
    lead(3);
    ask(1, "DATA job data=b:2");
    EXPECT("m0-2 DATA job T1 1000007 b:2");
    ask(1, "LOCK job mode=shared token=T1");
    vote("0-1", "DATA YES, DOWN 10000");
    forget();
    vote("2", "DATA NOT_RUN");
    EXPECT("m2 DATA job T1 1000007 b:2");
}
