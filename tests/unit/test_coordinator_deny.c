/* Traces: a user's right to a name is taken away, and limits that count for a user. */
#include "tests/unit/trace.h"

T(a_lock_is_lost_and_its_key_stays)
{
    start(3);
    grant(1, "LOCK job ttl=10s");
    deny_lock(1, "job", "T1");
    EXPECT("s1 !LOST job token=T1 reason=denied");
    at(20000); /* nobody renews it, and nothing is deleted */
    EXPECT_NOTHING();
}

T(a_renewal_under_way_changes_nothing)
{
    start(3);
    grant(1, "LOCK job ttl=10s");
    at(4000);
    EXPECT("m0-2 EXTEND job T1 10000");
    deny_lock(1, "job", "T1");
    vote("0-2", "EXTEND 10000");
    EXPECT("s1 !LOST job token=T1 reason=denied");
    EXPECT_REST();
}

/* The next waiter asks the masters as any client of another daemon would: the key there refuses it. */
T(nobody_is_handed_it)
{
    start(3);
    grant(1, "LOCK job ttl=10s");
    ask(2, "LOCK job wait=60s ttl=10s");
    EXPECT_NOTHING();
    deny_lock(1, "job", "T1");
    EXPECT("s1 !LOST job token=T1 reason=denied", "m0-2 SET job T2 10000", "m0-2 ZADD job *");
    vote("0-2", "SET NO");
    EXPECT_LAST("m0-2 ENQUEUE job *");
}

T(its_client_can_say_nothing_about_it)
{
    start(3);
    grant(1, "LOCK job ttl=10s");
    deny_lock(1, "job", "T1");
    forget();
    release(1);
    work();
    EXPECT("s1 ended"); /* the end of the connection gives nothing back */
}

T(only_the_lock_of_that_session)
{
    start(3);
    grant(1, "LOCK job ttl=10s");
    deny_lock(2, "job", "T1");
    deny_lock(1, "other", "T1");
    EXPECT_NOTHING();
    grant(3, "LOCK report hold=lease ttl=10s");
    release(3);
    work();
    forget();
    deny_lock(3, "report", "T2");
    EXPECT_NOTHING();
}

/* The lock that is named is lost, not the one that the session took last. */
T(each_of_two_readers)
{
    start(3);
    for (unsigned i = 1; i <= 2; i++) {
        ask(1, "LOCK job mode=shared ttl=10s");
        vote("0-2", "SHARE YES, ZADD YES");
    }
    forget();
    deny_lock(1, "job", "T1");
    EXPECT("s1 !LOST job token=T1 reason=denied");
    deny_lock(1, "job", "T2");
    EXPECT("s1 !LOST job token=T2 reason=denied");
    EXPECT_NOTHING();
}

T(a_wait_is_denied)
{
    start(3);
    grant(1, "LOCK job ttl=10s");
    uint64_t first = ask(2, "LOCK job wait=60s");
    uint64_t second = ask(2, "LOCK job wait=60s");
    deny_wait(2, second);
    deny_wait(2, second);
    EXPECT("s2 #3 -DENIED job*");
    ck_assert_uint_eq(first, 2);
    deny_wait(2, first);
    EXPECT("s2 #2 -DENIED job*");
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T1");
}

/* The keys that the attempt may have set are taken back, and the next waiter asks. */
T(an_attempt_is_denied)
{
    start(3);
    uint64_t first = ask(1, "LOCK job wait=60s ttl=10s");
    ask(2, "LOCK job wait=60s ttl=10s");
    EXPECT("m0-2 SET job T1 10000", "m0-2 ZADD job 1000007");
    deny_wait(1, first);
    EXPECT("s1 #1 -DENIED job*", "m0-2 RELEASE job T1 WAKE STAY", "m0-2 SET job T2 10000", "m0-2 ZADD job *");
    vote("0-2", "SET YES, ZADD YES, RELEASE YES, SET YES, ZADD YES");
    EXPECT("s2 #2 +LOCKED job token=T2 *");
    ask(2, "UNLOCK job"); /* takes this daemon out of the queue, which it joined by the STAY */
    EXPECT("m0-2 RELEASE job T2 WAKE");
}

/* The waits of the session end first, so that none of them gets a lock that is taken away from it. */
T(a_session_is_denied)
{
    start(3);
    grant(1, "LOCK job ttl=10s");
    grant(1, "LOCK report hold=lease ttl=10s");
    grant(2, "LOCK other");
    ask(1, "LOCK other wait=60s");
    ask(1, "LOCK other wait=30s");
    deny_session(1);
    EXPECT_NOTHING();
    work();
    EXPECT("s1 #5 -DENIED other *", "s1 #4 -DENIED other *", "s1 !LOST job token=T1 reason=denied",
           "s1 ended");
    at(4900); /* the session's locks are not renewed, and nothing is deleted */
    EXPECT("m0-2 EXTEND other T3 10000");
}

T(an_attempt_of_a_denied_session_is_undone)
{
    start(3);
    ask(1, "LOCK job wait=60s");
    EXPECT("m0-2 SET job T1 10000", "m0-2 ZADD job *");
    deny_session(1);
    work();
    EXPECT("s1 #1 -DENIED job *", "m0-2 RELEASE job T1 WAKE", "s1 ended");
    vote("0-2", "SET YES, ZADD YES, RELEASE YES");
    EXPECT_NOTHING();
}

T(a_stranger_is_denied)
{
    start(3);
    deny_session(7);
    EXPECT("s7 ended");
}

T(limits_of_a_user)
{
    start(3);
    config.max_locks_per_peer = 1;
    coordinator_configure(core, &config);
    trace_peer = (struct peer){.number = 7, .is_user = true, .max_locks = 2, .max_waits = 1};
    grant(1, "LOCK a ttl=10s");
    grant(2, "LOCK b ttl=10s");
    ask(3, "LOCK c");
    EXPECT("s3 #3 -LIMIT c limit=max_locks_per_user");
    ask(1, "UNLOCK b");
    forget();
    trace_peer.max_locks = 10;
    ask(3, "LOCK a wait=60s");
    ask(4, "LOCK b wait=60s");
    EXPECT("s4 #6 -LIMIT b limit=max_waits_per_user");
    trace_peer = (struct peer){.number = 8, .is_user = true};
    ask(4, "LOCK b wait=60s");
    EXPECT_NOTHING();
}
