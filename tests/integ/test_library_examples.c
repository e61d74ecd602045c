/* The examples of event loops in client/examples, as programs, with a fault in the middle. */
#include "tests/integ/harness.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct cluster masters;
static struct daemon redlockd;
static char folder[FOLDER];

static void begin(void)
{
    cluster_start(&masters, 3, UNIX);
    daemon_start(&redlockd, &masters, PATIENT);
    snprintf(folder, sizeof folder, "%s", folder_new("examples"));
    setenv("REDLOCK_ADDRESS", redlockd.path, 1);
}

static const char *example(const char *name)
{
    static char path[4096];
    const char *daemon = daemon_binary();

    snprintf(path, sizeof path, "%.*s/client/examples/%s", (int)(strrchr(daemon, '/') - daemon), daemon,
             name);
    return path;
}

static const char *output_of(const char *name)
{
    static char path[4][PATH + 32];
    static unsigned next;
    char *to = path[next++ % 4];

    snprintf(to, sizeof path[0], "%s/%s", folder, name);
    return to;
}

static bool has(const char *name, const char *text)
{
    char *all = file_read(output_of(name));
    bool found = strstr(all, text) != NULL;

    free(all);
    return found;
}

/* The number behind "fence=" in the last line that has both this text and a fence; 0: none. */
static uint64_t fence_of(const char *name, const char *what)
{
    char *all = file_read(output_of(name));
    uint64_t fence = 0;

    for (char *line = strtok(all, "\n"); line; line = strtok(NULL, "\n"))
        if (strstr(line, what) && strstr(line, "fence="))
            fence = strtoull(strstr(line, "fence=") + strlen("fence="), NULL, 10);
    free(all);
    return fence;
}

T(a_lock_for_as_long_as_a_pipe_is_open)
{
    char command[PATH + 4200], pipe_path[PATH + 32];
    int status;

    begin();
    snprintf(pipe_path, sizeof pipe_path, "%s/pipe", folder);
    ck_assert_int_eq(mkfifo(pipe_path, 0600), 0);
    snprintf(command, sizeof command, "exec %s job <%s", example("loop_poll"), pipe_path);
    pid_t holder = program_start((const char *const[]){"/bin/sh", "-c", command, NULL}, output_of("holder"));
    int gate = open(pipe_path, O_WRONLY | O_CLOEXEC);
    ck_assert_int_ge(gate, 0);
    eventually(has("holder", "held fence="));
    server_kill(&masters.server[0]);
    daemon_signal(&redlockd, SIGKILL);
    ck_assert_int_eq(daemon_exit(&redlockd), -SIGKILL);
    daemon_run(&redlockd, (const char *const[]){"-c", redlockd.config, NULL});
    daemon_listens(&redlockd);
    eventually(has("holder", "resumed fence="));
    ck_assert_uint_gt(fence_of("holder", "resumed"), fence_of("holder", "held"));

    ck_assert_int_eq(write(gate, "x", 1), 1);
    ck_assert(!has("holder", "given back"));
    close(gate);
    ck_assert_int_eq(waitpid(holder, &status, 0), holder);
    ck_assert_int_eq(status, 0);
    ck_assert(has("holder", "given back\n"));
    ck_assert_uint_eq(cluster_answers(&masters, "(nil)", "GET redlock:job"), 2);
}

T(one_leader_after_the_other)
{
    const char *const argv[] = {example("loop_libevent"), "report", NULL};
    int status;

    begin();
    pid_t a = program_start(argv, output_of("a"));
    eventually(has("a", "works"));
    pid_t b = program_start(argv, output_of("b"));
    struct client client;
    client_open(&client, &redlockd);
    eventually(rows_with(show(&client, "WAITERS"), "name=report") == 1);
    server_kill(&masters.server[1]);
    kill(a, SIGTERM);
    ck_assert_int_eq(waitpid(a, &status, 0), a);
    ck_assert_int_eq(status, 0);
    eventually(has("b", "works"));
    ck_assert_uint_gt(fence_of("b", "works"), fence_of("a", "works"));
    kill(b, SIGKILL);
    ck_assert_int_eq(waitpid(b, &status, 0), b);
    eventually(cluster_answers(&masters, "(nil)", "GET redlock:report") == 2);
}
