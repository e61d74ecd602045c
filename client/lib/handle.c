#include "client/lib/handle.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum {
    TIMEOUT_MS = 10000,
    READ_MOST = 1 << 20, /* reading stops after so many bytes, so that a round ends */
    ROUNDS = 4,          /* in a turn at most, while a round leaves something to do */
};

int64_t handle_now_ms(void)
{
    struct timespec now;

    if (clock_gettime(CLOCK_BOOTTIME, &now) < 0)
        return INT64_MAX; /* cannot happen; every deadline would be over */
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool handle_is_unused(const int64_t *reserved, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (reserved[i] != 0)
            return false;
    return true;
}

/* ---- its life ---- */

/* Programs allocate these: with another size, or another place of a member, they would have to be compiled anew. */
#if UINTPTR_MAX == UINT64_MAX
_Static_assert(sizeof(struct redlock_options) == 88 && offsetof(struct redlock_options, reserved) == 56,
               "the ABI of libredlock.so.0");
_Static_assert(sizeof(struct redlock_lock_options) == 88 &&
                   offsetof(struct redlock_lock_options, reserved) == 48,
               "the ABI of libredlock.so.0");
#endif

static int64_t timeout_of(int64_t timeout_ms)
{
    if (timeout_ms <= 0)
        return TIMEOUT_MS;
    return timeout_ms < DURATION_MAX_MS ? timeout_ms : DURATION_MAX_MS;
}

static uint64_t seed_of(const void *address)
{
    uint64_t seed;

    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == sizeof seed)
        return seed;
    return (uint64_t)(uintptr_t)address ^ (uint64_t)handle_now_ms() ^ (uint64_t)getpid() << 32;
}

struct redlock *redlock_open(const char *address, const struct redlock_options *options)
{
    static const struct redlock_options defaults;
    const struct redlock_options *o = options ? options : &defaults;

    bool known = handle_is_unused(o->reserved, sizeof o->reserved / sizeof o->reserved[0]);
    if (!known || (o->client && !piece_is_word((struct piece){o->client, strlen(o->client)}, WORD_BYTES))) {
        errno = EINVAL;
        return NULL;
    }
    struct redlock *redlock = calloc(1, sizeof *redlock);
    if (!redlock)
        return NULL;
    redlock->link = (struct link){.fd = -1, .epoll = -1};
    int error = handle_take_credentials(redlock, o);
    if (!error)
        error = link_init(&redlock->link, address, redlock->auth_user || redlock->secret_file, o);
    if (!error)
        link_beside(&redlock->next, &redlock->link);
    if (!error)
        redlock->core = core_new(o->client, timeout_of(o->timeout_ms), seed_of(redlock));
    if (!redlock->core) {
        link_end(&redlock->link, false);
        free(redlock->auth_user);
        free(redlock->secret_file);
        free(redlock);
        errno = error ? error : ENOMEM;
        return NULL;
    }
    redlock->pid = getpid();
    redlock->retry_ms = -1;
    return redlock;
}

static void handle_end(struct redlock *redlock)
{
    const struct core *core = redlock->core;
    bool ours = redlock->pid == getpid();

    redlock->ended = true;
    if (ours && core->state == CORE_UP &&
        core->out_used == core->out_len) /* else QUIT would stand behind half a line */
        link_quit(&redlock->link);
    link_close(&redlock->next, ours);
    free(redlock->next.spare);
    link_end(&redlock->link, ours);
    core_quit(redlock->core);
}

static void handle_free(struct redlock *redlock)
{
    if (!redlock->ended)
        handle_end(redlock);
    core_free(redlock->core);
    free(redlock->auth_user);
    free(redlock->secret_file);
    free(redlock);
}

void redlock_close(struct redlock *redlock)
{
    if (!redlock)
        return;
    redlock->ending = redlock->closing = true;
    if (!redlock->depth)
        handle_free(redlock);
}

enum redlock_error redlock_quit(struct redlock *redlock)
{
    enum redlock_error error = handle_usable(redlock, false);

    if (error)
        return error;
    redlock->ending = true;
    if (!redlock->depth)
        handle_end(redlock);
    return REDLOCK_OK;
}

/* An address that tells the calling thread from all others. */
static const void *handle_thread(void)
{
    return &errno;
}

void handle_enter(struct redlock *redlock)
{
    if (redlock->depth++ == 0)
        atomic_store(&redlock->inside, handle_thread());
}

void handle_leave(struct redlock *redlock)
{
    if (--redlock->depth > 0)
        return;
    atomic_store(&redlock->inside, NULL);
    if (redlock->closing)
        handle_free(redlock);
    else if (redlock->ending && !redlock->ended)
        handle_end(redlock);
}

void redlock_set_timeout(struct redlock *redlock, int64_t timeout_ms)
{
    if (redlock)
        redlock->core->timeout_ms = timeout_of(timeout_ms);
}

void redlock_set_callback(struct redlock *redlock, redlock_callback *callback, void *user)
{
    if (!redlock)
        return;
    redlock->callback = callback;
    redlock->user = user;
}

/* ---- what it says ---- */

enum redlock_error handle_says(struct redlock *redlock, enum redlock_error error, const char *text)
{
    redlock->error = error;
    redlock->retry_ms = -1;
    (void)snprintf(redlock->text, sizeof redlock->text, "%s", text);
    return error;
}

enum redlock_error handle_usable(struct redlock *redlock, bool blocking)
{
    if (!redlock)
        return REDLOCK_ARGUMENT;
    const void *inside = atomic_load(&redlock->inside);
    if (inside && inside != handle_thread())
        return REDLOCK_MISUSE; /* without words: the text is the other thread's */
    if (redlock->pid != getpid())
        return handle_says(redlock, REDLOCK_MISUSE, "the handle belongs to the process that opened it");
    if (redlock->ending)
        return handle_says(redlock, REDLOCK_CLOSED, "the handle was closed");
    if (blocking && redlock->telling)
        return handle_says(redlock, REDLOCK_MISUSE, "a blocking call inside a callback");
    return REDLOCK_OK;
}

enum redlock_error redlock_error(const struct redlock *redlock)
{
    return redlock ? redlock->error : REDLOCK_ARGUMENT;
}

const char *redlock_error_text(const struct redlock *redlock)
{
    return redlock ? redlock->text : "there is no handle";
}

int64_t redlock_error_retry_ms(const struct redlock *redlock)
{
    return redlock ? redlock->retry_ms : -1;
}

const char *redlock_server(const struct redlock *redlock)
{
    return redlock && redlock->core->server[0] ? redlock->core->server : NULL;
}

const char *redlock_address(const struct redlock *redlock)
{
    return redlock ? redlock->link.address : "";
}

/* ---- telling ---- */

static bool is_awaited(const struct awaited *awaited, const struct redlock_event *event)
{
    if (!awaited || awaited->over)
        return false;
    if (event->kind == REDLOCK_ON_NOW)
        return awaited->watch && event->watch == awaited->watch;
    if (event->kind == REDLOCK_ON_LOCK)
        return awaited->lock && event->lock == awaited->lock;
    return awaited->request && event->request == awaited->request;
}

static bool is_result(const struct redlock_event *event)
{
    switch (event->kind) {
    case REDLOCK_ON_LOCK:
    case REDLOCK_ON_UNLOCK:
    case REDLOCK_ON_EXTEND:
    case REDLOCK_ON_CHECK:
    case REDLOCK_ON_SHOW:
    case REDLOCK_ON_DOWNGRADE:
    case REDLOCK_ON_TELL: return true;
    case REDLOCK_ON_NOW: return event->error != REDLOCK_OK;
    default: return false;
    }
}

static void handle_tell(struct redlock *redlock, const struct redlock_event *event)
{
    struct awaited *awaited = redlock->awaited;
    bool ours = is_awaited(awaited, event);

    if (is_result(event)) {
        (void)handle_says(redlock, event->error, event->text);
        redlock->retry_ms = event->retry_ms;
    }
    if (ours && event->kind != REDLOCK_ON_ROW) {
        awaited->over = true;
        awaited->error = event->error;
        return;
    }
    redlock->telling = true;
    if (ours)
        awaited->row(event->text, awaited->row_user);
    else if (redlock->callback)
        redlock->callback(redlock, event, redlock->user);
    redlock->telling = false;
    if (redlock->pid != getpid()) /* the callback forked, and this is the child */
        redlock->ending = redlock->closing = true;
}

/* A blocking call returns as soon as its result is there: the next event may be about the lock that the
 * program does not know yet. */
static bool is_stopped(const struct redlock *redlock)
{
    return redlock->ending || (redlock->awaited && redlock->awaited->over);
}

static void handle_tell_all(struct redlock *redlock)
{
    struct redlock_event event;

    while (!is_stopped(redlock) && core_next(redlock->core, handle_now_ms(), &event))
        handle_tell(redlock, &event);
}

/* ---- the connection ---- */

static void disconnected(struct redlock *redlock)
{
    char why[LINK_WHY_BYTES];

    (void)snprintf(why, sizeof why, "%s", redlock->link.why);
    link_close(&redlock->link, true);
    core_disconnected(redlock->core, handle_now_ms(),
                      redlock->link.refused ? REDLOCK_MISUSE : REDLOCK_CONNECT, why);
}

static void look_at_connecting(struct redlock *redlock)
{
    struct link *link = &redlock->link;

    if (redlock->core->state != CORE_CONNECTING)
        return;
    link_progress(link);
    if (link->state == LINK_OPEN)
        core_connected(redlock->core, handle_now_ms(), link->local);
    else if (link->state == LINK_CLOSED)
        disconnected(redlock);
}

static void handle_read(struct redlock *redlock)
{
    size_t all = 0;

    while (redlock->link.state == LINK_OPEN && !is_stopped(redlock) && all < READ_MOST) {
        size_t room;
        char *space = core_space(redlock->core, &room);
        if (room == 0) /* the core has lines to work on first */
            return;
        ssize_t len = link_read(&redlock->link, space, room);
        if (len == 0)
            return;
        if (len < 0) {
            disconnected(redlock);
            handle_tell_all(redlock);
            return;
        }
        all += (size_t)len;
        core_got(redlock->core, (size_t)len, handle_now_ms());
        handle_tell_all(redlock);
    }
}

/* If writing fails, an answer may have come all the same, as "too many clients" before the connection's
 * end. */
static void handle_write(struct redlock *redlock)
{
    struct link *link = &redlock->link;

    while (link->state == LINK_OPEN) {
        size_t len;
        const char *bytes = core_output(redlock->core, handle_now_ms(), &len);
        if (len == 0)
            return;
        ssize_t sent = link_write(link, bytes, len);
        if (sent == 0)
            return;
        if (sent < 0) {
            handle_read(redlock);
            if (link->state == LINK_OPEN)
                disconnected(redlock);
            return;
        }
        core_wrote(redlock->core, (size_t)sent);
    }
}

static void handle_act(struct redlock *redlock)
{
    struct core *core = redlock->core;
    struct link *link = &redlock->link;

    switch (core_action(core)) {
    case ACTION_NOTHING: return;
    case ACTION_CONNECT:
        core_connecting(core, handle_now_ms());
        if (!handle_credentials(redlock))
            return;
        link_connect(link);
        look_at_connecting(redlock);
        return;
    case ACTION_PARK: link_park(link, core->connection); break;
    case ACTION_CLOSE: link_close(link, true); break;
    }
    core_disconnected(core, handle_now_ms(), REDLOCK_CONNECT, "");
}

static void unpark(struct redlock *redlock)
{
    struct parked **at = &redlock->link.parked;

    while (*at)
        if (core_binds(redlock->core, (*at)->connection))
            at = &(*at)->next;
        else
            link_unpark(at);
}

void handle_turn(struct redlock *redlock)
{
    struct core *core = redlock->core;

    for (unsigned i = 0; i < ROUNDS && !is_stopped(redlock); i++) {
        look_at_connecting(redlock);
        redlock->link.blocked = false;
        handle_tell_all(redlock);
        handle_read(redlock);
        if (is_stopped(redlock))
            break;
        core_tick(core, handle_now_ms());
        handle_tell_all(redlock);
        if (is_stopped(redlock))
            break;
        handle_act(redlock);
        handle_write(redlock);
        handle_tell_all(redlock);
        if (is_stopped(redlock))
            break;
        handle_move(redlock);
        if (handle_wait_ms(redlock) > 0)
            break;
    }
    if (redlock->ending)
        return;
    link_watch(&redlock->link);
    unpark(redlock);
}

/* ---- in an event loop ---- */

int64_t handle_wait_ms(const struct redlock *redlock)
{
    if ((core_has_output(redlock->core) && !redlock->link.blocked) || link_pending(&redlock->link))
        return 0;
    int64_t at_ms = core_deadline_ms(redlock->core);
    int64_t now_ms = handle_now_ms();
    if (at_ms == INT64_MAX)
        return INT64_MAX;
    return at_ms > now_ms ? at_ms - now_ms : 0;
}

int redlock_fd(const struct redlock *redlock)
{
    return redlock ? redlock->link.epoll : -1;
}

int redlock_socket(const struct redlock *redlock)
{
    return redlock ? redlock->link.fd : -1;
}

short redlock_events(const struct redlock *redlock)
{
    return redlock ? POLLIN : 0;
}

int redlock_timeout_ms(const struct redlock *redlock)
{
    if (!redlock || redlock->pid != getpid() || redlock->ending)
        return -1;
    int64_t wait_ms = handle_wait_ms(redlock);
    if (wait_ms == INT64_MAX)
        return -1;
    return wait_ms < INT_MAX ? (int)wait_ms : INT_MAX;
}

enum redlock_error redlock_process(struct redlock *redlock)
{
    enum redlock_error error = handle_usable(redlock, true);

    if (error)
        return error;
    handle_enter(redlock);
    handle_turn(redlock);
    handle_leave(redlock);
    return REDLOCK_OK;
}
