/* The relay's clients: lines in, lines out. */
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/buffer.h"
#include "tests/bench/commands.h"
#include "tests/bench/process.h"
#include "tests/bench/relay.h"

enum { READ_BYTES = 64 * 1024, ANSWER_BYTES = 512 };

struct relay_client {
    int fd;
    struct event *readable;
    struct buffer out;
    bool is_dirty, gone;
    struct relay_client *dirty_next;
    size_t kept; /* half a line */
    char rest[1024];
};

static struct relay_client *dirty;

static void mark(struct relay_client *client)
{
    if (client->is_dirty)
        return;
    client->is_dirty = true;
    client->dirty_next = dirty;
    dirty = client;
}

static char *put(char *at, const char *text, size_t len)
{
    memcpy(at, text, len);
    return at + len;
}

/* The answer is as long as the daemon's. */
void relay_answer(struct relay_client *client, bool unlock, const char *tagged_name, size_t len)
{
    static const char unlocked[] = " confirmed=3/5\n",
                      locked[] = " token=", rest[] = " fence=1790000000000000 valid=9897 until=86409890\n";
    char *start = buffer_reserve(&client->out, ANSWER_BYTES);
    const char *space = tagged_name[0] == '#' ? memchr(tagged_name, ' ', len) : NULL;
    const char *name = space ? space + 1 : tagged_name;
    size_t name_len = (size_t)(tagged_name + len - name);
    assert(start != NULL);
    char *at = start;
    at = put(at, tagged_name, (size_t)(name - tagged_name));
    at = unlock ? put(at, "+UNLOCKED ", 10) : put(at, "+LOCKED ", 8);
    at = put(at, name, name_len);
    if (unlock) {
        at = put(at, unlocked, sizeof unlocked - 1);
    } else {
        at = put(at, locked, sizeof locked - 1);
        commands_token(at, name, name_len);
        at = put(at + COMMANDS_TOKEN, rest, sizeof rest - 1);
    }
    buffer_commit(&client->out, (size_t)(at - start));
    mark(client);
}

/* "[#tag ]LOCK <name>" or "[#tag ]UNLOCK <name>": the answer needs the line without its verb. */
static void line_read(struct relay_client *client, const char *line, size_t len)
{
    char tagged_name[RELAY_NAME];
    const char *space = line[0] == '#' ? memchr(line, ' ', len) : NULL;
    const char *verb = space ? space + 1 : line;
    size_t tag_len = (size_t)(verb - line), left = len - tag_len;
    bool unlock = left > 0 && verb[0] == 'U';
    size_t verb_len = unlock ? 7 : 5;
    if (left <= verb_len || len > RELAY_NAME)
        fail("relay: a line that it does not know");
    char *at = put(tagged_name, line, tag_len);
    at = put(at, verb + verb_len, left - verb_len);
    relay_masters_ask(client, unlock, tagged_name, (size_t)(at - tagged_name));
}

static void client_end(struct relay_client *client)
{
    event_free(client->readable);
    close(client->fd);
    client->readable = NULL;
    client->gone = true;
    relay_masters_forget(client);
    mark(client);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    static char bytes[READ_BYTES];
    struct relay_client *client = arg;
    (void)what;
    memcpy(bytes, client->rest, client->kept);
    ssize_t n = recv(fd, bytes + client->kept, sizeof bytes - client->kept, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        client_end(client);
        return;
    }
    const char *at = bytes, *end = bytes + client->kept + n;
    for (const char *lf; (lf = memchr(at, '\n', (size_t)(end - at))); at = lf + 1)
        line_read(client, at, (size_t)(lf - at));
    client->kept = (size_t)(end - at);
    if (client->kept > sizeof client->rest)
        fail("relay: a line that never ends");
    memcpy(client->rest, at, client->kept);
}

static void on_accept(evutil_socket_t fd, short what, void *arg)
{
    struct event_base *base = arg;
    int on = 1, accepted;
    (void)what;
    while ((accepted = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        struct relay_client *client = calloc(1, sizeof *client);
        (void)setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (client)
            client->readable = event_new(base, accepted, EV_READ | EV_PERSIST, on_readable, client);
        if (!client || !client->readable || event_add(client->readable, NULL) < 0)
            fail("relay: no memory");
        client->fd = accepted;
    }
}

void relay_clients_listen(struct event_base *base, const struct address *address)
{
    for (int use_unix = 0; use_unix <= 1; use_unix++) {
        int fd = socket_listen(address, use_unix);
        struct event *event = event_new(base, fd, EV_READ | EV_PERSIST, on_accept, base);
        if (!event || event_add(event, NULL) < 0)
            fail("relay: no memory");
    }
}

void relay_clients_flush(void)
{
    while (dirty) {
        struct relay_client *client = dirty;
        dirty = client->dirty_next;
        client->is_dirty = false;
        if (!client->gone && buffer_write(&client->out, client->fd) < 0)
            client_end(client); /* puts the client into the list once more, to be freed */
        else if (client->gone) {
            buffer_free(&client->out);
            free(client);
        }
    }
}
