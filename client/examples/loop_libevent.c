/* loop_libevent NAME: one leader among many. Each copy of the program waits for the lock. The copy that has
 * it works, here by printing a line every 100 ms. The next copy takes over when the leader ends or loses the
 * lock.
 *
 *     $ loop_libevent report & loop_libevent report &
 *     4711 leads fence=1731934500123456
 *     4711 works fence=1731934500123456
 *     ...
 *     $ kill 4711
 *     4712 leads fence=1731934512345678
 *
 * The handle has two events in libevent: a persistent one for its descriptor, which stays the same for the
 * handle's whole life, and a timer that is set again whenever something may have changed the timeout. */
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
    struct redlock_lock *lock; /* NULL: it is to be asked for */
    struct event_base *base;
    struct event *timer, *work;
};

static void arm(struct event *event, int64_t ms)
{
    struct timeval after = {.tv_sec = (time_t)(ms / 1000), .tv_usec = (suseconds_t)(ms % 1000 * 1000)};

    event_add(event, &after);
}

static void leader_ask(struct leader *leader)
{
    struct redlock_lock_options options = {.ttl_ms = 10000, .wait_ms = REDLOCK_WAIT_LONGEST};

    leader->lock = redlock_lock_begin(leader->redlock, leader->name, &options);
    arm(leader->timer, 0); /* there is something to send */
    if (!leader->lock) {
        fprintf(stderr, "%s\n", redlock_error_text(leader->redlock));
        event_base_loopbreak(leader->base);
    }
}

static void leader_happened(struct redlock *redlock, const struct redlock_event *event, void *user)
{
    struct leader *leader = user;

    (void)redlock;
    if (event->kind == REDLOCK_ON_LOCK && !event->error) {
        printf("%d leads fence=%" PRIu64 "\n", (int)getpid(), redlock_fence(event->lock));
        arm(leader->work, 0);
    } else if (event->kind == REDLOCK_ON_LOCK) {
        fprintf(stderr, "%s\n", event->text);
        leader->lock = NULL; /* do_work() asks for it again */
        arm(leader->work, 1000);
    } else if (event->kind == REDLOCK_ON_LOST) {
        printf("%d lost it: %s\n", (int)getpid(), event->text);
        redlock_forget(leader->lock);
        leader_ask(leader);
    }
}

/* Before each piece of work, look whether the lock is still held. The fence goes along with all that is
 * written. */
static void do_work(evutil_socket_t fd, short what, void *arg)
{
    struct leader *leader = arg;

    (void)fd;
    (void)what;
    if (!leader->lock)
        leader_ask(leader);
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
    redlock_set_callback(leader.redlock, leader_happened, &leader);
    leader_ask(&leader);
    event_add(bytes, NULL);
    event_add(term, NULL);
    arm(leader.timer, 0);
    event_base_dispatch(leader.base);

    redlock_close(leader.redlock); /* gives the lock back: the next copy leads at once */
    event_free(bytes);
    event_free(term);
    event_free(leader.timer);
    event_free(leader.work);
    event_base_free(leader.base);
    return 0;
}
