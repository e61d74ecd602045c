#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "client/redlock_run.h"

void terminal_open(struct terminal *terminal)
{
    terminal->fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
}

bool terminal_is_of(const struct terminal *terminal, pid_t group)
{
    return terminal->fd >= 0 && tcgetpgrp(terminal->fd) == group;
}

bool terminal_is_ours(const struct terminal *terminal)
{
    return terminal_is_of(terminal, getpgrp());
}

/* SIGTTOU would stop us if we are in the background; while it is blocked, it does not (tcsetpgrp(3)). */
void terminal_give(const struct terminal *terminal, pid_t group)
{
    sigset_t set, before;

    if (terminal->fd < 0)
        return;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTTOU);
    (void)sigprocmask(SIG_BLOCK, &set, &before);
    (void)tcsetpgrp(terminal->fd, group);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
}

void terminal_take(const struct terminal *terminal, pid_t group)
{
    if (terminal_is_of(terminal, group))
        terminal_give(terminal, getpgrp());
}
