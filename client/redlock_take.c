/* Asking for a lock while signals are watched. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "client/redlock_cmd.h"

const int take_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, 0};

struct taking {
    const struct take *take;
    struct redlock_lock *lock;
    struct waiting waiting;
    bool over;
    enum redlock_error error;
    char text[2048]; /* a copy, since the handle's text may be that of another request by now */
};

static void take_heard(struct redlock *redlock, const struct redlock_event *event, void *user)
{
    struct taking *taking = user;

    (void)redlock;
    if (event->kind != REDLOCK_ON_LOCK || event->lock != taking->lock) {
        waiting_heard(&taking->waiting, event);
        return;
    }
    taking->over = true;
    taking->error = event->error;
    (void)snprintf(taking->text, sizeof taking->text, "%s", event->text);
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
    if (before)
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
        (void)poll(fds, 2, waiting_timeout_ms(&taking->waiting, redlock_timeout_ms(redlock)));
        (void)redlock_process(redlock);
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
    case 'w': return arg_duration(subcommand, "--wait", value, &take->options.wait_ms) ? 1 : -1;
    case 'E':
        return arg_number(subcommand, "--conflict-exit-code", value, 0, 255, &take->conflict_code) ? 1 : -1;
    case 'S': take->options.mode = REDLOCK_SHARED; return 1;
    case 'L': return take_slots(subcommand, take, value) ? 1 : -1;
    case 'N': take->options.note = value; return arg_word(subcommand, "--note", value) ? 1 : -1;
    case 'C': take->client = value; return arg_word(subcommand, "--client", value) ? 1 : -1;
    default: return 0;
    }
}
