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
