#include "tests/integ/modes.h"

#include <signal.h>
#include <stdio.h>

struct modes modes;

void modes_begin(void)
{
    cluster_start(&modes.masters, 3, UNIX);
    daemon_serves(&modes.daemon, &modes.masters, PATIENT, &modes.client);
    command_use(&modes.daemon);
}

void modes_restart(void)
{
    daemon_signal(&modes.daemon, SIGKILL);
    daemon_exit(&modes.daemon);
    daemon_run(&modes.daemon, (const char *const[]){"-c", modes.daemon.config, NULL});
    daemon_listens(&modes.daemon);
}

void modes_script(const char *text)
{
    char whole[4096];
    snprintf(
        whole, sizeof whole,
        "code() { want=$1; shift; got=0; \"$@\" || got=$?; [ $got = $want ] || { echo \"$*: $got\" >&2; exit "
        "50; }; }\n%s",
        text);
    int code = RUN(&modes.command, "sh", "-ec", whole);
    ck_assert_msg(code == 0, "%d: %s", code, errors(&modes.command));
}
