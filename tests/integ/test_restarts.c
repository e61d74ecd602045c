/* Masters that lose their memory, flushed or restarted: the daemon must notice it even where no lock is
 * used, keep them out in full, and not cost a holder its lock without need. */
#include "tests/integ/guarded.h"

/* ---- flushed ---- */

T(flush_is_seen_by_a_daemon_that_does_nothing)
{
    guarded_begin(7, UNIX, guarded_long);
    redis(&masters.server[0], "FLUSHALL");
    redis(&masters.server[1], "SWAPDB 0 1");
    redis(&masters.server[2], "DEL redlock:,group");
    for (unsigned i = 0; i < 3; i++)
        is_kept_out(i, "memory", LONG_FULL_MS);
    lock(&a, "others wait=14s"); /* four are enough, three are not */
    server_kill(&masters.server[3]);
    eventually(state_is(3, "down"));
    const char *refusal = ask(&a, "-NOQUORUM no *", "LOCK no");
    ck_assert_msg(strncmp(kv(refusal, "nodes"), "~~~!", 4) == 0, "%s", refusal);
    ck_assert_int_gt(number(refusal, "retry"), 0);
}

T(flushed_minority_is_healed)
{
    guarded_begin(3, UNIX, guarded_long);
    struct grant held = lock_steady(&a, "held", "30s", 4000);
    eventually(holds("held", held.token) == 3);
    redis(&masters.server[1], "FLUSHALL");
    is_kept_out(1, "memory", LONG_FULL_MS);
    eventually(holds("held", held.token) == 3);
    ck_assert(state_is(1, "quarantine"));
    is_held(&a, "held", held.token);
    client_send(&a, "UNLOCK held");
    await(&a, "+UNLOCKED held *");
    eventually(key_is_free("held"));
}

/* ---- restarted ---- */

T(restarted_minority_is_healed)
{
    guarded_begin(3, TCP, guarded_long);
    struct grant held = lock_steady(&a, "held", "30s", 4000);
    eventually(holds("held", held.token) == 3);
    restart(2);
    is_kept_out(2, "restart", LONG_FULL_MS);
    eventually(holds("held", held.token) == 3);
    /* Another master may go now: the healed master counts for the holder, though not yet for others. */
    restart(0);
    is_held(&a, "held", held.token);
    ask(&b, "-* held*", "LOCK held");
}

T(all_masters_restarted_empty_one_after_the_other)
{
    static const char six_seconds[] = "restart_guard: on\nmax_ttl: 6s\ndefault_ttl: 6s\n";
    guarded_begin(5, TCP, six_seconds);
    begin_other(six_seconds);
    struct grant held = lock(&a, "held wait=14s");
    client_send(&c, "LOCK held wait=1m");
    for (unsigned i = 0; i < 5; i++) {
        renew_often(&a, "held", held.token,
                    6000); /* the time for which the lock survives a machine that stands still */
        renew_often(&a, "held", held.token, 900);
        eventually(holds("held", held.token) == 5);
        restart(i);
    }
    eventually(holds("held", held.token) == 5);
    ask(&a, "+HELD held *", "CHECK held token=%s", held.token);
    ck_assert(client_silent(&a) && client_silent(&c));
    ask(&a, "+UNLOCKED held *", "UNLOCK held");
    struct grant next = grant_of(expect(&c, "+LOCKED held *"));
    ck_assert_int_gt(next.fence, held.fence);
    ck_assert_str_ne(next.token, held.token);
}

/* ---- many at once: renewals that are due together, and requests, are merged into scripts of many keys
 * ---- */

enum { MANY = 200 };

static struct grant many[MANY];

static void lock_many(const char *options)
{
    for (unsigned i = 0; i < MANY; i++)
        client_send(&a, "#%u LOCK many%u %s", i, i, options);
    for (unsigned i = 0; i < MANY; i++) {
        const char *line = expect(&a, "#* +LOCKED many*");
        many[strtoul(line + 1, NULL, 10) % MANY] = grant_of(strchr(line, '+'));
    }
}

static int64_t extended_ms[MANY];

/* Sends EXTENDs of all locks in one write. The locks are renewed with this TTL from then on. */
static void extend_many(const char *ttl)
{
    static char lines[MANY * 100];
    int len = 0;
    for (unsigned i = 0; i < MANY; i++)
        len += snprintf(lines + len, sizeof lines - (size_t)len, "#%u EXTEND many%u token=%s ttl=%s\n", i, i,
                        many[i].token, ttl);
    client_write(&a, lines, (size_t)len);
    for (unsigned i = 0; i < MANY; i++) {
        const char *line = expect(&a, "#* +EXTENDED many*");
        extended_ms[strtoul(line + 1, NULL, 10) % MANY] = number(line, "until");
    }
}

static unsigned long long calls(unsigned master, const char *command)
{
    char key[64];
    snprintf(key, sizeof key, "cmdstat_%s:calls=", command);
    const char *at = strstr(redis(&masters.server[master], "INFO commandstats"), key);
    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static bool all_are_held(unsigned servers)
{
    for (unsigned i = 0; i < MANY; i++) {
        char name[16];
        snprintf(name, sizeof name, "many%u", i);
        if (holds(name, many[i].token) != servers)
            return false;
    }
    return true;
}

T(many_are_renewed_while_scripts_and_a_master_go)
{
    guarded_begin(3, TCP, guarded_long);
    lock_many("ttl=30s");
    extend_many("6s");
    restart(2); /* the master has neither keys nor scripts */
    for (int64_t begin_ms = now_ms(), round = 0; round < 24; round++) {
        redis(&masters.server[round % 2], "SCRIPT FLUSH");
        eventually(now_ms() > begin_ms + (round + 1) * 300);
    }
    ck_assert(daemon_logged(&redlockd, "event=node_scripts"));
    eventually(all_are_held(3));
    ck_assert(client_silent(&a)); /* no !EXPIRING, no !LOST */
    const char *renewals = row_with(show(&b, "STATS"), "renewals=");
    ck_assert_msg(number(renewals, "renewals") >= MANY, "%s", renewals);
    for (unsigned i = 0; i < MANY; i += 20)
        ask(&b, "+HELD many*", "CHECK many%u token=%s", i, many[i].token);
}

T(many_requests_are_few_scripts)
{
    guarded_begin(3, UNIX, guarded_long);
    lock_many("ttl=20s hold=lease");
    for (unsigned i = 0; i < 3; i++)
        redis(&masters.server[i], "CONFIG RESETSTAT");
    extend_many("25s");
    for (unsigned i = 0; i < MANY; i++)
        ck_assert_int_gt(extended_ms[i], many[i].until_ms);
    for (unsigned i = 0; i < 3; i++) {
        eventually(calls(i, "pexpire") >= MANY);
        unsigned long long scripts = calls(i, "evalsha");
        ck_assert_msg(scripts >= MANY / 64 && scripts <= MANY / 2, "%llu scripts", scripts);
    }
}

/* Masters that come back with an old lock do not revive it. */
T(old_snapshots_count_for_nothing)
{
    guarded_begin(3, TCP, guarded);
    begin_other(guarded);
    struct grant old = lock(&a, "old ttl=4s hold=lease wait=14s");
    eventually(holds("old", old.token) == 3);
    for (unsigned i = 0; i < 2; i++)
        ck_assert_str_eq(redis(&masters.server[i], "SAVE"), "OK");
    ask(&a, "+UNLOCKED old *", "UNLOCK old");
    eventually(key_is_free("old"));
    int64_t restart_ms = now_ms();
    for (unsigned i = 0; i < 2; i++)
        restart(i);
    for (unsigned i = 0; i < 2; i++)
        is_kept_out(i, "restart", FULL_MS);
    ask(&c, "-NO* old*", "EXTEND old token=%s", old.token);
    ask(&c, "-NO* old*", "CHECK old token=%s", old.token);
    struct grant next = lock(&b, "old wait=14s");
    ck_assert_int_gt(next.fence, old.fence);
    ck_assert_int_ge(now_ms() - restart_ms, MAX_TTL_MS);
}
