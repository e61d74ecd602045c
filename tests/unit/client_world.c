#include "tests/unit/client_world.h"
#include "tests/unit/suite.h"

struct world *world_new(void)
{
    static struct world w;

    w = (struct world){.now_ms = START_MS, .core = core_new(NULL, 10000, 7)};
    ck_assert_ptr_nonnull(w.core);
    return &w;
}

/* ---- what the server says ---- */

void bytes_come(struct world *w, const char *bytes, size_t len)
{
    while (len > 0) {
        size_t room;
        char *space = core_space(w->core, &room);
        ck_assert_uint_gt(room, 0);
        size_t part = len < room ? len : room;
        memcpy(space, bytes, part);
        core_got(w->core, part, w->now_ms);
        bytes += part;
        len -= part;
    }
}

void says(struct world *w, const char *format, ...)
{
    char line[4 * SERVER_LINE_BYTES];
    va_list args;

    va_start(args, format);
    int len = vsnprintf(line, sizeof line - 1, format, args);
    va_end(args);
    ck_assert_int_lt(len, (int)sizeof line - 1);
    line[len++] = '\n';
    bytes_come(w, line, (size_t)len);
}

/* ---- what the client says ---- */

const char *line_of(struct world *w)
{
    size_t len;
    const char *bytes = core_output(w->core, w->now_ms, &len);
    const char *lf = len ? memchr(bytes, '\n', len) : NULL;

    ck_assert(!len || lf);
    size_t line_len = lf ? (size_t)(lf - bytes) : 0;
    memcpy(w->line, bytes, line_len);
    w->line[line_len] = '\0';
    if (lf)
        core_wrote(w->core, line_len + 1);
    return w->line;
}

const char *tag(const struct world *w)
{
    static char tags[8][TAG_BYTES + 2];
    static unsigned next;
    char *to = tags[next++ % 8];

    (void)snprintf(to, sizeof tags[0], "%.*s", (int)strcspn(w->line, " "), w->line);
    return to;
}

/* ---- what the program is told ---- */

const char *world_told(struct world *w)
{
    static const char *const kinds[] = {
        [REDLOCK_ON_LOCK] = "lock",       [REDLOCK_ON_UNLOCK] = "unlock",
        [REDLOCK_ON_EXTEND] = "extend",   [REDLOCK_ON_CHECK] = "check",
        [REDLOCK_ON_SHOW] = "show",       [REDLOCK_ON_ROW] = "row",
        [REDLOCK_ON_RENEWED] = "renewed", [REDLOCK_ON_EXPIRING] = "expiring",
        [REDLOCK_ON_LOST] = "lost",       [REDLOCK_ON_RESUMED] = "resumed",
        [REDLOCK_ON_UP] = "up",           [REDLOCK_ON_DOWN] = "down",
        [REDLOCK_ON_DRAIN] = "drain",     [REDLOCK_ON_DOWNGRADE] = "downgrade",
        [REDLOCK_ON_TELL] = "tell",       [REDLOCK_ON_NOW] = "now",
    };
    struct redlock_event *event = &w->event;

    if (!core_next(w->core, w->now_ms, event))
        return "";
    (void)snprintf(w->text, sizeof w->text, "%s%s%s %s%s%s", kinds[event->kind], event->lock ? " " : "",
                   event->lock ? event->lock->name : "", redlock_error_name(event->error),
                   event->text[0] ? " : " : "", event->text);
    return w->text;
}

/* ---- time and connections ---- */

void time_is(struct world *w, int64_t now_ms)
{
    ck_assert_int_ge(now_ms, w->now_ms);
    w->now_ms = now_ms;
    core_tick(w->core, now_ms);
}

void passes(struct world *w, int64_t ms)
{
    time_is(w, w->now_ms + ms);
}

void dial(struct world *w, bool local)
{
    if (core_deadline_ms(w->core) > w->now_ms)
        w->now_ms = core_deadline_ms(w->core);
    core_tick(w->core, w->now_ms);
    ck_assert_int_eq(core_action(w->core), ACTION_CONNECT);
    core_connecting(w->core, w->now_ms);
    core_connected(w->core, w->now_ms, local);
    expect_line(w, "#h HELLO 1 events=renewed");
}

void comes_up(struct world *w)
{
    dial(w, true);
    says(w, "#h +HELLO proto=1 server=redlockd/9 session=1 now=%lld", (long long)w->now_ms);
    expect_told(w, "up ok : redlockd/9");
}

void goes_down(struct world *w)
{
    core_disconnected(w->core, w->now_ms, REDLOCK_CONNECT, "gone");
}

/* ---- what the program asks ---- */

struct redlock_lock *ask_lock(struct world *w, const char *name, int64_t wait_ms)
{
    struct redlock_lock_options options = {.ttl_ms = TTL_MS, .wait_ms = wait_ms};
    enum redlock_error error = REDLOCK_OK;
    struct redlock_lock *lock = core_lock(w->core, w->now_ms, name, NULL, &options, &error);

    ck_assert_ptr_nonnull(lock);
    return lock;
}

struct redlock_lock *ask_lease(struct world *w, const char *name)
{
    struct redlock_lock_options options = {.ttl_ms = TTL_MS, .hold = REDLOCK_LEASE};
    enum redlock_error error = REDLOCK_OK;

    return core_lock(w->core, w->now_ms, name, NULL, &options, &error);
}

uint64_t ask(struct world *w, struct redlock_lock *lock, enum ask_verb verb)
{
    enum redlock_error error = REDLOCK_OK;

    return core_ask(w->core, w->now_ms, lock, verb, 0, &error);
}

void grants(struct world *w, const char *name, const char *token, int fence)
{
    says(w, "%s +LOCKED %s token=%s fence=%d valid=1 until=%lld", tag(w), name, token, fence,
         (long long)w->now_ms + TTL_MS);
}

struct redlock_lock *has_lock(struct world *w, const char *name, const char *token)
{
    struct redlock_lock *lock = ask_lock(w, name, 0);

    expect_line(w, "#* LOCK * ttl=9000");
    grants(w, name, token, 7);
    ck_assert_str_ne(world_told(w), "");
    ck_assert_int_eq(w->event.kind, REDLOCK_ON_LOCK);
    ck_assert_int_eq(w->event.error, REDLOCK_OK);
    return lock;
}

int64_t deadline(const struct redlock_lock *lock)
{
    return atomic_load(&lock->deadline_ms);
}
