/* All masters have forgotten their generation: "When it is stuck" in conf/OPERATING.md, no_marker, and the way back to
 * redlockd that knows no generations. */
#include "tests/integ/command.h"
#include "tests/integ/document.h"
#include "tests/integ/steps.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE "conf/OPERATING.md"

TIME_LIMIT_S(300);

static const char *stuck(void)
{
    return document_section(PAGE, "### When it is stuck");
}

static void is_told(unsigned i, const char *words)
{
    document_bullet(stuck(), "no_marker");
    eventually_within(steps_shows(i, words), STEPS_MS);
    eventually(daemon_logged(&daemons[i], " why=no_marker"));
    ask(&clients[i], "-NOQUORUM work *", "LOCK work");
}

static void stop_all(void)
{
    for (unsigned i = 0; i < DAEMONS; i++)
        steps_stop(i);
}

static void wait_max_ttl(void)
{
    int64_t over_ms = now_ms() + STEPS_TTL_S * 1000;
    document_says(stuck(), "wait for `max_ttl`");
    eventually(now_ms() > over_ms);
}

static bool grants(unsigned i)
{
    if (strncmp(ask(&clients[i], "[+-]*", "LOCK work wait=0"), "+LOCKED", 7) != 0)
        return false;
    ask(&clients[i], "+UNLOCKED work *", "UNLOCK work");
    return true;
}

static void grants_come(void)
{
    for (unsigned i = 0; i < DAEMONS; i++)
        eventually_within(grants(i), STEPS_MS);
}

/* All masters come back empty, so late that no daemon knows any more what they had. */
static void forget(unsigned count)
{
    for (unsigned i = 0; i < masters.count; i++)
        server_kill(&masters.server[i]);
    wait_max_ttl();
    for (unsigned i = 0; i < count; i++)
        server_start(&masters.server[i]);
}

/* Daemons that run go on by themselves when the last master answers, and so does one that starts meanwhile. */
T(when_all_masters_answer)
{
    steps_begin_at_one(3, "012");
    forget(2);
    is_told(0, "step=2 state=waiting why=no_marker");
    steps_stop(1);
    steps_run(1);
    is_told(1, "step=0 state=waiting why=no_marker");
    document_says(document_bullet(stuck(), "no_marker"), "When all of them answer, it begins by itself");
    server_start(&masters.server[2]);
    eventually_within(steps_are_steady(2), STEPS_MS);
    grants_come();
}

/* A master is gone for good. */
T(when_one_is_gone)
{
    steps_begin_at_one(3, "012");
    forget(2);
    for (unsigned i = 0; i < DAEMONS; i++)
        is_told(i, "state=waiting why=no_marker");
    const char *bullet = document_bullet(stuck(), "no_marker");
    stop_all();
    wait_max_ttl();
    const char *option = strchr(document_quoted(bullet, "redlockd "), '-');
    ck_assert_ptr_nonnull(option);
    steps_run_with(0, option);
    eventually_within(steps_shows(0, "step=2 state=steady"), STEPS_MS);
    document_says(bullet, "and then the others as usual");
    steps_run(1);
    eventually_within(steps_are_steady(2), STEPS_MS);
    grants_come();

    /* The option is no way around the masters that know more. */
    steps_stop(1);
    steps_configure(1, 0, "012", NULL, STEPS_TTL_S);
    steps_run_with(1, option);
    eventually(steps_shows(1, "state=outdated why=old_file"));
    ask(&clients[1], "-NOQUORUM work *", "LOCK work");
    ck_assert(steps_shows(0, "step=2 state=steady"));
}

/* The document's command, for that server instead of the first of its hosts. */
static void run_on(const struct server *server, const char *command)
{
    static const char host[] = "-h 10.0.0.1 ";
    char shell[512];
    struct command run;
    const char *at = strstr(command, host);
    ck_assert_ptr_nonnull(at);
    snprintf(shell, sizeof shell, "%.*s-s %s %s", (int)(at - command), command, server->path,
             at + strlen(host));
    ck_assert_int_eq(RUN(&run, "sh", "-ec", shell), 0);
    ck_assert_str_eq(output(&run), "1\n");
}

T(back_to_generation_0)
{
    steps_begin_at_one(3, "012");
    grants_come();
    document_says(stuck(), "stop all daemons, wait for `max_ttl`, write `generation: 0`, and `DEL "
                           "redlock:,group` on each master");
    stop_all();
    wait_max_ttl();
    for (unsigned i = 0; i < DAEMONS; i++)
        steps_configure(i, 0, "012", NULL, STEPS_TTL_S);
    for (unsigned i = 0; i < masters.count; i++)
        run_on(&masters.server[i], document_block(stuck(), "```sh"));
    for (unsigned i = 0; i < DAEMONS; i++)
        steps_run(i);
    eventually_within(steps_are_steady(0), STEPS_MS);
    grants_come();
    for (unsigned i = 0; i < masters.count; i++)
        ck_assert_ptr_nonnull(strstr(redis(&masters.server[i], "GET redlock:,group"), "1 N=3 max_ttl="));
}
