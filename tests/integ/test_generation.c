/* Generations of the masters: lists and max_ttl that change while daemons run and locks are held. */
#include "tests/integ/harness.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* Every setting but the group's: a short max_ttl makes the steps short. */
#define GUARDED "restart_guard: on\ndefault_ttl: 1500ms\nmin_ttl: 500ms\nnode_timeout: 250ms\n"

TIME_LIMIT_S(300);

enum { DAEMONS = 2, STEPS_MS = 60000 };

static struct cluster masters;
static struct daemon redlockd[DAEMONS];
static struct client client[DAEMONS], holder;

/* "nodes: [...]" of these masters, by their digits; '-' is a vacant place. */
static const char *list(const char *key, const char *digits)
{
    char text[1024];
    size_t len = (size_t)snprintf(text, sizeof text, "%s: [", key);
    for (const char *at = digits; *at; at++)
        len += (size_t)snprintf(
            text + len, sizeof text - len, "%s%s%s", at > digits ? ", " : "",
            *at == '-' ? "vacant" : "unix:", *at == '-' ? "" : masters.server[*at - '0'].path);
    snprintf(text + len, sizeof text - len, "]\n");
    return keep(strdup(text));
}

static void configure(unsigned i, unsigned generation, const char *digits, const char *before,
                      unsigned max_ttl_s)
{
    char text[4096];
    snprintf(text, sizeof text, GUARDED "generation: %u\nmax_ttl: %us\n%s%s%s", generation, max_ttl_s,
             list("nodes", digits), before ? list("nodes_before", before) : "",
             before ? "max_ttl_before: 2s\n" : "");
    daemon_configure(&redlockd[i], &masters, text);
}

static unsigned reloads(unsigned i)
{
    return rows_with(keep(file_read(redlockd[i].log)), " event=reload ");
}

static void hup(unsigned i)
{
    unsigned before = reloads(i);
    daemon_signal(&redlockd[i], SIGHUP);
    eventually(reloads(i) > before);
}

static void run(unsigned i)
{
    daemon_run(&redlockd[i], (const char *const[]){"-c", redlockd[i].config, NULL});
    daemon_listens(&redlockd[i]);
    client_open(&client[i], &redlockd[i]);
}

static void stop(unsigned i)
{
    daemon_signal(&redlockd[i], SIGTERM);
    ck_assert_int_eq(daemon_exit(&redlockd[i]), 0);
    client_close(&client[i]);
}

/* Daemons on the first masters of `count`, at generation 0. */
static void begin(unsigned count, const char *digits)
{
    cluster_start(&masters, count, UNIX);
    struct cluster first = masters;
    first.count = (unsigned)strlen(digits);
    cluster_trust(&first, 2000);
    for (unsigned i = 0; i < DAEMONS; i++) {
        configure(i, 0, digits, NULL, 2);
        run(i);
    }
    for (unsigned i = 0; i < DAEMONS; i++)
        eventually(rows_with(show(&client[i], "NODES"), " state=up ") == strlen(digits));
    client_open(&holder, &redlockd[0]);
}

static const char *group(unsigned i)
{
    return show(&client[i], "GROUP");
}

static bool is_steady(unsigned step)
{
    bool steady = true;
    char text[64];
    snprintf(text, sizeof text, "* step=%u ", step);
    for (unsigned i = 0; i < DAEMONS; i++) {
        const char *row = group(i);
        steady &= strstr(row, text) == row && strstr(row, " state=steady ") != NULL;
    }
    return steady;
}

/* Both daemons take and give back locks until they are steady at that step: none is refused. Returns how many. */
static unsigned grants_until(unsigned step)
{
    unsigned grants = 0;
    int64_t end_ms = now_ms() + STEPS_MS;
    while (!is_steady(step)) {
        ck_assert_msg(now_ms() < end_ms, "not steady: %s%s", group(0), group(1));
        for (unsigned i = 0; i < DAEMONS; i++) {
            client_send(&client[i], "LOCK work wait=2s");
            const char *line = next_line(&client[i]);
            ck_assert_msg(strncmp(line, "+LOCKED ", 8) == 0, "%s\n%s", line, group(i));
            ask(&client[i], "+UNLOCKED work *", "UNLOCK work");
            grants++;
        }
        nap();
    }
    return grants;
}

/* Whether the daemon's log has it; if not, the log is shown. */
static void logged(unsigned i, const char *text)
{
    ck_assert_msg(daemon_logged(&redlockd[i], text), "no %s in\n%s", text, keep(file_read(redlockd[i].log)));
}

static void reload_all(unsigned generation, const char *digits, const char *before, unsigned max_ttl_s)
{
    for (unsigned i = 0; i < DAEMONS; i++)
        configure(i, generation, digits, before, max_ttl_s);
    for (unsigned i = 0; i < DAEMONS; i++)
        hup(i);
}

static bool has_master(unsigned i, unsigned master)
{
    return row_with(show(&client[i], "NODES"), masters.server[master].path) != NULL;
}

/* A lock that a live daemon renews outlives the change, others are granted meanwhile, and the old server leaves. */
T(a_master_is_replaced)
{
    begin(4, "012");
    ck_assert(is_steady(0));
    struct grant held = lock(&holder, "held");
    reload_all(1, "013", "012", 2);
    ck_assert_uint_ge(grants_until(2), 4);
    logged(0, "event=generation step=1 generation=1 state=");
    eventually(
        daemon_logged(&redlockd[1], "event=generation step=2 generation=1 state=steady voters=3 needed=2"));
    for (unsigned i = 0; i < DAEMONS; i++) {
        eventually(!has_master(i, 2));
        ck_assert(has_master(i, 3));
    }
    server_kill(&masters.server[2]);
    eventually(rows_with(show(&client[0], "NODES"), " state=up ") == 3);
    server_kill(&masters.server[0]); /* two of the three that vote now are enough */
    lock(&client[1], "after wait=5s");
    client_send(&holder, "CHECK held token=%s", held.token);
    ck_assert_ptr_nonnull(strstr(await(&holder, "*HELD held*"), "+HELD"));
    ck_assert(!daemon_logged(&redlockd[0], "event=lock_lost"));
    const char *hash = kv(group(0), "set");
    ck_assert_ptr_nonnull(strstr(redis(&masters.server[3], "GET redlock:,set:%s", hash), "N=3 voters="));
    ck_assert_str_eq(redis(&masters.server[3], "PTTL redlock:,set:%s", hash), "-1");
    ck_assert_str_eq(redis(&masters.server[3], "PTTL redlock:,group"), "-1");
}

/* What a reload would do, and what it says when it is refused; everything else of the file is taken. */
T(refused_reloads)
{
    begin(6, "012");
    configure(0, 2, "013", NULL, 2);
    const char *row = show(&client[0], "RELOAD");
    ck_assert_str_eq(kv(row, "change"), "jump");
    hup(0);
    logged(
        0,
        "event=generation_refused why=jump is=0 file=2 hint=\"this daemon runs generation 0, so the next one "
        "is 1: load that first, or write its number\"");

    configure(0, 0, "013", NULL, 2);
    ck_assert_str_eq(kv(show(&client[0], "RELOAD"), "change"), "other_list");
    hup(0);
    logged(
        0,
        "why=other_list is=0 file=0 hint=\"generation 0 has other masters, or another max_ttl, here: raise "
        "generation to 1\"");
    logged(0, "event=conf_left key=nodes hint=\"raise generation to 1\"");
    configure(0, 0, "012", NULL, 3);
    hup(0);
    logged(0, "event=conf_left key=max_ttl is=\"2s\" file=\"3s\" hint=\"raise generation to 1\"");

    configure(0, 1, "345", NULL, 2);
    row = show(&client[0], "RELOAD");
    ck_assert_str_eq(kv(row, "change"), "too_big");
    ck_assert_str_eq(kv(row, "keep"), "2");
    ck_assert_str_eq(kv(row, "voters_between"), "0");
    daemon_configure(&redlockd[0], &masters,
                     keep(strdup(list("restart_guard: on\nmax_ttl: 2s\ndefault_ttl: 1s\ngeneration: 1\n"
                                      "max_waits_per_client: 7\nnodes",
                                      "345"))));
    hup(0);
    logged(0, "why=too_big is=0 file=1 hint=\"too big a change for one generation: keep at least 2 of ");
    ck_assert_ptr_nonnull(strstr(show(&client[0], "CONFIG"), "* max_waits_per_client=7\n"));
    ck_assert_ptr_nonnull(strstr(show(&client[0], "CONFIG"), "* generation=0\n"));
    ck_assert(is_steady(0));
    ck_assert(has_master(0, 2) && !has_master(0, 3));
    lock(&client[0], "work wait=2s");

    configure(0, 1, "013", NULL, 2);
    row = show(&client[0], "RELOAD");
    ck_assert_str_eq(kv(row, "change"), "taken");
    ck_assert_str_eq(kv(row, "voters_between"), "2");
    ck_assert_str_eq(kv(row, "needed_between"), "2");
    ck_assert_ptr_null(strstr(keep(file_read(redlockd[0].log)), "event=generation step=0"));
}

/* One daemon waits for the other, which is told by its host, and a change under way lets no other begin. */
T(one_change_at_a_time)
{
    begin(4, "012");
    configure(0, 1, "013", "012", 2);
    hup(0);
    eventually(strcmp(kv(group(0), "step"), "1") == 0);
    eventually(strcmp(kv(group(0), "why"), "daemon") == 0);
    ck_assert_str_eq(kv(row_with(show(&client[0], "NODES"), masters.server[3].path), "voter"), "no");
    ck_assert_str_ne(kv(group(0), "host"), "");
    configure(0, 2, "0123", "013", 2);
    ck_assert_str_eq(kv(show(&client[0], "RELOAD"), "change"), "busy");
    hup(0);
    logged(0, "event=generation_refused why=busy is=1 file=2 hint=\"generation 1 is under way, ");
    configure(1, 1, "013", "012", 2);
    hup(1);
    grants_until(2);
    hup(0);
    configure(1, 2, "0123", "013", 2);
    hup(1);
    grants_until(4);
    ck_assert_str_eq(kv(group(0), "needed"), "3");
}

/* A larger max_ttl: locks may be longer when all is done, and not before. Then a master leaves its place vacant. */
T(another_max_ttl)
{
    begin(3, "012");
    ask(&client[0], "-BADARG long *", "LOCK long ttl=4s");
    reload_all(1, "012", NULL, 4);
    grants_until(2);
    lock(&client[0], "long ttl=4s");
    ck_assert_str_eq(kv(group(1), "max_ttl"), "4000");
    ask(&client[0], "+UNLOCKED long *", "UNLOCK long");
    reload_all(2, "0-1", NULL, 4);
    grants_until(4);
    const char *row = group(0);
    ck_assert_str_eq(kv(row, "masters"), "3");
    ck_assert_str_eq(kv(row, "voters"), "2");
    ck_assert_str_eq(kv(row, "needed"), "2");
    eventually(!has_master(1, 2));
    server_kill(&masters.server[1]);
    ask(&client[0], "-NOQUORUM work votes=1/3 nodes=+?! : 2 votes are needed*", "LOCK work");
}

/* A new master is logged in to as the others are. */
T(a_new_master_with_a_password)
{
    char path[PATH + 32], text[4096];
    cluster_start(&masters, 4, UNIX);
    for (unsigned i = 0; i < masters.count; i++)
        ck_assert_str_eq(redis(&masters.server[i], "ACL SETUSER redlockd on >secret ~* &* +@all"), "OK");
    snprintf(path, sizeof path, "%s/secret", folder_new("secret"));
    file_write(path, "secret\n");
    for (unsigned g = 0; g < 2; g++) {
        snprintf(text, sizeof text,
                 GUARDED "generation: %u\nmax_ttl: 2s\nnode_user: redlockd\n"
                         "node_password_file: %s\n%s",
                 g, path, list("nodes", g == 0 ? "012" : "0123"));
        for (unsigned i = 0; i < DAEMONS; i++)
            daemon_configure(&redlockd[i], &masters, text);
        for (unsigned i = 0; i < DAEMONS; i++)
            (g == 0 ? run : hup)(i);
        eventually(rows_with(show(&client[0], "NODES"), " state=up ") == 3 + g);
    }
    eventually_within(is_steady(2), STEPS_MS);
    ck_assert_ptr_nonnull(strstr(redis(&masters.server[3], "CLIENT LIST"), " user=redlockd "));
}

/* A daemon that starts in the middle begins where the others are, by its file's nodes_before. */
T(a_restart_in_the_middle)
{
    begin(4, "012");
    for (unsigned i = 0; i < DAEMONS; i++)
        configure(i, 1, "013", "012", 3);
    hup(0);
    eventually(strcmp(kv(group(0), "step"), "1") == 0);
    stop(1);
    run(1);
    grants_until(2);
}

/* A daemon with the file of an earlier generation grants nothing, says why, and follows a new file. */
T(an_old_file)
{
    begin(4, "012");
    stop(1); /* it is forgotten at once, as it says goodbye */
    configure(0, 1, "013", "012", 2);
    hup(0);
    eventually_within(strcmp(kv(group(0), "step"), "2") == 0, STEPS_MS);
    run(1);
    eventually(strcmp(kv(group(1), "why"), "old_file") == 0);
    ask(&client[1], "-NOQUORUM work *", "LOCK work");
    logged(1, "why=old_file");
    configure(1, 1, "013", NULL, 2);
    hup(1);
    grants_until(2);
}
