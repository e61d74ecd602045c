/* There is no room for one more client: who gives way, and who never does. */
#include "tests/unit/conn_world.h"
#include "tests/unit/suite.h"

#define MASTERS "nodes: [redis://a:1, redis://b:2, redis://c:3]\nlisten: ['unix:/s']\n"
#define USERS   MASTERS "users:\n  - {name: us, uid: %u, lock: '*', show: '*'}\n"

enum { ROOM = 8 };

static struct world w;

static void setup(void)
{
    world_make(&w);
    w.conf.max_clients = w.conf.max_clients_per_peer = ROOM;
}

static void teardown(void)
{
    world_free(&w);
    conf_clear(&w.conf);
}

/* From now on, each client must be a user, which only those of the Unix socket are. */
static void read_users(void)
{
    char text[256];
    struct conf fresh;
    int len = snprintf(text, sizeof text, USERS, (unsigned)getuid());
    ck_assert_int_eq(conf_parse(&fresh, "f", text, (size_t)len, stderr), 0);
    w.conf.users = fresh.users;
}

/* A client of that address, on a pair of sockets. */
static int client_from(const char *address)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } peer = {.any = {.sa_family = strchr(address, ':') ? AF_INET6 : AF_INET}};
    int fds[2];
    bool v6 = peer.any.sa_family == AF_INET6;
    void *number = v6 ? (void *)&peer.v6.sin6_addr : (void *)&peer.v4.sin_addr;

    ck_assert_int_eq(inet_pton(peer.any.sa_family, address, number), 1);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    ck_assert_int_eq(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
    conns_accept(w.conns, fds[0], &w.listener, &peer.any, sizeof peer, NULL);
    return fds[1];
}

static void expect_here(int fd)
{
    say(fd, "PING\n");
    expect(&w, fd, "+PONG ready=1\n");
}

SETUP(setup, teardown);

/* The group with the most newcomers loses its oldest, one after the other. A user is none of them. */
T(the_largest_group_gives_way)
{
    read_users();
    world_start(&w);
    int many[4], few[3], user = client_unix(&w);
    say(user, "LOCK now\n");
    expect(&w, user, LOCKED("now"));
    for (unsigned i = 0; i < 3; i++)
        few[i] = client_from("192.0.2.1");
    for (unsigned i = 0; i < 4; i++)
        many[i] = client_from("192.0.2.2");
    int first = client_from("192.0.2.3");
    expect_end(&w, many[0]);
    expect_here(few[0]); /* a PING makes nobody a user */
    expect_here(first);
    int second = client_unix(&w); /* 3 and 3: either */
    say(second, "LOCK now\n");
    expect(&w, second, LOCKED("now"));
    int third = client_from("192.0.2.3");
    expect_end(&w, many[1]);
    expect_end(&w, few[0]);
    expect_here(many[3]);
    expect_here(few[2]);
    expect_here(third);
    say(user, "UNLOCK now\n");
    expect(&w, user, UNLOCKED("now"));
    ck_assert_ptr_null(strstr(w.heard, "dropped"));
}

static const struct {
    const char *one, *another, *alone;
} groups[] = {
    {"127.0.0.1", "127.8.9.10", "192.0.2.1"},
    {"127.0.0.1", "::1", "192.0.2.1"},
    {"::ffff:127.0.0.1", "127.0.0.2", "::2"},
    {"::ffff:192.0.2.1", "192.0.2.1", "192.0.2.2"},
    {"2001:db8:1:201:3::1", "2001:db8:1:2ff::", "2001:db8:1:300::"}, /* /56, not /64 */
};

T_EACH(what_a_group_is, sizeof groups / sizeof groups[0])
{
    read_users();
    w.conf.max_clients = 5;
    world_start(&w);
    int oldest = client_from(groups[_i].alone), next = client_from(groups[_i].alone);
    int one = client_from(groups[_i].one);
    (void)client_from(groups[_i].another);
    (void)client_from(groups[_i].another);
    (void)client_from(groups[_i].alone);
    expect_end(&w, one);
    expect_here(oldest);
    expect_here(next);
}

/* The limit of one peer: of its own newcomers the oldest gives way, though another group is larger. Its limit stays
 * that of a /64. */
T(within_a_peer)
{
    int others[4];
    read_users();
    w.conf.max_clients_per_peer = 2;
    world_start(&w);
    int next_door = client_from("2001:db8:1:1::1");
    for (unsigned i = 0; i < 4; i++)
        others[i] = client_from(i % 2 ? "127.0.0.1" : "127.0.0.2");
    int one = client_from("2001:db8:1:2::1"), two = client_from("2001:db8:1:2::2");
    int three = client_from("2001:db8:1:2::3");
    expect_end(&w, one);
    expect_here(next_door);
    expect_here(two);
    expect_here(three);
    for (unsigned i = 0; i < 4; i++)
        expect_here(others[i]);
}

/* Where nobody must be a user, nobody gives way. */
T(without_users)
{
    world_start(&w);
    int clients[ROOM];
    for (unsigned i = 0; i < ROOM; i++)
        clients[i] = client_from("192.0.2.2");
    int more = client_from("192.0.2.1");
    expect(&w, more, "-LIMIT limit=max_clients\n");
    for (unsigned i = 0; i < ROOM; i++)
        expect_here(clients[i]);
}

/* A reload makes strangers of clients that were served: what they hold is not lost for a new client. */
T(a_reload_that_brings_users)
{
    world_start(&w);
    int clients[ROOM];
    for (unsigned i = 0; i < ROOM; i++) {
        clients[i] = client_from("192.0.2.2");
        say(clients[i], "LOCK now\n");
        expect(&w, clients[i], LOCKED("now"));
    }
    read_users();
    conns_reconfigure(w.conns);
    int more = client_unix(&w);
    expect(&w, more, "-LIMIT limit=max_clients\n");
    for (unsigned i = 0; i < ROOM; i++)
        expect_here(clients[i]);
    ck_assert_ptr_null(strstr(w.heard, "dropped"));
}

/* One that said QUIT, or that is to be closed, is ended in its own way. */
T(newcomers_at_their_end)
{
    read_users();
    w.conf.max_clients = 2;
    world_start(&w);
    int quits = client_from("192.0.2.1"), foreign = client_from("192.0.2.1");
    say(quits, "QUIT\n");
    say(foreign, "Host: x\n");
    event_base_loop(w.base, EVLOOP_ONCE | EVLOOP_NONBLOCK); /* both are read, and nothing is flushed yet */
    int more = client_from("192.0.2.2"), refused = client_from("192.0.2.2");
    expect(&w, quits, "+BYE\n");
    expect_end(&w, quits);
    expect_end(&w, foreign);
    expect_end(&w, more);
    expect_here(refused);
    expect_count(&w, 1);
}
