/* WHO and BREAK: who has a lock, from anywhere, and how it is taken from its holder. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/integ/command.h"
#include "tests/integ/steady.h"

#define MAY_BREAK STEADY "allow_break: yes\n"

static struct cluster masters;
static struct daemon one, other;
static struct client a, b, c;

static void begin(unsigned count, const char *settings)
{
    one = other = (struct daemon){.pid = 0};
    cluster_start(&masters, count, UNIX);
    daemon_serves(&one, &masters, settings, &a);
}

static void begin_two(unsigned count, const char *settings)
{
    begin(count, settings);
    daemon_serves(&other, &masters, settings, &b);
}

#define who(client, name) (client_send(client, "WHO %s", name), client_rows_at(client, __FILE__, __LINE__))

static const char *own_id(struct client *client)
{
    eventually(row_with(show(client, "DAEMONS"), "self=yes") != NULL);
    return keep(strdup(kv(row_with(show(client, "DAEMONS"), "self=yes"), "daemon")));
}

static void host_name(char out[256])
{
    ck_assert_int_eq(gethostname(out, 255), 0);
}

/* ---- WHO ---- */

T(from_anywhere)
{
    char host[256] = "", row[512];
    begin_two(3, PATIENT);
    host_name(host);
    ck_assert_uint_eq(rows_with(who(&b, "job"), ""), 0);
    lock(&a, "job");
    snprintf(row, sizeof row, "* name=job mode=exclusive daemon=%s host=%s left=", own_id(&a), host);
    eventually(rows_with(who(&b, "job"), row) == 1);
    eventually(rows_with(who(&b, "job"), " votes=3/3") == 1);
    ck_assert_uint_eq(rows_with(who(&b, "job"), ""), 1);
    int64_t left_ms = number(who(&b, "job"), "left");
    ck_assert(left_ms > 0 && left_ms <= 30000);
    client_send(&b, "#7 LOCK job wait=60s");
    snprintf(row, sizeof row, " daemon=%s host=%s", own_id(&b), host);
    eventually(rows_with(who(&a, "job"), "name=job waiting=") == 1);
    eventually(rows_with(who(&a, "job"), row) == 1); /* it reads the list of daemons every 10 s */
    ck_assert_uint_eq(rows_with(who(&a, "job"), ""), 2);
    client_send(&a, "#9 WHO job");
    expect(&a, "#9 \\* name=job mode=exclusive *");
    expect(&a, "#9 \\* name=job waiting=*");
    expect(&a, "#9 +END 2");
    ask(&a, "+UNLOCKED job *", "UNLOCK job");
    expect(&b, "#7 +LOCKED job *");
    eventually(rows_with(who(&a, "job"), "waiting=") == 0);
    ck_assert_str_eq(kv(row_with(who(&a, "job"), "votes="), "daemon"), own_id(&b));
    ask(&a, "-BADARG : WHO needs a name; write WHO job", "WHO");
    ask(&a, "-BADARG job : WHO has no options; write WHO job", "WHO job slot=1");
}

/* A waiter behind the lock keeps its token secret for a while: then both tokens are there. */
T(a_lease_that_settles)
{
    begin(3, PATIENT);
    lock(&a, "job");
    client_open(&b, &one);
    client_open(&c, &one);
    client_send(&b, "LOCK job wait=60s");
    client_send(&c, "LOCK job wait=60s");
    eventually(rows_with(show(&a, "WAITERS"), "name=job ") == 2);
    ask(&a, "+UNLOCKED job *", "UNLOCK job");
    expect(&b, "+LOCKED job *");
    for (unsigned i = 0; i < 50; i++) { /* while it is settled, and afterwards */
        const char *rows = who(&a, "job");
        ck_assert_msg(rows_with(rows, "votes=") <= 1, "%s", rows);
    }
    eventually(rows_with(who(&a, "job"), "votes=3/3") == 1);
    /* Two tokens of that daemon at the same time. */
    struct grant two = lock(&a, "two"), three = lock(&a, "three");
    eventually(cluster_holds(&masters, "two", two.token) == 3);
    redis(&masters.server[0], "SET redlock:two %s PX 60000", three.token);
    ck_assert_uint_eq(rows_with(who(&a, "two"), ""), 1);
    ck_assert_uint_eq(rows_with(who(&a, "two"), "votes=3/3"), 1);
}

T(values_of_others)
{
    begin(3, PATIENT);
    ck_assert_uint_eq(cluster_answers(&masters, "OK", "SET redlock:job some-other-library PX 60000"), 3);
    ck_assert_uint_eq(rows_with(who(&a, "job"), "mode=exclusive daemon=? host=? left="), 1);
    ck_assert_uint_eq(rows_with(who(&a, "job"), "votes=3/3"), 1);
    redis(&masters.server[0], "DEL redlock:job");
    redis(&masters.server[0], "HSET redlock:job a b");
    const char *rows = who(&a, "job");
    ck_assert_uint_eq(rows_with(rows, "votes=2/3"), 1);
    ck_assert_uint_eq(rows_with(rows, "left=-1 votes=1/3"), 1);
    ck_assert_str_eq(redis(&masters.server[0], "TYPE redlock:job"), "hash"); /* nothing is written */
}

/* The form that shared locks have: one row a daemon. */
T(readers)
{
    begin_two(3, PATIENT);
    struct grant mine = lock(&a, "one"), theirs = lock(&b, "two");
    for (unsigned i = 0; i < 3; i++) {
        const char *seconds = redis(&masters.server[i], "TIME");
        long long end_ms = (atoll(seconds) + 60) * 1000;
        redis(&masters.server[i], "ZADD redlock:job %lld %s %lld %s", end_ms, mine.token, end_ms,
              theirs.token);
        redis(&masters.server[i], "PEXPIRE redlock:job 60000");
    }
    const char *rows = who(&a, "job");
    ck_assert_uint_eq(rows_with(rows, "mode=shared daemon="), 2);
    ck_assert_uint_eq(rows_with(rows, "votes=3/3"), 2);
    ck_assert_uint_eq(rows_with(rows, ""), 2);
}

/* At most 64 rows, and one that says how many more there are. */
T(many_rows)
{
    begin(1, PATIENT);
    redis(&masters.server[0], "SET redlock:,slots:job 100");
    for (unsigned i = 0; i < 100; i++)
        redis(&masters.server[0], "SET redlock:job,%u x%u PX 60000", i, i);
    const char *rows = who(&a, "job");
    ck_assert_uint_eq(rows_with(rows, "slot="), 64);
    ck_assert_uint_eq(rows_with(rows, "slot=63 daemon=? host=? left="), 1);
    ck_assert_uint_eq(rows_with(rows, "* name=job more=36"), 1);
    client_send(&a, "WHO job");
    await(&a, "+END 65");
}

T(too_few_masters)
{
    begin(3, "node_timeout: 300ms\nmin_ttl: 1s\n");
    lock(&a, "job ttl=30s");
    server_stop(&masters.server[0]);
    eventually(rows_with(who(&a, "job"), "votes=2/3") == 1);
    server_kill(&masters.server[1]);
    ask(&a, "-NOQUORUM job votes=1/3 nodes=[?!]!+ : 2 votes are needed; *", "WHO job");
    server_cont(&masters.server[0]);
    eventually(rows_with(show(&a, "NODES"), "state=down") == 1);
    client_send(&a, "#1 WHO job\n#2 WHO job\n#3 WHO job\n#4 WHO job\n#5 WHO job\n#6 WHO job\n#7 WHO job\n"
                    "#8 WHO job\n#9 WHO job");
    await(&a, "#9 -LIMIT job limit=max_rounds");
    await(&a, "#8 *");
}

/* Scripts that are gone are loaded anew, and a master without the rights counts as one that refuses. */
T(masters_that_refuse)
{
    begin(3, PATIENT);
    lock(&a, "job");
    cluster_answers(&masters, "OK", "SCRIPT FLUSH");
    ck_assert_uint_eq(rows_with(who(&a, "job"), "votes="), 1);
    redis(&masters.server[0], "ACL SETUSER default -zrange");
    eventually(rows_with(who(&a, "job"), "votes=2/3") == 1);
    redis(&masters.server[1], "ACL SETUSER default -zrange");
    ask(&a, "-NOQUORUM job votes=1/3 nodes=!!+ : *", "WHO job");
    ask(&a, "+UNLOCKED job *", "UNLOCK job");
}

T(rights)
{
    char settings[512];
    snprintf(settings, sizeof settings,
             MAY_BREAK "users:\n  - {name: me, uid: [%u], lock: ['*'], show: ['seen/*']}\n",
             (unsigned)getuid());
    begin(3, settings);
    lock(&a, "job");
    ck_assert_uint_eq(rows_with(who(&a, "seen/x"), ""), 0);
    ask(&a, "-DENIED job : user me may not see it: that takes a right to show this name", "WHO job");
    ask(&a, "-DENIED job : user me may not break it: that takes admin", "BREAK job");
    ask(&a, "+UNLOCKED job *", "UNLOCK job");
}

/* ---- BREAK ---- */

T(it_is_not_allowed)
{
    begin(3, PATIENT);
    struct grant grant = lock(&a, "job");
    ask(&a, "-DENIED job : this redlockd breaks no locks: its configuration would need allow_break: yes",
        "BREAK job");
    struct command command;
    command_use(&one);
    ck_assert_int_eq(RUN(&command, redlock_binary(), "break", "job"), 125);
    ck_assert_str_eq(errors(&command),
                     "redlock: job: not allowed: this redlockd breaks no locks: its configuration would "
                     "need allow_break: yes; see allow_break in redlockd.yaml(5)\n");
    ck_assert_uint_eq(cluster_holds(&masters, "job", grant.token), 3);
}

/* The holder learns of it at its next renewal, and a waiter of a third daemon gets the lock at once. */
T(a_holder_of_another_daemon)
{
    char host[256] = "", answer[512];
    begin_two(3, MAY_BREAK);
    host_name(host);
    struct grant grant = lock_steady(&a, "job", "30s", 4000);
    eventually(cluster_holds(&masters, "job", grant.token) == 3);
    client_open(&c, &other);
    client_send(&c, "LOCK job wait=60s");
    eventually(rows_with(who(&b, "job"), "waiting=") == 1);
    eventually(rows_with(show(&b, "DAEMONS"), "daemon=") == 2);
    snprintf(answer, sizeof answer, "+BROKEN job daemon=%s host=%s confirmed=3/3", own_id(&a), host);
    ask(&b, answer, "BREAK job");
    struct grant next = grant_of(expect(&c, "+LOCKED job *"));
    ck_assert_int_gt(next.fence, grant.fence);
    await(&a, "!LOST job token=* reason=gone");
    char line[128];
    snprintf(line, sizeof line, "event=break name=job daemon=%s host=", own_id(&a));
    ck_assert(daemon_logged(&other, line));
    ck_assert(daemon_logged(&other, "client=unix:pid="));
    ck_assert(daemon_logged(&other, "level=warn event=break"));
    ck_assert(!daemon_logged(&one, "event=break"));
    ask(&b, "-NOTHELD free : nobody has it", "BREAK free");
    ask(&b, "-NOTHELD job : nobody has it", "BREAK job slot=3");
}

/* Through the holder's own daemon, with a waiter there. */
T(a_holder_here)
{
    begin(3, MAY_BREAK);
    lock_steady(&a, "job", "30s", 4000);
    client_open(&b, &one);
    client_open(&c, &one);
    client_send(&b, "LOCK job wait=60s");
    eventually(rows_with(show(&c, "WAITERS"), "name=job ") == 1);
    ask(&c, "+BROKEN job *", "BREAK job");
    await(&a, "!LOST job token=* reason=gone");
    expect(&b, "+LOCKED job *");
}

T(a_foreign_value)
{
    begin(3, MAY_BREAK);
    ck_assert_uint_eq(cluster_answers(&masters, "OK", "SET redlock:job some-other-library"), 3);
    ask(&a, "+BROKEN job daemon=? host=? confirmed=3/3", "BREAK job");
    ck_assert(cluster_is_free(&masters, "job"));
    for (unsigned i = 0; i < 3; i++)
        redis(&masters.server[i], "SET redlock:job value-%u", i);
    ask(&a, "-NOTHELD job : no holder has it on a majority of masters, so nothing was deleted: *",
        "BREAK job");
    ck_assert_uint_eq(cluster_answers(&masters, "1", "EXISTS redlock:job"), 3);
    cluster_answers(&masters, "1", "DEL redlock:job");
    cluster_answers(&masters, "1", "HSET redlock:job a b");
    ask(&a, "-NOTHELD job : the key is no lock *", "BREAK job");
    ck_assert_uint_eq(cluster_answers(&masters, "1", "EXISTS redlock:job"), 3);
}

T(a_slot)
{
    begin(3, MAY_BREAK);
    cluster_answers(&masters, "OK", "SET redlock:,slots:job 5");
    cluster_answers(&masters, "OK", "SET redlock:job,0 x");
    cluster_answers(&masters, "OK", "SET redlock:job,4 y");
    ask(&a, "-MODE job slots=5 : it has slots: say which, as slot=0; WHO tells who has them", "BREAK job");
    ask(&a, "-NOTHELD job : nobody has it", "BREAK job slot=3");
    ask(&a, "-BADARG job : slot=\"1024\" is not allowed: write a number from 0 to 1023, as WHO tells it",
        "BREAK job slot=1024");
    ask(&a, "+BROKEN job slot=4 daemon=? host=? confirmed=3/3", "BREAK job slot=4");
    ck_assert_uint_eq(cluster_answers(&masters, "1", "EXISTS redlock:job,0 redlock:job,4"), 3);
}

/* Members that a majority does not have stay, and so does the key's TTL. */
T(readers_are_broken)
{
    begin(3, MAY_BREAK);
    for (unsigned i = 0; i < 3; i++) {
        const char *seconds = redis(&masters.server[i], "TIME");
        long long end_ms = (atoll(seconds) + 60) * 1000;
        redis(&masters.server[i], "ZADD redlock:job %lld abc %lld def", end_ms, end_ms);
        if (i == 0)
            redis(&masters.server[i], "ZADD redlock:job %lld 123", end_ms + 5000);
        redis(&masters.server[i], "PEXPIRE redlock:job 90000");
    }
    ask(&a, "+BROKEN job daemon=? host=? others=1 confirmed=3/3", "BREAK job");
    ck_assert_str_eq(redis(&masters.server[0], "ZRANGE redlock:job 0 -1"), "123");
    ck_assert_int_gt(atoi(redis(&masters.server[0], "PTTL redlock:job")), 30000);
    ck_assert_str_eq(redis(&masters.server[1], "EXISTS redlock:job"), "0");
}

/* Readers of two daemons: one row each, all of them are told, and the writer who waits gets the name. */
T(readers_of_two_daemons_are_broken)
{
    begin_two(3, MAY_BREAK);
    struct client breaker; /* holds nothing, so that no !LOST comes before its answer */
    client_open(&c, &one);
    client_open(&breaker, &other);
    ask(&a, "+LOCKED job *", "LOCK job mode=shared ttl=5s");
    ask(&b, "+LOCKED job *", "LOCK job mode=shared ttl=5s");
    client_send(&a, "#2 LOCK job mode=shared hold=lease ttl=30s");
    expect(&a, "#2 +LOCKED job *");
    eventually(rows_with(who(&a, "job"), " votes=3/3") == 2);
    ck_assert_uint_eq(rows_with(who(&b, "job"), "mode=shared daemon="), 2);
    client_send(&c, "LOCK job wait=60s");
    eventually(rows_with(show(&a, "WAITERS"), "name=job ") == 1);
    ask(&breaker, "+BROKEN job *others=1 confirmed=3/3", "BREAK job");
    await(&a, "!LOST job token=* reason=gone");
    await(&b, "!LOST job token=* reason=gone");
    expect(&c, "+LOCKED job *");
    eventually(rows_with(who(&a, "job"), "mode=exclusive") == 1);
}

/* One of two readers leaves after the masters have told of both, while the answer of a third master is waited for: what was
 * taken away from the other one is not denied. */
T(a_reader_leaves_while_both_are_broken)
{
    begin(3, MAY_BREAK);
    for (unsigned i = 0; i < 3; i++) {
        long long end_ms = (atoll(redis(&masters.server[i], "TIME")) + 60) * 1000;
        redis(&masters.server[i], "ZADD redlock:job %lld abc %lld def", end_ms, end_ms);
        redis(&masters.server[i], "PEXPIRE redlock:job 60000");
        redis(&masters.server[i], "CONFIG RESETSTAT");
    }
    server_stop(&masters.server[2]);
    client_send(&a, "BREAK job");
    for (unsigned i = 0; i < 2; i++) {
        eventually(strstr(redis(&masters.server[i], "INFO commandstats"), "cmdstat_zrange:") != NULL);
        redis(&masters.server[i], "ZREM redlock:job abc");
    }
    expect(&a, "-NOQUORUM job votes=0/3 *");
    for (unsigned i = 0; i < 2; i++)
        ck_assert_str_eq(redis(&masters.server[i], "EXISTS redlock:job"), "0");
    server_cont(&masters.server[2]);
}

/* With one master of three away, the two others are enough; with one that refuses the deletion, they are not, and
 * the answer says so. */
T(a_master_is_down)
{
    begin(3, MAY_BREAK);
    lock_steady(&a, "job", "30s", 4000);
    client_open(&b, &one);
    server_kill(&masters.server[0]);
    eventually(rows_with(show(&b, "NODES"), "state=down") == 1);
    redis(&masters.server[1], "ACL SETUSER default -del");
    ask(&b, "-NOQUORUM job votes=1/3 nodes=!!+ : *", "BREAK job");
    redis(&masters.server[1], "ACL SETUSER default +del");
    ask(&b, "-NOTHELD job : no holder has it on a majority of masters*", "BREAK job");
    lock(&b, "more");
    eventually(cluster_answers(&masters, "1", "EXISTS redlock:more") == 2);
    ask(&b, "+BROKEN more *confirmed=2/3", "BREAK more");
}

/* ---- the command ---- */

T(the_command)
{
    struct command command;
    char pattern[256];
    begin(3, MAY_BREAK);
    command_use(&one);
    ck_assert_int_eq(RUN(&command, "sh", "-c", "$R who job"), 0);
    ck_assert_str_eq(output(&command), "");
    ck_assert_int_eq(RUN(&command, "sh", "-c", "$R break job"), 124);
    ck_assert_str_eq(errors(&command), "redlock: job: nothing was broken: nobody has it\n");
    lock_steady(&a, "job", "30s", 4000);
    eventually(cluster_answers(&masters, "1", "EXISTS redlock:job") == 3);
    client_open(&b, &one);
    ck_assert_int_eq(RUN(&command, "sh", "-c", "$R who job"), 0);
    snprintf(pattern, sizeof pattern, "name=job mode=exclusive daemon=%s host=", own_id(&b));
    ck_assert_int_eq(strncmp(output(&command), pattern, strlen(pattern)), 0);
    ck_assert_int_eq(RUN(&command, "sh", "-c", "$R who --table job"), 0);
    ck_assert_int_eq(strncmp(output(&command), "NAME  MODE       DAEMON    HOST", 31), 0);
    ck_assert_int_eq(RUN(&command, "sh", "-c", "$R who --json job"), 0);
    ck_assert_ptr_nonnull(strstr(output(&command), "\"votes\":\"3/3\"}]"));
    ck_assert_int_eq(RUN(&command, "sh", "-c", "$R break job"), 0);
    snprintf(pattern, sizeof pattern, "name=job daemon=%s host=", own_id(&b));
    ck_assert_int_eq(strncmp(output(&command), pattern, strlen(pattern)), 0);
    await(&a, "!LOST job token=* reason=gone");
    cluster_answers(&masters, "OK", "SET redlock:,slots:pool 5");
    cluster_answers(&masters, "OK", "SET redlock:pool,4 x");
    ck_assert_int_eq(RUN(&command, "sh", "-c", "$R break pool"), 125);
    ck_assert_ptr_nonnull(strstr(errors(&command), "it has slots: say which"));
    ck_assert_int_eq(RUN(&command, "sh", "-c", "$R break --slot 4 pool"), 0);
    ck_assert_int_eq(strncmp(output(&command), "name=pool slot=4 daemon=? ", 26), 0);
    static const char *const wrong[] = {"$R who",
                                        "$R who a b",
                                        "$R who ,",
                                        "$R break",
                                        "$R break --slot 1024 job",
                                        "$R break --slot x job",
                                        "$R who --slot 1 job"};
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        ck_assert_msg(RUN(&command, "sh", "-c", wrong[i]) == 125, "%s", wrong[i]);
}
