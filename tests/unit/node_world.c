#include "tests/unit/node_world.h"

/* ---- what a node tells ---- */

struct event_base *base;
struct evdns_base *dns;
struct conf node_conf;
struct node *node;
struct resp_format *node_format;

struct told told;
unsigned close_at_vote;
bool close_at_backlog;
bool send_when_connected;

void send_command(enum command_verb verb, uint64_t number, uint64_t ref)
{
    struct command command = {.verb = verb, .number = number, .name = {.len = 3, .text = "job"}, .bucket = 1};
    char bytes[RESP_COMMAND_BYTES];
    node_send(node, bytes, resp_command(bytes, node_format, &command), verb, ref);
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

const struct node_handler handler = {.connected = on_connected,
                                     .voted = on_voted,
                                     .lost = on_lost,
                                     .backlog = on_backlog,
                                     .failed = on_failed,
                                     .arg = &told};

/* ---- the loop, and the log ---- */

static FILE *log_file;

void turn(void)
{
    event_base_loop(base, EVLOOP_NONBLOCK);
}

unsigned log_count(const char *word)
{
    static char text[65536];
    unsigned count = 0;
    size_t len = (size_t)pread(fileno(log_file), text, sizeof text - 1, 0);
    text[len] = '\0';
    for (const char *at = text; (at = strstr(at, word)); at += strlen(word))
        count++;
    return count;
}

const char *row_why(void)
{
    struct node_row row;
    node_row(node, &row);
    return row.why;
}

void bench_setup(void)
{
    log_file = tmpfile();
    ck_assert_ptr_nonnull(log_file);
    ck_assert_int_ge(dup2(fileno(log_file), STDERR_FILENO), 0);
    base = event_base_new();
    dns = evdns_base_new(base, EVDNS_BASE_DISABLE_WHEN_INACTIVE);
    evdns_base_load_hosts(dns, "/etc/hosts");
    memset(&node_conf, 0, sizeof node_conf);
    memset(&told, 0, sizeof told);
    close_at_vote = 0;
    close_at_backlog = false;
    send_when_connected = false;
    node_conf.masters = 1;
    node_conf.node_backlog_bytes = 1 << 20;
    node_format = resp_format_new("t:");
    node = NULL;
}

void bench_teardown(void)
{
    node_free(node);
    evdns_base_free(dns, 0);
    event_base_free(base);
    resp_format_free(node_format);
    fclose(log_file);
}

void dial_unix(const char *path)
{
    struct conf_address *address = &node_conf.nodes[0].address;
    snprintf(address->path, sizeof address->path, "%s", path);
    snprintf(address->shown, sizeof address->shown, "unix:%s", path);
    node = node_new(base, dns, &node_conf, &node_conf.nodes[0], 0, &handler);
    unsigned before = told.connected + told.failed;
    node_start(node);
    ck_assert_uint_eq(told.connected + told.failed, before); /* told from the loop only */
}

void dial_tcp(const char *host, int port)
{
    struct conf_address *address = &node_conf.nodes[0].address;
    snprintf(address->host, sizeof address->host, "%s", host);
    snprintf(address->shown, sizeof address->shown, "%s:%d", host, port);
    address->port = (uint16_t)port;
    node = node_new(base, dns, &node_conf, &node_conf.nodes[0], 0, &handler);
    node_start(node);
}

void set_login(const char *user, const char *password)
{
    snprintf(node_conf.nodes[0].user, sizeof node_conf.nodes[0].user, "%s", user);
    snprintf(node_conf.nodes[0].password, sizeof node_conf.nodes[0].password, "%s", password);
}

unsigned dials(void)
{
    struct node_row row;
    node_row(node, &row);
    return (unsigned)row.errors;
}
