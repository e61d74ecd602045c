/* The agreement of the daemons of some masters: the key <prefix>,group on each of them. */
#include "tests/integ/steady.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static const char guarded[] = "restart_guard: on\nmax_ttl: 2s\ndefault_ttl: 1s\n";
static const char guarded_long[] = "restart_guard: on\nmax_ttl: 30s\ndefault_ttl: 1s\n";
static const char jobs[] = "restart_guard: on\nmax_ttl: 30s\ndefault_ttl: 1s\nserves: ['jobs/*']\n";
static const char larger[] = "restart_guard: on\nmax_ttl: 3s\ndefault_ttl: 1s\n";
enum { FULL_MS = 2000 + 22 };

static struct cluster masters;
static struct daemon redlockd, other;
static struct client a, b;

static void begin(unsigned count, const char *settings)
{
    cluster_start(&masters, count, UNIX);
    cluster_trust(&masters, settings == guarded ? 2000 : 30000);
    daemon_start(&redlockd, &masters, settings);
    client_open(&a, &redlockd);
    eventually(rows_with(show(&a, "NODES"), " state=up ") == count);
}

static void begin_other(const char *settings)
{
    daemon_start(&other, &masters, settings);
    client_open(&b, &other);
}

static const char *group_of(unsigned master)
{
    return redis(&masters.server[master], "GET redlock:,group");
}

static long long time_of(unsigned master)
{
    long long s = 0, us = 0;
    sscanf(redis(&masters.server[master], "TIME"), "%lld %lld", &s, &us);
    return s * 1000 + us / 1000;
}

static bool state_is(struct client *client, unsigned master, const char *state, const char *why)
{
    const char *row = node_row(client, &masters.server[master]);
    return strcmp(kv(row, "state"), state) == 0 && strcmp(kv(row, "why"), why) == 0;
}

/* Whether the row says so. The caller waits for that, since a refused master is asked again each second, and
 * may just be down. */
static bool row_says(struct client *client, unsigned master, const char *key, int64_t ours, int64_t theirs)
{
    char their_key[32];
    const char *row = node_row(client, &masters.server[master]);
    snprintf(their_key, sizeof their_key, "their_%s", key);
    return number(row, key) == ours && number(row, their_key) == theirs;
}

static unsigned refused_for(struct client *client, const char *why)
{
    unsigned rows = 0;
    const char *nodes = show(client, "NODES");
    for (unsigned i = 0; i < masters.count; i++) {
        const char *row = row_with(nodes, masters.server[i].path);
        rows += strcmp(kv(row, "state"), "refused") == 0 && strcmp(kv(row, "why"), why) == 0;
    }
    return rows;
}

T(key_says_what_is_agreed)
{
    struct timespec began;
    clock_gettime(CLOCK_REALTIME, &began);
    cluster_start(&masters, 3, UNIX);
    daemon_start(&redlockd, &masters, guarded);
    client_open(&a, &redlockd);
    eventually(rows_with(keep(file_read(redlockd.log)), " state=quarantine why=restart ") >=
               3); /* the masters are young */
    eventually(rows_with(show(&a, "NODES"), " state=up ") == 3);
    for (unsigned i = 0; i < 3; i++) {
        char expected[128];
        const char *run = strstr(redis(&masters.server[i], "INFO server"), "run_id:") + 7;
        int len = snprintf(expected, sizeof expected, "1 N=3 max_ttl=2000 run=%.40s from=", run);
        ck_assert_msg(strncmp(group_of(i), expected, (size_t)len) == 0, "%s not %s", group_of(i), expected);
        ck_assert_int_le(atoll(group_of(i) + len), time_of(i)); /* the master votes */
        ck_assert_int_ge(atoll(group_of(i) + len), began.tv_sec * 1000LL + FULL_MS);
        /* The probe keeps the key alive. */
        ck_assert_str_eq(redis(&masters.server[i], "PEXPIRE redlock:,group 60000"), "1");
        eventually(atoi(redis(&masters.server[i], "PTTL redlock:,group")) > 500000);
    }
}

T(another_max_ttl_is_refused)
{
    begin(3, guarded);
    begin_other(larger);
    eventually(refused_for(&b, "group") == 3);
    eventually(row_says(&b, 0, "max_ttl", 3000, 2000));
    eventually(daemon_logged(&other, "why=group") &&
               daemon_logged(&other, "max_ttl=3000 their_n=3 their_max_ttl=2000"));
    ask(&b, "-NOQUORUM no votes=0/3 nodes=!!! *", "LOCK no");
    lock(&a, "yes wait=14s");

    /* The agreement holds even where masters forgot it: one master that remembers is enough. */
    daemon_signal(&redlockd, SIGKILL);
    daemon_exit(&redlockd);
    for (unsigned i = 0; i < 2; i++) {
        server_kill(&masters.server[i]);
        server_start(&masters.server[i]);
    }
    eventually(state_is(&b, 0, "refused", "group") && state_is(&b, 1, "refused", "group"));
    ask(&b, "-NOQUORUM no votes=0/3 *", "LOCK no");
    ck_assert_str_eq(group_of(0), "(nil)");
    ck_assert_str_eq(group_of(1), "(nil)");

    /* When the key is gone everywhere, the new agreement counts. */
    redis(&masters.server[2], "DEL redlock:,group");
    lock(&b, "changed hold=lease wait=14s");
    eventually(rows_with(show(&b, "NODES"), " state=up ") == 3);
    for (unsigned i = 0; i < 3; i++)
        ck_assert_ptr_nonnull(strstr(group_of(i), "1 N=3 max_ttl=3000 "));
}

T(another_number_of_masters_is_refused)
{
    begin(5, guarded);
    masters.count = 3; /* the first three masters */
    begin_other(guarded);
    eventually(refused_for(&b, "group") == 3);
    eventually(row_says(&b, 2, "n", 3, 5));
    eventually(daemon_logged(&other, " n=3 max_ttl=2000 their_n=5 their_max_ttl=2000"));
    ask(&b, "-NOQUORUM no votes=0/3 *", "LOCK no");
    lock(&a, "yes wait=14s");
}

/* The first daemon has masters 0 to 2, the other one 2 to 4: each could have a quorum of its own. */
T(the_same_number_of_other_masters_is_refused)
{
    struct cluster all, others = {.count = 3};
    begin(3, guarded);
    cluster_start(&all, 2, UNIX);
    for (unsigned i = 0; i < 3; i++)
        others.server[i] = i == 0 ? masters.server[2] : all.server[i - 1];
    daemon_start(&other, &others, guarded);
    client_open(&b, &other);
    lock(&a, "both hold=lease ttl=2s wait=14s");
    ask(&b, "-NOQUORUM both votes=0/3 nodes=!!! *", "LOCK both");
    eventually(daemon_logged(&other, "event=other_masters node=unix:"));
    for (unsigned i = 0; i < 5; i++) { /* both lists */
        const struct server *server = i < 3 ? &masters.server[i] : &all.server[i - 3];
        const char *row = node_row(&b, &masters.server[2]);
        const char *names = keep(strdup(kv(row, "names"))),
                   *their_names = keep(strdup(kv(row, "their_names")));
        ck_assert_ptr_nonnull(strcasestr(keep(file_read(other.log)), server->path));
        ck_assert_msg((strcasestr(names, server->path) != NULL) == (i >= 2), "%s in %s", server->path, names);
        ck_assert_msg((strcasestr(their_names, server->path) != NULL) == (i <= 2), "%s in %s", server->path,
                      their_names);
    }
    ck_assert(!daemon_logged(&other, "give name:"));
    ck_assert_str_eq(redis(&all.server[0], "GET redlock:,group"),
                     "(nil)"); /* its own masters are as they were */
    ck_assert_ptr_nonnull(strstr(group_of(2), " set="));
}

/* The other daemon's host reaches master 1 by another address. */
T(a_server_under_two_names)
{
    char settings[1000], name[300] = "";
    begin(3, guarded);
    int len = snprintf(settings, sizeof settings, "%snodes:\n", guarded);
    for (unsigned i = 0; i < 3; i++)
        len += snprintf(settings + len, sizeof settings - (size_t)len, "  - {url: \"unix:%s\"%s}\n",
                        masters.server[i].path, i == 1 ? ", name: another" : "");
    begin_other(settings);
    eventually(
        daemon_logged(&other, "another is none of their names, so this server has two names: give name:"));
    ask(&b, "-NOQUORUM no votes=0/3 *", "LOCK no");

    /* Their name for it, as they tell it, makes the two agree. */
    const char *theirs = strstr(keep(strdup(kv(node_row(&b, &masters.server[1]), "their_names"))), "!");
    ck_assert_ptr_nonnull(theirs);
    daemon_signal(&other, SIGTERM);
    daemon_exit(&other);
    ck_assert_int_eq(gethostname(name, 250), 0);
    for (char *at = name; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    len = snprintf(settings, sizeof settings, "%snodes:\n", guarded);
    for (unsigned i = 0; i < 3; i++)
        len += snprintf(settings + len, sizeof settings - (size_t)len,
                        "  - {url: \"unix:%s\", name: \"%s!%s?db=0\"}\n", masters.server[i].path, name,
                        masters.server[i].path);
    begin_other(settings);
    eventually(rows_with(show(&b, "NODES"), " state=up ") == 3);
}

/* The masters that only the larger list has have no key, and get none. */
T(more_masters_than_the_others_have)
{
    struct cluster all;
    begin(3, guarded);
    cluster_start(&all, 5, UNIX);
    for (unsigned i = 0; i < 3; i++) {
        server_kill(&all.server[i]);
        all.server[i] = masters.server[i];
    }
    masters = all;
    begin_other(guarded);
    eventually(refused_for(&b, "group") == 5);
    for (unsigned i = 0; i < 5; i++)
        eventually(state_is(&b, i, "refused", "group") &&
                   strcmp(kv(node_row(&b, &masters.server[i]), "their_n"), i < 3 ? "3" : "") == 0);
    ck_assert_str_eq(group_of(3), "(nil)");
    ck_assert_str_eq(group_of(4), "(nil)");
    ask(&b, "-NOQUORUM no votes=0/5 nodes=!!!!! *", "LOCK no");
    lock(&a, "yes wait=14s");
}

/* Both daemons work on the same masters: while a has the lock, b is refused. Only on a machine that
 * stands still as long can b get it or hear of no quorum. */
static bool b_finds_it_busy(void)
{
    struct grant grant = lock(&a, "again hold=lease ttl=2s wait=14s");
    client_send(&b, "LOCK again hold=lease");
    const char *line = next_line(&b);
    bool granted = line && strncmp(line, "+LOCKED again ", 14) == 0;
    if (granted) { /* the time that its own daemon told, which may be read late */
        struct grant other_grant = grant_of(line);
        int64_t from_ms = other_grant.until_ms - other_grant.valid_ms;
        ck_assert_msg(from_ms >= grant.until_ms, "both have it, one until %lld: %s",
                      (long long)grant.until_ms, line);
    }
    return line && strncmp(line, "-BUSY again", 11) == 0;
}

T(rubbish_is_left_alone)
{
    static const char forged[] = "1 N=3 max_ttl=2000 run=? from=0";
    begin(5, guarded);
    redis(&masters.server[0], "RPUSH list x");
    redis(&masters.server[0],
          "RENAME list redlock:,group"); /* the key is never gone, or the daemon would set it */
    redis(&masters.server[1], "SET redlock:,group hello");
    redis(&masters.server[2], "SET redlock:,group %s", forged);
    eventually(refused_for(&a, "unreadable") == 3);
    ck_assert_uint_eq(refused_for(&a, "group"), 0); /* no daemon can have written these: the others go on */
    eventually(daemon_logged(&redlockd, "redlock:,group is not as a redlockd writes it: delete it there"));
    eventually(rows_with(show(&a, "NODES"), " state=up ") == 2);
    ask(&a, "-NOQUORUM no *", "LOCK no");

    /* A daemon that starts now does not overwrite the key either. */
    begin_other(guarded);
    eventually(refused_for(&b, "unreadable") == 3);
    ask(&b, "-NOQUORUM no *", "LOCK no");
    ck_assert_str_eq(redis(&masters.server[0], "TYPE redlock:,group"), "list");
    ck_assert_str_eq(group_of(1), "hello");
    ck_assert_str_eq(group_of(2), forged);

    for (unsigned i = 0; i < 3; i++)
        redis(&masters.server[i], "DEL redlock:,group");
    eventually(daemon_logged(&redlockd, " state=quarantine why=memory "));
    eventually(b_finds_it_busy());
    eventually(rows_with(show(&a, "NODES"), " state=up ") == 5);
    eventually(rows_with(show(&b, "NODES"), " state=up ") == 5);
}

/* A daemon that starts in the middle of the quarantine keeps the master out for as long as the
 * others. */
T(quarantine_is_the_same_for_all)
{
    begin(3, guarded_long);
    server_kill(&masters.server[0]);
    server_start(&masters.server[0]);
    eventually(state_is(&a, 0, "quarantine", "restart"));
    eventually(number(node_row(&a, &masters.server[0]), "left") < 29000);
    const char *group = keep(strdup(group_of(0)));
    long long from_ms = atoll(strstr(group, "from=") + 5), before_ms = time_of(0);
    begin_other(guarded_long);
    eventually(strcmp(node_state(&b, &masters.server[0]), "quarantine") == 0);
    int64_t there;
    eventually((there = number(node_row(&b, &masters.server[0]), "left")) > 0);
    long long after_ms = time_of(0);
    ck_assert_str_eq(group_of(0), group);
    /* The quarantine ends by the master's clock, which the daemon knows late by a round trip at most. */
    ck_assert_msg(there <= from_ms - before_ms + 50 && there >= from_ms - after_ms - 50, "%lld..%lld: %lld",
                  from_ms - after_ms, from_ms - before_ms, (long long)there);
    eventually(strcmp(node_state(&a, &masters.server[0]), "quarantine") == 0);
}

/* No daemon remembers this master, which has been up for long; but its key says that its memory is
 * another's. */
T(restarted_from_disk_while_no_daemon_ran)
{
    begin(3, guarded);
    ck_assert_str_eq(redis(&masters.server[0], "SAVE"), "OK");
    daemon_signal(&redlockd, SIGKILL);
    daemon_exit(&redlockd);
    server_kill(&masters.server[0]);
    server_start(&masters.server[0]);
    ck_assert_str_ne(group_of(0), "(nil)");
    eventually(uptime_s(&masters.server[0]) >= 5);
    begin_other(guarded);
    eventually(daemon_logged(&other, " state=quarantine why="));
    eventually(rows_with(show(&b, "NODES"), " state=up ") >= 2);
    const char *log = keep(file_read(other.log));
    const char *its = masters.server[0].path, *row = row_with(log, " state=quarantine why=");
    for (; row != NULL; row = row_with(row + strcspn(row, "\n"), " state=quarantine why="))
        ck_assert_msg(memmem(row, strcspn(row, "\n"), its, strlen(its)) != NULL, "%s", row);
}

T(without_the_guard_the_key_is_honest)
{
    begin(3, "restart_guard: off\nmax_ttl: 30s\ndefault_ttl: 1s\n");
    ck_assert(daemon_logged(&redlockd, "restart_guard"));
    lock(&a, "at_once hold=lease wait=14s");
    redis(&masters.server[0], "FLUSHALL");
    eventually(strcmp(group_of(0), "(nil)") != 0);
    long long from_ms = atoll(strstr(group_of(0), "from=") + 5);
    ck_assert_int_gt(from_ms, time_of(0));
    begin_other(guarded_long);
    eventually(strcmp(node_state(&b, &masters.server[0]), "quarantine") == 0);
    eventually(strcmp(node_state(&a, &masters.server[0]), "up") == 0);
    ck_assert(!daemon_logged(&redlockd, " state=quarantine "));
}

/* Where two daemons on the same masters route names differently, both could grant one. */
T(names_that_are_served)
{
    begin(3, jobs);
    ask(&a, "+LOCKED jobs/a *", "LOCK jobs/a");
    ask(&a, "-DENIED other : *serves*", "LOCK other");
    ask(&a, "-DENIED jobs/b,other : *", "LOCK jobs/b,other");
    ask(&a, "-DENIED other : *", "WHO other");
    ask(&a, "+UNLOCKED jobs/a *", "UNLOCK jobs/a");
    begin_other(guarded_long);
    eventually(refused_for(&b, "group") == 3);
    ask(&b, "-NOQUORUM *", "LOCK other");
    ask(&a, "+LOCKED jobs/a *", "LOCK jobs/a");
}
