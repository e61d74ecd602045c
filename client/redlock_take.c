/* Asking for a lock while signals are watched. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "client/redlock_cmd.h"

const int take_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, 0};

struct taking {
    const struct take *take;
    struct redlock_lock *lock; /* NULL: redlockd was not there, and the LOCK is asked for anew when it is */
    struct waiting waiting;
    int64_t until_ms; /* when the time of --wait is over; 0: no time was given */
    bool is_there;    /* redlockd has answered meanwhile */
    bool over;
    enum redlock_error error;
    char text[2048]; /* a copy, since the handle's text may be that of another request by now */
};

static void take_heard(struct redlock *redlock, const struct redlock_event *event, void *user)
{
    struct taking *taking = user;

    (void)redlock;
    if (event->kind != REDLOCK_ON_LOCK || !taking->lock || event->lock != taking->lock) {
        taking->is_there |= event->kind == REDLOCK_ON_UP;
        waiting_heard(&taking->waiting, event);
        return;
    }
    taking->error = event->error;
    (void)snprintf(taking->text, sizeof taking->text, "%s", event->text);
    if (event->error == REDLOCK_CONNECT && boot_ms() < taking->until_ms)
        taking->lock = NULL; /* libredlock goes on dialing */
    else
        taking->over = true;
}

/* Asks anew when redlockd is there, with what is left of the wait. */
static void take_anew(struct redlock *redlock, struct taking *taking)
{
    int64_t left_ms = taking->until_ms - boot_ms();
    struct redlock_lock_options options = taking->take->options;

    if (taking->lock || taking->over)
        return;
    if (left_ms <= 0) {
        taking->over = true;
    } else if (taking->is_there) {
        taking->is_there = false;
        options.wait_ms = left_ms;
        taking->lock = redlock_lock_begin(redlock, taking->take->name, &options);
        if (taking->lock)
            return;
        taking->over = true;
        taking->error = redlock_error(redlock);
        (void)snprintf(taking->text, sizeof taking->text, "%s", redlock_error_text(redlock));
    }
}

static int take_timeout_ms(const struct taking *taking, int timeout_ms)
{
    int waiting_ms = waiting_timeout_ms(&taking->waiting, timeout_ms);
    int64_t left_ms = taking->until_ms - boot_ms();

    if (taking->lock || (waiting_ms >= 0 && waiting_ms < left_ms))
        return waiting_ms;
    return left_ms > 0 ? (int)earlier_ms(left_ms, INT_MAX) : 0;
}

/* If nothing were printed, eval would succeed. */
void take_failed(int code)
{
    if (isatty(STDOUT_FILENO))
        return;
    (void)printf("unset REDLOCK_NAME REDLOCK_TOKEN REDLOCK_FENCE REDLOCK_UNTIL REDLOCK_SLOT; (exit %d)\n",
                 code);
    (void)fflush(stdout);
}

static void end_by(const struct take *take, int signal)
{
    if (take->options.hold == REDLOCK_LEASE)
        take_failed(CODE_SIGNAL + signal);
    signal_die(signal);
}

/* The first signal cancels the wait, and a lock that was granted meanwhile is given back; a second signal
 * ends the process at once. Returns the signal; 0: none. */
static int take_look_at_signals(int fd, struct taking *taking, int before)
{
    int number = signal_next(fd);

    if (!number)
        return before;
    if (before || !taking->lock)
        end_by(taking->take, number);
    redlock_cancel(taking->lock);
    return number;
}

static int wait_for(struct redlock *redlock, struct taking *taking, int signals)
{
    int signal = 0;

    while (!taking->over) {
        struct pollfd fds[] = {{.fd = redlock_fd(redlock), .events = redlock_events(redlock)},
                               {.fd = signals, .events = POLLIN}};
        (void)poll(fds, 2, take_timeout_ms(taking, redlock_timeout_ms(redlock)));
        (void)redlock_process(redlock);
        take_anew(redlock, taking);
        if (taking->over)
            break;
        waiting_turn(&taking->waiting, redlock);
        signal = take_look_at_signals(signals, taking, signal);
    }
    return signal;
}

static int take_refused(const struct taking *taking)
{
    const struct take *take = taking->take;
    enum redlock_error error = taking->error;
    bool conflict = error == REDLOCK_BUSY || error == REDLOCK_TIMEOUT;

    int code = conflict && take->quiet ? 0 : say_result(error, taking->text, take->name);
    if (conflict && take->conflict_code >= 0)
        return take->conflict_code;
    if (conflict)
        return error == REDLOCK_BUSY ? CODE_BUSY : CODE_TIMEOUT;
    return code;
}

struct redlock_lock *take_lock(struct redlock *redlock, const struct take *take, int signals, int *code)
{
    struct taking taking = {.take = take, .lock = redlock_lock_begin(redlock, take->name, &take->options)};

    if (!taking.lock) {
        *code = say_error(redlock, take->name);
        return NULL;
    }
    if (take->options.wait_ms > 0)
        taking.until_ms = boot_ms() + take->options.wait_ms;
    waiting_begin(&taking.waiting, take);
    redlock_set_callback(redlock, take_heard, &taking);
    int signal = wait_for(redlock, &taking, signals);
    redlock_set_callback(redlock, NULL, NULL);
    waiting_end(&taking.waiting);
    if (!signal)
        signal = signal_next(signals);
    if (signal) {
        if (!taking.error)
            (void)redlock_unlock(taking.lock);
        redlock_close(redlock);
        end_by(take, signal);
    }
    if (!taking.error)
        return taking.lock;
    *code = take_refused(&taking);
    return NULL;
}

static bool take_slots(const char *subcommand, struct take *take, const char *value)
{
    int slots;

    if (!arg_number(subcommand, "--slots", value, 1, REDLOCK_SLOTS_MAX, &slots))
        return false;
    take->options.slots = (uint32_t)slots;
    return true;
}

int take_option(const char *subcommand, struct take *take, int option, const char *value)
{
    switch (option) {
    case 'n': take->options.wait_ms = 0; return 1;
    case 'q': take->quiet = true; return 1;
    case 'v': take->verbose = true; return 1;
    case 't': return arg_duration(subcommand, "--ttl", value, &take->options.ttl_ms) ? 1 : -1;
    case 'w': return arg_wait(subcommand, value, &take->options.wait_ms) ? 1 : -1;
    case 'E':
        return arg_number(subcommand, "--conflict-exit-code", value, 0, 255, &take->conflict_code) ? 1 : -1;
    case 'S': take->options.mode = REDLOCK_SHARED; return 1;
    case 'L': return take_slots(subcommand, take, value) ? 1 : -1;
    case 'N': take->options.note = value; return arg_word(subcommand, "--note", value) ? 1 : -1;
    case 'C': take->client = value; return arg_word(subcommand, "--client", value) ? 1 : -1;
    default: return 0;
    }
}
