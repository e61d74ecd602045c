/* Bytes -> lines -> their order.
 *
 *     read --> input[] --> a line --> tagged, CANCEL, QUIT, or no untagged line is before it: request_start()
 *                |            \
 *                |             `--> queue: untagged, one after the other
 *                `--> rest: half a line, or lines that a full queue or much output keeps from being parsed
 *
 * A queued line is kept as text, which has a tenth of the size of its parsed form; parsing it again is
 * cheap. */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "daemon/clock.h"
#include "daemon/conn/conn_private.h"

/* These stand in place of a length: the line was thrown away, or its end never came. */
enum { TOO_LONG = 0xffff, HALF = 0xfffe };

static size_t text_len(size_t len)
{
    return len == TOO_LONG || len == HALF ? 0 : len;
}

/* ---- one line ---- */

static enum line_result line_read(struct conns *all, const char *line, size_t len)
{
    if (len == TOO_LONG)
        all->refusal =
            (struct refusal){.code = REPLY_TOOLONG, .text = "a line has at most 1024 bytes with its end"};
    else if (len == HALF) /* untagged: half a tag may be the tag of another request */
        all->refusal =
            (struct refusal){.code = REPLY_BADLINE, .text = "the last line has no LF; nothing was done"};
    else
        return line_parse(line, len, &all->request, &all->refusal);
    return LINE_REFUSED;
}

static void line_start(struct conn *c, enum line_result result)
{
    if (result == LINE_REQUEST)
        request_start(c, &c->all->request);
    else
        request_refuse(c, &c->all->refusal);
}

static void line_queue(struct conn *c, const char *line, size_t len)
{
    size_t text_bytes = text_len(len);
    unsigned char head[2] = {(unsigned char)(len >> 8), (unsigned char)(len & 0xff)};

    buffer_lend(c->all, &c->queue);
    char *at = buffer_reserve(&c->queue, sizeof head + text_bytes);
    if (!at) {
        c->doom = "no memory";
        conn_ready(c);
        return;
    }
    memcpy(at, head, sizeof head);
    if (line)
        memcpy(at + sizeof head, line, text_bytes);
    buffer_commit(&c->queue, sizeof head + text_bytes);
    if (++c->queued >= QUEUE_REQUESTS && !c->eof)
        c->blocked = true;
}

static const char header[] = "a verb with a colon: it speaks HTTP, mail or the like";

/* A web page can make a browser send lines of the page's choice to this port, such as LOCK. They come
 * behind a request line and headers, so nothing is read once either was seen. */
static void input_refuse(struct conn *c, const char *why)
{
    c->doom = why;
    conn_ready(c);
}

/* false: the line is held back, and is to be taken again later. */
static bool line_take(struct conn *c, const char *line, size_t len)
{
    struct conns *all = c->all;
    enum line_result result = line_read(all, line, len);

    if (result == LINE_EMPTY)
        return true;
    if (result == LINE_REFUSED && text_len(len) > 0 && line_is_header(line, len)) {
        input_refuse(c, header);
        return true;
    }
    bool queues = (c->untagged || c->queued) && !request_overtakes(result, &all->request, &all->refusal);
    if (result == LINE_REQUEST && !queues && !admit(c, &all->request))
        return false;
    all->stats.lines++;
    if (queues) {
        line_queue(c, line, len);
        c->barred = result == LINE_REQUEST && all->request.verb == VERB_AUTH;
    } else {
        line_start(c, result);
    }
    c->blocked |= c->barred; /* until input_resume() finds the AUTH answered */
    return true;
}

/* A line that is too long; line has its first LINE_BYTES. */
static void line_long(struct conn *c, const char *line)
{
    if (c->first)
        input_refuse(c, "its first line is longer than 1024 bytes: it speaks another protocol");
    else if (line_is_header(line, LINE_BYTES))
        input_refuse(c, header);
    else
        line_take(c, NULL, TOO_LONG);
}

/* ---- many lines ---- */

/* No further line is to be parsed, for now or for good. */
static bool input_stopped(const struct conn *c)
{
    return c->blocked || c->quits || c->expelled || c->doom || c->state == CONN_GONE;
}

/* Takes whole lines and returns how many bytes they had. *ended: at least one line end was among them. */
static size_t input_lines(struct conn *c, const char *bytes, size_t len, bool *ended)
{
    size_t used = 0;

    while (used < len && !input_stopped(c)) {
        if (output_full(c)) {
            c->blocked = true;
            break;
        }
        const char *line = bytes + used;
        size_t left = len - used;
        const char *lf = memchr(line, '\n', left);
        size_t whole = lf ? (size_t)(lf - line) + 1 : left;

        if (!lf && !c->skipping && left < LINE_BYTES)
            break;
        used += whole;
        *ended |= lf != NULL;
        bool skipped = c->skipping;
        c->skipping = !lf;
        if (skipped)
            continue;
        if (!lf || whole > LINE_BYTES) {
            line_long(c, line);
            continue;
        }
        c->first = false;
        size_t text = whole - 1;
        if (text && line[text - 1] == '\r')
            text--;
        if (!line_take(c, line, text))
            used -= whole;
    }
    return used;
}

/* Keeps the bytes that input_lines() did not take, and times half a line. */
static void input_keep(struct conn *c, const char *bytes, size_t len, bool ended)
{
    if (c->quits || c->expelled || c->doom)
        len = 0;
    if (len) {
        buffer_lend(c->all, &c->rest);
        if (buffer_append(&c->rest, bytes, len) < 0) {
            c->doom = "no memory";
            conn_ready(c);
        }
    }
    if (c->state != CONN_OPEN)
        return;
    if ((!len && !c->skipping) || c->blocked)
        conn_untimed(c);
    else if (ended || !c->is_timed)
        conn_timed(c, clock_boot_ms());
}

/* Half a line is refused: it may be cut anywhere, and so name another lock. */
static void input_half(struct conn *c)
{
    size_t len = buffer_len(&c->rest);

    c->eof = true;
    if (len && !c->quits && !c->expelled && !c->doom &&
        line_read(c->all, c->rest.bytes + c->rest.start, len) != LINE_EMPTY)
        line_take(c, NULL, HALF);
}

static void input_end(struct conn *c)
{
    c->eof = true;
    c->skipping = false;
    buffer_return(c->all, &c->rest);
    conn_finish(c);
    conn_ready(c);
    conn_watch(c, false);
}

static void input_failed(struct conn *c, int err)
{
    if (err == EAGAIN || err == EWOULDBLOCK || err == EINTR) {
        conn_watch(c, false);
        return;
    }
    if (c->wire.tls)
        c->fin_breaks = true; /* the end came without close_notify and QUIT */
    conn_break(c, err, c->wire.tls ? wire_fault()->what : strerror(err));
    if (c->state != CONN_GONE)
        input_end(c); /* everything that came before the error has been read */
}

void input_read(struct conn *c)
{
    struct conns *all = c->all;
    size_t kept = buffer_len(&c->rest);
    bool ended = false;

    assert(kept < LINE_BYTES && !c->blocked);
    if (kept)
        memcpy(all->input, c->rest.bytes + c->rest.start, kept);
    ssize_t n = wire_read(&c->wire, all->input + kept, READ_BYTES);
    if (n < 0) {
        input_failed(c, errno);
        return;
    }
    if (n == 0) {
        input_half(c);
        input_end(c);
        return;
    }
    all->now_us = clock_boot_us();
    c->heard_ms = all->now_us / 1000;
    if (c->quits || c->expelled || c->doom) {
        conn_unread(c); /* the bytes had to be read: unread ones would make our close a reset, without +BYE */
        return;
    }
    buffer_return(all, &c->rest);
    size_t len = kept + (size_t)n;
    if (c->first && line_is_foreign(all->input, len)) {
        conn_reject(c, wire_looks_like_tls(all->input, len)
                           ? "it speaks TLS to an address that has no tls in listen"
                           : "it speaks HTTP to an address of listen: that is for those in http");
        return;
    }
    size_t used = input_lines(c, all->input, len, &ended);
    if (c->state == CONN_GONE)
        return;
    input_keep(c, all->input + used, len - used, ended);
    conn_unread(c);
    conn_watch(c, false);
}

/* ---- going on ---- */

/* false: its line is held back. */
static bool queue_take(struct conn *c)
{
    const unsigned char *head = (const unsigned char *)c->queue.bytes + c->queue.start;
    size_t len = (size_t)head[0] << 8 | head[1];
    size_t text_bytes = text_len(len);
    enum line_result result = line_read(c->all, (const char *)head + 2, len);

    assert(c->queued && result != LINE_EMPTY);
    if (result == LINE_REQUEST && !admit(c, &c->all->request))
        return false;
    c->queue.start += 2 + text_bytes;
    assert(c->queue.start <= c->queue.end);
    c->queued--;
    line_start(c, result);
    return true;
}

void input_resume(struct conn *c)
{
    bool ended = false;

    while (c->queued && !c->untagged && !c->held && !output_full(c) && !c->doom && c->state != CONN_GONE)
        if (!queue_take(c))
            conn_watch(c, false);
    if (c->doom || c->state == CONN_GONE || c->held)
        return;
    if (!c->queued)
        buffer_return(c->all, &c->queue);
    if (!c->blocked || c->barred || c->queued > QUEUE_RESUME || output_full(c))
        return;
    c->blocked = false;
    if (c->rest.bytes) {
        struct buffer rest = c->rest;
        memset(&c->rest, 0, sizeof c->rest);
        size_t used = input_lines(c, rest.bytes + rest.start, buffer_len(&rest), &ended);
        rest.start += used;
        if (c->blocked && !c->quits && !c->expelled) {
            c->rest = rest;
        } else {
            if (c->state != CONN_GONE && !c->eof)
                input_keep(c, rest.bytes + rest.start, buffer_len(&rest), ended);
            buffer_return(c->all, &rest);
        }
    }
    if (c->state == CONN_GONE)
        return;
    conn_unread(c);
    conn_watch(c, false);
}
