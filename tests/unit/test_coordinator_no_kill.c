/* Traces: a master with no_kill, which allows neither CLIENT ID nor CLIENT KILL. */
#include "tests/unit/trace_steps.h"

#include <string.h>

static void reconnect(unsigned master)
{
    lose(master);
    dial(master);
    shake(master);
}

T(neither_is_asked_for)
{
    config.no_kill = 1;
    start_alone(3);
    dial(0);
    EXPECT("m0 INFO");
    shake(0);
    dial(1);
    EXPECT("m1 CLIENT_ID", "m1 INFO");
    shake(1);
    lose(2);
    work();
    EXPECT_MASTER(0, "up"); /* nothing was lost there yet */
    reconnect(0);
    EXPECT("m0 INFO");
    EXPECT_MASTER(0, "quarantine reconnect left=60602");
    reconnect(1);
    vote("1", "KILL 1");
    EXPECT("m1 CLIENT_ID", "m1 INFO", "m1 KILL 201");
    EXPECT_MASTER(1, "up");
}

T(the_quarantine_begins_at_the_new_handshake)
{
    config.no_kill = 7;
    start(3);
    lose(0);
    at(50000); /* the master hung meanwhile, with commands of the lost connection unread */
    dial(0);
    shake(0);
    EXPECT_MASTER(0, "quarantine reconnect left=60602");
    forget();
    ask(1, "LOCK job");
    EXPECT("m1-2 SET job T1 10000", "m1-2 ZADD job *");
    vote("1-2", "SET YES, ZADD YES");
    ask(1, "UNLOCK job"); /* heals and releases go to a master in quarantine */
    EXPECT("m0 HEAL job T1 *", "s1 #1 +LOCKED *", "m0-2 RELEASE job T1");
    vote("0", "HEAL YES, RELEASE YES");
    vote("1-2", "RELEASE YES");
    at(110601);
    EXPECT_MASTER(0, "quarantine reconnect left=1");
    at(110602);
    EXPECT_MASTER(0, "up");
    forget();
}

/* Without restart_guard nobody waits for a master's memory, but for these commands all the same. */
T(a_doubt_does_not_end_it)
{
    config.no_kill = 1;
    config.restart_guard = false;
    start(3);
    reconnect(0);
    EXPECT_MASTER(0, "quarantine reconnect left=60602");
    markers[0].there = false; /* FLUSHALL */
    at(now + 2000);
    EXPECT_MASTER(0, "quarantine reconnect left=58602");
    forget();
}

T(a_connection_that_carried_nothing_begins_none)
{
    config.no_kill = 1;
    start(3);
    reconnect(0);
    at(20000);
    lose(0);
    dial(0); /* lost in its handshake: what the connection before it sent may still run */
    lose(0);
    dial(0);
    shake(0);
    EXPECT_MASTER(0, "quarantine reconnect left=60602");
    at(80601);
    EXPECT_MASTER(0, "quarantine reconnect left=1");
    at(80602);
    EXPECT_MASTER(0, "up");
    forget();
}

T(each_loss_begins_another)
{
    config.no_kill = 1;
    start(3);
    reconnect(0);
    at(30000);
    reconnect(0); /* the connection in quarantine carried releases, too */
    EXPECT_MASTER(0, "quarantine reconnect left=60602");
    forget();
}

T(held_locks_are_renewed_there_meanwhile)
{
    config.no_kill = 7;
    start(3);
    grant(1, "LOCK job");
    for (unsigned i = 0; i < 3; i++)
        reconnect(i);
    forget();
    EXPECT_MASTER(0, "quarantine reconnect left=60602");
    EXPECT_MASTER(2, "quarantine reconnect left=60602");
    while (unanswered(0) == 0)
        at(now + 10);
    EXPECT("m0-2 EXTEND job T1 10000"); /* all three masters are in quarantine, and none forgot */
    vote("0-2", "EXTEND 10000");
    EXPECT("s1 !RENEWED job *");
    ask(2, "LOCK other");
    EXPECT("s2 #2 -NOQUORUM other votes=0/3 nodes=~~~ *");
}

T(another_run_has_a_full_quarantine_of_its_own)
{
    config.no_kill = 1;
    start(3);
    restart(0, 5);
    dial(0);
    shake(0);
    EXPECT_MASTER(0, "quarantine restart left=60602");
    forget();
}

/* A memory that may be lost counts no sooner for the lost connection: the reason stays. */
T(in_another_quarantine_it_only_takes_longer)
{
    config.no_kill = 1;
    start(3);
    restart(0, 5);
    dial(0);
    shake(0);
    at(30000);
    reconnect(0);
    EXPECT_MASTER(0, "quarantine restart left=60602");
    forget();
}

/* Without client ids, INFO's number of connections shows a machine that was set back to a snapshot. */
T(fewer_connections_are_an_older_memory)
{
    config.no_kill = 1;
    info[0].connections = 500;
    start(3);
    info[0].connections = 499;
    reconnect(0);
    EXPECT_MASTER(0, "quarantine memory left=60602");
    forget();
}

T(as_many_connections_are_as_well)
{
    config.no_kill = 1;
    info[0].connections = 500;
    start(3);
    reconnect(0);
    EXPECT_MASTER(0, "quarantine memory left=60602");
    info[0].connections = 502;
    reconnect(0);
    EXPECT_MASTER(0, "quarantine memory left=60602"); /* the rest of it is no shorter */
    forget();
}

T(more_connections_are_not)
{
    config.no_kill = 1;
    info[0].connections = 500;
    start(3);
    info[0].connections = 501;
    reconnect(0);
    EXPECT_MASTER(0, "quarantine reconnect left=60602");
    forget();
}
