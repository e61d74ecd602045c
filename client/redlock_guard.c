/* Who ends the command when redlock itself cannot. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/redlock_cmd.h"
#include "client/redlock_run.h"

struct order {
    pid_t group;
    int64_t kill_ms; /* -1: the group alone, from itself; a later word of ours may have come before it */
};

static void set_timer(int timer, int64_t at_ms)
{
    struct itimerspec at = {0};

    if (at_ms != INT64_MAX) {
        at.it_value.tv_sec = (time_t)(at_ms / 1000);
        at.it_value.tv_nsec = (long)(at_ms % 1000) * 1000000 + 1; /* 0 would disarm it */
    }
    (void)timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL);
}

/* The last of the orders that came; false: who gives them is gone. */
static bool read_orders(int orders, struct order *order)
{
    struct order read;

    for (;;) {
        ssize_t len = recv(orders, &read, sizeof read, MSG_DONTWAIT);
        if (len == (ssize_t)sizeof read && read.kill_ms >= 0)
            *order = read;
        else if (len == (ssize_t)sizeof read)
            order->group = order->group > 0 ? order->group : read.group;
        else if (len == 0 || (len < 0 && errno != EAGAIN && errno != EINTR))
            return false;
        else if (errno == EAGAIN)
            return true;
    }
}

static void end_group(const struct order *order)
{
    if (order->group > 0)
        (void)kill(-order->group, SIGKILL);
}

__attribute__((noreturn)) static void watch(int orders, int timer)
{
    struct order order = {.kill_ms = INT64_MAX};
    struct pollfd fds[] = {{.fd = orders, .events = POLLIN}, {.fd = timer, .events = POLLIN}};

    while (read_orders(orders, &order)) {
        bool due = boot_ms() >= order.kill_ms;
        if (due)
            end_group(&order);
        set_timer(timer, due ? boot_ms() + 50 : order.kill_ms); /* again: it may have forked meanwhile */
        (void)poll(fds, 2, -1);
    }
    end_group(&order);
    _exit(0);
}

/* Nothing of ours may live on in it: no connection, no end of a pipe, no terminal. */
__attribute__((noreturn)) static void begin(int orders, int timer)
{
    sigset_t none;

    (void)setsid();
    (void)prctl(PR_SET_NAME, "redlock-guard");
    for (int i = 1; i < NSIG; i++)
        if (i != SIGKILL && i != SIGSTOP)
            (void)signal(i, SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (dup2(orders, 0) != 0 || dup2(timer, 1) != 1 || chdir("/") < 0)
        _exit(1);
    closefrom(2);
    watch(0, 1);
}

bool guard_start(struct guard *guard)
{
    int pair[2] = {-1, -1};
    int timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);

    guard->pid = -1;
    if (timer >= 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0)
        guard->pid = fork();
    if (guard->pid == 0)
        begin(pair[1], timer);
    int error = errno;
    if (timer >= 0)
        (void)close(timer);
    if (pair[1] >= 0)
        (void)close(pair[1]);
    guard->fd = pair[0];
    if (guard->pid > 0)
        return true;
    if (guard->fd >= 0)
        (void)close(guard->fd);
    say("cannot start what watches over the command: %s", strerror(error));
    return false;
}

void guard_set(const struct guard *guard, pid_t group, int64_t kill_ms)
{
    struct order order = {group, kill_ms};

    (void)send(guard->fd, &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void guard_tell(const struct guard *guard)
{
    struct order order = {getpid(), -1};

    (void)send(guard->fd, &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void guard_end(struct guard *guard)
{
    guard_set(guard, 0, INT64_MAX);
    (void)close(guard->fd);
    if (guard->pid > 0 && kill(guard->pid, SIGKILL) == 0)
        (void)waitpid(guard->pid, NULL, 0);
}
