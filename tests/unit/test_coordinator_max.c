/* Traces: max= ends a lock for good, at the daemon that granted it. */
#include "tests/unit/trace.h"

#define MAX_OVER " : its max= is over*"

T(max_ends_it)
{
    start(3);
    grant(1, "LOCK job ttl=10s max=15s");
    at(4000);
    vote("0-2", "EXTEND 10000");
    at(7000);
    vote("0-2", "EXTEND 10000");
    EXPECT("m0-2 EXTEND job T1 10000", "s1 !RENEWED job token=T1 valid=9897 until=13897",
           "m0-2 EXTEND job T1 10000", "s1 !RENEWED job token=T1 valid=9000 until=16000");
    ask(1, "EXTEND job token=T1 ttl=20s");
    vote("0-2", "EXTEND 20000");
    EXPECT("m0-2 EXTEND job T1 20000", "s1 !RENEWED job token=T1 valid=9000 until=16000",
           "s1 #2 +EXTENDED job valid=9000 until=16000");
    at(16000);
    EXPECT("s1 !LOST job token=T1 reason=max");
}

/* The lock is renewed up to its max=, at 11000. */
static void grant_up_to_max(void)
{
    start(3);
    grant(1, "LOCK job ttl=10s max=10s");
    at(4000);
    vote("0-2", "EXTEND 10000");
    EXPECT_LAST("s1 !RENEWED job token=T1 valid=7000 until=11000");
    forget();
}

/* The keys are still there: a client that extended them would have the lock for ever. */
T(nobody_extends_it_afterwards)
{
    grant_up_to_max();
    at(11000);
    EXPECT("s1 !LOST job token=T1 reason=max");
    ask(1, "EXTEND job token=T1");
    ask(2, "CHECK job token=T1");
    EXPECT("s1 #2 -NOTHELD job" MAX_OVER, "s2 #3 -NOTHELD job" MAX_OVER);
    at(21101);
    ask(2, "EXTEND job token=T1");
    EXPECT("s2 #4 -NOTHELD job" MAX_OVER);
    at(11000 + 10000 + 102); /* its keys are over by then, with the error of the clocks */
    ask(2, "EXTEND job token=T1");
    EXPECT("m0-2 CHECK job T1");
}

/* All masters' clocks are ahead by 15 s, which looks like a stall of this daemon, but the keys may be there still. */
T(nobody_extends_it_after_a_stall_that_may_be_none)
{
    grant_up_to_max();
    at(11000);
    for (unsigned i = 0; i < config.masters; i++)
        markers[i].clock_ms += 15000;
    at(12500);
    forget();
    ask(1, "EXTEND job token=T1");
    EXPECT("s1 #2 -NOTHELD job" MAX_OVER);
}

T(its_longest_ttl_counts)
{
    grant_up_to_max();
    ask(1, "EXTEND job token=T1 ttl=30s");
    vote("0-2", "EXTEND 30000");
    at(11000 + 30000 + 301);
    forget();
    ask(1, "EXTEND job token=T1");
    EXPECT("s1 #3 -NOTHELD job" MAX_OVER);
}

/* The connection of the lock broke, so no client is told when the lock ends. */
T(of_a_session_that_broke)
{
    grant_up_to_max();
    drop(1);
    work();
    at(10990);
    forget();
    ask(2, "EXTEND job token=T1"); /* the lock ends while this is under way */
    at(11000);
    vote("0-2", "EXTEND 10000");
    EXPECT("m0-2 EXTEND job T1 10000", "s2 #2 -NOTHELD job");
    ask(2, "CHECK job token=T1");
    EXPECT("s2 #3 -NOTHELD job" MAX_OVER);
}

T(asked_before_its_timer_ran)
{
    start(3);
    grant(1, "LOCK a ttl=10s max=10s");
    grant(2, "LOCK b ttl=10s max=10s");
    at(4000);
    vote("0-2", "EXTEND 10000, EXTEND 10000");
    drop(2);
    work();
    forget();
    at_without_work(11000);
    ask(1, "EXTEND a token=T1");
    ask(1, "CHECK b token=T2");
    EXPECT("s1 #3 -NOTHELD a" MAX_OVER, "s1 #4 -NOTHELD b" MAX_OVER);
    work();
    EXPECT("s1 !LOST a token=T1 reason=max");
}

T(resume_gives_it_a_new_max)
{
    grant_up_to_max();
    at(11000);
    EXPECT("s1 !LOST job token=T1 reason=max");
    ask(1, "RESUME job token=T1");
    EXPECT("m0-2 MOVE job T1 T2");
}

/* A lock that ended otherwise may be extended: its time was over, but the masters hold it. */
T(a_deadline_before_max_is_no_end)
{
    start(3);
    grant(1, "LOCK job ttl=10s max=1h");
    lose(0);
    lose(1);
    at(10897);
    forget();
    for (unsigned i = 0; i < 2; i++) {
        dial(i);
        shake(i);
    }
    vote("0-1", "KILL 1");
    forget();
    ask(1, "EXTEND job token=T1");
    EXPECT("m0-2 CHECK job T1");
}
