/* loop_poll NAME: holds a lock for as long as its standard input is open, and prints what happens to it.
 *
 *     $ mkfifo gate; loop_poll backup <gate
 *     held fence=1731934500123456
 *     resumed fence=1731934507654321        redlockd was restarted
 *     given back                            the writer of the fifo has closed it
 *
 * A loop around poll(2) needs one descriptor, its events, a timeout that is asked for before each wait, and
 * redlock_process() after each wait. */
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include <redlock.h>

struct gate {
    bool open; /* standard input is open */
    bool over;
    int status;
};

static void fenced(const char *what, const struct redlock_lock *lock)
{
    printf("%s fence=%" PRIu64 "\n", what, redlock_fence(lock));
}

static void gate_end(struct gate *gate, const char *what, const char *why)
{
    printf("%s%s%s\n", what, *why ? ": " : "", why);
    gate->over = true;
    gate->status = *why ? 1 : 0;
}

static void gate_happened(struct redlock *redlock, const struct redlock_event *event, void *user)
{
    struct gate *gate = user;

    (void)redlock;
    switch (event->kind) {
    case REDLOCK_ON_LOCK:
        if (event->error)
            gate_end(gate, "not taken", event->text);
        else
            fenced("held", event->lock);
        if (!event->error && !gate->open) /* the grant was faster than the cancel */
            (void)redlock_unlock_begin(event->lock);
        break;
    case REDLOCK_ON_RESUMED: fenced("resumed", event->lock); break;
    case REDLOCK_ON_EXPIRING: printf("expiring: %" PRId64 " ms left\n", redlock_valid_ms(event->lock)); break;
    case REDLOCK_ON_LOST: gate_end(gate, "lost", event->text); break;
    case REDLOCK_ON_UNLOCK:
        gate_end(gate, event->error ? "given back too late" : "given back", event->text);
        break;
    case REDLOCK_ON_DOWN: fprintf(stderr, "%s\n", event->text); break;
    default: break;
    }
}

/* Reads and drops input; true: the input has ended. */
static bool input_ended(void)
{
    char bytes[4096];

    return read(STDIN_FILENO, bytes, sizeof bytes) <= 0;
}

int main(int argc, char **argv)
{
    struct redlock_lock_options options = {.ttl_ms = 20000, .wait_ms = REDLOCK_WAIT_LONGEST};
    struct gate gate = {.open = true};
    struct redlock_lock *lock = NULL;

    if (argc != 2) {
        fprintf(stderr, "usage: loop_poll NAME\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    struct redlock *redlock = redlock_open(NULL, NULL);
    redlock_set_callback(redlock, gate_happened, &gate);
    lock = redlock_lock_begin(redlock, argv[1], &options);
    if (!lock)
        gate_end(&gate, "not taken", redlock_error_text(redlock));

    while (!gate.over) {
        struct pollfd fds[] = {
            {.fd = redlock_fd(redlock), .events = redlock_events(redlock)},
            {.fd = gate.open ? STDIN_FILENO : -1, .events = POLLIN},
        };
        if (poll(fds, 2, redlock_timeout_ms(redlock)) > 0 && fds[1].revents && input_ended()) {
            gate.open = false;
            if (redlock_state(lock) == REDLOCK_STATE_WAITING)
                redlock_cancel(lock); /* ON_LOCK tells whether that was in time */
            else
                (void)redlock_unlock_begin(lock);
        }
        (void)redlock_process(redlock);
    }
    redlock_close(redlock);
    return gate.status;
}
