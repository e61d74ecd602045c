#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "client/redlock_cmd.h"

static struct {
    bool open;
    sigset_t mask; /* these three values are as they were when we started */
    struct sigaction pipe, child;
    sigset_t watched;
} signals;

static void save(void)
{
    (void)sigprocmask(SIG_SETMASK, NULL, &signals.mask);
    (void)sigaction(SIGPIPE, NULL, &signals.pipe);
    (void)sigaction(SIGCHLD, NULL, &signals.child);
    (void)sigemptyset(&signals.watched);
    /* A process that ignores SIGCHLD cannot wait for its children; and writing to a closed stderr must not
     * end us, since that would end the command. */
    (void)signal(SIGCHLD, SIG_DFL);
    (void)signal(SIGPIPE, SIG_IGN);
    signals.open = true;
}

static bool is_ignored(int signal)
{
    struct sigaction action;

    return sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static void watch(const int *list)
{
    for (; *list; list++)
        if (!is_ignored(*list))
            (void)sigaddset(&signals.watched, *list);
    (void)sigprocmask(SIG_BLOCK, &signals.watched, NULL);
}

int signals_open(const int *list)
{
    if (!signals.open)
        save();
    watch(list);
    int fd = signalfd(-1, &signals.watched, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        say_line("cannot watch signals: %s", strerror(errno));
    return fd;
}

bool signals_more(int fd, const int *list)
{
    watch(list);
    if (signalfd(fd, &signals.watched, SFD_CLOEXEC | SFD_NONBLOCK) >= 0)
        return true;
    say_line("cannot watch signals: %s", strerror(errno));
    return false;
}

int signal_next(int fd)
{
    struct signalfd_siginfo info;

    return read(fd, &info, sizeof info) == (ssize_t)sizeof info ? (int)info.ssi_signo : 0;
}

void signals_pass(bool pass)
{
    (void)sigprocmask(pass ? SIG_UNBLOCK : SIG_BLOCK, &signals.watched, NULL);
}

void signals_restore(void)
{
    (void)sigaction(SIGPIPE, &signals.pipe, NULL);
    (void)sigaction(SIGCHLD, &signals.child, NULL);
    (void)sigprocmask(SIG_SETMASK, &signals.mask, NULL);
}

void signal_die(int number)
{
    struct rlimit none = {0, 0};
    sigset_t set;

    (void)setrlimit(RLIMIT_CORE, &none); /* a core dump by SIGQUIT would be of no use */
    (void)sigemptyset(&set);
    (void)sigaddset(&set, number);
    (void)signal(number, SIG_DFL);
    (void)kill(getpid(), number);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
    _exit(CODE_SIGNAL + number);
}

bool signal_stop(int number)
{
    struct timespec now = {0};
    struct sigaction before;
    sigset_t stop, cont, mask;

    (void)sigemptyset(&stop);
    (void)sigaddset(&stop, number);
    (void)sigemptyset(&cont);
    (void)sigaddset(&cont, SIGCONT);
    (void)sigprocmask(SIG_BLOCK, &cont, &mask);
    (void)sigaction(number, NULL, &before);
    (void)signal(number, SIG_DFL);
    (void)kill(0, number);
    (void)sigprocmask(SIG_UNBLOCK, &stop, NULL); /* this process stops here */
    bool stopped = sigtimedwait(&cont, NULL, &now) == SIGCONT;
    if (number != SIGSTOP)
        (void)sigaction(number, &before, NULL);
    (void)sigprocmask(SIG_SETMASK, &mask, NULL);
    return stopped;
}
