/* Ten hosts, which share three redlockds, and a program that may run five times. */
#include "tests/examples/job.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOSTS = 10, LICENCES = 5, DAEMONS = 3 };

static const char settings[] = PATIENT;

static struct stage stage;
static struct daemon more[DAEMONS - 1];
static struct program hosts[HOSTS];
static char ran[PATH]; /* "begun 3" and "done 3": the licence of each that began, and of each that ended */
static char go[PATH];  /* the programs end when this file is there */
static char job[512];

static void begin(void)
{
    const char *folder = folder_new("licence");

    stage_begin(&stage, settings);
    stage_hosts(&stage, more, DAEMONS - 1, settings);
    snprintf(ran, sizeof ran, "%s/ran", folder);
    snprintf(go, sizeof go, "%s/go", folder);
    snprintf(job, sizeof job,
             "echo begun $REDLOCK_SLOT $HOST_NUMBER >>%s; while [ ! -e %s ]; do sleep 0.05; done; echo done "
             "$REDLOCK_SLOT >>%s",
             ran, go, ran);
}

/* Each third host has the same daemon. */
static void host(unsigned i)
{
    char address[PATH + 8];
    const struct daemon *daemon = i % DAEMONS == 0 ? &stage.daemon : &more[i % DAEMONS - 1];

    snprintf(address, sizeof address, "unix:%s", daemon->path);
    ck_assert_int_eq(setenv("REDLOCK_ADDRESS", address, 1), 0);
    snprintf(address, sizeof address, "%u", i);
    ck_assert_int_eq(setenv("HOST_NUMBER", address, 1), 0);
    program_begin(&hosts[i], "licence.sh", (const char *const[]){"cad", "sh", "-c", job, NULL});
}

static unsigned jobs(const char *what)
{
    char *text = file_read(ran);
    unsigned count = text_lines(text, what);

    free(text);
    return count;
}

/* No licence is used by two programs at a time; killed is one whose program did not say that it ended. */
static void each_licence_has_one_user(int killed)
{
    int used[LICENCES] = {0}, slot;
    char word[16];
    char *text = keep(file_read(ran));

    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        ck_assert_int_eq(sscanf(line, "%15s %d", word, &slot), 2);
        ck_assert(slot >= 0 && slot < LICENCES);
        used[slot] += strcmp(word, "begun") == 0 ? 1 : -1;
        ck_assert_msg(used[slot] >= 0 && used[slot] <= 1 + (slot == killed), "licence %d: %s", slot, line);
    }
}

T(five_at_a_time)
{
    begin();
    for (unsigned i = 0; i < HOSTS; i++)
        host(i);
    eventually(jobs("begun") == LICENCES);
    server_kill(&stage.masters.server[0]);
    each_licence_has_one_user(-1);

    /* A host dies at work: its licence, and no other, goes to the next one. */
    int dead = -1, slot = -1, next = -1;
    ck_assert_int_eq(sscanf(keep(file_read(ran)), "begun %d %d", &slot, &dead), 2);
    ck_assert_int_eq(kill(hosts[dead].pid, SIGKILL), 0);
    ck_assert_int_eq(program_end(&hosts[dead]), -SIGKILL);
    eventually(jobs("begun") == LICENCES + 1);
    ck_assert_int_eq(sscanf(strrchr(keep(file_read(ran)), 'b'), "begun %d", &next), 1);
    ck_assert_int_eq(next, slot);
    each_licence_has_one_user(slot);

    file_write(go, "");
    for (int i = 0; i < HOSTS; i++)
        if (i != dead)
            ck_assert_int_eq(program_end(&hosts[i]), 0);
    ck_assert_uint_eq(jobs("begun"), HOSTS);
    ck_assert_uint_eq(jobs("done"), HOSTS - 1);
    each_licence_has_one_user(slot);
}
