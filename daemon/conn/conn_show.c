/* Lists: SHOW and HELP. Rows are made as the client reads, at most SHOW_BYTES and one row ahead, so that a
 * list of a hundred thousand locks takes no more memory than a short one. A client's lists are made one
 * after the other, and the next one begins with the next conns_flush() at the earliest: thousands of short
 * lists would hold up everybody else. */
#include <assert.h>

#include "daemon/clock.h"
#include "daemon/conn/conn_private.h"

void show_start(struct conn *c, const struct request *what)
{
    if (c->listing_count >= SHOWS) {
        output_code(c, what->verb, &what->tag, REPLY_LIMIT, LIMIT_MAX_WAITS_PER_CLIENT);
        return;
    }
    if (c->muted)
        return; /* nobody would read the list */
    struct listing *listing = listing_new(c->all);
    struct pending *pending = listing ? pending_begin(c, what) : NULL;
    if (!pending) {
        if (listing)
            listing_free(c->all, listing);
        c->doom = "no memory";
        conn_ready(c);
        return;
    }
    listing->pending = pending;
    listing->help = what->verb == VERB_HELP;
    listing->show = what->show;
    *c->listings_tail = listing;
    c->listings_tail = &listing->next;
    c->listing_count++;
    conn_dirty(c);
}

/* A row of SHOW CLIENTS. listing->state[0] says how far the table was read. */
static size_t show_client(struct conns *all, struct listing *listing, char *out)
{
    const struct conn_handler *handler = all->handler;
    const struct conn *c = conn_table_next(all, &listing->state[0]);
    char address[ADDRESS_TEXT_BYTES];
    uint32_t locks = 0, waits = 0;
    struct row row;

    if (!c)
        return 0;
    conn_address(c, address);
    if (c->known)
        handler->session_counts(handler->arg, c->session, &locks, &waits);
    line_row_begin(&row, out, &listing->pending->tag);
    line_row_unsigned(&row, "session", c->session);
    line_row_string(&row, "address", address);
    line_row_text(&row, "client", c->client ? c->client->text : "", c->client ? c->client->len : 0);
    if (all->conf->users)
        line_row_string(&row, "user", user_of(c) ? user_of(c)->name : "");
    line_row_unsigned(&row, "locks", locks);
    line_row_unsigned(&row, "waits", waits);
    line_row_signed(&row, "idle", clock_boot_ms() - c->heard_ms);
    line_row_unsigned(&row, "out", buffer_len(&c->out));
    return line_row_end(&row);
}

static size_t show_row(struct conn *c, struct listing *listing, char *out)
{
    struct conns *all = c->all;
    const struct conn_handler *handler = all->handler;

    if (listing->help)
        return line_format_help(out, &listing->pending->tag, (unsigned)listing->rows);
    if (listing->show == SHOW_CLIENTS)
        return show_client(all, listing, out);
    return handler->row(handler->arg, c->session, listing->show, &listing->pending->tag, listing->state, out);
}

void show_produce(struct conn *c)
{
    bool ended = c->show_flush == c->all->flushes || c->awaits_row;
    unsigned hidden = 0;

    c->show_flush = c->all->flushes;
    while (!ended && c->listings && buffer_len(&c->out) < SHOW_BYTES && !c->muted && !c->doom) {
        struct listing *listing = c->listings;
        char *line = output_line(c);
        size_t len = show_row(c, listing, line);

        if (len == ROW_HIDDEN && ++hidden < HIDDEN_ROWS)
            continue;
        c->awaits_row = len == ROW_LATER;
        if (len == ROW_HIDDEN || len == ROW_LATER)
            return; /* the next turn goes on, or conns_rows_known() */
        ended = len == 0;
        assert(len <= SERVER_LINE_BYTES);
        if (ended) {
            c->all->counts.answers[listing->pending->verb][REPLY_OK]++;
            len = line_format_end(line, &listing->pending->tag, listing->rows);
        }
        listing->rows++;
        output_commit(c, len);
        c->show_end = c->appended;
        if (ended)
            listing_end(c);
    }
}
