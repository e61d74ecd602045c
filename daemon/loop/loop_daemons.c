#include "daemon/loop/loop_daemons.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/clock.h"
#include "daemon/log.h"
#include "proto/line.h"

enum { WRITE_S = 10, FIRST_ENTRIES = 8 };

/* ---- writing ---- */

static void daemons_ask(struct loop_daemons *daemons, unsigned master, const char *cursor)
{
    char words[DAEMONS_WORDS_BYTES];
    size_t len = 0;
    daemons_words(words, &daemons->self);
    char *bytes = resp_daemons(daemons->format, daemons->self.id, words, cursor, &len);
    daemons->of[master].asked = node_ask(daemons->nodes[master], bytes, len, RESP_SCRIPT_DAEMONS, 0);
}

static void daemons_expire(struct daemons_of *of)
{
    int64_t now_ms = clock_boot_ms();
    unsigned kept = 0;
    for (unsigned i = 0; i < of->count; i++)
        if (now_ms - of->list[i].written_ms < DAEMONS_KEEP_MS)
            of->list[kept++] = of->list[i];
    of->count = kept;
}

void loop_daemons_write(struct loop_daemons *daemons)
{
    for (unsigned i = 0; i < daemons->conf->masters; i++) {
        daemons_expire(&daemons->of[i]);
        if (!daemons->of[i].asked)
            daemons_ask(daemons, i, "0");
    }
    daemons->stale = true;
}

void loop_daemons_connected(struct loop_daemons *daemons, unsigned master)
{
    daemons_ask(daemons, master, "0");
}

static void daemons_on_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    loop_daemons_write(arg);
}

/* ---- what the masters say ---- */

static struct daemons_entry *daemons_place(struct daemons_of *of, const struct daemon_row *row)
{
    for (unsigned i = 0; i < of->count; i++)
        if (memcmp(of->list[i].row.id, row->id, sizeof row->id) == 0)
            return &of->list[i];
    if (of->count == DAEMONS_MAX)
        return NULL;
    if (of->count == of->capacity) {
        unsigned capacity = of->capacity ? 2 * of->capacity : FIRST_ENTRIES;
        struct daemons_entry *list = realloc(of->list, capacity * sizeof *list);
        if (!list)
            return NULL;
        of->list = list;
        of->capacity = capacity;
    }
    return &of->list[of->count++];
}

static void daemons_read(struct loop_daemons *daemons, unsigned master, struct daemons_page *page)
{
    struct daemons_of *of = &daemons->of[master];
    struct daemon_row row;
    int64_t age_ms, now_ms = clock_boot_ms();
    while (daemons_page_next(page, &row, &age_ms)) {
        struct daemons_entry *entry = daemons_place(of, &row);
        if (entry)
            *entry = (struct daemons_entry){row, now_ms - age_ms};
    }
    daemons->stale = true;
}

static void daemons_refused(struct loop_daemons *daemons, unsigned master, const char *why, size_t len)
{
    char text[256];
    if (daemons->of[master].refused)
        return;
    daemons->of[master].refused = true;
    log_warn(
        "daemons_refused",
        "node=%s error=%s what=\"SHOW DAEMONS and the status page do without this master\" "
        "hint=\"give the user the rights of the line acl, logged at the start; delete %s,daemons if it is no "
        "hash\"",
        daemons->conf->nodes[master].address.shown, log_escape(text, sizeof text, why, len),
        daemons->conf->key_prefix);
}

static void daemons_told(struct loop_daemons *daemons, unsigned master, const struct resp_reply *reply)
{
    static const char odd[] = "an answer that is not the script's";
    static const char full[] = "1,024 daemons are listed there";
    struct daemons_page page;
    if (!reply->whole || !daemons_page_begin(&page, reply->whole, reply->whole_len)) {
        daemons_refused(daemons, master, odd, sizeof odd - 1);
        return;
    }
    if (page.taken) {
        daemons->taken(daemons->arg, master);
        return;
    }
    daemons_read(daemons, master, &page);
    if (page.full)
        daemons_refused(daemons, master, full, sizeof full - 1);
    else
        daemons->of[master].refused = false;
    if (strcmp(page.next, "0") != 0)
        daemons_ask(daemons, master, page.next);
}

void loop_daemons_answered(struct loop_daemons *daemons, unsigned master, const struct resp_reply *reply)
{
    daemons->of[master].asked = false;
    if (reply->type == RESP_STRING)
        daemons_told(daemons, master, reply);
    else if (!resp_is_not_run(reply)) /* else the node loads the script, and the next write finds it */
        daemons_refused(daemons, master, reply->text, reply->text_len);
}

/* ---- showing ---- */

static int by_row(const void *a, const void *b)
{
    const struct daemons_shown *one = a, *other = b;
    return memcmp(&one->entry->row, &other->entry->row, sizeof one->entry->row);
}

static bool shown_collect(struct loop_daemons *daemons)
{
    unsigned count = 0;
    for (unsigned i = 0; i < daemons->conf->masters; i++)
        count += daemons->of[i].count;
    daemons->shown_count = 0;
    if (count > daemons->shown_capacity) {
        struct daemons_shown *shown = realloc(daemons->shown, count * sizeof *shown);
        if (!shown)
            return false;
        daemons->shown = shown;
        daemons->shown_capacity = count;
    }
    for (unsigned i = 0; i < daemons->conf->masters; i++)
        for (unsigned k = 0; k < daemons->of[i].count; k++)
            daemons->shown[daemons->shown_count++] = (struct daemons_shown){&daemons->of[i].list[k], 1};
    return true;
}

/* Equal rows stand behind each other: one of them is kept, if a quorum has it. */
static void shown_count(struct loop_daemons *daemons)
{
    struct daemons_shown *shown = daemons->shown;
    unsigned kept = 0, quorum = daemons->conf->masters / 2 + 1;
    for (unsigned i = 0, end; i < daemons->shown_count; i = end) {
        struct daemons_shown found = shown[i];
        for (end = i + 1; end < daemons->shown_count && by_row(&shown[i], &shown[end]) == 0; end++) {
            if (shown[end].entry->written_ms > found.entry->written_ms)
                found.entry = shown[end].entry;
        }
        found.masters = end - i;
        if (found.masters >= quorum)
            shown[kept++] = found;
    }
    daemons->shown_count = kept;
}

const struct daemons_shown *loop_daemons_list(struct loop_daemons *daemons, unsigned *count)
{
    if (daemons->stale && shown_collect(daemons)) {
        if (daemons->shown_count > 0)
            qsort(daemons->shown, daemons->shown_count, sizeof *daemons->shown, by_row);
        shown_count(daemons);
        daemons->stale = false;
    }
    *count = daemons->shown_count;
    return daemons->shown;
}

const char *loop_daemons_host(struct loop_daemons *daemons, const char *id)
{
    unsigned count;
    const struct daemons_shown *shown = loop_daemons_list(daemons, &count);
    for (unsigned i = 0; i < count; i++)
        if (strcmp(shown[i].entry->row.id, id) == 0)
            return shown[i].entry->row.host;
    return "?";
}

int64_t loop_daemons_age_ms(const struct daemons_shown *shown)
{
    return clock_boot_ms() - shown->entry->written_ms;
}

/* ---- start and end ---- */

void loop_daemons_id(struct loop_daemons *daemons, const struct token *self)
{
    char hex[TOKEN_HEX];
    line_token_hex(hex, self);
    memcpy(daemons->self.id, hex, DAEMONS_ID_HEX);
}

bool loop_daemons_start(struct loop_daemons *daemons, struct event_base *base, const struct conf *conf,
                        struct node *const *nodes, const struct resp_format *format)
{
    static const struct timeval every = {.tv_sec = WRITE_S};
    daemons->conf = conf;
    daemons->nodes = nodes;
    daemons->format = format;
    daemons->timer = event_new(base, -1, EV_PERSIST, daemons_on_timer, daemons);
    return daemons->timer && event_add(daemons->timer, &every) == 0;
}

void loop_daemons_stop(struct loop_daemons *daemons)
{
    if (daemons->timer)
        event_free(daemons->timer);
    for (unsigned i = 0; i < MASTERS; i++)
        free(daemons->of[i].list);
    free(daemons->shown);
}
