/* A writer that stands still beyond its lease, and the writer that came after it. */
#include "tests/examples/job.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { WRITTEN = 0, REFUSED = 3 };

static struct stage stage;

static void start_writer(struct program *writer)
{
    program_begin(writer, "writer", (const char *const[]){"-t", "1000", stage.redis, "motd", NULL});
}

static bool asks(const struct program *writer)
{
    return program_said(writer, "the new text of motd?");
}

static const char *text(void)
{
    return redis(&stage.own.server[0], "HGET doc:motd text");
}

T(a_paused_writer_is_refused)
{
    struct program late, next;

    stage_begin(&stage, "");
    start_writer(&late);
    eventually(asks(&late));
    process_stop(late.pid);
    program_type(&late, "old\n");
    start_writer(&next);
    server_kill(&stage.masters.server[0]);
    /* Waits until the other writer's lease is over. */
    eventually(asks(&next));
    program_type(&next, "new\n");
    ck_assert_int_eq(program_end(&next), WRITTEN);
    ck_assert_str_eq(text(), "new");
    ck_assert_int_eq(kill(late.pid, SIGCONT), 0);
    ck_assert_int_eq(program_end(&late), REFUSED);
    ck_assert(program_said(&late, "refused"));
    ck_assert_str_eq(text(), "new");
}

/* Fences also grow if the daemon was killed and started again in between. */
T(a_paused_writer_is_refused_though_the_daemon_died)
{
    struct program late, next;

    stage_begin(&stage, "");
    start_writer(&late);
    eventually(asks(&late));
    process_stop(late.pid);
    program_type(&late, "old\n");
    daemon_restart(&stage.daemon);
    start_writer(&next);
    eventually(asks(&next));
    program_type(&next, "new\n");
    ck_assert_int_eq(program_end(&next), WRITTEN);
    ck_assert_int_eq(kill(late.pid, SIGCONT), 0);
    ck_assert_int_eq(program_end(&late), REFUSED);
    ck_assert_str_eq(text(), "new");
}

T(writers_in_time_are_not_refused)
{
    struct program first, second;

    stage_begin(&stage, "");
    start_writer(&first);
    program_type(&first, "one\n");
    ck_assert_int_eq(program_end(&first), WRITTEN);
    start_writer(&second);
    program_type(&second, "two\n");
    ck_assert_int_eq(program_end(&second), WRITTEN);
    ck_assert_str_eq(text(), "two");
}
