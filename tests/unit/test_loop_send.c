/* Commands to several masters: which are merged, and in which order they go out. */
#include <fcntl.h>

#include "daemon/log.h"
#include "daemon/loop/loop_send.h"
#include "tests/unit/mallocs.h"
#include "tests/unit/server.h"
#include "tests/unit/suite.h"

enum { ALL = 3, BYTES = 1 << 18, VOTES = 512, ALL_MASTERS = 7 };

static struct event_base *base;
static struct conf conf;
static struct resp_format *format;
static struct loop_send sender;
static struct node *nodes[MASTERS];

static struct master {
    struct server place; /* only its folder and path */
    int listener, fd;
    unsigned connected, votes;
    uint64_t ref[VOTES];
    uint64_t number[VOTES]; /* 0: no VOTE_NUMBER */
    size_t got_len, want_len;
    char got[BYTES], want[BYTES];
} masters[ALL];

/* ---- masters ---- */

static void on_connected(void *arg, unsigned index, uint32_t connection)
{
    (void)arg, (void)connection;
    loop_send_forget(&sender, index);
    masters[index].connected++;
}

static void on_voted(void *arg, unsigned index, uint32_t connection, enum command_verb verb, uint64_t ref,
                     const struct vote *vote)
{
    struct master *m = &masters[index];
    (void)arg, (void)connection, (void)verb;
    m->ref[m->votes % VOTES] = ref;
    m->number[m->votes++ % VOTES] = vote->kind == VOTE_NUMBER ? vote->number : 0;
}

static void on_lost(void *arg, unsigned index, uint32_t connection)
{
    (void)arg, (void)index, (void)connection;
}

static void on_failed(void *arg, unsigned index)
{
    (void)arg, (void)index;
}

static const struct node_handler handler = {
    .connected = on_connected, .voted = on_voted, .lost = on_lost, .backlog = on_lost, .failed = on_failed};

static void turn(void)
{
    event_base_loop(base, EVLOOP_NONBLOCK);
}

static size_t hear(struct master *m)
{
    ssize_t n = recv(m->fd, m->got + m->got_len, sizeof m->got - m->got_len, MSG_DONTWAIT);
    m->got_len += n > 0 ? (size_t)n : 0;
    return m->got_len;
}

static void log_in(struct master *m)
{
    const char *last = resp_script_text(RESP_SCRIPTS - 1);
    unsigned before = m->connected;
    if (m->fd >= 0)
        close(m->fd);
    m->got_len = 0;
    UNTIL((m->fd = accept(m->listener, NULL, NULL)) >= 0);
    UNTIL(hear(m) > 0 && memmem(m->got, m->got_len, "EVALSHA", 7));
    server_write(m->fd, "-NOSCRIPT x\r\n", 13);
    UNTIL(hear(m) > 0 && memmem(m->got, m->got_len, last, strlen(last)));
    for (unsigned i = 0; i < RESP_SCRIPTS; i++) {
        char reply[64];
        snprintf(reply, sizeof reply, "$40\r\n%s\r\n", resp_script_sha1(i));
        server_write(m->fd, reply, strlen(reply));
    }
    UNTIL(m->connected > before);
    m->got_len = 0;
}

static void master_start(unsigned i)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct master *m = &masters[i];
    memset(m, 0, sizeof *m);
    server_folder(&m->place);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", m->place.path);
    snprintf(conf.nodes[i].address.path, sizeof conf.nodes[i].address.path, "%s", m->place.path);
    m->fd = -1;
    m->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(m->listener, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(m->listener, 4), 0);
    nodes[i] = node_new(base, NULL, &conf, &conf.nodes[i], i, &handler);
    node_start(nodes[i]);
}

static void setup(void)
{
    memset(&conf, 0, sizeof conf);
    conf.masters = ALL;
    conf.node_backlog_bytes = 1 << 22;
    log_set_level(LOG_LEVEL_ERROR);
    base = event_base_new();
    format = resp_format_new("t:");
    sender = (struct loop_send){.nodes = nodes, .format = format};
    for (unsigned i = 0; i < ALL; i++) {
        master_start(i);
        log_in(&masters[i]);
    }
}

static void teardown(void)
{
    for (unsigned i = 0; i < ALL; i++) {
        node_free(nodes[i]);
        close(masters[i].fd);
        close(masters[i].listener);
        server_remove(&masters[i].place);
    }
    resp_format_free(format);
    event_base_free(base);
}

/* ---- what goes out, and what should ---- */

static struct command command_of(enum command_verb verb, unsigned ref)
{
    struct command command = {.verb = verb, .ref = ref, .number = 1000 + ref, .name = {.len = 4}};
    char name[8];
    snprintf(name, sizeof name, "n%03u", ref % 1000);
    memcpy(command.name.text, name, 4);
    command.token.bytes[0] = 1;
    command.group = (struct group){.masters = ALL, .max_ttl_ms = 1000, .from_ms = 1000};
    memset(command.group.run_id, 'a', RUN_ID_HEX);
    return command;
}

static void send_one(enum command_verb verb, uint16_t to, unsigned ref)
{
    struct command command = command_of(verb, ref);
    loop_send(&sender, to, &command);
}

static void send_extends(uint16_t to, unsigned first, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        send_one(COMMAND_EXTEND, to, first + i);
}

static void want_bytes(uint16_t to, const char *bytes, size_t len)
{
    for (unsigned i = 0; i < ALL; i++)
        if (to & 1u << i) {
            memcpy(masters[i].want + masters[i].want_len, bytes, len);
            masters[i].want_len += len;
        }
}

static void want_one(enum command_verb verb, uint16_t to, unsigned ref)
{
    char bytes[RESP_COMMAND_BYTES];
    struct command command = command_of(verb, ref);
    want_bytes(to, bytes, resp_command(bytes, format, &command));
}

static void want_batch(uint16_t to, unsigned first, unsigned count)
{
    static struct resp_batch batch;
    size_t len;
    for (unsigned i = 0; i < count; i++) {
        struct command command = command_of(COMMAND_EXTEND, first + i);
        resp_batch_add(&batch, format, &command);
    }
    const char *bytes = resp_batch_end(&batch, &len);
    want_bytes(to, bytes, len);
}

static void flush_all(void)
{
    loop_send_end(&sender);
    for (unsigned i = 0; i < ALL; i++)
        node_flush(nodes[i]);
}

/* Ends the turn, which sends exactly the expected bytes. */
static void goes_out(void)
{
    flush_all();
    for (unsigned i = 0; i < ALL; i++) {
        struct master *m = &masters[i];
        UNTIL(hear(m) >= m->want_len);
        ck_assert_uint_eq(m->got_len, m->want_len);
        ck_assert_mem_eq(m->got, m->want, m->want_len);
        m->got_len = m->want_len = 0;
    }
}

/* ---- tests ---- */

static const unsigned counts[] = {1, 2, 63, 64, 65, 128, 200};

SETUP(setup, teardown);

T_EACH(extends_of_a_turn, sizeof counts / sizeof counts[0])
{
    unsigned count = counts[_i];
    send_extends(ALL_MASTERS, 1, count);
    for (unsigned first = 1, left = count; left > 0;) {
        unsigned keys = left < 64 ? left : 64;
        want_batch(ALL_MASTERS, first, keys);
        first += keys;
        left -= keys;
    }
    goes_out();
    goes_out(); /* and nothing is left */
}

/* A release that came before an extension of the same lock must not go out behind it, and the
 * reverse. */
T_EACH(order_is_kept, COMMAND_VERBS)
{
    enum command_verb verb = (enum command_verb)_i;
    if (verb == COMMAND_EXTEND || verb == COMMAND_SEE) /* a look may come a little later */
        return;
    send_extends(ALL_MASTERS, 1, 3);
    send_one(verb, ALL_MASTERS, 1);
    send_extends(ALL_MASTERS, 1, 2);
    want_batch(ALL_MASTERS, 1, 3);
    want_one(verb, ALL_MASTERS, 1);
    want_batch(ALL_MASTERS, 1, 2);
    goes_out();
}

T(one_master_of_the_batch_is_enough)
{
    for (uint16_t to = 1; to < 8; to++) {
        send_extends(3, 1, 2);
        send_one(COMMAND_RELEASE, to, 1);
        send_extends(3, 3, 2);
        if (to == 4) { /* the release goes to none of the batch's masters */
            want_one(COMMAND_RELEASE, to, 1);
            want_batch(3, 1, 4);
        } else {
            want_batch(3, 1, 2);
            want_one(COMMAND_RELEASE, to, 1);
            want_batch(3, 3, 2);
        }
        goes_out();
    }
}

T(extends_to_other_masters)
{
    send_extends(ALL_MASTERS, 1, 2);
    send_extends(1, 3, 2);
    send_extends(6, 5, 1);
    send_extends(ALL_MASTERS, 6, 3);
    want_batch(ALL_MASTERS, 1, 2);
    want_batch(1, 3, 2);
    want_batch(6, 5, 1);
    want_batch(ALL_MASTERS, 6, 3);
    goes_out();
}

static void say(unsigned master, const char *reply)
{
    server_write(masters[master].fd, reply, strlen(reply));
}

T(each_ref_has_its_vote)
{
    send_extends(ALL_MASTERS, 1, 2);
    send_one(COMMAND_CHECK, ALL_MASTERS, 3);
    send_extends(5, 4, 1);
    flush_all();
    say(0, "*2\r\n:500\r\n:-2\r\n:300\r\n*1\r\n:900\r\n");
    say(1, "-READONLY no\r\n:301\r\n");
    say(2, "*2\r\n:501\r\n:502\r\n:-2\r\n*1\r\n:901\r\n");
    UNTIL(masters[0].votes == 4 && masters[1].votes == 3 && masters[2].votes == 4);
    static const uint64_t numbers[ALL][4] = {{500, 0, 300, 900}, {0, 0, 301, 0}, {501, 502, 0, 901}};
    for (unsigned i = 0; i < ALL; i++)
        for (unsigned vote = 0; vote < masters[i].votes; vote++) {
            ck_assert_uint_eq(masters[i].ref[vote], vote + 1);
            ck_assert_uint_eq(masters[i].number[vote], numbers[i][vote]);
        }
}

/* Commands from the time of the last connection do not go out on this one. */
T_EACH(a_batch_ends_with_its_connection, ALL)
{
    send_extends(ALL_MASTERS, 1, 3);
    node_close(nodes[_i], "test");
    log_in(&masters[_i]);
    want_batch(ALL_MASTERS & ~(1 << _i), 1, 3);
    goes_out();
    /* The same where another command joins it. */
    send_extends(ALL_MASTERS, 1, 3);
    node_close(nodes[_i], "test");
    log_in(&masters[_i]);
    send_extends(ALL_MASTERS, 4, 2);
    want_batch(ALL_MASTERS & ~(1 << _i), 1, 3);
    want_batch(ALL_MASTERS, 4, 2);
    goes_out();
    say((unsigned)_i, "*2\r\n:500\r\n:501\r\n");
    UNTIL(masters[_i].votes == 2);
    ck_assert_uint_eq(masters[_i].ref[0], 4);
    /* Commands for a master that is away are dropped, too. */
    send_extends(ALL_MASTERS, 1, 3);
    node_close(nodes[_i], "test");
    want_batch(ALL_MASTERS & ~(1 << _i), 1, 3);
    goes_out();
    log_in(&masters[_i]);
    goes_out();
    ck_assert_uint_eq(masters[_i].votes, 2);
}

T(all_connections_end)
{
    send_extends(ALL_MASTERS, 1, 3);
    for (unsigned i = 0; i < ALL; i++) {
        node_close(nodes[i], "test");
        log_in(&masters[i]);
    }
    send_extends(ALL_MASTERS, 4, 1);
    want_batch(ALL_MASTERS, 4, 1);
    goes_out();
    ck_assert_uint_eq(masters[0].votes, 0);
}

#ifdef COUNTS_MALLOC
static bool all_voted(unsigned votes)
{
    bool all = true;
    for (unsigned i = 0; i < ALL; i++)
        all &= masters[i].votes >= votes;
    return all;
}

/* Sends one batch of 64 keys to all masters, lets them reply, and waits for all votes. */
static void round_of_64(unsigned n)
{
    char reply[8 + 64 * 8];
    int len = snprintf(reply, sizeof reply, "*64\r\n");
    for (unsigned i = 0; i < 64; i++)
        len += snprintf(reply + len, sizeof reply - (size_t)len, ":%u\r\n", i % 3 ? 10000 + i : 7);
    send_extends(ALL_MASTERS, 1, 64);
    flush_all();
    for (unsigned i = 0; i < ALL; i++) {
        masters[i].got_len = 0;
        hear(&masters[i]);
        send(masters[i].fd, reply, (size_t)len, MSG_NOSIGNAL);
    }
    for (unsigned left = SERVER_WAIT_MS; left > 0 && !all_voted(n * 64); left--) {
        turn();
        poll(NULL, 0, !all_voted(n * 64));
    }
}

T(a_batch_allocates_nothing)
{
    unsigned n = 0;
    while (n < 10)
        round_of_64(++n);
    unsigned long before = mallocs;
    while (n < 100)
        round_of_64(++n);
    unsigned long after = mallocs;
    ck_assert_uint_eq(after, before);
    for (unsigned i = 0; i < ALL; i++)
        ck_assert_uint_eq(masters[i].votes, 100 * 64);
}
#endif
