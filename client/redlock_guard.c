/* The command's parent, which ends the command when redlock itself cannot. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/redlock_cmd.h"
#include "client/redlock_run.h"

/* The guard's descriptors. Connections to redlockd have higher numbers; the last ones are kept open, since
 * a lock that is being resumed may still depend on the connection before. */
enum { FD_ORDERS, FD_TIMER, FD_CHILDREN, FD_COUNT, CONNECTIONS = 4 };

enum { AGAIN_MS = 20, CALM = 3 };

struct keeper {
    pid_t command;
    int64_t kill_ms;
    struct report end; /* the command's */
    bool ended, told, overdue;
    int connections[CONNECTIONS];
    unsigned next;
};

/* An order to the guard, which may carry a connection too. */
struct order {
    int64_t kill_ms; /* -1: as before */
};

/* The guard's first report; error is an errno. */
struct started {
    pid_t command;
    int error;
};

/* ---- orders, as the guard reads them ---- */

static void guard_set_timer(int64_t at_ms)
{
    struct itimerspec at = {0};

    if (at_ms != INT64_MAX) {
        at.it_value.tv_sec = (time_t)(at_ms / 1000);
        at.it_value.tv_nsec = (long)(at_ms % 1000) * 1000000 + 1; /* 0 would disarm it */
    }
    (void)timerfd_settime(FD_TIMER, TFD_TIMER_ABSTIME, &at, NULL);
}

/* Keeps a connection in place of the oldest. redlock has ended that connection, or still has it open itself,
 * so redlockd does not notice that the guard closes it. */
static void keep_connection(struct keeper *keeper, int fd)
{
    int *place = &keeper->connections[keeper->next++ % CONNECTIONS];

    if (*place >= 0)
        (void)close(*place);
    *place = fd;
}

union control {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int))];
};

/* Reads all orders that have come; false: redlock has ended. */
static bool read_orders(struct keeper *keeper)
{
    for (;;) {
        struct order order;
        union control control;
        struct iovec bytes = {&order, sizeof order};
        struct msghdr message = {
            .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
        ssize_t len = recvmsg(FD_ORDERS, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (len < 0 && errno == EAGAIN)
            return true;
        if (len == 0 || (len < 0 && errno != EINTR))
            return false;
        if (len != (ssize_t)sizeof order)
            continue;
        const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        if (head && head->cmsg_type == SCM_RIGHTS) {
            int fd;
            memcpy(&fd, CMSG_DATA(head), sizeof fd);
            keep_connection(keeper, fd);
        }
        if (order.kill_ms >= 0)
            keeper->kill_ms = order.kill_ms;
    }
}

/* ---- what the guard does ---- */

static bool guard_tell(const struct report *report)
{
    return send(FD_ORDERS, report, sizeof *report, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof *report;
}

/* Reaps the processes that have ended, up to the command, which stays: redlock still uses its pid. */
static void guard_reap(struct keeper *keeper)
{
    siginfo_t info;

    for (;;) {
        info.si_pid = 0;
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
            return;
        if (info.si_pid == keeper->command) {
            keeper->ended = true;
            keeper->end = (struct report){info.si_code, info.si_status, keeper->overdue};
            return;
        }
        (void)waitpid(info.si_pid, NULL, WNOHANG);
    }
}

/* The content does not matter, since the caller looks at all children. */
static void drain_children(void)
{
    struct signalfd_siginfo ignored;

    while (read(FD_CHILDREN, &ignored, sizeof ignored) > 0)
        ;
}

static void look_at_children(struct keeper *keeper)
{
    siginfo_t info = {0};

    drain_children();
    if (waitid(P_PID, (id_t)keeper->command, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid != 0)
        (void)guard_tell(&(struct report){CLD_STOPPED, info.si_status, false});
    guard_reap(keeper);
    if (keeper->ended && !keeper->told)
        keeper->told =
            guard_tell(&keeper->end); /* while the socket is full, again when the guard wakes next */
}

/* redlock is gone. Kills the family until nothing is left, and only then lets go of the lock. Daemons of
 * other users may be left, which family_signal() does not count. */
__attribute__((noreturn)) static void end_all(const struct keeper *keeper)
{
    struct family family = {.root = getpid(), .group = keeper->command, .whole = true, .spares = true};
    struct pollfd children = {.fd = FD_CHILDREN, .events = POLLIN};
    unsigned calm = 0;
    pid_t pid;

    while (calm < CALM) {
        unsigned alive = family_signal(&family, SIGKILL);
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
            if (pid == keeper->command)
                family.group = 0; /* another process may soon get that number */
        if (pid < 0)
            break;
        if (alive == 0 && family.spares)
            family.spares = false; /* all else is dead, so the redlocks below us may let go of their locks */
        else
            calm = alive ? 0 : calm + 1;
        (void)poll(&children, 1, AGAIN_MS);
        drain_children();
    }
    for (unsigned i = 0; i < CONNECTIONS; i++)
        if (keeper->connections[i] >= 0)
            (void)shutdown(keeper->connections[i],
                           SHUT_RDWR); /* a close with unread bytes would send a reset */
    _exit(0);
}

__attribute__((noreturn)) static void watch(struct keeper *keeper)
{
    const struct family family = {.root = getpid(), .group = keeper->command, .whole = true};
    struct pollfd fds[] = {[FD_ORDERS] = {.fd = FD_ORDERS, .events = POLLIN},
                           [FD_TIMER] = {.fd = FD_TIMER, .events = POLLIN},
                           [FD_CHILDREN] = {.fd = FD_CHILDREN, .events = POLLIN}};

    while (read_orders(keeper)) {
        look_at_children(keeper);
        bool due = boot_ms() >= keeper->kill_ms;
        if (due)
            (void)family_signal(&family, SIGKILL);
        keeper->overdue |= due;
        /* A process may fork while the family is killed, so the family is killed again. */
        guard_set_timer(due ? boot_ms() + AGAIN_MS : keeper->kill_ms);
        (void)poll(fds, FD_COUNT, -1);
    }
    end_all(keeper);
}

/* ---- its beginning ---- */

/* Blocks all signals, so that only SIGKILL can end the guard, and only SIGSTOP can stop it. */
static void be_deaf(void)
{
    sigset_t every;

    (void)sigfillset(&every);
    (void)sigprocmask(SIG_SETMASK, &every, NULL);
}

/* The guard's process. It has a group of its own, so that ^Z does not stop it, but is in the command's
 * session: a terminal could not stop a command whose parent is in another session. The guard closes all
 * that redlock had open, as ends of pipes and the terminal. */
__attribute__((noreturn)) static void begin(int orders, const struct start *start)
{
    struct keeper keeper = {.kill_ms = INT64_MAX, .connections = {-1, -1, -1, -1}};
    struct started started = {.command = -1};
    sigset_t child;

    (void)setpgid(0, 0);
    be_deaf();
    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    int timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    int children = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    if (timer >= 0 && children >= 0 && prctl(PR_SET_CHILD_SUBREAPER, 1) == 0)
        started.command = child_start(start->argv, start->terminal, start->foreground);
    started.error = errno;
    (void)send(orders, &started, sizeof started, MSG_NOSIGNAL);
    keeper.command = started.command;
    if (keeper.command < 0 || dup2(orders, FD_ORDERS) < 0 || dup2(timer, FD_TIMER) < 0 ||
        dup2(children, FD_CHILDREN) < 0 || chdir("/") < 0)
        _exit(1);
    closefrom(FD_COUNT);
    (void)prctl(PR_SET_NAME, "redlock-guard");
    watch(&keeper);
}

static pid_t guard_failed(struct guard *guard, int error)
{
    say_line("cannot start the command and what watches over it: %s", strerror(error));
    if (guard->fd >= 0)
        guard_end(guard);
    return -1;
}

pid_t guard_start(struct guard *guard, const struct start *start)
{
    int pair[2];
    struct started started = {.command = -1, .error = ECHILD};

    *guard = (struct guard){-1, -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return guard_failed(guard, errno);
    guard->fd = pair[0];
    /* Both orders are sent before the guard is there, so that it has them however early redlock is killed. */
    guard_keep(guard, start->connection);
    guard_set(guard, start->kill_ms);
    guard->pid = fork();
    if (guard->pid == 0)
        begin(pair[1], start);
    int error = errno;
    (void)close(pair[1]);
    if (guard->pid < 0)
        return guard_failed(guard, error);
    while (recv(guard->fd, &started, sizeof started, 0) < 0 && errno == EINTR)
        ;
    return started.command > 0 ? started.command : guard_failed(guard, started.error);
}

/* ---- for redlock ---- */

void guard_set(const struct guard *guard, int64_t kill_ms)
{
    struct order order = {kill_ms};

    (void)send(guard->fd, &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void guard_keep(const struct guard *guard, int connection)
{
    struct order order = {-1};
    union control control = {
        .head = {.cmsg_len = CMSG_LEN(sizeof connection), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    struct iovec bytes = {&order, sizeof order};
    struct msghdr message = {
        .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};

    if (connection < 0)
        return;
    memcpy(CMSG_DATA(&control.head), &connection, sizeof connection);
    (void)sendmsg(guard->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool guard_hear(struct guard *guard, struct report *report)
{
    if (guard->fd < 0)
        return false;
    ssize_t len = recv(guard->fd, report, sizeof *report, MSG_DONTWAIT);
    if (len == (ssize_t)sizeof *report)
        return true;
    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    (void)close(guard->fd);
    guard->fd = -1;
    return false;
}

void guard_wake(const struct guard *guard)
{
    siginfo_t info = {0};

    if (guard->pid > 0 && waitid(P_PID, (id_t)guard->pid, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid != 0)
        (void)kill(guard->pid, SIGCONT);
}

void guard_end(struct guard *guard)
{
    if (guard->pid > 0 && kill(guard->pid, SIGKILL) == 0)
        (void)waitpid(guard->pid, NULL, 0);
    guard->pid = -1;
    if (guard->fd >= 0)
        (void)close(guard->fd);
    guard->fd = -1;
}
