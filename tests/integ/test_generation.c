/* Generations of the masters: lists and max_ttl that change while daemons run and locks are held. */
#include "tests/integ/steps.h"

#include <stdio.h>
#include <string.h>

TIME_LIMIT_S(300);

static struct client holder;

static void begin(unsigned count, const char *digits)
{
    steps_begin(count, digits, UNIX);
    client_open(&holder, &daemons[0]);
}

/* A lock that a live daemon renews outlives the change, others are granted meanwhile, and the old server leaves. */
T(a_master_is_replaced)
{
    begin(4, "012");
    ck_assert(steps_are_steady(0));
    struct grant held = lock(&holder, "held");
    steps_reload_all(1, "013", "012", 2);
    steps_grants_until(steps_are_steady(2));
    ck_assert_uint_ge(steps_granted, 2);
    steps_logged(0, "event=generation step=1 generation=1 state=");
    eventually(
        daemon_logged(&daemons[1], "event=generation step=2 generation=1 state=steady voters=3 needed=2"));
    for (unsigned i = 0; i < DAEMONS; i++) {
        eventually(!steps_have_master(i, 2));
        ck_assert(steps_have_master(i, 3));
    }
    server_kill(&masters.server[2]);
    eventually(rows_with(show(&clients[0], "NODES"), " state=up ") == 3);
    server_kill(&masters.server[0]); /* two of the three that vote now are enough */
    lock(&clients[1], "after wait=5s");
    client_send(&holder, "CHECK held token=%s", held.token);
    ck_assert_ptr_nonnull(strstr(await(&holder, "*HELD held*"), "+HELD"));
    ck_assert(!daemon_logged(&daemons[0], "event=lock_lost"));
    const char *hash = kv(steps_row(0), "set");
    ck_assert_ptr_nonnull(strstr(redis(&masters.server[3], "GET redlock:,set:%s", hash), "N=3 voters="));
    ck_assert_str_eq(redis(&masters.server[3], "PTTL redlock:,set:%s", hash), "-1");
    ck_assert_str_eq(redis(&masters.server[3], "PTTL redlock:,group"), "-1");
}

/* What a reload would do, and what it says when it is refused; everything else of the file is taken. */
T(refused_reloads)
{
    begin(6, "012");
    steps_configure(0, 2, "013", NULL, 2);
    const char *row = show(&clients[0], "RELOAD");
    ck_assert_str_eq(kv(row, "change"), "jump");
    steps_hup(0);
    steps_logged(
        0,
        "event=generation_refused why=jump is=0 file=2 hint=\"this daemon runs generation 0, so the next one "
        "is 1: load that first, or write its number\"");

    steps_configure(0, 0, "013", NULL, 2);
    ck_assert_str_eq(kv(show(&clients[0], "RELOAD"), "change"), "other_list");
    steps_hup(0);
    steps_logged(
        0,
        "why=other_list is=0 file=0 hint=\"generation 0 has other masters, or another max_ttl, here: raise "
        "generation to 1\"");
    steps_logged(0, "event=conf_left key=nodes hint=\"raise generation to 1\"");
    steps_configure(0, 0, "012", NULL, 3);
    steps_hup(0);
    steps_logged(0, "event=conf_left key=max_ttl is=\"2s\" file=\"3s\" hint=\"raise generation to 1\"");

    steps_configure(0, 1, "345", NULL, 2);
    row = show(&clients[0], "RELOAD");
    ck_assert_str_eq(kv(row, "change"), "too_big");
    ck_assert_str_eq(kv(row, "keep"), "2");
    ck_assert_str_eq(kv(row, "voters_between"), "0");
    daemon_configure(&daemons[0], &masters,
                     keep(strdup(steps_list("restart_guard: on\nmax_ttl: 2s\ndefault_ttl: 1s\ngeneration: 1\n"
                                            "max_waits_per_client: 7\nnodes",
                                            "345"))));
    steps_hup(0);
    steps_logged(0,
                 "why=too_big is=0 file=1 hint=\"too big a change for one generation: keep at least 2 of ");
    ck_assert_ptr_nonnull(strstr(show(&clients[0], "CONFIG"), "* max_waits_per_client=7\n"));
    ck_assert_ptr_nonnull(strstr(show(&clients[0], "CONFIG"), "* generation=0\n"));
    ck_assert(steps_are_steady(0));
    ck_assert(steps_have_master(0, 2) && !steps_have_master(0, 3));
    lock(&clients[0], "work wait=2s");

    steps_configure(0, 1, "013", NULL, 2);
    row = show(&clients[0], "RELOAD");
    ck_assert_str_eq(kv(row, "change"), "taken");
    ck_assert_str_eq(kv(row, "voters_between"), "2");
    ck_assert_str_eq(kv(row, "needed_between"), "2");
    ck_assert_ptr_null(strstr(keep(file_read(daemons[0].log)), "event=generation step=0"));
}

/* One daemon waits for the other, which is told by its host, and a change under way lets no other begin. */
T(one_change_at_a_time)
{
    begin(4, "012");
    const char *first = keep(strdup(kv(steps_row(0), "set")));
    ck_assert_str_eq(redis(&masters.server[0], "EXISTS redlock:,set:%s", first), "1");
    steps_configure(0, 1, "013", "012", 2);
    steps_hup(0);
    eventually(strcmp(kv(steps_row(0), "step"), "1") == 0);
    eventually(strcmp(kv(steps_row(0), "why"), "daemon") == 0);
    ck_assert_str_eq(kv(row_with(show(&clients[0], "NODES"), masters.server[3].path), "voter"), "no");
    eventually(steps_shows(0, "why=daemon host=..."));
    steps_configure(0, 2, "0123", "013", 2);
    ck_assert_str_eq(kv(show(&clients[0], "RELOAD"), "change"), "busy");
    steps_hup(0);
    steps_logged(0, "event=generation_refused why=busy is=1 file=2 hint=\"generation 1 is under way, ");
    steps_configure(1, 1, "013", "012", 2);
    steps_hup(1);
    steps_grants_until(steps_are_steady(2));
    steps_hup(0);
    steps_configure(1, 2, "0123", "013", 2);
    steps_hup(1);
    steps_grants_until(steps_are_steady(4));
    ck_assert_str_eq(kv(steps_row(0), "needed"), "3");
    eventually(strcmp(redis(&masters.server[0], "EXISTS redlock:,set:%s", first), "0") == 0);
    ck_assert(!daemon_logged(&daemons[0], "event=node_lost"));
}

/* A larger max_ttl: locks may be longer when all is done, and not before. Then a master leaves its place vacant. */
T(another_max_ttl)
{
    begin(3, "012");
    ask(&clients[0], "-BADARG long *", "LOCK long ttl=4s");
    steps_reload_all(1, "012", NULL, 4);
    steps_grants_until(steps_are_steady(2));
    lock(&clients[0], "long ttl=4s");
    ck_assert_str_eq(kv(steps_row(1), "max_ttl"), "4000");
    ask(&clients[0], "+UNLOCKED long *", "UNLOCK long");
    steps_reload_all(2, "0-1", NULL, 4);
    steps_grants_until(steps_are_steady(4));
    const char *row = steps_row(0);
    ck_assert_str_eq(kv(row, "masters"), "3");
    ck_assert_str_eq(kv(row, "voters"), "2");
    ck_assert_str_eq(kv(row, "needed"), "2");
    eventually(!steps_have_master(1, 2));
    server_kill(&masters.server[1]);
    ask(&clients[0], "-NOQUORUM work votes=1/3 nodes=+?! : 2 votes are needed*", "LOCK work");
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
                 STEPS_CONF "generation: %u\nmax_ttl: 2s\nnode_user: redlockd\n"
                            "node_password_file: %s\n%s",
                 g, path, steps_list("nodes", g == 0 ? "012" : "0123"));
        for (unsigned i = 0; i < DAEMONS; i++)
            daemon_configure(&daemons[i], &masters, text);
        for (unsigned i = 0; i < DAEMONS; i++)
            (g == 0 ? steps_run : steps_hup)(i);
        eventually(rows_with(show(&clients[0], "NODES"), " state=up ") == 3 + g);
    }
    eventually_within(steps_are_steady(2), STEPS_MS);
    ck_assert_ptr_nonnull(strstr(redis(&masters.server[3], "CLIENT LIST"), " user=redlockd "));
}

/* A daemon that starts in the middle begins where the others are, by its file's nodes_before. */
T(a_restart_in_the_middle)
{
    begin(4, "012");
    for (unsigned i = 0; i < DAEMONS; i++)
        steps_configure(i, 1, "013", "012", 3);
    steps_hup(0);
    eventually(strcmp(kv(steps_row(0), "step"), "1") == 0);
    steps_stop(1);
    steps_run(1);
    steps_grants_until(steps_are_steady(2));
}

/* A daemon with the file of an earlier generation grants nothing, says why, and follows a new file. */
T(an_old_file)
{
    begin(4, "012");
    steps_stop(1); /* it is forgotten at once, as it says goodbye */
    steps_configure(0, 1, "013", "012", 2);
    steps_hup(0);
    eventually_within(strcmp(kv(steps_row(0), "step"), "2") == 0, STEPS_MS);
    steps_run(1);
    eventually(strcmp(kv(steps_row(1), "why"), "old_file") == 0);
    ask(&clients[1], "-NOQUORUM work *", "LOCK work");
    steps_logged(1, "why=old_file");
    steps_configure(1, 1, "013", NULL, 2);
    steps_hup(1);
    steps_grants_until(steps_are_steady(2));
}
