/* Clients that do anything, in any order: nothing asserts, every known session ends exactly
 * once, and nothing is left. A failure names its seed; CHANCE_SEED=<n> runs that one alone. */
#include "tests/unit/conn_world.h"
#include "tests/unit/suite.h"

enum { CLIENTS = 24, STEPS = 1000, SESSIONS = 4096, SEEDS = 5 };

static struct world w;
static uint64_t state;
static int fds[CLIENTS];
static uint8_t known[SESSIONS], ended[SESSIONS]; /* by the order in which sessions came up */
static uint64_t names[SESSIONS], late[SESSIONS];
static unsigned sessions, lates;

static unsigned below(unsigned n)
{
    state ^= state << 13; /* xorshift64 */
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 33) % n;
}

static unsigned index_of(uint64_t session)
{
    for (unsigned i = sessions; i-- > 0;)
        if (names[i] == session)
            return i;
    assert(sessions < SESSIONS);
    names[sessions] = session;
    return sessions++;
}

static void chance_request(void *arg, uint64_t session, uint64_t request, uint64_t target,
                           const struct request *what)
{
    unsigned i = index_of(session);

    assert(!ended[i]);
    if (!known[i])
        known[i] = 1;
    if (w.pendings > PENDING - 2)
        answer(&w, "wait1", REPLY_BUSY);
    if (w.pendings > PENDING - 2)
        w.pendings--; /* a request that is never answered, which its connection must stand */
    on_request(arg, session, request, target, what);
}

static void chance_finish(void *arg, uint64_t session)
{
    unsigned i = index_of(session);

    assert(known[i] == 1 && !ended[i]);
    known[i] = 2;
    on_finish(arg, session);
}

static void chance_closed(void *arg, uint64_t session, enum conn_end end)
{
    unsigned i = index_of(session);
    struct notice lost = {.kind = NOTICE_LOST, .reason = LOST_CLOSED, .name = world_name("held")};
    (void)arg;

    assert(known[i] && !ended[i]);
    assert(end != CONN_RELEASED || known[i] == 2);
    ended[i] = 1;
    conns_notice(w.conns, session, &lost);
    if (below(2))
        conns_ended(w.conns, session);
    else if (end == CONN_RELEASED)
        late[lates++] = session;
}

static void chance_undelivered(void *arg, uint64_t session, uint64_t request)
{
    unsigned i = index_of(session);
    (void)arg;

    assert(request && known[i] && !ended[i]);
}

static void say_something(int fd)
{
    static const char *const lines[] = {
        "PING\n",
        "LOCK now\n",
        "LOCK wait1\n",
        "#1 LOCK wait1\n",
        "#2 LOCK wait2\n",
        "CANCEL\n",
        "CANCEL 1\n",
        "#3 CANCEL 2\n",
        "UNLOCK now\r\n",
        "UNLOCK wait3\n",
        "SHOW CLIENTS\n",
        "#4 SHOW LOCKS\n",
        "SHOW LOCKS\n",
        "HELP\n",
        "HELLO 1 client=x events=renewed\n",
        "FOO\n",
        "\n",
        "#",
        " ",
        "LOCK ",
        "#5 SHOW CLIENTS\n",
    };
    static char much[3000];
    unsigned what = below(60);

    if (what == 0)
        send(fd, "QUIT\n", 5, MSG_NOSIGNAL | MSG_DONTWAIT);
    else if (what == 1)
        send(fd, much, sizeof much, MSG_NOSIGNAL | MSG_DONTWAIT); /* NUL bytes without an end */
    else
        for (unsigned n = what == 2 ? 200 : 1 + below(4); n; n--) {
            const char *line = lines[below(sizeof lines / sizeof lines[0])];
            send(fd, line, strlen(line), MSG_NOSIGNAL | MSG_DONTWAIT);
        }
}

static void end_somehow(int *fd, bool tcp)
{
    switch (below(4)) {
    case 0: shutdown(*fd, SHUT_WR); return;
    case 1:
        if (tcp) {
            reset_close(*fd);
            break;
        }
        /* fall through */
    default: close(*fd); break;
    }
    *fd = -1;
}

static void read_some(int fd)
{
    char bytes[8192];

    for (unsigned n = below(8); n; n--)
        if (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) <= 0)
            break;
}

static void daemon_side(void)
{
    static const char *const waits[] = {"wait1", "wait2", "wait3"};
    struct notice notice = {.kind = below(2) ? NOTICE_RENEWED : NOTICE_EXPIRING, .name = world_name("a")};

    switch (below(4)) {
    case 0: answer(&w, waits[below(3)], below(2) ? REPLY_LOCKED : REPLY_TIMEOUT); break;
    case 1:
        if (sessions)
            for (unsigned n = below(100); n; n--)
                conns_notice(w.conns, names[below(sessions)], &notice);
        break;
    case 2:
        if (lates)
            conns_ended(w.conns, late[--lates]);
        break;
    case 3: event_base_loop(w.base, EVLOOP_ONCE | EVLOOP_NONBLOCK); break; /* events before the flush */
    }
}

static void run(uint64_t seed)
{
    state = seed * 0x9e3779b97f4a7c15u + 1;
    sessions = lates = 0;
    memset(known, 0, sizeof known);
    memset(ended, 0, sizeof ended);
    world_make(&w);
    w.handler.request = chance_request;
    w.handler.finish = chance_finish;
    w.handler.closed = chance_closed;
    w.handler.undelivered = chance_undelivered;
    w.rows = below(3) ? 300 : 30000;
    w.conf.max_clients = CLIENTS - 2;
    w.conf.max_output_bytes = below(2) ? 4096 : 65536;
    w.conf.idle_line_timeout_ms = 1 + below(50);
    w.conf.max_waits_per_client = 1 + below(50);
    world_start(&w);
    for (unsigned i = 0; i < CLIENTS; i++)
        fds[i] = -1;
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned i = below(CLIENTS);
        if (fds[i] < 0)
            fds[i] = i & 1 ? client_tcp(&w) : client_unix(&w);
        else if (below(30) == 0)
            end_somehow(&fds[i], i & 1);
        else if (below(3))
            say_something(fds[i]);
        else
            read_some(fds[i]);
        daemon_side();
        if (below(3))
            world_turn(&w);
    }
    if (seed % 5 == 0) { /* in the middle of everything */
        for (unsigned i = 0; i < CLIENTS; i++)
            if (fds[i] >= 0)
                close(fds[i]);
        world_free(&w);
        return;
    }
    for (unsigned i = 0; i < CLIENTS; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    int64_t until_ms = clock_boot_ms() + PATIENCE_MS;
    while (conns_count(w.conns) && clock_boot_ms() < until_ms) {
        world_turn(&w);
        while (lates)
            conns_ended(w.conns, late[--lates]);
        while (answer(&w, "wait1", REPLY_BUSY) || answer(&w, "wait2", REPLY_BUSY) ||
               answer(&w, "wait3", REPLY_BUSY))
            ;
        poll(NULL, 0, 1);
    }
    ck_assert_msg(conns_count(w.conns) == 0, "seed %llu: %u connections are left", (unsigned long long)seed,
                  conns_count(w.conns));
    ck_assert(conns_idle(w.conns));
    for (unsigned i = 0; i < sessions; i++)
        ck_assert_msg(known[i] == 0 || ended[i], "seed %llu: a session did not end",
                      (unsigned long long)seed);
    world_free(&w);
}

T_EACH(anything_goes, SEEDS)
{
    const char *one = getenv("CHANCE_SEED");
    if (!one)
        run((uint64_t)_i + 1);
    else if (_i == 0)
        run(strtoull(one, NULL, 10));
}
