#include "tests/examples/job.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

void masters_vote(const struct daemon *daemon, unsigned count)
{
    struct client client;

    client_open(&client, daemon);
    eventually(rows_with(show(&client, "NODES"), " state=up ") >= count);
    client_close(&client);
}

void stage_begin(struct stage *stage, const char *settings)
{
    char address[PATH + 8];

    cluster_start(&stage->masters, 5, UNIX);
    cluster_start(&stage->own, 1, UNIX);
    stage->redis = stage->own.server[0].path;
    daemon_start(&stage->daemon, &stage->masters, settings);
    masters_vote(&stage->daemon, stage->masters.count);
    snprintf(address, sizeof address, "unix:%s", stage->daemon.path);
    ck_assert_int_eq(setenv("REDLOCK_ADDRESS", address, 1), 0);
}

void stage_hosts(const struct stage *stage, struct daemon more[], unsigned count, const char *settings)
{
    char path[4096];
    const char *binary = daemon_binary(), *slash = strrchr(binary, '/');

    for (unsigned i = 0; i < count; i++) {
        daemon_start(&more[i], &stage->masters, settings);
        masters_vote(&more[i], stage->masters.count);
    }
    snprintf(path, sizeof path, "%.*s:%s", (int)(slash - binary), binary, getenv("PATH"));
    ck_assert_int_eq(setenv("PATH", path, 1), 0);
}

void daemon_restart(struct daemon *daemon)
{
    daemon_signal(daemon, SIGKILL);
    ck_assert_int_eq(daemon_exit(daemon), -SIGKILL);
    daemon_run(daemon, (const char *const[]){"-c", daemon->config, NULL});
    daemon_listens(daemon);
}

int64_t stage_count(const struct stage *stage, const char *format, ...)
{
    char command[512], *end = NULL;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    const char *answer = redis(&stage->own.server[0], command);
    int64_t count = strtoll(answer, &end, 10);
    return end > answer && *end == '\0' ? count : -1;
}

/* The folder of the C examples lies beside the daemon; the tests of another language name its folder in
 * REDLOCKD_EXAMPLES. */
static void example_path(char *path, size_t size, const char *example)
{
    const char *folder = getenv("REDLOCKD_EXAMPLES");
    const char *daemon = daemon_binary();
    const char *slash = strrchr(daemon, '/');

    if (folder) {
        snprintf(path, size, "%s/%s", folder, example);
        return;
    }
    snprintf(path, size, "%.*s/examples/%s", slash ? (int)(slash - daemon) : 1, slash ? daemon : ".",
             example);
}

void program_begin(struct program *program, const char *example, const char *const words[])
{
    char path[512], fifo[PATH];
    const char *folder = folder_new("job");
    /* exec keeps the process, so its parent's death still ends it. */
    const char *argv[JOB_WORDS + 6] = {"sh", "-c", "exec \"$@\" <\"$0\"", fifo, path};

    example_path(path, sizeof path, example);
    snprintf(fifo, sizeof fifo, "%s/in", folder);
    snprintf(program->out, sizeof program->out, "%s/out", folder);
    ck_assert_int_eq(mkfifo(fifo, 0600), 0);
    program->in = open(fifo, O_RDWR | O_CLOEXEC);
    ck_assert_int_ge(program->in, 0);
    for (unsigned i = 0; words[i]; i++) {
        ck_assert_uint_lt(i, JOB_WORDS);
        argv[5 + i] = words[i];
    }
    program->pid = program_start(argv, program->out);
}

void program_type(const struct program *program, const char *text)
{
    ck_assert_int_eq(write(program->in, text, strlen(text)), (ssize_t)strlen(text));
}

bool program_runs(const struct program *program)
{
    siginfo_t info = {.si_pid = 0};

    ck_assert_int_eq(waitid(P_PID, (id_t)program->pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
    return info.si_pid == 0;
}

int program_end(struct program *program)
{
    int status = 0;

    for (int64_t end_ms = now_ms() + JOB_MS; waitpid(program->pid, &status, WNOHANG) == 0; nap())
        ck_assert_msg(now_ms() < end_ms, "a program does not end; it said:\n%s",
                      keep(file_read(program->out)));
    close(program->in);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

bool program_said(const struct program *program, const char *text)
{
    return program_lines(program, text) > 0;
}

unsigned text_lines(const char *text, const char *part)
{
    unsigned lines = 0;

    for (const char *found = text; (found = strstr(found, part)) != NULL; lines++) {
        found += strcspn(found, "\n");
        found += *found == '\n';
        if (*found == '\0')
            return lines + 1;
    }
    return lines;
}

unsigned program_lines(const struct program *program, const char *text)
{
    char *said = file_read(program->out);
    unsigned lines = text_lines(said, text);

    free(said);
    return lines;
}
