/* Replies -> bytes. They are collected and written once a turn of the loop; only a client
 * that is about to exceed max_output is tried at once, since a thousand events of one
 * turn are no sign of a slow reader. Above half of max_output no more of its requests are
 * read, so that one that reads what it asked for is slowed down rather than closed. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "daemon/clock.h"
#include "daemon/conn/conn_private.h"
#include "daemon/log.h"

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

/* What lists have ahead of the reader is not counted. */
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

/* It waits for a client that has to read before anything else may happen: answers beyond max_output, or requests that
 * are not read before the answers are. */
static bool output_stalls(const struct conn *c)
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
    conn_mute(c);
}

void output_code(struct conn *c, const struct tag *tag, enum reply_code code, enum limit limit)
{
    struct reply reply = {.code = code, .limit = limit, .retry_ms = -1};

    output_done(c, line_format_reply(output_line(c), tag, &reply));
}

/* A grant whose first byte is with the kernel counts as told. */
static void output_delivered(struct conn *c)
{
    struct live *live;

    while ((live = c->grants) && live->at < c->written) {
        c->grants = live->next;
        live_free(c->all, live);
    }
    if (!c->grants)
        c->grants_tail = &c->grants;
}

void output_push(struct conn *c)
{
    if (c->muted || c->error || c->fd < 0 || !buffer_len(&c->out))
        return;
    long n = buffer_write(&c->out, c->fd);
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
    struct live *live;

    while ((live = c->grants)) {
        uint64_t request = live->id;
        c->grants = live->next;
        live_free(c->all, live);
        handler->undelivered(handler->arg, c->session, request);
    }
    c->grants_tail = &c->grants;
}

/* A client with much to read is not read, and has idle_line_timeout to read some of it. */
static void output_pace(struct conn *c)
{
    if (output_full(c)) {
        c->blocked = !c->eof;
    } else if (c->full) {
        c->full = false;
        conn_ready(c);
    }
    bool times = c->state == CONN_OPEN ? output_stalls(c) : c->stuck;
    if (times && !c->is_timed)
        conn_timed(c, clock_boot_ms());
    if (!times && (c->blocked || c->state != CONN_OPEN))
        conn_untimed(c);
}

void output_flush(struct conn *c)
{
    if (c->state == CONN_GONE || c->doom)
        return;
    show_produce(c);
    output_push(c);
    if (c->error) {
        int err = c->error;
        c->error = 0;
        conn_break(c, err);
        if (c->state == CONN_GONE)
            return;
    }
    bool empty = !buffer_len(&c->out);
    if (empty)
        buffer_return(c->all, &c->out);
    c->stuck = !empty || c->listings;
    output_pace(c);
    conn_watch(c, empty && c->listings);
    conn_settle(c);
}

void conns_reply(struct conns *all, uint64_t session, uint64_t request, const struct reply *reply)
{
    struct conn *c = conn_table_find(all, session);
    struct live *live = c ? live_find(c, request) : NULL;

    if (!live)
        return;
    uint64_t at = c->appended;
    size_t len = line_format_reply(output_line(c), &live->tag, reply);
    live_unlink(c, live);
    if (reply->code == REPLY_LOCKED) {
        live->at = at;
        *c->grants_tail = live;
        c->grants_tail = &live->next;
    } else {
        live_free(all, live);
    }
    output_done(c, len);
}

void conns_notice(struct conns *all, uint64_t session, const struct notice *notice)
{
    struct conn *c = conn_table_find(all, session);

    if (!c || c->state == CONN_FLUSHING || (notice->kind == NOTICE_RENEWED && !c->renewed))
        return;
    output_done(c, line_format_notice(output_line(c), notice));
}

static void tell_all(struct conns *all, const struct notice *notice)
{
    struct conn *c;

    for (uint64_t cursor = 0; (c = conn_table_next(all, &cursor));)
        conns_notice(all, c->session, notice);
}

void conns_drain(struct conns *all)
{
    tell_all(all, &(struct notice){.kind = NOTICE_DRAIN});
}

void conns_clock(struct conns *all, int64_t behind_ms)
{
    all->behind_ms = behind_ms;
    tell_all(all, &(struct notice){.kind = NOTICE_CLOCK, .behind_ms = behind_ms});
}
