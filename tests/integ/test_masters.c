/* Masters that hang, die, forget, come back: holders must not notice, or must be told in time. */
#include "tests/integ/steady.h"

#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>

static struct cluster masters;
static struct daemon redlockd;
static struct client a, b, c;

static void begin(unsigned count, enum transport transport, const char *settings)
{
    cluster_start(&masters, count, transport);
    daemon_start(&redlockd, &masters, settings);
    client_open(&a, &redlockd);
    client_open(&b, &redlockd);
    eventually(strstr(settings, "restart_guard: on") || masters_up(&b, &masters));
}

static bool state_is(unsigned master, const char *state)
{
    return strcmp(node_state(&b, &masters.server[master]), state) == 0;
}

/* For conditions that may be over before SHOW NODES is asked. */
static bool logged(unsigned master, const char *state)
{
    char text[PATH + 64];
    snprintf(text, sizeof text, "node=unix:%s state=%s", masters.server[master].path, state);
    return daemon_logged(&redlockd, text);
}

/* For conditions that only a machine that stands still can spoil, and does not five times in a row. */
#define in_five_tries(condition)                                               \
    do {                                                                       \
        for (unsigned tries_ = 1; !(condition); tries_++)                      \
            if (tries_ == 5)                                                   \
                fail_at(__FILE__, __LINE__, "five times not: %s", #condition); \
    } while (0)

static void give_back_those_of_the_hang(void)
{
    for (int i = 0; i < 20; i++)
        ask(&a, "+UNLOCKED hung* confirmed=[34]/5", "UNLOCK hung%d", i);
}

/* Takes locks while a master hangs. Each SET is sent to that master, too, because a master is found slow only
 * after a command has waited for node_timeout. False: the master was found slow before the last lock. */
static bool none_waits_for_one_that_hangs(void)
{
    server_stop(&masters.server[2]);
    for (int i = 0; i < 20; i++)
        lock(&a, "hung%d", i);
    if (state_is(2, "up"))
        return true;
    give_back_those_of_the_hang();
    server_cont(&masters.server[2]);
    eventually(state_is(2, "up"));
    return false;
}

T(hung_master_holds_up_nothing)
{
    begin(5, UNIX, STEADY);
    struct grant before = lock(&a, "before");
    eventually(cluster_holds(&masters, "before", before.token) == 5);
    in_five_tries(none_waits_for_one_that_hangs());
    eventually(state_is(2, "slow"));
    lock(&a, "slow"); /* that master is not even asked */
    ask(&a, "+UNLOCKED before confirmed=[34]/5", "UNLOCK before");
    ask(&a, "+UNLOCKED slow confirmed=[34]/5", "UNLOCK slow");
    give_back_those_of_the_hang();

    server_cont(&masters.server[2]);
    eventually(state_is(2, "up"));
    eventually(cluster_answers(&masters, "", "KEYS redlock:[^,]*") == 5);
}

T(hung_master_is_reset_and_its_old_connection_killed)
{
    begin(3, UNIX, "node_timeout: 100ms\nmin_ttl: 200ms\n");
    server_stop(&masters.server[0]);
    lock(&a, "asked ttl=60s wait=14s"); /* its SET waits in the stopped server's socket */
    ask(&a, "+UNLOCKED asked confirmed=[012]/3", "UNLOCK asked");
    struct grant grant = lock(&a, "left ttl=60s wait=14s");
    eventually(logged(0, "slow why=silent"));
    eventually(logged(0, "down why=silent"));
    ck_assert_str_ne(node_state(&b, &masters.server[0]), "up");
    lock(&a, "meanwhile hold=lease wait=14s");

    server_cont(&masters.server[0]);
    eventually(state_is(0, "up"));
    eventually(cluster_answers(&masters, "(nil)", "GET redlock:asked") == 3);
    ck_assert_ptr_nonnull(strstr(redis(&masters.server[0], "INFO commandstats"), "cmdstat_client|kill"));
    ck_assert_uint_ge(cluster_holds(&masters, "left", grant.token), 2);
    ask(&a, "+UNLOCKED left *", "UNLOCK left");
    eventually(cluster_is_free(&masters, "left"));
}

T(connections_killed_by_hand)
{
    begin(3, TCP, "");
    struct grant held = lock_steady(&a, "held", "60s", 600);
    for (unsigned i = 0; i < 3; i++)
        redis(&masters.server[i], "CLIENT KILL TYPE normal SKIPME yes");
    lock(&b, "next hold=lease wait=14s");
    is_renewed(&a);
    ck_assert_uint_ge(cluster_holds(&masters, "held", held.token), 2);
    for (unsigned i = 0; i < 3; i++)
        eventually(state_is(i, "up"));
}

T(late_set_is_undone)
{
    begin(3, UNIX, STEADY);
    server_stop(&masters.server[0]);
    server_stop(&masters.server[1]);
    const char *refusal = ask(&a, "-NOQUORUM late *", "LOCK late ttl=60s");
    ck_assert_str_eq(kv(refusal, "votes"), "1/3");
    ck_assert_str_eq(kv(refusal, "nodes"), "\?\?+");
    server_cont(&masters.server[0]);
    server_cont(&masters.server[1]);
    eventually(strstr(redis(&masters.server[0], "INFO commandstats"), "cmdstat_set:") != NULL);
    eventually(cluster_is_free(&masters, "late"));
    for (unsigned i = 0; i < 2; i++)
        eventually(state_is(i, "up"));
    lock(&a, "late");
}

/* Two of five masters are left. Only on a machine that stands still meanwhile is c told late, or not
 * warned. */
static bool is_told_in_time(void)
{
    bool warned = false;
    if (!masters.server[4].pid)
        server_start(&masters.server[4]);
    struct grant held = lock(&c, "short ttl=2s wait=14s");
    int64_t until_ms = held.until_ms;
    server_kill(&masters.server[4]);
    const char *event = next_line(&c);
    for (; event && event[0] == '!' && strncmp(event, "!LOST ", 6) != 0; event = next_line(&c)) {
        bool renewed = strncmp(event, "!RENEWED short ", 15) == 0;
        ck_assert_msg(renewed || strncmp(event, "!EXPIRING short ", 16) == 0, "%s", event);
        if (renewed)
            until_ms = number(event, "until");
        else
            ck_assert_int_le(number(event, "valid"), 2000 / 3);
        warned = !renewed && now_ms() < until_ms;
    }
    int64_t told_ms = now_ms();
    ck_assert_msg(event && strcmp(kv(event, "reason"), "expired") == 0, "%s", event ? event : "closed");
    ck_assert_str_eq(kv(event, "token"), held.token);
    ck_assert_int_ge(told_ms, until_ms);
    return warned && told_ms - until_ms < 500;
}

static bool is_refused_at_once(void)
{
    eventually(state_is(0, "up") && state_is(2, "up"));
    int64_t start_ms = now_ms();
    const char *refusal = ask(&b, "-NOQUORUM three votes=* nodes=*", "LOCK three");
    bool two = strcmp(kv(refusal, "votes"), "2/5") == 0 && strcmp(kv(refusal, "nodes"), "+!+!!") == 0;
    return two && now_ms() - start_ms < 1000;
}

static bool logged_quorum_again(void)
{
    char *log = file_read(redlockd.log);
    const char *lost = strstr(log, "event=no_quorum voting=2/5");
    bool again = lost != NULL && strstr(lost, "event=quorum voting=") != NULL;
    free(log);
    return again;
}

T(two_of_five_dead_then_three_and_back)
{
    begin(5, TCP, "");
    client_open(&c, &redlockd);
    ask(&c, "+HELLO *", "HELLO 1 events=renewed");
    lock_steady(&a, "held", "60s", 600);
    server_kill(&masters.server[1]);
    server_kill(&masters.server[3]);
    for (int i = 0; i < 10; i++) {
        lock(&b, "two%d wait=14s", i);
        ask(&b, "+UNLOCKED *", "UNLOCK two%d",
            i); /* otherwise some are lost when the masters come back empty */
    }
    is_renewed(&a);

    in_five_tries(is_told_in_time());
    eventually(state_is(4, "down"));
    eventually(daemon_logged(&redlockd, "event=no_quorum voting=2/5"));
    in_five_tries(is_refused_at_once());
    ask(&b, "-NOQUORUM three *", "LOCK three wait=300ms"); /* the daemon keeps trying, without success */

    client_send(&c, "LOCK three wait=14s");
    for (unsigned i = 0; i < 5; i++)
        if (!masters.server[i].pid)
            server_start(&masters.server[i]);
    expect(&c, "+LOCKED three *");
    for (unsigned i = 0; i < 5; i++)
        eventually(state_is(i, "up"));
    eventually(logged_quorum_again());
}

T(all_masters_dead_at_the_start)
{
    cluster_start(&masters, 3, TCP);
    for (unsigned i = 0; i < 3; i++)
        server_kill(&masters.server[i]);
    daemon_start(&redlockd, &masters, "");
    client_open(&a, &redlockd);
    client_open(&b, &redlockd);
    const char *refusal = ask(&a, "-NOQUORUM early *", "LOCK early");
    ck_assert_str_eq(kv(refusal, "nodes"), "!!!");
    ck_assert(daemon_logged(&redlockd, "event=no_quorum voting=0/3"));
    for (unsigned i = 0; i < 3; i++)
        server_start(&masters.server[i]);
    lock(&a, "early wait=14s");
}

static const char guarded[] = "restart_guard: on\nmax_ttl: 2s\ndefault_ttl: 1s\n";
static const char guarded_long[] = "restart_guard: on\nmax_ttl: 30s\ndefault_ttl: 30s\n" STEADY;
enum { MAX_TTL_MS = 2000, FULL_MS = 2000 + 22, LONG_MAX_TTL_MS = 30000, LONG_FULL_MS = 30000 + 302 };

T(young_masters_are_kept_out)
{
    begin(3, TCP, guarded_long);
    eventually(state_is(0, "quarantine") && state_is(1, "quarantine") && state_is(2, "quarantine"));
    const char *refusal = ask(&a, "-NOQUORUM fresh votes=0/3 nodes=~~~ *", "LOCK fresh");
    ck_assert_msg(number(refusal, "retry") > 0 && number(refusal, "retry") <= LONG_FULL_MS, "%s", refusal);
    ck_assert_ptr_nonnull(strstr(refusal, " : "));
    ck_assert_ptr_nonnull(strstr(refusal, "quarantine"));
    ck_assert_ptr_nonnull(strstr(refusal, "restart_guard"));
}

static void restart(unsigned master)
{
    server_kill(&masters.server[master]);
    server_start(&masters.server[master]);
}

/* A master comes back empty, and another master from its dump, with the lock's key: neither may vote. */
T(restarted_masters_are_kept_out)
{
    cluster_start(&masters, 3, TCP);
    cluster_trust(&masters, LONG_MAX_TTL_MS);
    daemon_start(&redlockd, &masters, guarded_long);
    client_open(&a, &redlockd);
    client_open(&b, &redlockd);
    eventually(masters_up(&b, &masters));
    struct grant grant = lock(&a, "fresh wait=14s");
    eventually(cluster_holds(&masters, "fresh", grant.token) == 3);
    restart(0);
    eventually(state_is(0, "quarantine"));
    const char *row = node_row(&b, &masters.server[0]);
    ck_assert_str_eq(kv(row, "why"), "restart");
    ck_assert_msg(number(row, "left") > 0 && number(row, "left") <= LONG_FULL_MS, "%s", row);
    lock(&b, "two hold=lease wait=14s"); /* 1 and 2 suffice */
    ck_assert_str_eq(redis(&masters.server[1], "SAVE"), "OK");
    restart(1);
    eventually(state_is(1, "quarantine"));
    const char *refusal = ask(&b, "-NOQUORUM no *", "LOCK no");
    ck_assert_str_eq(kv(refusal, "votes"), "1/3");
    ck_assert_str_eq(kv(refusal, "nodes"), "~~+");
}

T(those_kept_out_vote_when_its_time_is_over)
{
    int64_t start_ms = now_ms();
    begin(3, TCP, guarded);
    lock(&a, "young hold=lease wait=14s");
    ck_assert_int_ge(now_ms() - start_ms, MAX_TTL_MS);
    eventually(state_is(0, "up") && state_is(1, "up") && state_is(2, "up"));
    int64_t restart_ms = now_ms();
    restart(0);
    ck_assert_str_eq(redis(&masters.server[1], "SAVE"), "OK");
    restart(1);
    lock(&a, "no wait=14s");
    ck_assert_int_ge(now_ms() - restart_ms, MAX_TTL_MS);
    eventually(state_is(0, "up") && state_is(1, "up"));
}

T(old_masters_are_trusted_but_not_a_demoted_one)
{
    begin(1, UNIX, "max_ttl: 2s\ndefault_ttl: 1s\n"); /* all daemons must agree */
    lock(&a, "young wait=14s");                       /* the guard is off in this daemon */
    int64_t from_ms = now_ms() + FULL_MS;             /* the latest end, by the key */
    eventually(uptime_s(&masters.server[0]) >= 5 && now_ms() > from_ms);
    daemon_start(&redlockd, &masters, guarded);
    client_open(&b, &redlockd);
    eventually(state_is(0, "up"));
    ck_assert(!logged(0, "quarantine"));
    lock(&b, "old hold=lease wait=14s");

    /* A master that was a replica in between does not vote, though neither its connection nor its run_id
     * changed. */
    redis(&masters.server[0], "REPLICAOF 127.0.0.1 1");
    ask(&b, "-NOQUORUM no *", "LOCK no");
    eventually(logged(0, "refused why=replica"));
    int64_t back_ms = now_ms();
    redis(&masters.server[0], "REPLICAOF NO ONE");
    eventually(logged(0, "quarantine why=demoted"));
    lock(&b, "no wait=14s");
    ck_assert_int_ge(now_ms() - back_ms, MAX_TTL_MS);
}

static int64_t renewals_failed(void)
{
    int64_t failed = number(row_with(show(&b, "STATS"), "renewals_failed="), "renewals_failed");
    ck_assert_int_ge(failed, 0);
    return failed;
}

/* Not one renewal fails for it, unless the machine stood still. */
static bool is_flushed_unnoticed(void)
{
    int64_t failed = renewals_failed();
    ck_assert_uint_eq(cluster_answers(&masters, "OK", "SCRIPT FLUSH"), 3);
    is_renewed(&a);
    return renewals_failed() == failed;
}

T(scripts_flushed_under_renewals)
{
    begin(3, UNIX, "");
    lock_steady(&a, "held", "60s", 600);
    for (unsigned i = 0; i < 3; i++)
        in_five_tries(is_flushed_unnoticed());
    client_close(&a);
    eventually(cluster_is_free(&masters, "held"));
}

T(scripts_flushed_under_requests)
{
    begin(3, UNIX, STEADY);
    struct grant lease = lock(&b, "lease hold=lease ttl=30s");
    ck_assert_uint_eq(cluster_answers(&masters, "OK", "SCRIPT FLUSH"), 3);
    ask(&b, "+UNLOCKED lease confirmed=[23]/3", "UNLOCK lease");
    eventually(cluster_is_free(&masters, "lease"));
    ck_assert_uint_eq(cluster_answers(&masters, "OK", "SCRIPT FLUSH"), 3);
    ask(&b, "-NOTHELD lease*", "CHECK lease token=%s", lease.token);
}

T(keys_deleted)
{
    begin(5, UNIX, "");
    struct grant held = lock_steady(&a, "held", "60s", 900);
    eventually(cluster_holds(&masters, "held", held.token) == 5);
    for (unsigned i = 0; i < 2; i++)
        ck_assert_str_eq(redis(&masters.server[i], "DEL redlock:held"), "1");
    is_renewed(&a);
    int64_t gone_ms = now_ms();
    ck_assert_str_eq(redis(&masters.server[4], "DEL redlock:held"), "1");
    ck_assert_str_eq(kv(await(&a, "!LOST held token=* reason=gone"), "token"), held.token);
    ck_assert_int_lt(now_ms() - gone_ms, 5000); /* by the next renewal, not at the deadline a minute later */
    ask(&a, "-NOTHELD held*", "UNLOCK held");
}

T(unlock_of_what_was_lost)
{
    begin(3, UNIX, STEADY);
    struct grant gone = lock(&a, "gone ttl=60s");
    eventually(cluster_holds(&masters, "gone", gone.token) == 3);
    ck_assert_uint_eq(cluster_answers(&masters, "1", "DEL redlock:gone"), 3);
    const char *line = ask(&a, "-NOTHELD gone : *", "UNLOCK gone");
    ck_assert_ptr_nonnull(strstr(line, "lost"));
    lock(&a, "gone");
}

T(nobody_answers_an_unlock)
{
    begin(3, UNIX, "");
    struct grant lease = lock(&a, "lease hold=lease ttl=60s wait=14s");
    struct grant session = lock(&a, "session ttl=60s wait=14s");
    eventually(cluster_holds(&masters, "session", session.token) == 3 &&
               cluster_holds(&masters, "lease", lease.token) == 3);
    for (unsigned i = 0; i < 3; i++)
        server_stop(&masters.server[i]);
    ask(&a, "+UNLOCKED session confirmed=0/3", "UNLOCK session");
    ask(&b, "-NOQUORUM lease *", "UNLOCK lease token=%s", lease.token);
    ask(&b, "-NOQUORUM lease *", "CHECK lease token=%s", lease.token);
    ask(&b, "-NOQUORUM lease *", "EXTEND lease token=%s", lease.token);
    for (unsigned i = 0; i < 3; i++)
        server_cont(&masters.server[i]);
    eventually(cluster_is_free(&masters, "session") && cluster_is_free(&masters, "lease"));
}
