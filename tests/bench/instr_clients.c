#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/bench/instr.h"

enum { WORKERS = 256, READ_BYTES = 64 * 1024, NAMES = 1000 };

static struct worker {
    bool unlocking;
    unsigned turn;
} worker[WORKERS];

static struct link {
    int fd;
    size_t kept;
    char in[READ_BYTES];
    size_t out_len;
    char out[READ_BYTES];
} link[WORKERS];

static unsigned workers, connections;
static uint64_t cycles;

uint64_t instr_clients_cycles(void)
{
    return cycles;
}

static void ask(unsigned index)
{
    const struct worker *w = &worker[index];
    struct link *l = &link[index % connections];
    char *out = l->out + l->out_len;
    size_t room = sizeof l->out - l->out_len;
    int len = workers > connections ? snprintf(out, room, "#%u ", index) : 0;
    len += snprintf(out + len, room - (size_t)len, "%s job.1000000.%u.%u\n", w->unlocking ? "UNLOCK" : "LOCK",
                    index, w->turn % NAMES);
    l->out_len += (size_t)len;
}

static void send_out(struct link *l)
{
    if (send(l->fd, l->out, l->out_len, MSG_NOSIGNAL) != (ssize_t)l->out_len)
        instr_fail("the daemon does not read what a client says");
    l->out_len = 0;
}

void instr_clients_dial(const char *path, unsigned worker_count, unsigned connection_count)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    assert(connection_count > 0);
    workers = worker_count;
    connections = connection_count;
    memcpy(name.sun_path, path, strlen(path) + 1);
    for (unsigned i = 0; i < connections; i++) {
        link[i].fd = socket(AF_UNIX, SOCK_STREAM, 0);
        if (connect(link[i].fd, (struct sockaddr *)&name, sizeof name) < 0)
            instr_fail("connect");
    }
    for (unsigned i = 0; i < workers; i++)
        ask(i);
    for (unsigned i = 0; i < connections; i++)
        send_out(&link[i]);
}

static void line_read(unsigned index, const char *line)
{
    if (line[0] == '#') {
        index = (unsigned)strtoul(line + 1, NULL, 10);
        line = strchr(line, ' ') + 1;
    }
    struct worker *w = &worker[index];
    if (strncmp(line, w->unlocking ? "+UNLOCKED " : "+LOCKED ", w->unlocking ? 10 : 8) != 0)
        instr_fail(line);
    cycles += w->unlocking;
    w->turn += w->unlocking;
    w->unlocking = !w->unlocking;
    ask(index);
}

static void link_serve(unsigned i)
{
    struct link *l = &link[i];
    ssize_t n = recv(l->fd, l->in + l->kept, sizeof l->in - l->kept, MSG_DONTWAIT);
    if (n == 0)
        instr_fail("the daemon closed a client's connection");
    if (n < 0)
        return;
    char *at = l->in, *end = l->in + l->kept + n;
    for (char *lf; (lf = memchr(at, '\n', (size_t)(end - at))); at = lf + 1) {
        *lf = '\0';
        line_read(i, at);
    }
    l->kept = (size_t)(end - at);
    memmove(l->in, at, l->kept);
    send_out(l);
}

void instr_clients_serve(void)
{
    for (unsigned i = 0; i < connections; i++)
        link_serve(i);
}
