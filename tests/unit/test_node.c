/* The transport to a master: against real servers, and against one that does what no server should. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>

#include "daemon/buffer.h"
#include "daemon/node.h"
#include "proto/resp.h"
#include "tests/unit/server.h"

enum { VOTES = 4096 };

/* ---- what a node tells ---- */

static struct event_base *base;
static struct evdns_base *dns;
static struct conf conf;
static struct node *node;
static struct resp_format *format;

static struct told {
    unsigned connected, lost, backlog, failed, votes;
    uint32_t connection; /* of the last call */
    struct {
        enum command_verb verb;
        uint64_t ref;
        struct vote vote;
    } vote[VOTES];
} told;
static unsigned close_at_vote;  /* voted() number n calls node_close() */
static bool close_at_backlog;
static bool send_when_connected;

static void send_command(enum command_verb verb, uint64_t number, uint64_t ref)
{
    struct command command = {.verb = verb, .number = number, .name = {.len = 3, .text = "job"}, .bucket = 1};
    size_t len;
    char *bytes = resp_command(format, &command, &len);
    node_send(node, bytes, len, verb, ref);
    resp_bytes_free(bytes);
}

static void on_connected(void *arg, unsigned index, uint32_t connection)
{
    ck_assert_ptr_eq(arg, &told);
    ck_assert_uint_eq(index, 0);
    ck_assert_uint_gt(connection, told.connection);
    told.connected++;
    told.connection = connection;
    if (send_when_connected) {
        send_command(COMMAND_CLIENT_ID, 0, 1);
        node_flush(node);
    }
}

static void on_voted(void *arg, unsigned index, uint32_t connection, enum command_verb verb, uint64_t ref,
                     const struct vote *vote)
{
    (void)arg, (void)index;
    ck_assert_uint_eq(connection, told.connection);
    ck_assert_uint_lt(told.votes, VOTES);
    told.vote[told.votes].verb = verb;
    told.vote[told.votes].ref = ref;
    told.vote[told.votes].vote = *vote;
    told.votes++;
    if (told.votes == close_at_vote)
        node_close(node, "test");
}

static void on_lost(void *arg, unsigned index, uint32_t connection)
{
    (void)arg, (void)index;
    ck_assert_uint_eq(connection, told.connection);
    told.lost++;
    node_close(node, "test"); /* allowed, and of no effect */
    send_command(COMMAND_INFO, 0, 1);
}

static void on_backlog(void *arg, unsigned index, uint32_t connection)
{
    (void)arg, (void)index;
    ck_assert_uint_eq(connection, told.connection);
    told.backlog++;
    if (close_at_backlog)
        node_close(node, "backlog");
}

static void on_failed(void *arg, unsigned index)
{
    (void)arg, (void)index;
    told.failed++;
}

static const struct node_handler handler = {.connected = on_connected,
                                            .voted = on_voted,
                                            .lost = on_lost,
                                            .backlog = on_backlog,
                                            .failed = on_failed,
                                            .arg = &told};

/* ---- the loop, and the log ---- */

static FILE *log_file;

static void turn(void)
{
    event_base_loop(base, EVLOOP_NONBLOCK);
}

#define UNTIL(condition)                                                                              \
    do {                                                                                              \
        long long until_ms = test_now_ms() + SERVER_WAIT_MS;                                          \
        while (!(condition)) {                                                                        \
            ck_assert_msg(test_now_ms() < until_ms, "not within 10 s: " #condition);                  \
            turn();                                                                                   \
            poll(NULL, 0, 1);                                                                         \
        }                                                                                             \
    } while (0)

static unsigned log_count(const char *word)
{
    static char text[65536];
    unsigned count = 0;
    size_t len = (size_t)pread(fileno(log_file), text, sizeof text - 1, 0);
    text[len] = '\0';
    for (const char *at = text; (at = strstr(at, word)); at += strlen(word))
        count++;
    return count;
}

static const char *row_why(void)
{
    struct node_row row;
    node_row(node, &row);
    return row.why;
}

/* The log goes to a file, which a failed test leaves to the system. */
static void bench_setup(void)
{
    log_file = tmpfile();
    ck_assert_ptr_nonnull(log_file);
    ck_assert_int_ge(dup2(fileno(log_file), STDERR_FILENO), 0);
    base = event_base_new();
    dns = evdns_base_new(base, EVDNS_BASE_DISABLE_WHEN_INACTIVE);
    evdns_base_load_hosts(dns, "/etc/hosts");
    memset(&conf, 0, sizeof conf);
    memset(&told, 0, sizeof told);
    close_at_vote = 0;
    close_at_backlog = false;
    send_when_connected = false;
    conf.masters = 1;
    conf.node_backlog_bytes = 1 << 20;
    format = resp_format_new("t:");
    node = NULL;
}

static void bench_teardown(void)
{
    node_free(node);
    evdns_base_free(dns, 0);
    event_base_free(base);
    resp_format_free(format);
    fclose(log_file);
}

static void dial_unix(const char *path)
{
    struct conf_address *address = &conf.nodes[0].address;
    snprintf(address->path, sizeof address->path, "%s", path);
    snprintf(address->shown, sizeof address->shown, "unix:%s", path);
    node = node_new(base, dns, &conf, 0, &handler);
    unsigned before = told.connected + told.failed;
    node_start(node);
    ck_assert_uint_eq(told.connected + told.failed, before); /* told from the loop only */
}

static void dial_tcp(const char *host, int port)
{
    struct conf_address *address = &conf.nodes[0].address;
    snprintf(address->host, sizeof address->host, "%s", host);
    snprintf(address->shown, sizeof address->shown, "%s:%d", host, port);
    address->port = (uint16_t)port;
    node = node_new(base, dns, &conf, 0, &handler);
    node_start(node);
}

/* ---- real servers ---- */

static struct server server;

static void server_setup(void)
{
    server_folder(&server);
    server_run(&server, server_free_port(), NULL, NULL);
}

static void server_teardown(void)
{
    server_remove(&server);
}

START_TEST(commands_and_votes)
{
    server_say(&server, "FLUSHALL");
    _i ? dial_tcp("127.0.0.1", server.port) : dial_unix(server.path);
    UNTIL(told.connected);
    ck_assert(!node_wants_flush(node));
    send_command(COMMAND_SET, 10000, 11);
    send_command(COMMAND_ZADD, 500, 12);
    send_command(COMMAND_EXTEND, 20000, 13);
    send_command(COMMAND_CHECK, 0, 14);
    send_command(COMMAND_RELEASE, 0, 15);
    send_command(COMMAND_ZSCORE, 0, 16);
    send_command(COMMAND_INFO, 0, 17);
    ck_assert(node_wants_flush(node));
    turn();
    ck_assert_uint_eq(told.votes, 0); /* nothing is written before */
    node_flush(node);
    ck_assert(!node_wants_flush(node));
    ck_assert_uint_eq(told.votes, 0); /* nor read */
    UNTIL(told.votes == 7);
    static const enum vote_kind kinds[] = {VOTE_YES, VOTE_YES,    VOTE_NUMBER, VOTE_NUMBER,
                                           VOTE_YES, VOTE_NUMBER, VOTE_INFO};
    for (unsigned i = 0; i < 7; i++) {
        ck_assert_uint_eq(told.vote[i].ref, 11 + i);
        ck_assert_int_eq(told.vote[i].vote.kind, kinds[i]);
    }
    ck_assert_uint_eq(told.vote[2].vote.number, 20000);
    ck_assert_uint_eq(told.vote[5].vote.number, 500);
    struct node_row row;
    node_row(node, &row);
    ck_assert_int_gt(row.rtt_us, 0);
    ck_assert_int_lt(row.rtt_us, 5000000);
    ck_assert_uint_eq(row.pending, 0);
    ck_assert_uint_eq(row.errors, 0);
    ck_assert_str_eq(row.why, "");
    ck_assert_uint_eq(told.failed + told.lost, 0);
}
END_TEST

/* Most hosts files give ::1 as well, where nobody listens: the next address is tried. */
START_TEST(a_name)
{
    dial_tcp("localhost", server.port);
    UNTIL(told.connected);
    ck_assert_uint_eq(told.failed, 0);
}
END_TEST

START_TEST(a_name_that_is_none)
{
    dial_tcp("no-such-host.invalid", server.port);
    UNTIL(told.failed);
    ck_assert_str_eq(row_why(), "resolve");
    UNTIL(log_count("why=resolve") == 1);
}
END_TEST

START_TEST(sent_from_within_connected)
{
    send_when_connected = true;
    dial_unix(server.path);
    UNTIL(told.votes);
    ck_assert_int_eq(told.vote[0].vote.kind, VOTE_NUMBER);
}
END_TEST

START_TEST(another_database)
{
    char reply[64];
    server_say(&server, "FLUSHALL");
    conf.nodes[0].db = 3;
    dial_unix(server.path);
    UNTIL(told.connected);
    send_command(COMMAND_SET, 10000, 1);
    node_flush(node);
    UNTIL(told.votes == 1);
    ck_assert_int_eq(told.vote[0].vote.kind, VOTE_YES);
    server_ask(&server, "EXISTS t:job", reply, sizeof reply);
    ck_assert_str_eq(reply, ":0\r\n");
    server_ask(&server, "INFO keyspace", reply, sizeof reply);
    ck_assert_ptr_nonnull(strstr(reply, "db3:keys=1"));
}
END_TEST

START_TEST(a_database_that_is_none)
{
    conf.nodes[0].db = 9999;
    dial_unix(server.path);
    UNTIL(told.failed);
    ck_assert_str_eq(row_why(), "login_refused");
    ck_assert_uint_eq(log_count("asked=\"SELECT\""), 1);
}
END_TEST

static void set_login(const char *user, const char *password)
{
    snprintf(conf.nodes[0].user, sizeof conf.nodes[0].user, "%s", user);
    snprintf(conf.nodes[0].password, sizeof conf.nodes[0].password, "%s", password);
}

static unsigned dials(void)
{
    struct node_row row;
    node_row(node, &row);
    return (unsigned)row.errors;
}

START_TEST(users_and_passwords)
{
    server_say(&server, "ACL SETUSER redlockd on >sesame ~* +@all");
    set_login("redlockd", "hunter2");
    dial_unix(server.path);
    UNTIL(dials() == 3);
    ck_assert_uint_eq(told.failed, 1);
    ck_assert_uint_eq(told.connected, 0);
    ck_assert_str_eq(row_why(), "login_refused");
    ck_assert_uint_eq(log_count("why=login_refused"), 1);
    ck_assert_uint_eq(log_count("WRONGPASS"), 1);
    ck_assert_uint_eq(log_count("hunter2"), 0);
    set_login("redlockd", "sesame");
    UNTIL(told.connected);
    send_command(COMMAND_CLIENT_ID, 0, 1);
    node_flush(node);
    UNTIL(told.votes);
    ck_assert_int_eq(told.vote[0].vote.kind, VOTE_NUMBER);
    /* A password alone. */
    node_free(node);
    server_say(&server, "CONFIG SET requirepass open");
    set_login("", "open");
    told.connection = 0;
    dial_unix(server.path);
    UNTIL(told.connected == 2);
    server_kill(&server); /* the next test starts it anew */
    server_run(&server, server.port, NULL, NULL);
}
END_TEST

START_TEST(scripts_flushed)
{
    static char stats[8192];
    server_say(&server, "FLUSHALL");
    server_say(&server, "CONFIG RESETSTAT");
    dial_unix(server.path);
    UNTIL(told.connected);
    server_say(&server, "SCRIPT FLUSH");
    for (unsigned i = 0; i < 100; i++)
        send_command(i % 2 ? COMMAND_EXTEND : COMMAND_RELEASE, 1000, i + 1);
    send_command(COMMAND_SET, 10000, 101);
    node_flush(node);
    UNTIL(told.votes == 101);
    for (unsigned i = 0; i < 100; i++) {
        ck_assert_int_eq(told.vote[i].vote.kind, VOTE_NOT_RUN);
        ck_assert_uint_eq(told.vote[i].ref, i + 1);
    }
    ck_assert_int_eq(told.vote[100].vote.kind, VOTE_YES);
    send_command(COMMAND_EXTEND, 20000, 102);
    send_command(COMMAND_RELEASE, 0, 103);
    node_flush(node);
    UNTIL(told.votes == 103);
    ck_assert_uint_eq(told.vote[101].vote.number, 20000);
    ck_assert_int_eq(told.vote[102].vote.kind, VOTE_YES);
    server_ask(&server, "INFO commandstats", stats, sizeof stats);
    ck_assert_ptr_nonnull(strstr(stats, "cmdstat_script|load:calls=6,"));
    /* And once more: each is loaded whenever it is missing. */
    server_say(&server, "SCRIPT FLUSH");
    send_command(COMMAND_CHECK, 0, 104);
    node_flush(node);
    UNTIL(told.votes == 104);
    ck_assert_int_eq(told.vote[103].vote.kind, VOTE_NOT_RUN);
    UNTIL((server_ask(&server, "INFO commandstats", stats, sizeof stats), strstr(stats, "load:calls=7,")));
    ck_assert_uint_eq(told.lost, 0);
}
END_TEST

START_TEST(errors_are_logged_once)
{
    struct node_row row;
    server_say(&server, "FLUSHALL");
    server_say(&server, "CONFIG SET maxmemory 1");
    dial_unix(server.path);
    UNTIL(told.connected);
    for (unsigned i = 0; i < 20; i++)
        send_command(COMMAND_SET, 10000, i + 1);
    node_flush(node);
    UNTIL(told.votes == 20);
    server_say(&server, "CONFIG SET maxmemory 0");
    ck_assert_int_eq(told.vote[19].vote.kind, VOTE_ERROR);
    ck_assert_int_eq(told.vote[19].vote.error, ERROR_OOM);
    ck_assert_uint_eq(log_count("event=node_error"), 1);
    ck_assert_uint_eq(log_count("class=OOM error=\"OOM command not allowed"), 1);
    node_row(node, &row);
    ck_assert_uint_eq(row.errors, 20);
    ck_assert_str_eq(row.why, "OOM");
    ck_assert_uint_eq(told.lost, 0);
}
END_TEST

START_TEST(closed_from_within_voted)
{
    dial_unix(server.path);
    UNTIL(told.connected);
    close_at_vote = 3;
    for (unsigned i = 0; i < 10; i++)
        send_command(COMMAND_CLIENT_ID, 0, i + 1);
    node_flush(node);
    UNTIL(told.votes == 3);
    send_command(COMMAND_CLIENT_ID, 0, 99); /* without a connection nothing happens */
    ck_assert(!node_wants_flush(node));
    node_flush(node);
    UNTIL(told.connected == 2);
    ck_assert_uint_eq(told.votes, 3);
    ck_assert_uint_eq(told.lost, 0);
    ck_assert_str_eq(row_why(), "test");
    send_command(COMMAND_CLIENT_ID, 0, 50);
    node_flush(node);
    UNTIL(told.votes == 4);
    ck_assert_uint_eq(told.vote[3].ref, 50);
}
END_TEST

START_TEST(a_server_that_comes_later)
{
    char shown[256];
    server_kill(&server);
    dial_unix(server.path);
    long long start_ms = test_now_ms();
    UNTIL(dials() >= 5 && test_now_ms() - start_ms > 1200);
    ck_assert_uint_eq(told.failed, 1);
    ck_assert_uint_eq(log_count("event=node_unreachable"), 1);
    snprintf(shown, sizeof shown, "node=unix:%s why=connect detail=\"No such file", server.path);
    ck_assert_uint_eq(log_count(shown), 1);
    server_run(&server, server.port, NULL, NULL);
    UNTIL(told.connected);
    ck_assert_uint_eq(told.failed, 1);
    /* And one that goes away and comes back. */
    send_command(COMMAND_CLIENT_ID, 0, 1);
    node_flush(node);
    UNTIL(told.votes == 1);
    server_kill(&server);
    send_command(COMMAND_CLIENT_ID, 0, 2);
    node_flush(node);
    UNTIL(told.lost);
    server_run(&server, server.port, NULL, NULL);
    UNTIL(told.connected == 2);
    ck_assert_uint_eq(told.lost, 1);
    ck_assert_uint_eq(told.votes, 1);
    ck_assert_uint_eq(told.failed, 1);
}
END_TEST

START_TEST(a_server_that_goes_away)
{
    dial_unix(server.path);
    UNTIL(told.connected);
    server_kill(&server);
    UNTIL(told.lost);
    UNTIL(dials() == 4);
    ck_assert_uint_eq(told.failed, 0); /* that is of the start alone */
    ck_assert_uint_eq(told.lost, 1);
}
END_TEST

START_TEST(a_port_where_nobody_listens)
{
    int port = server_free_port();
    dial_tcp("127.0.0.1", port);
    UNTIL(dials() == 2);
    ck_assert_uint_eq(told.failed, 1);
    ck_assert_uint_eq(log_count("why=connect detail=\"Connection refused\""), 1);
}
END_TEST

/* Sends until it is told of or the connection lost; how many commands that took. */
static unsigned fill_backlog(void)
{
    unsigned before = told.backlog + told.lost, sent = 0;
    while (told.backlog + told.lost == before) {
        ck_assert_uint_lt(sent, 1000000);
        for (unsigned i = 0; i < 100; i++)
            send_command(COMMAND_SET, 10000, ++sent);
        node_flush(node);
        ck_assert_uint_eq(told.votes, 0);
    }
    return sent;
}

START_TEST(backlog_of_a_stopped_server)
{
    struct node_row row;
    close_at_backlog = !_i;
    conf.node_backlog_bytes = 1 << 17;
    dial_unix(server.path);
    UNTIL(told.connected);
    ck_assert_int_eq(kill(server.pid, SIGSTOP), 0);
    fill_backlog();
    ck_assert_uint_eq(told.backlog, 1);
    ck_assert_uint_eq(told.lost, 0);
    if (_i) {
        /* Who does not listen loses it at twice the limit. */
        ck_assert_uint_ge(fill_backlog(), (unsigned)conf.node_backlog_bytes / 200);
        ck_assert_uint_eq(told.backlog, 1);
        ck_assert_uint_eq(told.lost, 1);
    }
    node_row(node, &row);
    ck_assert_uint_eq(row.pending, 0);
    ck_assert_str_eq(row.why, "backlog");
    UNTIL(log_count("why=login_timeout") == 1); /* it accepts, and says nothing */
    ck_assert_int_eq(kill(server.pid, SIGCONT), 0);
    UNTIL(told.connected == 2);
    ck_assert_uint_eq(told.votes, 0);
}
END_TEST

/* EV_WRITE takes over after EAGAIN, and every reply comes. */
START_TEST(more_than_a_socket_takes)
{
    conf.node_backlog_bytes = 16 << 20;
    dial_unix(server.path);
    UNTIL(told.connected);
    ck_assert_int_eq(kill(server.pid, SIGSTOP), 0);
    for (unsigned i = 0; i < VOTES; i++)
        send_command(COMMAND_SET, 10000, i + 1);
    node_flush(node);
    ck_assert(!node_wants_flush(node)); /* the loop need not: we wait for the socket */
    ck_assert_int_eq(kill(server.pid, SIGCONT), 0);
    UNTIL(told.votes == VOTES);
    for (unsigned i = 0; i < VOTES; i++)
        ck_assert_uint_eq(told.vote[i].ref, i + 1);
    ck_assert_uint_eq(told.backlog + told.lost, 0);
}
END_TEST

/* ---- a server that does what no server should ---- */

static struct server fake; /* only its folder and path */
static int fake_listener = -1, fake_fd = -1;
static char fake_got[65536];
static size_t fake_got_len;

static void fake_listen(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    server_folder(&fake);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", fake.path);
    fake_listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fake_listener, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(fake_listener, 16), 0);
}

static void fake_close(void)
{
    if (fake_fd >= 0)
        close(fake_fd);
    fake_fd = -1;
}

static void fake_remove(void)
{
    fake_close();
    close(fake_listener);
    server_remove(&fake);
}

static void fake_accept(void)
{
    fake_close();
    UNTIL((fake_fd = accept(fake_listener, NULL, NULL)) >= 0);
    ck_assert_int_eq(fcntl(fake_fd, F_SETFL, O_NONBLOCK), 0);
    fake_got_len = 0;
}

static bool fake_has(const char *text)
{
    ssize_t n = recv(fake_fd, fake_got + fake_got_len, sizeof fake_got - fake_got_len, 0);
    if (n > 0)
        fake_got_len += (size_t)n;
    return memmem(fake_got, fake_got_len, text, strlen(text)) != NULL;
}

static void fake_say(const char *text)
{
    server_write(fake_fd, text, strlen(text));
}

static void fake_login(void)
{
    fake_accept();
    UNTIL(fake_has(resp_script_text(RESP_SCRIPTS - 1)));
    for (unsigned i = 0; i < RESP_SCRIPTS; i++) {
        char reply[64];
        snprintf(reply, sizeof reply, "$40\r\n%s\r\n", resp_script_sha1(i));
        fake_say(reply);
    }
}

static void fake_connected(void)
{
    dial_unix(fake.path);
    fake_login();
    UNTIL(told.connected);
    fake_got_len = 0;
}

/* The connection is gone, and the next one is good. */
static void is_lost_and_redialled(const char *why)
{
    unsigned votes = told.votes;
    UNTIL(told.lost == 1);
    ck_assert_str_eq(row_why(), why);
    fake_login();
    UNTIL(told.connected == 2);
    ck_assert_uint_eq(told.votes, votes);
    ck_assert_uint_eq(told.lost, 1);
    ck_assert_uint_eq(log_count("event=node_lost"), 1);
    ck_assert_uint_eq(told.failed, 0);
}

static const struct {
    const char *reply; /* to a SET; NULL: unasked */
    const char *why;
} bad_replies[] = {
    {"HTTP/1.1 400 Bad Request\r\n\r\n", "protocol"},
    {"*2147483647\r\n", "protocol"},
    {"*1\r\n*1\r\n*1\r\n", "protocol"},
    {">2\r\n+message\r\n+x\r\n", "protocol"},
    {"$-5\r\n", "protocol"},
    {":5\r\n", "protocol"},              /* none that SET has: the order of replies is lost */
    {"*1\r\n+OK\r\n", "protocol"},
    {"+OK\r\n+OK\r\n", "unsolicited_reply"},
};

START_TEST(bad_reply)
{
    fake_connected();
    send_command(COMMAND_SET, 10000, 1);
    node_flush(node);
    UNTIL(fake_has("PX"));
    fake_say(bad_replies[_i].reply);
    UNTIL(told.lost);
    ck_assert_uint_eq(told.votes, _i == 7 ? 1 : 0);
    is_lost_and_redialled(bad_replies[_i].why);
}
END_TEST

START_TEST(a_reply_that_nobody_asked_for)
{
    fake_connected();
    if (_i)
        send_command(COMMAND_SET, 10000, 1); /* not written yet, so that it is no answer to this */
    fake_say("+OK\r\n");
    is_lost_and_redialled("unsolicited_reply");
    ck_assert_uint_eq(told.votes, 0);
}
END_TEST

START_TEST(a_reply_without_end)
{
    char block[1000];
    memset(block, 'x', sizeof block);
    fake_connected();
    send_command(COMMAND_SET, 10000, 1);
    node_flush(node);
    fake_say("+");
    for (unsigned sent = 0; !told.lost; sent++) {
        ck_assert_uint_lt(sent, 1000);
        send(fake_fd, block, sizeof block, MSG_NOSIGNAL);
        turn();
    }
    is_lost_and_redialled("protocol");
}
END_TEST

START_TEST(the_end_within_a_reply)
{
    fake_connected();
    send_command(COMMAND_SET, 10000, 1);
    node_flush(node);
    UNTIL(fake_has("PX"));
    fake_say("+O");
    turn();
    fake_close();
    is_lost_and_redialled("closed_by_master");
}
END_TEST

START_TEST(whole_replies_before_the_end_count)
{
    fake_connected();
    send_command(COMMAND_SET, 10000, 1);
    send_command(COMMAND_SET, 10000, 2);
    node_flush(node);
    UNTIL(fake_has("PX"));
    fake_say("+OK\r\n$-1");
    fake_close();
    UNTIL(told.lost);
    ck_assert_uint_eq(told.votes, 1);
    ck_assert_uint_eq(told.vote[0].ref, 1);
}
END_TEST

START_TEST(replies_in_pieces)
{
    static const char replies[] = "+OK\r\n$-1\r\n-OOM \x1b[31m\"no\r\n";
    fake_connected();
    for (unsigned i = 1; i <= 3; i++)
        send_command(COMMAND_SET, 10000, i);
    node_flush(node);
    for (size_t i = 0; i + 1 < sizeof replies; i++) {
        server_write(fake_fd, replies + i, 1);
        turn();
    }
    UNTIL(told.votes == 3);
    ck_assert_int_eq(told.vote[0].vote.kind, VOTE_YES);
    ck_assert_int_eq(told.vote[1].vote.kind, VOTE_NO);
    ck_assert_int_eq(told.vote[2].vote.error, ERROR_OOM);
    ck_assert_uint_eq(log_count("error=\"OOM \\x1b[31m\\\"no\""), 1);
}
END_TEST

/* Servers repeat the words of a command that they do not know. */
START_TEST(no_secret_in_the_log)
{
    set_login("me", "hunter2");
    dial_unix(fake.path);
    fake_accept();
    UNTIL(fake_has("hunter2"));
    fake_say("-ERR unknown command 'AUTH', with args beginning with: 'me' 'hunter2' \r\n");
    UNTIL(told.failed);
    fake_accept();
    UNTIL(fake_has("hunter2"));
    fake_say("-LOADING hunter2 is no good\r\n");
    UNTIL(log_count("why=loading") == 1);
    ck_assert_uint_eq(log_count("unknown command 'AUTH'"), 1);
    ck_assert_uint_eq(log_count("hunter2"), 0);
    set_login("", "");
    fake_login();
    UNTIL(told.connected);
    send_command(COMMAND_SET, 1000, 1);
    node_flush(node);
    fake_say("-ERR unknown command 'SET', with args beginning with: 't:job' '0000000000000000000'\r\n");
    UNTIL(told.votes);
    ck_assert_uint_eq(log_count("unknown command 'SET'"), 1);
    ck_assert_uint_eq(log_count("00000000"), 0);
}
END_TEST

START_TEST(loading_at_login)
{
    dial_unix(fake.path);
    for (unsigned i = 0; i < 3; i++) {
        fake_accept();
        UNTIL(fake_has(resp_script_text(RESP_SCRIPTS - 1)));
        fake_say("-LOADING Redis is loading the dataset in memory\r\n");
        UNTIL(dials() == i + 1);
    }
    ck_assert_str_eq(row_why(), "loading");
    ck_assert_uint_eq(log_count("why=loading"), 1);
    fake_login();
    UNTIL(told.connected);
    ck_assert_uint_eq(told.failed, 1);
    ck_assert_uint_eq(told.lost, 0);
}
END_TEST

START_TEST(another_script_at_login)
{
    dial_unix(fake.path);
    fake_accept();
    UNTIL(fake_has(resp_script_text(RESP_SCRIPTS - 1)));
    fake_say("$40\r\n0123456789012345678901234567890123456789\r\n");
    UNTIL(told.failed);
    ck_assert_str_eq(row_why(), "login_refused");
}
END_TEST

START_TEST(silence_at_login)
{
    dial_unix(fake.path);
    fake_accept();
    UNTIL(told.failed);
    ck_assert_str_eq(row_why(), "login_timeout");
    ck_assert_uint_eq(told.connected, 0);
}
END_TEST

START_TEST(what_was_not_sent_never_is)
{
    fake_connected();
    send_command(COMMAND_SET, 10000, 1);
    node_close(node, "test");
    fake_login();
    UNTIL(told.connected == 2);
    ck_assert(!fake_has("PX"));
    ck_assert_uint_eq(told.votes + told.lost, 0);
}
END_TEST

/* Such a server answers the login and closes then: a proxy with nothing behind it, a crash at the first command. */
START_TEST(a_connection_that_does_not_last_backs_off)
{
    long long start_ms = test_now_ms();
    dial_unix(fake.path);
    for (unsigned i = 1; i <= 6; i++) {
        fake_login();
        UNTIL(told.connected == i);
        fake_close();
        UNTIL(told.lost == i);
    }
    /* Half of 50, 100, 200, 400 and 800 ms, which jitter leaves at least. */
    ck_assert_int_ge(test_now_ms() - start_ms, 775);
}
END_TEST

/* A load that is refused is asked for again when the script is missed again. */
START_TEST(a_script_that_cannot_be_loaded)
{
    fake_connected();
    for (unsigned i = 1; i <= 2; i++) {
        fake_got_len = 0;
        send_command(COMMAND_CHECK, 0, i);
        node_flush(node);
        fake_say("-NOSCRIPT No matching script.\r\n");
        UNTIL(fake_has(resp_script_text((unsigned)resp_script_of(COMMAND_CHECK))));
        ck_assert_uint_eq(told.votes, i);
        fake_say("-OOM no\r\n");
        UNTIL(log_count("class=OOM") == 1);
        struct node_row row;
        UNTIL((node_row(node, &row), row.pending == 0));
    }
    ck_assert_uint_eq(told.lost, 0);
}
END_TEST

START_TEST(freed_in_every_state)
{
    node = node_new(base, dns, &conf, 0, &handler);
    node_free(node);
    dial_unix(fake.path);
    node_free(node);
    dial_unix(fake.path);
    fake_accept();
    node_free(node);
    fake_connected();
    send_command(COMMAND_SET, 10000, 1);
    node_free(node);
    conf.nodes[0].address.path[0] = '\0';
    dial_tcp("no-such-host.invalid", 1);
    turn();
    node_free(node);
    node = NULL;
    turn();
}
END_TEST

/* ---- the buffer ---- */

START_TEST(buffer_keeps_the_order)
{
    struct buffer b = {0};
    int fd[2];
    unsigned char in[64];
    unsigned next_in = 0, next_out = 0;
    size_t most = 0;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
    for (unsigned round = 0; round < 3000 || buffer_len(&b); round++) {
        for (unsigned i = 0; i < (round < 3000 ? round % 700 : 0); i++) {
            unsigned char byte = (unsigned char)(next_in++ % 251);
            if (buffer_append(&b, &byte, 1) < 0)
                ck_abort();
        }
        if (buffer_write(&b, fd[0]) < 0)
            ck_abort();
        ssize_t n = recv(fd[1], in, sizeof in, 0);
        for (ssize_t at = 0; at < n; at++) {
            if (in[at] != next_out++ % 251)
                ck_abort_msg("byte %u is another", next_out);
        }
        most = buffer_len(&b) > most ? buffer_len(&b) : most;
    }
    for (ssize_t n; (n = recv(fd[1], in, sizeof in, 0)) > 0;)
        next_out += (unsigned)n;
    ck_assert_uint_eq(next_in, next_out);
    ck_assert_uint_gt(most, 128 * 1024);
    ck_assert_uint_lt(b.capacity, 8 * most);
    buffer_trim(&b, 64 * 1024);
    ck_assert_uint_eq(b.capacity, 0);
    close(fd[1]);
    buffer_append(&b, "x", 1);
    ck_assert_int_eq(buffer_write(&b, fd[0]), -1); /* and no SIGPIPE */
    ck_assert_int_eq(errno, EPIPE);
    buffer_free(&b);
    close(fd[0]);
}
END_TEST

static Suite *node_suite(void)
{
    Suite *suite = suite_create("node");
    TCase *real = tcase_create("real server");
    tcase_set_timeout(real, 60);
    tcase_add_unchecked_fixture(real, server_setup, server_teardown);
    tcase_add_checked_fixture(real, bench_setup, bench_teardown);
    tcase_add_loop_test(real, commands_and_votes, 0, 2);
    tcase_add_test(real, a_name);
    tcase_add_test(real, a_name_that_is_none);
    tcase_add_test(real, sent_from_within_connected);
    tcase_add_test(real, another_database);
    tcase_add_test(real, a_database_that_is_none);
    tcase_add_test(real, scripts_flushed);
    tcase_add_test(real, errors_are_logged_once);
    tcase_add_test(real, closed_from_within_voted);
    tcase_add_test(real, a_port_where_nobody_listens);
    tcase_add_loop_test(real, backlog_of_a_stopped_server, 0, 2);
    tcase_add_test(real, more_than_a_socket_takes);
    suite_add_tcase(suite, real);

    /* These end their server: one each, in the test's own process. */
    TCase *own = tcase_create("a server of its own");
    tcase_set_timeout(own, 60);
    tcase_add_checked_fixture(own, bench_setup, bench_teardown);
    tcase_add_checked_fixture(own, server_setup, server_teardown);
    tcase_add_test(own, users_and_passwords);
    tcase_add_test(own, a_server_that_comes_later);
    tcase_add_test(own, a_server_that_goes_away);
    suite_add_tcase(suite, own);

    TCase *hostile = tcase_create("hostile server");
    tcase_set_timeout(hostile, 60);
    tcase_add_checked_fixture(hostile, bench_setup, bench_teardown);
    tcase_add_checked_fixture(hostile, fake_listen, fake_remove);
    tcase_add_loop_test(hostile, bad_reply, 0, sizeof bad_replies / sizeof bad_replies[0]);
    tcase_add_loop_test(hostile, a_reply_that_nobody_asked_for, 0, 2);
    tcase_add_test(hostile, a_reply_without_end);
    tcase_add_test(hostile, the_end_within_a_reply);
    tcase_add_test(hostile, whole_replies_before_the_end_count);
    tcase_add_test(hostile, replies_in_pieces);
    tcase_add_test(hostile, no_secret_in_the_log);
    tcase_add_test(hostile, loading_at_login);
    tcase_add_test(hostile, another_script_at_login);
    tcase_add_test(hostile, silence_at_login);
    tcase_add_test(hostile, a_connection_that_does_not_last_backs_off);
    tcase_add_test(hostile, what_was_not_sent_never_is);
    tcase_add_test(hostile, a_script_that_cannot_be_loaded);
    tcase_add_test(hostile, freed_in_every_state);
    suite_add_tcase(suite, hostile);

    TCase *buffer = tcase_create("buffer");
    tcase_add_test(buffer, buffer_keeps_the_order);
    suite_add_tcase(suite, buffer);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(node_suite());
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
