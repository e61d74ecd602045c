#include "daemon/loop/loop_who_tell.h"

#include <stdlib.h>
#include <string.h>

static void query_free(struct who_query *query)
{
    free(query->entries);
    query->entries = NULL;
    query->count = query->capacity = 0;
    query->ref = 0;
}

static void query_end(struct who_query *query, enum reply_code code, conn_line *line, void *arg)
{
    evtimer_del(&query->timer);
    conns_lines(query->all->conns, query->session, query->request, code, line, arg);
    query_free(query);
}

static size_t refusal_line(void *arg, unsigned i, const struct tag *tag, char *out)
{
    struct refusal *refusal = arg;
    refusal->tag = *tag;
    return i == 0 ? line_format_refusal(out, refusal) : 0;
}

void query_refuse(struct who_query *query, enum reply_code code, const char *words, const char *text)
{
    struct refusal refusal = {.code = code, .name = query->name};
    snprintf(refusal.words, sizeof refusal.words, "%s", words);
    snprintf(refusal.text, sizeof refusal.text, "%s", text);
    query_end(query, code, refusal_line, &refusal);
}

static size_t reply_line(void *arg, unsigned i, const struct tag *tag, char *out)
{
    return i == 0 ? line_format_reply(out, tag, arg) : 0;
}

void query_noquorum(struct who_query *query, masters_t yes)
{
    struct reply reply = {.code = REPLY_NOQUORUM, .name = query->name, .retry_ms = -1};
    for (unsigned i = 0; i < MASTERS; i++) {
        bool asked = query->asked & masters_bit(i), refused = query->refused & masters_bit(i);
        reply.nodes[i] = '!';
        if (yes & masters_bit(i))
            reply.nodes[i] = '+';
        else if (query->answered & masters_bit(i))
            reply.nodes[i] = '-';
        else if (asked && !refused)
            reply.nodes[i] = '?';
    }
    loop_noquorum(query->all->view, &reply);
    query_end(query, REPLY_NOQUORUM, reply_line, &reply);
}

/* ---- the rows of WHO ---- */

struct who_rows {
    const struct who_query *query;
    const struct holder *list;
    unsigned count;
};

static void told_row(const struct who_told *told, struct row *row)
{
    line_row_unsigned(row, "fence", told->fence);
    line_row_signed(row, "since", told->since_ms);
    line_row_text(row, "data", told->data.text, told->data.len);
}

static const char *holder_mode(const struct holder *holder)
{
    if (holder->kept)
        return "kept";
    return holder->kind == WHO_SHARED ? "shared" : "exclusive";
}

static void holder_row(const struct who_query *query, const struct holder *holder, struct row *row)
{
    char votes[16];
    bool waits = holder->kind == WHO_WAITS;
    line_row_text(row, "name", query->name.text, query->name.len);
    if (waits) {
        line_row_signed(row, "waiting", holder->ms);
    } else {
        line_row_string(row, "mode", holder_mode(holder));
        if (holder->slot != WHO_NO_SLOT)
            line_row_signed(row, "slot", holder->slot);
    }
    line_row_string(row, "daemon", holder->daemon);
    line_row_string(row, "host", loop_daemons_host(query->all->view->daemons, holder->daemon));
    if (waits)
        return;
    snprintf(votes, sizeof votes, "%u/%u", holder->masters, query_masters(query));
    line_row_signed(row, "left", holder->ms);
    line_row_string(row, "votes", votes);
    if (holder->list[0] != '\0')
        line_row_string(row, "list", holder->list);
    const struct who_told *told = holder_told(holder, query->told, MASTERS);
    if (told != NULL)
        told_row(told, row);
}

static size_t who_row(void *arg, unsigned i, const struct tag *tag, char *out)
{
    const struct who_rows *rows = arg;
    unsigned shown = rows->count < WHO_ROWS ? rows->count : WHO_ROWS, more = rows->count - shown;
    unsigned lines = shown + (more > 0);
    struct row row;
    if (i > lines)
        return 0;
    if (i == lines)
        return line_format_end(out, tag, lines);
    line_row_begin(&row, out, tag);
    if (i < shown) {
        holder_row(rows->query, &rows->list[i], &row);
    } else {
        line_row_text(&row, "name", rows->query->name.text, rows->query->name.len);
        line_row_unsigned(&row, "more", more);
    }
    return line_row_end(&row);
}

void query_rows(struct who_query *query)
{
    struct holder *list = malloc((query->count + 1) * sizeof *list);
    if (list == NULL) {
        query_refuse(query, REPLY_LIMIT, "limit=memory", "this redlockd is out of memory");
        return;
    }
    struct who_rows rows = {query, list,
                            holders_list(list, query->entries, query->count, query_quorum(query))};
    query_end(query, REPLY_OK, who_row, &rows);
    free(list);
}

/* ---- BREAK ---- */

const char *query_words(const struct who_query *query, char out[QUERY_WORDS_BYTES])
{
    char slot[16] = "";
    const struct holder *holder = &query->holder;
    if (query->slot != WHO_NO_SLOT)
        snprintf(slot, sizeof slot, "slot=%d ", query->slot);
    snprintf(out, QUERY_WORDS_BYTES, "%sdaemon=%s host=%s", slot, holder->daemon,
             loop_daemons_host(query->all->view->daemons, holder->daemon));
    return out;
}

static size_t broken_line(void *arg, unsigned i, const struct tag *tag, char *out)
{
    const struct who_query *query = arg;
    char holder[QUERY_WORDS_BYTES], words[QUERY_WORDS_BYTES], others[32] = "";
    if (i > 0)
        return 0;
    if (query->others > 0)
        snprintf(others, sizeof others, " others=%u", query->others);
    snprintf(words, sizeof words, "%s%s confirmed=%u/%u%s", query_words(query, holder), others,
             masters_count(query->deleted), query_masters(query), query->cut ? " more=1" : "");
    return line_format_broken(out, tag, &query->name, words);
}

void query_unkept(struct who_query *query)
{
    struct reply reply = {.code = REPLY_UNLOCKED,
                          .name = query->name,
                          .confirmed = (uint8_t)masters_count(query->deleted),
                          .masters = (uint8_t)query_masters(query)};
    query_end(query, REPLY_UNLOCKED, reply_line, &reply);
}

void query_broken(struct who_query *query)
{
    query_end(query, REPLY_BROKEN, broken_line, query);
}
