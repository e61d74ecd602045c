/* Watches while the command runs: the lock's deadline, signals, stops, and the end of the command. */
#include <assert.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "client/redlock_run.h"

enum {
    LINGER_MS = 300, /* for processes that end by themselves after the command, as bash's >(tee) */
    LOOK_MS = 20,    /* between two looks whether the family is gone: the kernel does not always tell us */
    TOLD_MS = 1000,  /* a process that lives so long after SIGKILL cannot be killed */
    SETTLE_MS = 200, /* for processes that stop with the command: an editor restores the terminal first */
};

static void run_move(struct run *run, enum run_state to)
{
    static const unsigned legal[] = {
        [RUN_RUNNING] = 1u << RUN_LINGERING | 1u << RUN_ENDING | 1u << RUN_KILLING | 1u << RUN_OVER,
        [RUN_LINGERING] = 1u << RUN_ENDING | 1u << RUN_KILLING | 1u << RUN_OVER,
        [RUN_ENDING] = 1u << RUN_KILLING | 1u << RUN_OVER,
        [RUN_KILLING] = 1u << RUN_OVER,
        [RUN_OVER] = 0,
    };

    assert(legal[run->state] >> to & 1);
    run->state = to;
}

/* ---- its end ---- */

static void lose(struct run *run, const char *why)
{
    if (run->lost)
        return;
    run->lost = run->family.whole = true;
    (void)snprintf(run->why, sizeof run->why, "%s", why);
}

static void begin_ending(struct run *run, int64_t kill_ms)
{
    run_move(run, RUN_ENDING);
    run->next_ms = kill_ms;
    (void)family_signal(&run->family, SIGTERM);
    (void)family_signal(&run->family, SIGCONT); /* a stopped process cannot end by SIGTERM */
}

static void say_unkillable(struct run *run, unsigned alive)
{
    if (run->told || alive == UINT_MAX || boot_ms() < run->killing_ms + TOLD_MS)
        return;
    run->told = true;
    say_line("%s: %u of the processes of %s cannot be killed: they are another user's, or held in the kernel",
             run->take.name, alive, run->argv[0]);
}

static void look_at_family(struct run *run)
{
    if (run->state == RUN_OVER || (!run->ended && run->state != RUN_KILLING))
        return;
    unsigned alive = family_signal(&run->family, run->state == RUN_KILLING ? SIGKILL : 0);
    if (run->ended && alive == 0) {
        run_move(run, RUN_OVER);
    } else if (run->ended && alive == UINT_MAX) { /* without /proc only the group is known */
        (void)family_signal(&run->family, SIGKILL);
        run_move(run, RUN_OVER);
    } else if (run->state == RUN_RUNNING) {
        run_move(run, RUN_LINGERING);
        run->next_ms = INT64_MAX;
        run->looked_ms = boot_ms();
        run->lingered_ms = 0;
    } else if (run->state == RUN_KILLING) {
        say_unkillable(run, alive);
    }
}

/* While the machine stood still, the processes could not end either, so at most 2 * LOOK_MS count of the time
 * between two looks. */
static void look_at_linger(struct run *run, int64_t now_ms)
{
    if (run->state != RUN_LINGERING)
        return;
    run->lingered_ms += earlier_ms(now_ms - run->looked_ms, 2 * LOOK_MS);
    run->looked_ms = now_ms;
    if (run->lingered_ms < LINGER_MS)
        return;
    say_line("%s: %s has ended and left processes behind, which are ended now: the lock ends with them "
             "(setsid(1) makes one stay)",
             run->take.name, run->argv[0]);
    begin_ending(run, now_ms + run->grace_ms);
}

static void begin_killing(struct run *run)
{
    run_move(run, RUN_KILLING);
    run->killing_ms = boot_ms();
    (void)family_signal(&run->family, SIGKILL);
}

/* ---- the clock ---- */

int64_t run_kill_ms(const struct run *run, int64_t until_ms)
{
    return until_ms - run->margin_ms / 2;
}

static void guard_follow(struct run *run, int64_t until_ms)
{
    int64_t kill_ms = run_kill_ms(run, until_ms);

    if (run->guarded_ms == kill_ms)
        return;
    guard_set(&run->guard, kill_ms);
    run->guarded_ms = kill_ms;
}

static void begin_losing(struct run *run, int64_t now_ms, int64_t until_ms)
{
    char left[DURATION_TEXT];
    /* Whether --max is why the lock ends. The deadline then is a little before max_end_ms, since redlockd
     * began to count earlier. */
    bool is_max = run->max_end_ms && until_ms + run->span_ms / 10 >= run->max_end_ms;

    lose(run, is_max ? "max" : "expired");
    const char *why = is_max ? "--max is over" : "nobody renews the lock";
    if (run->earlier_ms > CLOCK_MS)
        why = "a clock stood still (redlockd's or this host's), so the lock ends earlier";
    say_line("%s: %s, and its end is %s away: SIGTERM to %s", run->take.name, why,
             duration_text(until_ms - now_ms, left), run->argv[0]);
    begin_ending(run, until_ms - run->margin_ms);
}

/* A renewal, also one by RESUME, tells a new deadline, which may be a little earlier than the one before without any
 * clock that stood still. */
static void follow_deadline(struct run *run, int64_t until_ms)
{
    uint64_t fence = redlock_fence(run->lock);

    if (until_ms > run->until_ms || fence != run->fence)
        run->earlier_ms = 0;
    else
        run->earlier_ms += run->until_ms - until_ms;
    run->until_ms = until_ms;
    run->fence = fence;
}

static void look_at_clock(struct run *run)
{
    int64_t now_ms = boot_ms(), until_ms = redlock_until_ms(run->lock);

    if (run->state >= RUN_KILLING)
        return;
    follow_deadline(run, until_ms);
    if (until_ms <= 0 || now_ms >= until_ms - run->margin_ms) {
        lose(run, "expired");
        begin_killing(run);
        return;
    }
    guard_follow(run, until_ms);
    if (run->state == RUN_RUNNING && now_ms >= until_ms - run->grace_ms)
        begin_losing(run, now_ms, until_ms);
    look_at_linger(run, now_ms);
    if (run->state == RUN_ENDING && now_ms >= run->next_ms)
        begin_killing(run);
}

static int64_t wake_ms(const struct run *run)
{
    int64_t until_ms = redlock_until_ms(run->lock);

    if (run->state == RUN_RUNNING)
        return until_ms - run->grace_ms;
    if (run->state == RUN_KILLING)
        return boot_ms() + LOOK_MS;
    return earlier_ms(earlier_ms(run->next_ms, until_ms - run->margin_ms), boot_ms() + LOOK_MS);
}

static void watch_set_timer(const struct run *run)
{
    int64_t at_ms = wake_ms(run);
    struct itimerspec at = {.it_value = {.tv_nsec = 1}};

    if (at_ms > 0) {
        at.it_value.tv_sec = (time_t)(at_ms / 1000);
        at.it_value.tv_nsec = (long)(at_ms % 1000) * 1000000 + 1; /* 0 would disarm it */
    }
    (void)timerfd_settime(run->timer, TFD_TIMER_ABSTIME, &at, NULL);
}

static void watch_heard(struct redlock *redlock, const struct redlock_event *event, void *user)
{
    struct run *run = user;

    if (event->kind == REDLOCK_ON_LOST && event->lock == run->lock)
        lose(run, event->text);
    if (event->kind == REDLOCK_ON_UP) /* the lock is not yet resumed on it */
        guard_keep(&run->guard, redlock_socket(redlock));
}

/* ---- job control ---- */

/* Stops the whole family, and then this process, which cannot watch the family meanwhile. The guard is told
 * not to kill the family, since stopped processes do nothing. */
static void stop_with_command(struct run *run, int signal)
{
    const struct timespec nap = {.tv_nsec = 10 * 1000000};

    for (int i = 0; i < SETTLE_MS / 10 && !family_is_stopped(&run->family); i++)
        (void)nanosleep(&nap, NULL);
    (void)family_signal(&run->family, SIGSTOP);
    guard_set(&run->guard, INT64_MAX);
    run->guarded_ms = 0;
    bool stopped = signal_stop(signal);
    (void)redlock_process(run->redlock);
    look_at_clock(run);
    if (run->state != RUN_RUNNING)
        return;
    if (!stopped && (signal == SIGTTIN || signal == SIGTTOU))
        return; /* nobody is there to give the command the terminal, and it would only ask again */
    if (run->foreground && terminal_is_ours(&run->terminal))
        terminal_give(&run->terminal, run->pid);
    (void)family_signal(&run->family, SIGCONT);
}

static void command_stopped(struct run *run, int signal)
{
    bool wants_terminal = signal == SIGTTIN || signal == SIGTTOU;

    if (run->state != RUN_RUNNING || run->terminal.fd < 0)
        return;
    if (wants_terminal && terminal_is_ours(&run->terminal)) {
        terminal_give(&run->terminal, run->pid);
        (void)kill(-run->pid, SIGCONT);
        return;
    }
    /* Any other stop (SIGSTOP by kill(1), while the command does not have the terminal) stops the command
     * only: whoever sent the signal will continue the command. */
    if (wants_terminal || signal == SIGTSTP || terminal_is_of(&run->terminal, run->pid))
        stop_with_command(run, signal);
}

static void continued(struct run *run)
{
    if (run->foreground && terminal_is_ours(&run->terminal))
        terminal_give(&run->terminal, run->pid);
    (void)kill(-run->pid, SIGCONT);
}

/* ---- what happens ---- */

static void watch_look_at_signals(struct run *run)
{
    int signal;

    while ((signal = signal_next(run->signals)))
        switch (signal) {
        case SIGCHLD: guard_wake(&run->guard); break;
        case SIGTTOU: break;
        case SIGCONT: continued(run); break;
        default: (void)kill(-run->pid, signal);
        }
}

static void command_ended(struct run *run, const struct report *report)
{
    bool by_itself = report->code == CLD_EXITED;

    run->ended = true;
    run->family.whole = run->lost || run->unguarded; /* else daemons that the command has started may stay */
    if (!by_itself && report->status == SIGKILL && report->overdue)
        lose(run, "held up beyond its end");
    run->signal = by_itself ? 0 : report->status;
    run->code = by_itself ? report->status : CODE_SIGNAL + report->status;
}

static void guard_was_killed(struct run *run)
{
    say_line(
        "%s: the guard process of this command was killed, so %s is ended: nobody would end it if redlock "
        "were killed too",
        run->take.name, run->argv[0]);
    run->unguarded = run->family.whole = true;
    run->family.root = getpid();
    if (run->state < RUN_KILLING)
        begin_killing(run);
}

/* Reaps children from before the command, orphans, and the guard, up to the command, which is our child once
 * the guard has ended, and which is not waited for. */
static void watch_reap(struct run *run)
{
    siginfo_t info;

    for (;;) {
        info.si_pid = 0;
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0 ||
            info.si_pid == run->pid)
            return;
        (void)waitpid(info.si_pid, NULL, WNOHANG);
        if (info.si_pid == run->guard.pid)
            run->guard.pid = -1;
    }
}

/* Once the guard has ended, the command is our own child, and we have killed it. */
static void look_at_own_child(struct run *run)
{
    siginfo_t info = {0};

    if (run->ended || waitid(P_PID, (id_t)run->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
        info.si_pid != run->pid)
        return;
    command_ended(run, &(struct report){info.si_code, info.si_status, false});
    run->signal = 0;
    run->code = CODE_FAILED;
}

static void look_at_command(struct run *run)
{
    struct report report;

    while (guard_hear(&run->guard, &report)) {
        if (report.code == CLD_STOPPED)
            command_stopped(run, report.status);
        else
            command_ended(run, &report);
    }
    if (run->guard.fd >= 0)
        return;
    if (!run->unguarded)
        guard_was_killed(run);
    look_at_own_child(run);
}

void run_watch(struct run *run)
{
    redlock_set_callback(run->redlock, watch_heard, run);
    (void)redlock_process(run->redlock); /* if we were held up since the grant, a renewal may have come */
    look_at_clock(run);
    while (run->state != RUN_OVER) {
        struct pollfd fds[] = {{.fd = redlock_fd(run->redlock), .events = redlock_events(run->redlock)},
                               {.fd = run->signals, .events = POLLIN},
                               {.fd = run->timer, .events = POLLIN},
                               {.fd = run->guard.fd, .events = POLLIN}};
        watch_set_timer(run);
        (void)poll(fds, 4, redlock_timeout_ms(run->redlock));
        (void)redlock_process(run->redlock);
        watch_look_at_signals(run);
        watch_reap(run);
        look_at_command(run);
        look_at_clock(run);
        look_at_family(run);
    }
}
