/* Requests out to all masters, their replies counted. */
#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "daemon/buffer.h"
#include "daemon/node/expected.h"
#include "tests/bench/commands.h"
#include "tests/bench/process.h"
#include "tests/bench/relay.h"

enum { READ_BYTES = 64 * 1024, REQUESTS = 4096 };

/* Slots are taken in turn: a slot that comes up again has to be answered by then. */
struct request {
    struct relay_client *client; /* NULL: answered, or the client is gone */
    uint64_t number;
    unsigned answers;
    bool unlock;
    size_t len;
    char tagged_name[RELAY_NAME];
};

struct node {
    int fd;
    struct event *readable;
    redisReader *reader;
    struct buffer out;
    struct expected_ring owed; /* requests by their number; 0: a reply that does not count */
};

static struct {
    struct node node[BENCH_MASTERS];
    struct request request[REQUESTS];
    uint64_t numbers;
} all;

static void answered(uint64_t number)
{
    struct request *r = &all.request[number % REQUESTS];
    if (!number || r->number != number || !r->client || ++r->answers < BENCH_QUORUM)
        return;
    struct relay_client *client = r->client;
    r->client = NULL;
    relay_answer(client, r->unlock, r->tagged_name, r->len);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    static char bytes[READ_BYTES];
    struct node *n = arg;
    void *reply = NULL;
    (void)what;
    ssize_t len = recv(fd, bytes, sizeof bytes, 0);
    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (len <= 0 || redisReaderFeed(n->reader, bytes, (size_t)len) != REDIS_OK)
        fail("relay: a master closed the connection");
    for (;;) {
        if (redisReaderGetReply(n->reader, &reply) != REDIS_OK)
            fail("relay: a reply that makes no sense");
        if (!reply)
            return;
        answered(expected_pop(&n->owed).ref);
    }
}

static void node_append(struct node *n, const char *bytes, size_t len, unsigned replies, uint64_t number)
{
    bool failed = buffer_append(&n->out, bytes, len) < 0;
    for (; replies; replies--)
        failed |= expected_push(&n->owed, EXPECTED_VOTE, 0, replies > 1 ? 0 : number) < 0;
    if (failed)
        fail("relay: no memory");
}

void relay_masters_dial(struct event_base *base, const struct masters *masters)
{
    size_t len;
    char *script = commands_load(&len);
    for (unsigned i = 0; i < BENCH_MASTERS; i++) {
        struct node *n = &all.node[i];
        n->fd = socket_dial(&masters->address[i], false, SOCKET_NO_SOURCE);
        evutil_make_socket_nonblocking(n->fd);
        /* Without such functions hiredis makes no objects. */
        n->reader = redisReaderCreateWithFunctions(NULL);
        n->readable = event_new(base, n->fd, EV_READ | EV_PERSIST, on_readable, n);
        if (!n->reader || !n->readable || event_add(n->readable, NULL) < 0)
            fail("relay: no memory");
        n->reader->maxbuf = 0;
        node_append(n, script, len, 1, 0);
    }
    free(script);
    relay_masters_flush();
}

void relay_masters_ask(struct relay_client *client, bool unlock, const char *tagged_name, size_t len)
{
    char bytes[COMMANDS_BYTES];
    struct request *r = &all.request[++all.numbers % REQUESTS];
    const char *space = tagged_name[0] == '#' ? memchr(tagged_name, ' ', len) : NULL;
    const char *name = space ? space + 1 : tagged_name;
    size_t name_len = (size_t)(tagged_name + len - name);
    if (r->client || len > RELAY_NAME)
        fail("relay: too many requests at once, or too long a name");
    r->client = client;
    r->number = all.numbers;
    r->answers = 0;
    r->unlock = unlock;
    r->len = len;
    memcpy(r->tagged_name, tagged_name, len);
    size_t bytes_len =
        unlock ? commands_unlock(bytes, name, name_len) : commands_lock(bytes, name, name_len, true);
    for (unsigned i = 0; i < BENCH_MASTERS; i++)
        node_append(&all.node[i], bytes, bytes_len, unlock ? 1 : 2, r->number);
}

void relay_masters_forget(const struct relay_client *client)
{
    for (unsigned i = 0; i < REQUESTS; i++)
        if (all.request[i].client == client)
            all.request[i].client = NULL;
}

void relay_masters_flush(void)
{
    for (unsigned i = 0; i < BENCH_MASTERS; i++)
        if (buffer_write(&all.node[i].out, all.node[i].fd) < 0)
            fail("relay: %s", strerror(errno));
}
