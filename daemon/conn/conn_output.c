/* Replies -> bytes. Replies are collected and written once a turn of the loop. Output beyond max_output is
 * written at once, because a thousand events in one turn do not make a slow reader. While more than half
 * of max_output waits, no requests of that client are read, so that a client which reads its answers is
 * slowed down rather than closed. */
#include <errno.h>
#include <stdio.h>

#include "daemon/clock.h"
#include "daemon/conn/conn_private.h"

static bool output_open(const struct conn *c)
{
    return !c->muted && !c->doom && c->state != CONN_GONE;
}

char *output_line(struct conn *c)
{
    if (!output_open(c))
        return c->all->scratch;
    buffer_lend(c->all, &c->out);
    char *line = buffer_reserve(&c->out, SERVER_LINE_BYTES);
    if (line)
        return line;
    c->doom = "no memory";
    conn_ready(c);
    return c->all->scratch;
}

/* Rows that are made ahead of the reader do not count. */
static bool output_exceeds(const struct conn *c, size_t most)
{
    if (c->show_end > c->written)
        most += SHOW_BYTES + SERVER_LINE_BYTES;
    return buffer_len(&c->out) > most;
}

static size_t output_most(const struct conn *c)
{
    return (size_t)c->all->conf->max_output_bytes;
}

bool output_full(struct conn *c)
{
    bool full = output_exceeds(c, output_most(c) / 2);

    c->full |= full;
    return full;
}

bool output_stalls(const struct conn *c)
{
    return c->blocked && (output_exceeds(c, output_most(c)) || (c->full && buffer_len(&c->rest)));
}

void output_commit(struct conn *c, size_t len)
{
    if (!output_open(c))
        return;
    buffer_commit(&c->out, len);
    c->appended += len;
}

void output_mute(struct conn *c)
{
    c->muted = true;
    c->stuck = false;
    buffer_return(c->all, &c->out);
    listings_abandon(c);
    if (c->state != CONN_OPEN)
        conn_untimed(c);
    conn_ready(c);
    conn_dirty(c);
}

void output_done(struct conn *c, size_t len)
{
    output_commit(c, len);
    if (!output_open(c))
        return;
    conn_dirty(c);
    if (!output_exceeds(c, output_most(c)))
        return;
    output_push(c);
    if (c->error || !output_exceeds(c, OUTPUTS * output_most(c)))
        return;
    if (c->state == CONN_OPEN) {
        c->doom = "reads too slowly: four times max_output waits";
        conn_ready(c);
        return;
    }
    conn_tell(c, "client_slow", "it does not read its last answers: four times max_output waits");
    output_mute(c);
}

void output_code(struct conn *c, enum verb verb, const struct tag *tag, enum reply_code code,
                 enum limit limit)
{
    const struct conn_handler *handler = c->all->handler;
    struct reply reply = {.code = code, .limit = limit, .retry_ms = -1};

    if (code == REPLY_PONG)
        reply.ready = handler->ready(handler->arg);
    c->all->counts.answers[verb][code]++;

    output_done(c, line_format_reply(output_line(c), tag, &reply));
}

/* A grant counts as delivered once its first byte is with the kernel. */
static void output_delivered(struct conn *c)
{
    struct pending *pending;

    while ((pending = c->grants) && pending->at < c->written) {
        c->grants = pending->next;
        pending_free(c->all, pending);
    }
    if (!c->grants)
        c->grants_tail = &c->grants;
}

void output_push(struct conn *c)
{
    if (c->muted || c->error || c->wire.fd < 0 || !buffer_len(&c->out))
        return;
    long n = wire_write(&c->wire, &c->out);
    if (n < 0) {
        c->error = errno;
        conn_dirty(c);
        return;
    }
    c->written += (uint64_t)n;
    if (n > 0 && c->is_timed && (c->blocked || c->state != CONN_OPEN))
        conn_timed(c, clock_boot_ms());
    output_delivered(c);
}

void output_undelivered(struct conn *c)
{
    const struct conn_handler *handler = c->all->handler;
    struct pending *pending;

    while ((pending = c->grants)) {
        uint64_t request = pending->id;
        c->grants = pending->next;
        pending_free(c->all, pending);
        handler->undelivered(handler->arg, c->session, request);
    }
    c->grants_tail = &c->grants;
}

void output_refusal(struct conn *c, const struct request *what, enum reply_code code, const char *text)
{
    struct refusal refusal = {.code = code, .tag = what->tag, .name = what->name, .order = what->order};

    (void)snprintf(refusal.text, sizeof refusal.text, "%s", text);
    c->all->counts.answers[what->verb][code]++;
    output_done(c, line_format_refusal(output_line(c), &refusal));
}
