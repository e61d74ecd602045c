/* Traces: a configuration that changes while the daemon works. */
#include "tests/unit/trace.h"

static void configure(void)
{
    coordinator_configure(core, &config);
    coordinator_check(core);
}

T(what_is_under_way_waits_no_longer_than_what_comes)
{
    start(3);
    ask(1, "LOCK early ttl=1s");
    forget();
    config.node_timeout_ms = 20;
    configure();
    ask(2, "LOCK late ttl=1s");
    forget();
    EXPECT_DEADLINE(1020);
    vote("0", "SET YES, ZADD YES");
    at(1020);
    EXPECT("m0-2 RELEASE early T1", "s1 #1 -NOQUORUM early votes=1/3 nodes=+\?\? *", "m0-2 RELEASE late T2",
           "s2 #2 -NOQUORUM late votes=0/3 nodes=\?\?\? *");
}

T(longer_time_out)
{
    start(3);
    ask(1, "LOCK early ttl=1s");
    forget();
    config.node_timeout_ms = 300;
    configure();
    ask(2, "LOCK late ttl=1s");
    forget();
    at(1050);
    EXPECT("m0-2 RELEASE early T1", "s1 #1 -NOQUORUM early votes=0/3 nodes=\?\?\? *");
    at(1299);
    vote("0-1", "SET YES, ZADD YES, SET YES, ZADD YES");
    EXPECT("s2 #2 +LOCKED late token=T2 fence=* valid=688 until=1987");
}

T(silence_of_a_master)
{
    start(3);
    ask(1, "LOCK job ttl=2s");
    vote("0-1", "SET YES, ZADD YES");
    at(1050);
    EXPECT_MASTER(2, "slow silent");
    forget();
    config.node_timeout_ms = 10;
    configure();
    at(1249);
    EXPECT_MASTER(2, "slow silent");
    at(1250);
    EXPECT("close m2 silent");
    EXPECT_MASTER(2, "down silent");
}

T(least_validity_of_a_grant_under_way)
{
    start(3);
    ask(1, "LOCK job ttl=100ms");
    forget();
    config.min_validity_ms = 98;
    configure();
    vote("0-1", "SET YES, ZADD YES");
    EXPECT("m0-2 RELEASE job T1 WAKE", "s1 #1 -NOQUORUM job *");
}

T(ttls)
{
    start(3);
    config.default_ttl_ms = 5000;
    config.min_ttl_ms = 1000;
    config.max_ttl_ms = 1000000; /* must not change: it is the duration of quarantines */
    configure();
    ask(1, "LOCK a");
    EXPECT("m0-2 SET a T1 5000", "m0-2 ZADD a *");
    ask(1, "LOCK b ttl=999ms");
    EXPECT("s1 #2 -BADARG b : *");
    ask(1, "LOCK c ttl=61s");
    EXPECT("s1 #3 -BADARG c : *");
}

T(limits_of_a_client_that_is_beyond_them)
{
    start(3);
    grant(1, "LOCK a");
    grant(1, "LOCK b");
    config.max_locks_per_client = 1;
    config.max_waits_per_client = 1;
    configure();
    ask(1, "LOCK c");
    EXPECT("s1 #3 -LIMIT c limit=max_locks_per_client");
    ask(1, "UNLOCK a");
    vote("0-2", "RELEASE YES");
    ask(1, "UNLOCK b");
    vote("0-2", "RELEASE YES");
    forget();
    ask(1, "LOCK c wait=1s");
    forget();
    ask(1, "LOCK d wait=1s");
    EXPECT("s1 #7 -LIMIT d limit=max_waits_per_client");
}

T(pauses_between_attempts)
{
    start(3);
    config.retry_min_ms = config.retry_max_ms = 700;
    configure();
    ask(1, "LOCK job wait=1m");
    vote("0-2", "SET NO, ZADD YES");
    vote("0-2", "RELEASE NO");
    EXPECT_DEADLINE(1700);
    forget();
}
