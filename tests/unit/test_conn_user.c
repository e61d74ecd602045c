/* Which user a connection is, what it may ask, and AUTH. */
#include "tests/unit/conn_world.h"
#include "tests/unit/suite.h"

#define SECRET      "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define WRONG       "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define AS_OPS      "AUTH ops " SECRET "\n"
#define NO_SUCH     "-AUTH : no such user, or another secret\n"
#define NO_USER_YET "this connection is no user's: AUTH <user> <secret> first\n"

static struct world w;
static char secret_file[64];

static void setup(void)
{
    uint8_t hash[SECRET_HASH_BYTES];
    char hex[SECRET_HEX + 1] = "";

    world_make(&w);
    w.locks = w.waits = 0;
    snprintf(secret_file, sizeof secret_file, "/tmp/test_conn_user.%d", (int)getpid());
    int fd = open(secret_file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert(secret_hash(SECRET, SECRET_HEX, hash));
    secret_to_hex(hash, hex);
    ck_assert_int_eq(write(fd, hex, SECRET_HEX), SECRET_HEX);
    close(fd);
}

static void teardown(void)
{
    world_free(&w);
    conf_clear(&w.conf);
    unlink(secret_file);
}

/* The users of this text take the place of those before. FILE in it is the secret's file, UID our own uid. */
static void read_users(const char *text)
{
    char yaml[2048] = "nodes: [redis://a:1, redis://b:2, redis://c:3]\n", uid[16];
    struct conf fresh;
    char *said = NULL;
    size_t len;

    snprintf(uid, sizeof uid, "%u", (unsigned)getuid());
    for (const char *word = text; *word; word++) {
        size_t used = strlen(yaml);
        bool is_file = strncmp(word, "FILE", 4) == 0, is_uid = strncmp(word, "UID", 3) == 0;
        snprintf(yaml + used, sizeof yaml - used, "%.*s", is_file || is_uid ? 64 : 1,
                 is_file  ? secret_file
                 : is_uid ? uid
                          : word);
        word += is_file ? 3 : is_uid ? 2 : 0;
    }
    FILE *errors = open_memstream(&said, &len);
    int faults = conf_parse(&fresh, "f", yaml, strlen(yaml), errors);
    fclose(errors);
    ck_assert_msg(faults == 0, "%s", said);
    free(said);
    if (fresh.users)
        users_number(fresh.users, w.conf.users);
    users_free(w.conf.users);
    w.conf.users = fresh.users;
}

static void start(const char *text)
{
    read_users(text);
    world_start(&w);
}

SETUP(setup, teardown);

#define OPS      "  - {name: ops, secret_file: FILE, lock: ['now*', 'wait*'], show: ['*'], admin: yes}\n"
#define US       "  - {name: us, uid: UID, lock: 'now*'}\n"
#define ONLY_OPS "users:\n" OPS

/* ---- who ---- */

T(without_users_all_is_allowed)
{
    start("");
    int fd = client_unix(&w);
    say(fd, "LOCK now\nSHOW CONFIG\n");
    expect(&w, fd, LOCKED("now") "+END 0\n");
    say(fd, AS_OPS);
    expect(&w, fd, "-AUTH : this redlockd has no users: nobody needs to say who it is\n");
    close(fd);
}

T(who_and_break)
{
    start("users:\n" US "  - {name: anyone, show: ['seen/*']}\n" OPS);
    int fd = client_unix(&w), other = client_tcp(&w);
    say(fd, "WHO now\nBREAK now\n");
    expect(&w, fd,
           "-DENIED now : user us may not see it: that takes a right to show this name\n"
           "-DENIED now : user us may not break it: that takes admin\n");
    say(other, "WHO seen/x\nWHO now\n");
    expect(&w, other,
           "+END 0\n-DENIED now : user anyone may not see it: that takes a right to show this name\n");
    say(other, AS_OPS);
    expect(&w, other, "+OK\n");
    say(other, "WHO now\nBREAK any\n");
    expect(&w, other, "+END 0\n+END 0\n");
    ck_assert_str_eq(w.heard, "WHO seen/x\nWHO now\nBREAK any\n");
    close(fd);
    close(other);
}

T(by_uid)
{
    start("users:\n" US);
    int fd = client_unix(&w);
    say(fd, "LOCK now\nLOCK other\nUNLOCK other\n#7 SHOW CONFIG\n");
    expect(&w, fd,
           LOCKED("now") "-DENIED other : user us may not lock it\n-DENIED other : user us may not lock it\n"
                         "#7 -DENIED : user us may not SHOW CONFIG: that takes admin\n");
    ck_assert_str_eq(conns_user(w.conns, 1)->name, "us");
    ck_assert_str_eq(w.heard, "LOCK now\n");
    close(fd);
}

T(a_stranger_may_say_little)
{
    start(ONLY_OPS);
    int fd = client_unix(&w);
    say(fd, "PING\nLOCK now\n#1 SHOW VERSION\nCANCEL\nHELP\n");
    expect(&w, fd,
           "+PONG ready=1\n-AUTH now : " NO_USER_YET "#1 -AUTH : " NO_USER_YET "-AUTH : " NO_USER_YET);
    expect_last(&w, fd, "+END 17\n");
    ck_assert_ptr_null(conns_user(w.conns, 1));
    say(fd, "QUIT\n");
    expect(&w, fd, "+BYE\n");
    expect_end(&w, fd);
    ck_assert_str_eq(w.heard, "");
    close(fd);
}

T(anyone_has_the_rights_that_are_left)
{
    start(ONLY_OPS "  - {name: anyone, lock: nowhere}\n");
    int fd = client_tcp(&w);
    say(fd, "LOCK nowhere\nLOCK now\n");
    expect(&w, fd, LOCKED("nowhere") "-DENIED now : user anyone may not lock it\n");
    close(fd);
}

/* ---- AUTH ---- */

T(auth_makes_it_another_user)
{
    start("users:\n" OPS US);
    int fd = client_unix(&w);
    say(fd, "LOCK wait\n#a " AS_OPS "SHOW CONFIG\n");
    expect(&w, fd, "-DENIED wait : user us may not lock it\n#a +OK\n+END 0\n");
    ck_assert_str_eq(conns_user(w.conns, 1)->name, "ops");
    close(fd);
}

T(what_is_wrong_is_told_after_a_second)
{
    static const char *const lines[] = {"AUTH ops " WRONG "\n", "AUTH nobody " SECRET "\n",
                                        "AUTH us " SECRET "\n", "AUTH ops short\n"};
    start("users:\n" OPS US);
    for (unsigned i = 0; i < 4; i++) {
        int fd = client_unix(&w);
        int64_t asked_ms = clock_boot_ms();
        say(fd, lines[i]);
        expect(&w, fd, NO_SUCH);
        ck_assert_int_ge(clock_boot_ms() - asked_ms, 999);
        say(fd, "LOCK now\n");
        expect(&w, fd, LOCKED("now"));
        close(fd);
    }
    struct conns_stats stats;
    conns_stats(w.conns, &stats);
    ck_assert_uint_eq(stats.auth_failed, 4);
}

T(the_third_refusal_is_the_last)
{
    start(ONLY_OPS);
    int fd = client_unix(&w);
    say(fd, "AUTH ops " WRONG "\n" AS_OPS "AUTH ops " WRONG "\nAUTH x y\n" AS_OPS "PING\n");
    expect(&w, fd, NO_SUCH "+OK\n" NO_SUCH NO_SUCH);
    expect_end(&w, fd);
    close(fd);
}

/* Requests behind a wrong AUTH are done afterwards, with the rights of before: also requests that may overtake. */
T(a_barrier)
{
    start("users:\n" OPS US);
    int fd = client_unix(&w);
    say(fd, "#1 AUTH ops " WRONG "\n#2 LOCK now\nLOCK wait\n#3 PING\nCANCEL\n#4 QUIT\n");
    settle(&w);
    ck_assert_str_eq(w.heard, "");
    expect(&w, fd,
           "#1 " NO_SUCH
           "#2 " LOCKED("now") "-DENIED wait : user us may not lock it\n#3 +PONG ready=1\n-BADTAG : nothing "
                               "waits there, or its grant was already written\n#4 +BYE\n");
    expect_end(&w, fd);
    close(fd);
}

T(behind_what_waits)
{
    start("users:\n" OPS "  - {name: us, uid: UID, lock: 'wait*'}\n");
    int fd = client_unix(&w);
    say(fd, "LOCK wait\n" AS_OPS "#2 LOCK now\n");
    expect_heard(&w, "LOCK wait\n");
    settle(&w);
    ck_assert_str_eq(w.heard, "LOCK wait\n"); /* though it is tagged */
    ck_assert(answer(&w, "wait", REPLY_BUSY));
    expect(&w, fd, "-BUSY wait\n+OK\n#2 " LOCKED("now"));
    close(fd);
}

T(not_beside_locks_and_requests)
{
    static const char busy[] = "only while this connection has no lock and no request under way\n";
    start("users:\n" OPS "  - {name: us, uid: UID, lock: 'wait*'}\n");
    int fd = client_unix(&w);
    say(fd, "LOCK wait\n#a " AS_OPS);
    expectf(&w, fd, "#a -AUTH : %s", busy);
    ck_assert(answer(&w, "wait", REPLY_BUSY));
    w.locks = 1;
    say(fd, AS_OPS);
    expectf(&w, fd, "-BUSY wait\n-AUTH : %s", busy);
    w.locks = 0;
    say(fd, AS_OPS);
    expect(&w, fd, "+OK\n");
    close(fd);
}

/* The request before the queue is answered, and the queue has not gone on when the next bytes are read. */
T(not_before_the_queue)
{
    start("users:\n" OPS "  - {name: us, uid: UID, lock: 'wait*'}\n");
    int fd = client_unix(&w);
    say(fd, "LOCK wait\nLOCK now\n");
    expect_heard(&w, "LOCK wait\n");
    ck_assert(answer(&w, "wait", REPLY_BUSY));
    say(fd, "#a " AS_OPS);
    event_base_loop(w.base, EVLOOP_NONBLOCK);
    settle(&w);
    ck_assert_str_eq(w.heard, "LOCK wait\n");
    expect(&w, fd,
           "-BUSY wait\n#a -AUTH : only while this connection has no lock and no request under way\n"
           "-DENIED now : user us may not lock it\n");
    close(fd);
}

static int client_from(const char *host)
{
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(1)};
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(1)};
    int fds[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    bool is_v4 = inet_pton(AF_INET, host, &v4.sin_addr) == 1;
    ck_assert(is_v4 || inet_pton(AF_INET6, host, &v6.sin6_addr) == 1);
    conns_accept(w.conns, fds[0], &w.listener, is_v4 ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6,
                 is_v4 ? sizeof v4 : sizeof v6, NULL);
    return fds[1];
}

T(not_over_a_network)
{
    static const struct {
        const char *host;
        bool loopback;
    } hosts[] = {{"192.0.2.1", false}, {"::ffff:192.0.2.1", false}, {"2001:db8::1", false},
                 {"128.0.0.1", false}, {"127.0.0.1", true},         {"127.1.2.3", true},
                 {"::1", true},        {"::ffff:127.0.0.1", true}};
    start(ONLY_OPS);
    for (unsigned i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        int fd = client_from(hosts[i].host);
        say(fd, AS_OPS "LOCK now\n");
        expect(&w, fd,
               hosts[i].loopback
                   ? "+OK\n" LOCKED("now")
                   : "-AUTH : not over plain TCP; this secret has been seen, make a new one\n"
                     "-AUTH now : this connection is no user's, and over plain TCP it cannot AUTH\n");
        close(fd);
    }
}

T(the_end_of_a_client_that_waits_for_its_answer)
{
    start(ONLY_OPS);
    for (unsigned i = 0; i < 3; i++) {
        int fd = i ? client_tcp(&w) : client_unix(&w);
        say(fd, "AUTH ops " WRONG "\nPING\n");
        settle(&w);
        if (i == 2)
            reset_close(fd);
        else
            close(fd);
        expect_count(&w, 0);
    }
    int fd = client_unix(&w);
    say(fd, "AUTH ops " WRONG "\nPING\n");
    shutdown(fd, SHUT_WR);
    expect(&w, fd, NO_SUCH "+PONG ready=1\n");
    expect_end(&w, fd);
    close(fd);
    fd = client_unix(&w);
    say(fd, "AUTH ops " WRONG "\n"); /* and the daemon ends meanwhile */
    settle(&w);
    close(fd);
}

/* ---- limits ---- */

T(clients_of_a_user)
{
    start("users:\n" OPS "  - {name: us, uid: UID, lock: 'now', max_clients: 1}\n");
    int first = client_unix(&w), second = client_unix(&w);
    expect(&w, second, "-LIMIT limit=max_clients_per_user\n");
    expect_end(&w, second);
    say(first, AS_OPS);
    expect(&w, first, "+OK\n");
    int third = client_unix(&w);
    say(third, "PING\n");
    expect(&w, third, "+PONG ready=1\n");
    close(first);
    close(second);
    close(third);
}

T(no_more_by_auth)
{
    start("users:\n  - {name: ops, secret_file: FILE, max_clients: 1}\n");
    int first = client_unix(&w), second = client_unix(&w);
    say(first, AS_OPS AS_OPS);
    expect(&w, first, "+OK\n+OK\n");
    say(second, AS_OPS);
    expect(&w, second, "-LIMIT limit=max_clients_per_user\n");
    close(first);
    expect_count(&w, 1);
    say(second, AS_OPS);
    expect(&w, second, "+OK\n");
    close(second);
}

/* ---- SHOW ---- */

T(clients_tell_their_user)
{
    start("users:\n" OPS US);
    int us = client_unix(&w), ops = client_unix(&w);
    say(ops, AS_OPS);
    expect(&w, ops, "+OK\n");
    say(ops, "SHOW CLIENTS\n");
    char line[512] = "";
    for (unsigned rows = 0; rows < 3;) {
        struct pollfd p = {.fd = ops, .events = POLLIN};
        world_turn(&w);
        if (poll(&p, 1, 1) > 0)
            ck_assert_int_gt(recv(ops, line + strlen(line), sizeof line - 1 - strlen(line), MSG_DONTWAIT), 0);
        rows = 0;
        for (const char *c = line; *c; c++)
            rows += *c == '\n';
    }
    ck_assert_ptr_nonnull(strstr(line, "session=1 "));
    ck_assert_ptr_nonnull(strstr(line, "client= user=us locks="));
    ck_assert_ptr_nonnull(strstr(line, "client= user=ops locks="));
    close(us);
    close(ops);
}

/* A long list of which the client may see little does not hold up the others. */
T(hidden_rows_are_passed_over)
{
    start("users:\n" US);
    w.rows = 5001;
    w.hidden_rows = 5000;
    int fd = client_unix(&w);
    say(fd, "SHOW LOCKS\n");
    world_turn(&w);
    ck_assert_uint_eq(w.rows_made, 0);
    expect_last(&w, fd, "+END 1\n");
    ck_assert_uint_eq(w.rows_made, 1);
    close(fd);
}

/* ---- the configuration is read again ---- */

T(a_reload_makes_it_another_user)
{
    start("users:\n" OPS US);
    int us = client_unix(&w), ops = client_unix(&w);
    say(ops, AS_OPS);
    expect(&w, ops, "+OK\n");
    read_users("users:\n  - {name: we, uid: UID}\n" OPS);
    conns_reconfigure(w.conns);
    ck_assert_str_eq(conns_user(w.conns, 1)->name, "we");
    ck_assert_str_eq(conns_user(w.conns, 2)->name, "ops");
    read_users("users:\n  - {name: ops, uid: 12345}\n"); /* ops has no secret any more */
    conns_reconfigure(w.conns);
    ck_assert_ptr_null(conns_user(w.conns, 1));
    ck_assert_ptr_null(conns_user(w.conns, 2));
    say(us, "LOCK now\n");
    expect(&w, us, "-AUTH now : " NO_USER_YET);
    read_users("");
    conns_reconfigure(w.conns);
    say(ops, "LOCK now\n");
    expect(&w, ops, LOCKED("now"));
    close(us);
    close(ops);
}
