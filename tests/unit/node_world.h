/* A node in a loop of its own, what it tells its handler, and what it logs. */
#ifndef REDLOCKD_TESTS_NODE_WORLD_H
#define REDLOCKD_TESTS_NODE_WORLD_H

#include <check.h>

#include "daemon/node/node.h"
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
static unsigned close_at_vote; /* voted() number n calls node_close() */
static bool close_at_backlog;
static bool send_when_connected;

static inline void send_command(enum command_verb verb, uint64_t number, uint64_t ref)
{
    struct command command = {.verb = verb, .number = number, .name = {.len = 3, .text = "job"}, .bucket = 1};
    char bytes[RESP_COMMAND_BYTES];
    node_send(node, bytes, resp_command(bytes, format, &command), verb, ref);
}

static inline void on_connected(void *arg, unsigned index, uint32_t connection)
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

static inline void on_voted(void *arg, unsigned index, uint32_t connection, enum command_verb verb,
                            uint64_t ref, const struct vote *vote)
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

static inline void on_lost(void *arg, unsigned index, uint32_t connection)
{
    (void)arg, (void)index;
    ck_assert_uint_eq(connection, told.connection);
    told.lost++;
    node_close(node, "test"); /* allowed, and of no effect */
    send_command(COMMAND_INFO, 0, 1);
}

static inline void on_backlog(void *arg, unsigned index, uint32_t connection)
{
    (void)arg, (void)index;
    ck_assert_uint_eq(connection, told.connection);
    told.backlog++;
    if (close_at_backlog)
        node_close(node, "backlog");
}

static inline void on_failed(void *arg, unsigned index)
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

static inline void turn(void)
{
    event_base_loop(base, EVLOOP_NONBLOCK);
}

static inline unsigned log_count(const char *word)
{
    static char text[65536];
    unsigned count = 0;
    size_t len = (size_t)pread(fileno(log_file), text, sizeof text - 1, 0);
    text[len] = '\0';
    for (const char *at = text; (at = strstr(at, word)); at += strlen(word))
        count++;
    return count;
}

static inline const char *row_why(void)
{
    struct node_row row;
    node_row(node, &row);
    return row.why;
}

/* The log goes to a file, which a failed test leaves to the system. */
static inline void bench_setup(void)
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

static inline void bench_teardown(void)
{
    node_free(node);
    evdns_base_free(dns, 0);
    event_base_free(base);
    resp_format_free(format);
    fclose(log_file);
}

static inline void dial_unix(const char *path)
{
    struct conf_address *address = &conf.nodes[0].address;
    snprintf(address->path, sizeof address->path, "%s", path);
    snprintf(address->shown, sizeof address->shown, "unix:%s", path);
    node = node_new(base, dns, &conf, 0, &handler);
    unsigned before = told.connected + told.failed;
    node_start(node);
    ck_assert_uint_eq(told.connected + told.failed, before); /* told from the loop only */
}

static inline void dial_tcp(const char *host, int port)
{
    struct conf_address *address = &conf.nodes[0].address;
    snprintf(address->host, sizeof address->host, "%s", host);
    snprintf(address->shown, sizeof address->shown, "%s:%d", host, port);
    address->port = (uint16_t)port;
    node = node_new(base, dns, &conf, 0, &handler);
    node_start(node);
}

static inline void set_login(const char *user, const char *password)
{
    snprintf(conf.nodes[0].user, sizeof conf.nodes[0].user, "%s", user);
    snprintf(conf.nodes[0].password, sizeof conf.nodes[0].password, "%s", password);
}

static inline unsigned dials(void)
{
    struct node_row row;
    node_row(node, &row);
    return (unsigned)row.errors;
}

#endif
