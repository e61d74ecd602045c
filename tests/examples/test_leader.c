/* Three hosts of which one leads, and a fourth program that asks which. */
#include "tests/examples/job.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOSTS = 3 };

static struct stage stage;
static struct daemon more[HOSTS - 1];
static struct program hosts[HOSTS];
static char
    ran[PATH]; /* "begun 1 17" and "ended 1": the host whose command began, with its fence, or ended */
static char job[512];

static void ask_of(unsigned i)
{
    char address[PATH + 8];

    snprintf(address, sizeof address, "unix:%s", i == 0 ? stage.daemon.path : more[i - 1].path);
    ck_assert_int_eq(setenv("REDLOCK_ADDRESS", address, 1), 0);
}

static void begin(void)
{
    stage_begin(&stage, PATIENT);
    stage_hosts(&stage, more, HOSTS - 1, PATIENT);
    snprintf(ran, sizeof ran, "%s/ran", folder_new("leader"));
    file_write(ran, "");
    snprintf(job, sizeof job,
             "trap 'echo ended $0 >>%s; exit 1' TERM; echo begun $0 $REDLOCK_FENCE >>%s; "
             "while :; do sleep 0.05; done",
             ran, ran);
}

static void host(unsigned i)
{
    static char addresses[HOSTS][24], numbers[HOSTS][12];

    snprintf(addresses[i], sizeof addresses[i], "10.0.0.%u:8080", i);
    snprintf(numbers[i], sizeof numbers[i], "%u", i);
    ask_of(i);
    program_begin(&hosts[i], "leader.sh",
                  (const char *const[]){"scheduler", addresses[i], "sh", "-c", job, numbers[i], NULL});
}

static const char *who(unsigned via)
{
    struct program program;

    ask_of(via);
    program_begin(&program, "leader.sh", (const char *const[]){"scheduler", NULL});
    ck_assert_int_eq(program_end(&program), 0);
    return keep(file_read(program.out));
}

static unsigned begun(void)
{
    char *text = file_read(ran);
    unsigned count = text_lines(text, "begun");

    free(text);
    return count;
}

/* The host whose command began last, and whether fences grew from one to the next. */
static unsigned last_leader(void)
{
    unsigned leader = HOSTS, number;
    long long before = 0, fence;
    char *text = keep(file_read(ran));

    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        if (sscanf(line, "begun %u %lld", &number, &fence) != 2)
            continue;
        ck_assert_int_gt(fence, before);
        before = fence;
        leader = number;
    }
    ck_assert_uint_lt(leader, HOSTS);
    return leader;
}

static void everybody_knows(unsigned leader)
{
    char address[24];

    snprintf(address, sizeof address, "10.0.0.%u:8080\n", leader);
    for (unsigned via = 0; via < HOSTS; via++)
        eventually(strcmp(who(via), address) == 0);
}

T(one_leads_and_the_next_one_follows)
{
    begin();
    ck_assert_str_eq(who(0), "nobody\n");
    for (unsigned i = 0; i < HOSTS; i++)
        host(i);
    eventually(begun() == 1);
    unsigned first = last_leader();
    everybody_knows(first);
    server_kill(&stage.masters.server[0]);
    ck_assert_int_eq(kill(hosts[first].pid, SIGKILL), 0);
    ck_assert_int_eq(program_end(&hosts[first]), -SIGKILL);
    eventually(begun() == 2);
    unsigned second = last_leader();
    ck_assert_uint_ne(second, first);
    everybody_knows(second);
    /* Its host stops it in good order. */
    ck_assert_int_eq(kill(hosts[second].pid, SIGTERM), 0);
    ck_assert_int_eq(program_end(&hosts[second]), 1);
    eventually(begun() == 3);
    unsigned third = last_leader();
    ck_assert(third != first && third != second);
    everybody_knows(third);
    ck_assert_int_eq(kill(hosts[third].pid, SIGTERM), 0);
    ck_assert_int_eq(program_end(&hosts[third]), 1);
    eventually(strcmp(who(0), "nobody\n") == 0);
}
