/* Traces: names that are watched. */
#include "tests/unit/trace.h"

static void watch(void)
{
    config.max_watches = 8;
    start(3);
    ask(1, "WATCH job");
    EXPECT_NOTHING();
    at(now);
    EXPECT("m0-2 SEE job");
}

T(it_is_free_where_no_quorum_can_have_it)
{
    watch();
    vote("0", "SEE nobody");
    EXPECT_NOTHING();
    vote("1", "SEE nobody");
    at(now);
    EXPECT("s1 #1 +WATCHING job state=free");
    vote("2", "SEE nobody");
    at(2000);
    EXPECT("m0-2 SEE job");
}

T(fewer_than_a_quorum_know_nothing)
{
    watch();
    vote("0", "SEE nobody");
    vote("1", "SEE OOM");
    at(1050);
    EXPECT("s1 #1 +WATCHING job state=unknown");
}

T(each_change_is_told_once)
{
    watch();
    vote("0-2", "SEE T1");
    at(now);
    EXPECT("s1 #1 +WATCHING job state=held");
    at(2000);
    forget();
    vote("0-2", "SEE T1");
    at(2001);
    EXPECT_NOTHING();
    at(3000);
    forget();
    vote("0-1", "SEE nobody");
    at(now);
    EXPECT("s1 !NOW job state=free");
    /* The next holder is looked for: after 1, 2, 4 ... 64 ms. */
    vote("2", "SEE nobody");
    at(3001);
    EXPECT("m0-2 SEE job");
    vote("0-2", "SEE nobody");
    at(3003);
    EXPECT("m0-2 SEE job");
    vote("0-2", "SEE nobody");
}

T(a_lock_of_this_daemon_is_news)
{
    watch();
    vote("0-2", "SEE nobody");
    at(now);
    forget();
    grant(2, "LOCK job");
    at(now + 1);
    EXPECT("m0-2 SEE job");
    vote("0-2", "SEE T1");
    at(now);
    EXPECT("s1 !NOW job state=held");
    ask(2, "UNLOCK job");
    forget();
    vote("0-2", "RELEASE YES");
    forget();
    at(now + 1);
    EXPECT("m0-2 SEE job");
    vote("0-2", "SEE nobody");
    at(now);
    EXPECT("s1 !NOW job state=free");
}

T(who_watches_no_more_is_told_nothing)
{
    watch();
    vote("0-2", "SEE nobody");
    at(now);
    forget();
    ask(1, "UNWATCH job");
    EXPECT("s1 #2 +OK");
    ask(1, "UNWATCH job");
    EXPECT("s1 #3 -NOTHELD job");
    ask(2, "WATCH job");
    at(now);
    EXPECT("m0-2 SEE job");
    release(2);
    EXPECT_NOTHING();
    at(now);
    EXPECT("s2 ended");
    vote("0-2", "SEE nobody");
    EXPECT_REST();
}

T(limits)
{
    config.max_watches = 2;
    config.max_watches_per_peer = 1;
    start(3);
    ask(1, "WATCH a");
    ask(1, "WATCH b");
    EXPECT("s1 #2 -LIMIT b limit=max_watches");
}

/* The lasting watcher is the first, and the others are only to be answered. */
T(unwatch_ends_all)
{
    config.max_watches = 64;
    start(3);
    for (unsigned i = 0; i < 8; i++)
        ask(1, "WATCH job");
    ask(1, "WATCH job");
    EXPECT("s1 #9 -LIMIT job limit=max_watches");
    ask(1, "WATCH other");
    at(now);
    forget();
    ask(1, "UNWATCH job");
    EXPECT("s1 #8 -CANCELLED job", "s1 #7 -CANCELLED job", "s1 #6 -CANCELLED job", "s1 #5 -CANCELLED job",
           "s1 #4 -CANCELLED job", "s1 #3 -CANCELLED job", "s1 #2 -CANCELLED job", "s1 #1 -CANCELLED job",
           "s1 #11 +OK");
    vote("0-2", "SEE nobody, SEE nobody");
    at(now);
    EXPECT("s1 #10 +WATCHING other state=free");
    at(2000);
    EXPECT("m0-2 SEE other");
    vote("0-2", "SEE nobody");
}

/* ---- one master's word is no word ---- */

static void watch_leader(unsigned masters, const char *told)
{
    config.max_watches = 64;
    start(masters);
    ask(1, "WATCH job");
    at(now);
    forget();
    vote(masters == 3 ? "0-2" : "0-4", told);
    at(now);
}

/* Master 2 has lost its memory and is not healed yet. RESUME, UNLOCK keep= or a lock that settles moves X to Y, and the look
 * finds it half way. */
T(a_token_that_is_being_moved_is_not_free)
{
    watch_leader(3, "SEE X");
    EXPECT("s1 #1 +WATCHING job state=held");
    at(2000);
    forget();
    vote("0", "SEE Y");
    vote("1", "SEE X");
    vote("2", "SEE nobody");
    at(now);
    EXPECT_NOTHING();
    at(2002);
    EXPECT("m0-2 SEE job");
    vote("0-1", "SEE Y");
    at(now);
    EXPECT_NOTHING();
    vote("2", "SEE nobody");
    forget();
}

T(a_token_that_is_being_moved_is_not_free_on_five)
{
    watch_leader(5, "SEE X");
    at(2000);
    forget();
    vote("0-1", "SEE Y");
    vote("2", "SEE nobody");
    vote("3-4", "SEE X");
    at(now);
    EXPECT_NOTHING();
}

/* The reader's keys take the place of the writer's. */
T(a_downgrade_half_way_is_not_free)
{
    watch_leader(3, "SEE X");
    at(2000);
    forget();
    vote("0", "SEE X");
    vote("1", "SEE nobody");
    vote("2", "SEE readers");
    at(now);
    EXPECT_NOTHING();
}

/* Looks come after 2, 4 ... 256 ms, and then each second. */
T(masters_that_never_agree_are_unknown)
{
    watch_leader(3, "SEE X");
    at(2000);
    for (unsigned looks = 0; looks < 8; looks++) {
        vote("0", "SEE Y");
        vote("1", "SEE X");
        forget();
        vote("2", "SEE nobody");
        at(now);
        EXPECT_NOTHING();
        at(now + (2 << looks));
        EXPECT("m0-2 SEE job");
    }
    vote("0", "SEE Y");
    vote("1", "SEE X");
    forget();
    vote("2", "SEE nobody");
    at(now);
    EXPECT("s1 !NOW job state=unknown");
}

T(one_masters_fence_does_not_blind_a_watcher)
{
    watch_leader(3, "SEE L+17+a");
    EXPECT("s1 #1 +WATCHING job state=held fence=17 data=a");
    at(2000);
    forget();
    vote("0", "SEE L+9007199254740991+evil");
    vote("1-2", "SEE L+17+a");
    at(now);
    EXPECT_NOTHING();
    at(3000);
    forget();
    vote("0-2", "SEE M+18+b");
    at(now);
    EXPECT("s1 !NOW job state=held fence=18 data=b");
}

T(a_later_text_is_not_followed_by_the_earlier)
{
    watch_leader(3, "SEE L+17+a");
    at(2000);
    forget();
    vote("0-1", "SEE L+17+b");
    vote("2", "SEE L+17+a");
    at(now);
    EXPECT("s1 !NOW job state=held fence=17 data=b");
    at(3000);
    forget();
    vote("0", "SEE L+17+b");
    vote("2", "SEE L+17+a");
    vote("1", "SEE L+17+b");
    at(now);
    EXPECT_NOTHING();
}

/* Of five, two have the text before and one is empty, until the next renewal: no quorum has either. */
T(what_was_told_stands_until_a_quorum_tells_something_else)
{
    watch_leader(5, "SEE L+17+b");
    at(2000);
    for (unsigned looks = 0; looks < 12; looks++) {
        vote("0-1", "SEE L+17+a");
        vote("2", "SEE L");
        forget();
        vote("3-4", "SEE L+17+b");
        at(now);
        EXPECT_NOTHING();
        at(looks < 8 ? now + (2 << looks) : (now / 1000 + 1) * 1000);
        EXPECT("m0-4 SEE job");
    }
    vote("0-2", "SEE L+17+c");
    forget();
    vote("3-4", "SEE L+17+b");
    at(now);
    EXPECT("s1 !NOW job state=held fence=17 data=c");
}

/* The next holder's data does not come: that it holds the lock is told all the same, once. */
T(a_holder_is_told_without_its_data_in_the_end)
{
    watch_leader(3, "SEE L+17+b");
    at(2000);
    for (unsigned looks = 0; looks < 8; looks++) {
        vote("0-1", "SEE M");
        forget();
        vote("2", "SEE M+19+c");
        at(now);
        EXPECT_NOTHING();
        at(now + (2 << looks));
        EXPECT("m0-2 SEE job");
    }
    vote("0", "SEE M+19+c");
    vote("1", "SEE M");
    forget();
    vote("2", "SEE M");
    at(now);
    EXPECT("s1 !NOW job state=held");
    at((now / 1000 + 1) * 1000);
    forget();
    vote("0-2", "SEE M+19+c");
    at(now);
    EXPECT("s1 !NOW job state=held fence=19 data=c");
}

/* A key of an earlier holder is back on a quorum. */
T(fences_are_told_in_order)
{
    watch_leader(3, "SEE L+17+b");
    at(2000);
    forget();
    vote("0-2", "SEE M+16+a");
    at(now);
    EXPECT("s1 !NOW job state=held");
}

/* So a master tells that daemon of both in one message. */
T(looks_at_the_names_of_one_holder_come_together)
{
    watch_leader(3, "SEE L+17+b");
    at(1300);
    ask(1, "WATCH other");
    at(1300);
    vote("0-2", "SEE L+18+c");
    at(1300);
    forget();
    at(1999);
    EXPECT_NOTHING();
    at(2000);
    EXPECT("m0-2 SEE other", "m0-2 SEE job");
}
