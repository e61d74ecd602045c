/* loop_libevent NAME: one leader among many. Each copy of it waits for the lock; who has it works, here a
 * line every 100 ms, and the next one takes over when it ends or loses the lock.
 *
 *     $ loop_libevent report & loop_libevent report &
 *     4711 leads fence=1731934500123456
 *     4711 works fence=1731934500123456
 *     ...
 *     $ kill 4711
 *     4712 leads fence=1731934512345678
 *
 * The handle in libevent: an event for its descriptor, persistent, since that is the same for the
 * handle's whole life, and a timer that is set anew whenever something may have changed its timeout. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <event2/event.h>

#include <redlock.h>

enum { WORK_MS = 100 };

struct leader {
    const char *name;
    struct redlock *redlock;
    struct redlock_lock *lock; /* NULL: to be asked for */
    struct event_base *base;
    struct event *timer, *work;
};

static void arm(struct event *event, int64_t ms)
{
    struct timeval after = {.tv_sec = (time_t)(ms / 1000), .tv_usec = (suseconds_t)(ms % 1000 * 1000)};

    event_add(event, &after);
}

static void ask(struct leader *leader)
{
    struct redlock_lock_options options = {.ttl_ms = 10000, .wait_ms = REDLOCK_WAIT_LONGEST};

    leader->lock = redlock_lock_begin(leader->redlock, leader->name, &options);
    arm(leader->timer, 0); /* there is something to send */
    if (!leader->lock) {
        fprintf(stderr, "%s\n", redlock_error_text(leader->redlock));
        event_base_loopbreak(leader->base);
    }
}

static void happened(struct redlock *redlock, const struct redlock_event *event, void *user)
{
    struct leader *leader = user;

    (void)redlock;
    if (event->kind == REDLOCK_ON_LOCK && !event->error) {
        printf("%d leads fence=%" PRIu64 "\n", (int)getpid(), redlock_fence(event->lock));
        arm(leader->work, 0);
    } else if (event->kind == REDLOCK_ON_LOCK) {
        fprintf(stderr, "%s\n", event->text);
        leader->lock = NULL; /* asked for again with the next piece of work */
        arm(leader->work, 1000);
    } else if (event->kind == REDLOCK_ON_LOST) {
        printf("%d lost it: %s\n", (int)getpid(), event->text);
        redlock_forget(leader->lock);
        ask(leader);
    }
}

/* Once for each piece of work: is it still ours? And the fence goes along with whatever is written. */
static void do_work(evutil_socket_t fd, short what, void *arg)
{
    struct leader *leader = arg;

    (void)fd;
    (void)what;
    if (!leader->lock)
        ask(leader);
    else if (redlock_valid_ms(leader->lock) > 0)
        printf("%d works fence=%" PRIu64 "\n", (int)getpid(), redlock_fence(leader->lock));
    if (leader->lock && redlock_state(leader->lock) != REDLOCK_STATE_WAITING)
        arm(leader->work, WORK_MS);
}

static void turn(evutil_socket_t fd, short what, void *arg)
{
    struct leader *leader = arg;

    (void)fd;
    (void)what;
    (void)redlock_process(leader->redlock);
    int wait_ms = redlock_timeout_ms(leader->redlock);
    if (wait_ms >= 0)
        arm(leader->timer, wait_ms);
    else
        event_del(leader->timer);
}

static void stop(evutil_socket_t number, short what, void *arg)
{
    struct leader *leader = arg;

    (void)number;
    (void)what;
    event_base_loopbreak(leader->base);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: loop_libevent NAME\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    struct leader leader = {.name = argv[1], .redlock = redlock_open(NULL, NULL), .base = event_base_new()};
    if (!leader.redlock || !leader.base) {
        perror("loop_libevent");
        return 1;
    }
    struct event *bytes =
        event_new(leader.base, redlock_fd(leader.redlock), EV_READ | EV_PERSIST, turn, &leader);
    struct event *term = evsignal_new(leader.base, SIGTERM, stop, &leader);
    leader.timer = evtimer_new(leader.base, turn, &leader);
    leader.work = evtimer_new(leader.base, do_work, &leader);
    redlock_set_callback(leader.redlock, happened, &leader);
    ask(&leader);
    event_add(bytes, NULL);
    event_add(term, NULL);
    arm(leader.timer, 0);
    event_base_dispatch(leader.base);

    redlock_close(leader.redlock); /* gives the lock back: the next one leads at once */
    event_free(bytes);
    event_free(term);
    event_free(leader.timer);
    event_free(leader.work);
    event_base_free(leader.base);
    return 0;
}
