/* Traces: no vote of a master counts that was not probed lately (fresh.h). */
#include "tests/unit/trace_steps.h"

#include <string.h>

/* The probes of these masters are due, and sent. */
static void probed(const char *masters)
{
    work();
    forget();
    vote(masters, "TIME OK, PROBE OK");
}

T(an_error_of_the_probe_is_no_vote)
{
    static const struct {
        const char *votes, *is;
    } rows[] = {{"TIME OK, PROBE OTHER", "refused noperm"},  {"TIME OTHER, PROBE OK", "refused noperm"},
                {"TIME OK, PROBE NOPERM", "refused noperm"}, {"TIME OK, PROBE NOAUTH", "refused noperm"},
                {"TIME OK, PROBE OOM", "refused oom"},       {"TIME OK, PROBE MISCONF", "refused misconf"},
                {"TIME BUSY, PROBE BUSY", "refused busy"}};
    start(7);
    show_probes = true;
    at(2000);
    for (unsigned i = 0; i < 7; i++) {
        char master[2] = {(char)('0' + i), 0};
        vote(master, rows[i].votes);
        EXPECT_MASTER(i, rows[i].is);
    }
    forget();
    ask(1, "LOCK job");
    EXPECT("s1 #1 -NOQUORUM job votes=0/7 nodes=!!!!!!! *");
}

/* All answers are there when the daemon goes on, but nobody knows whether the masters remember other locks. */
T(after_a_pause_probes_come_first)
{
    start(3);
    show_probes = true;
    at_without_work(4001); /* the last probes went out at 1000 */
    ask(1, "LOCK job");
    forget();
    vote("0-2", "SET YES");
    EXPECT_NOTHING();
    work();
    EXPECT("m* TIME", "m* PROBE *", "m* TIME", "m* PROBE *", "m* TIME", "m* PROBE *");
    vote("0-1", "TIME OK, PROBE OK");
    work();
    EXPECT_NOTHING(); /* the third may tell of a loss, too */
    vote("2", "TIME OK, PROBE OK");
    work();
    vote("0-1", "ZADD YES");
    EXPECT("m0-2 ZADD job *", "s1 #1 +LOCKED job token=T1 *");
}

T(within_three_seconds_votes_count)
{
    start(3);
    show_probes = true;
    at_without_work(4000);
    ask(1, "LOCK job");
    forget();
    vote("0-1", "SET YES, ZADD YES");
    EXPECT("s1 #1 +LOCKED job token=T1 *");
}

/* With long round trips probes are rarer. */
T(fresh_for_longer_with_a_long_node_timeout)
{
    config.node_timeout_ms = 4000;
    start(3);
    show_probes = true;
    at_without_work(10000);
    ask(1, "LOCK job ttl=30s");
    forget();
    vote("0-1", "SET YES, ZADD YES");
    EXPECT("s1 #1 +LOCKED job token=T1 *");
    at_without_work(10001);
    ask(2, "LOCK other ttl=30s");
    forget();
    for (unsigned i = 0; i < 2; i++)
        while (strcmp(unanswered_verb(i), "SET") != 0)
            vote(i == 0 ? "0" : "1", strcmp(unanswered_verb(i), "TIME") == 0 ? "TIME OK" : "PROBE OK");
    vote("0-1", "SET YES");
    EXPECT_NOTHING();
}

/* The masters were flushed in the pause, and another client has the lock: it must not be granted again. */
T(a_loss_in_the_pause)
{
    start(3);
    show_probes = true;
    at_without_work(6000);
    ask(1, "LOCK job");
    vote("0-1", "SET YES");
    vote("2", "SET NO");
    markers[0].there = markers[1].there = false;
    forget();
    work();
    vote("0-1", "TIME OK, PROBE NO");
    vote("2", "TIME OK, PROBE OK");
    EXPECT_MASTER(0, "quarantine memory left=60602");
    forget();
    at(6050);
    EXPECT_LAST("s1 #1 -NOQUORUM job votes=0/3 *");
}

T(probes_without_an_answer)
{
    start(3);
    show_probes = true;
    at_without_work(6000);
    ask(1, "LOCK job ttl=10s");
    vote("0-2", "SET YES");
    probed("0");
    at(6049);
    EXPECT_NOTHING();
    at(6050); /* node_timeout */
    EXPECT("m0-2 RELEASE job T1 WAKE", "s1 #1 -NOQUORUM job votes=1/3 *");
    EXPECT_MASTER(1, "slow silent");
    vote("1", "TIME OK, PROBE OK");
    vote("1", "RELEASE YES");
    EXPECT_MASTER(1, "up");
    forget();
}

/* A probe that was sent before the pause tells nothing of the pause. */
T(a_probe_from_before_the_pause)
{
    start(3);
    show_probes = true;
    at(2000); /* probes are under way */
    forget();
    at_without_work(7000);
    ask(1, "LOCK job");
    forget();
    vote("0-2", "TIME OK, PROBE OK");
    vote("0-2", "SET YES");
    EXPECT_NOTHING();
    work();
    vote("0-2", "TIME OK, PROBE OK");
    work();
    vote("0-1", "ZADD YES");
    EXPECT_LAST("s1 #1 +LOCKED job token=T1 *");
}

/* A renewal, an EXTEND, a CHECK and a RESUME wait as well, and a lock that masters lost is not said to be held. */
T(all_rounds_wait)
{
    start(3);
    grant(1, "LOCK held ttl=60s hold=lease");
    show_probes = true;
    at_without_work(6000);
    ask(2, "EXTEND held token=T1");
    ask(2, "CHECK held token=T1");
    ask(3, "RESUME held token=T1 ttl=60s");
    forget();
    vote("0-2", "EXTEND 60000, CHECK 60000, MOVE YES");
    EXPECT_NOTHING();
    work();
    forget();
    vote("0-2", "TIME OK, PROBE OK");
    work();
    EXPECT("m0-2 EXTEND held T2 60000", "m0-2 ZADD held *", "s2 #3 +HELD held *", "s2 #2 +EXTENDED held *");
}

static void extend_by(const char *master)
{
    vote(master, "TIME OK, PROBE OK, EXTEND 10000");
}

/* A lock is not lost for waiting for the probe of a master that is not needed. */
T(a_renewal_waits_for_a_quorum_of_probes)
{
    config.node_timeout_ms = 2000;
    start(3);
    grant(1, "LOCK job ttl=10s");
    show_probes = true;
    at_without_work(9500); /* 1.4 s are left */
    work();
    forget();
    extend_by("0");
    EXPECT_NOTHING();
    extend_by("1"); /* master 2 hangs */
    work();
    EXPECT("s1 !RENEWED *");
    at(10897);
    forget();
    ask(1, "UNLOCK job");
    EXPECT("m0-2 RELEASE job T1");
}

/* A master that hung for long is slow until it has answered a probe that was sent lately. */
/* What it answered before it was probed anew may be an answer of before the pause. */
T(a_slow_masters_late_answer_does_not_count)
{
    start(3);
    show_probes = true;
    grant(1, "LOCK job ttl=30s");
    at(2000);
    vote("0-2", "TIME OK, PROBE OK");
    ask(1, "EXTEND job token=T1 ttl=30s");
    vote("1", "EXTEND 30000");
    forget();
    at_without_work(5100);
    work();
    vote("1", "TIME OK, PROBE OK");
    forget();
    at(5151);
    EXPECT_MASTER(0, "slow silent");
    vote("0", "EXTEND 30000");
    EXPECT_NOTHING();
    at(5200);
    EXPECT("s1 #2 -NOQUORUM job votes=1/3 nodes=?+? *");
}

T(slow_until_it_is_probed)
{
    start(3);
    grant(1, "LOCK held ttl=60s hold=lease");
    show_probes = true;
    config.node_timeout_ms = 1000;
    coordinator_configure(core, &config);
    at(2000);
    forget();
    vote("0-1", "TIME OK, PROBE OK");
    for (int64_t ms = 2500; ms <= 6000; ms += 500) {
        at(ms);
        for (unsigned i = 0; i < 2; i++)
            while (unanswered(i) != 0)
                vote(i == 0 ? "0" : "1", strcmp(unanswered_verb(i), "TIME") == 0 ? "TIME OK" : "PROBE OK");
    }
    EXPECT_MASTER(2, "slow silent");
    forget();
    vote("2", "TIME OK, PROBE OK"); /* of 2000 */
    EXPECT_MASTER(2, "slow silent");
    EXPECT("m2 TIME", "m2 PROBE *");
    vote("2", "TIME OK, PROBE OK");
    EXPECT_MASTER(2, "up");
}

/* A master in quarantine that hangs holds nobody up. */
T(a_silent_master_in_quarantine)
{
    config.node_timeout_ms = 1000;
    start(3);
    restart(2, 0);
    dial(2);
    shake(2);
    EXPECT_MASTER(2, "quarantine restart left=60602");
    show_probes = true;
    at(2000);
    for (int64_t ms = 2500; ms <= 9000; ms += 500) {
        for (unsigned i = 0; i < 2; i++)
            while (unanswered(i) != 0)
                vote(i == 0 ? "0" : "1", strcmp(unanswered_verb(i), "TIME") == 0 ? "TIME OK" : "PROBE OK");
        at(ms);
    }
    EXPECT_MASTER(2, "slow silent");
    forget();
    for (unsigned i = 0; i < 2; i++)
        while (unanswered(i) != 0)
            vote(i == 0 ? "0" : "1", strcmp(unanswered_verb(i), "TIME") == 0 ? "TIME OK" : "PROBE OK");
    ask(1, "LOCK job");
    vote("0-1", "SET YES, ZADD YES");
    EXPECT_LAST("s1 #1 +LOCKED job *");
    while (unanswered(2) != 0)
        vote("2", strcmp(unanswered_verb(2), "TIME") == 0 ? "TIME OK" : "PROBE OK");
    EXPECT_MASTER(2, "quarantine restart left=52602");
    forget();
}
