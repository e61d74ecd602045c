/* Twenty readers of a missing cache entry, and a build command that takes as long as the test likes. */
#include "proto/shown.h"
#include "tests/examples/job.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { READERS = 20 };

static struct stage stage;
static struct program reader[READERS];
static char builds[PATH]; /* a line for each build, which names the builder */
static char go[PATH];     /* builds end when this file is there */

static void read_all(void)
{
    char command[512];
    const char *folder = folder_new("builds");

    stage_begin(&stage, PATIENT);
    snprintf(builds, sizeof builds, "%s/builds", folder);
    snprintf(go, sizeof go, "%s/go", folder);
    /* The build ends with the folder at the latest. */
    snprintf(command, sizeof command,
             "echo $PPID >>%s; while [ -e %s ] && [ ! -e %s ]; do sleep 0.05; done; echo built by $PPID",
             builds, builds, go);
    for (unsigned i = 0; i < READERS; i++)
        program_begin(&reader[i], "cache", (const char *const[]){stage.redis, "page", "3600", command, NULL});
}

static unsigned build_count(void)
{
    char *text = file_read(builds);
    unsigned count = text_lines(text, "\n");

    free(text);
    return count;
}

/* Whether the masters have the token that the holder was told, of which SHOW LOCKS tells the digest. In
 * the first 50 ms they may have a secret one, and the lock ends with its daemon. */
static bool is_settled(const char *row)
{
    for (unsigned i = 0; i < stage.masters.count; i++) {
        const struct server *server = &stage.masters.server[i];
        const char *token = server->pid == 0 ? NULL : redis(server, "GET redlock:cache:page");
        char shown[TOKEN_SHOWN + 1] = "";
        if (token != NULL && strlen(token) == TOKEN_HEX)
            shown_token(token, shown);
        if (token != NULL && strcmp(shown, kv(row, "token")) != 0)
            return false;
    }
    return true;
}

/* Whether one reader holds the entry's lock, and count others wait for it. */
static bool one_builds_and_others_wait(unsigned count)
{
    struct client client;

    client_open(&client, &stage.daemon);
    const char *row = row_with(show(&client, "LOCKS"), "name=cache:page ");
    bool held = row != NULL && is_settled(row);
    unsigned waiters = rows_with(show(&client, "WAITERS"), "name=cache:page ");
    client_close(&client);
    return held && waiters == count;
}

static struct program *program_of(pid_t pid)
{
    for (unsigned i = 0; i < READERS; i++)
        if (reader[i].pid == pid)
            return &reader[i];
    ck_abort_msg("a build by %d, who is no reader", (int)pid);
}

static void all_read(const char *page, const struct program *but)
{
    for (unsigned i = 0; i < READERS; i++) {
        if (&reader[i] == but)
            continue;
        ck_assert_int_eq(program_end(&reader[i]), 0);
        ck_assert_str_eq(keep(file_read(reader[i].out)), page);
    }
}

T(one_builds_though_a_master_and_the_daemon_die)
{
    char page[64];

    read_all();
    eventually(build_count() > 0);
    eventually(one_builds_and_others_wait(READERS - 1));
    server_kill(&stage.masters.server[0]);
    daemon_restart(&stage.daemon);
    eventually(one_builds_and_others_wait(READERS - 1));
    file_write(go, "");
    snprintf(page, sizeof page, "built by %s", keep(file_read(builds)));
    all_read(page, NULL);
    ck_assert_uint_eq(build_count(), 1);
}

T(another_builds_when_the_one_that_builds_dies)
{
    char page[64];

    read_all();
    eventually(build_count() > 0);
    eventually(one_builds_and_others_wait(READERS - 1));
    char *first = keep(file_read(builds));
    struct program *dead = program_of((pid_t)strtol(first, NULL, 10));
    server_kill(&stage.masters.server[0]);
    ck_assert_int_eq(kill(dead->pid, SIGKILL), 0);
    ck_assert_int_eq(program_end(dead), -SIGKILL);
    eventually(build_count() == 2);
    file_write(go, "");
    snprintf(page, sizeof page, "built by %s", keep(file_read(builds)) + strlen(first));
    all_read(page, dead);
    ck_assert_uint_eq(build_count(), 2);
}

/* An operator's UNLOCK takes the lock away while its holder stands still: the entry that the holder builds is
 * stale. */
T(a_late_build_is_not_kept)
{
    char page[64];
    struct client client;

    read_all();
    eventually(build_count() > 0);
    eventually(one_builds_and_others_wait(READERS - 1));
    char *first = keep(file_read(builds));
    struct program *late = program_of((pid_t)strtol(first, NULL, 10));
    process_stop(late->pid);
    server_kill(&stage.masters.server[0]);
    client_open(&client, &stage.daemon);
    ask(&client, "+UNLOCKED *", "UNLOCK cache:page token=%s",
        redis(&stage.masters.server[1], "GET redlock:cache:page"));
    eventually(build_count() == 2);
    file_write(go, "");
    snprintf(page, sizeof page, "built by %s", keep(file_read(builds)) + strlen(first));
    all_read(page, late);
    ck_assert_int_eq(kill(late->pid, SIGCONT), 0);
    ck_assert_int_eq(program_end(late), 0);
    ck_assert(program_said(late, "not kept"));
    ck_assert_str_eq(redis(&stage.own.server[0], "GET cache:page"), page);
}
