#include "daemon/loop/loop_daemons.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/clock.h"
#include "daemon/log.h"
#include "proto/line.h"

enum {
    WRITE_S = 10,
    PAGE_MS = 60000,   /* between two pages that are read although nobody asks for the list */
    SILENT_MS = 12000, /* a daemon that runs has written itself since */
    FRESH_MS = 10000,  /* a list that was read so lately is not read again */
    LATE_S = 1,        /* then who asks for the list gets what has come */
    PAGE_ROWS = 64,    /* the script's; a longer list has several pages */
    PAGES = 1024,      /* of a list, at most: a master may never say that one was the last */
    FIRST_ENTRIES = 8,
    NONE = UINT32_MAX,
};

/* ---- the list of a master ---- */

static uint32_t daemons_hash(const char *id)
{
    return (uint32_t)(strtoul(id, NULL, 16) % DAEMONS_HEADS);
}

static void daemons_link(struct daemons_of *of, uint32_t index)
{
    uint32_t *head = &of->heads[daemons_hash(of->list[index].row.id)];
    of->list[index].next = *head;
    *head = index;
}

/* Entries that are over go. After a whole reading the entries that it did not find go, too: their daemons said goodbye. */
static void daemons_expire(struct daemons_of *of, bool was_read)
{
    int64_t now_ms = clock_boot_ms();
    unsigned kept = 0;
    memset(of->heads, 0xff, sizeof of->heads);
    for (unsigned i = 0; i < of->count; i++) {
        bool is_gone = was_read && of->list[i].reading != of->reading;
        if (is_gone || now_ms - of->list[i].written_ms >= DAEMONS_KEEP_MS)
            continue;
        of->list[kept] = of->list[i];
        daemons_link(of, kept++);
    }
    of->count = kept;
}

static struct daemons_entry *daemons_find(const struct daemons_of *of, const char *id)
{
    for (uint32_t i = of->heads[daemons_hash(id)]; i != NONE; i = of->list[i].next)
        if (memcmp(of->list[i].row.id, id, sizeof of->list[i].row.id) == 0)
            return &of->list[i];
    return NULL;
}

static struct daemons_entry *daemons_place(struct daemons_of *of, const struct daemon_row *row)
{
    struct daemons_entry *found = daemons_find(of, row->id);
    if (found)
        return found;
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
    of->list[of->count].row = *row;
    daemons_link(of, of->count);
    return &of->list[of->count++];
}

static void daemons_take(struct loop_daemons *daemons, unsigned master, struct daemons_page *page)
{
    struct daemons_of *of = &daemons->of[master];
    struct daemon_row row;
    int64_t age_ms, now_ms = clock_boot_ms();
    while (daemons_page_next(page, &row, &age_ms)) {
        struct daemons_entry *entry = daemons_place(of, &row);
        if (!entry)
            continue;
        entry->row = row;
        entry->written_ms = now_ms - age_ms;
        entry->reading = of->reading;
        daemons->stale = true;
    }
}

/* ---- asking ---- */

static void daemons_ask(struct loop_daemons *daemons, unsigned master, const char *cursor)
{
    char words[DAEMONS_WORDS_BYTES];
    size_t len = 0;
    daemons_words(words, &daemons->self);
    char *bytes = resp_daemons(daemons->format, daemons->self.id, words, cursor, &len);
    daemons->of[master].asked = node_ask(daemons->nodes[master], bytes, len, RESP_SCRIPT_DAEMONS, 0);
}

/* Writes this daemon there, and now and then reads a page of the list: so entries that are over go, in whichever
 * page they are. */
static void daemons_ask_some(struct loop_daemons *daemons, unsigned master)
{
    struct daemons_of *of = &daemons->of[master];
    int64_t now_ms = clock_boot_ms();
    char cursor[DAEMONS_CURSOR_BYTES] = "-";
    uint8_t random[32];
    uint32_t draw;
    bool is_due = now_ms >= of->page_ms;
    if (is_due) {
        clock_random(random);
        memcpy(&draw, random, sizeof draw);
        snprintf(cursor, sizeof cursor, "%u", of->count <= PAGE_ROWS ? 0 : (unsigned)draw);
    }
    daemons_ask(daemons, master, cursor);
    if (is_due && of->asked) /* else the next connection reads it */
        of->page_ms = now_ms + PAGE_MS;
}

static void daemons_late(struct loop_daemons *daemons)
{
    if (!daemons->reading)
        return;
    daemons->reading = false;
    evtimer_del(daemons->late);
    daemons->known(daemons->arg);
}

/* The reading is over when no master has more to say. */
static void daemons_look(struct loop_daemons *daemons)
{
    for (unsigned i, left = daemons->places->used; place_next(&left, &i);)
        if (daemons->of[i].begins || daemons->of[i].pages > 0)
            return;
    daemons_late(daemons);
}

static void daemons_whole(struct loop_daemons *daemons, struct daemons_of *of)
{
    of->whole_ms = clock_boot_ms();
    daemons_expire(of, true);
    daemons->stale = true;
}

static void daemons_read_on(struct loop_daemons *daemons, unsigned master, const char *next)
{
    struct daemons_of *of = &daemons->of[master];
    if (of->begins) {
        of->begins = of->broken = false;
        of->reading++;
        of->pages = PAGES;
        next = "0";
    } else if (of->pages > 0) {
        bool is_last = strcmp(next, "0") == 0;
        of->pages = is_last ? 0 : of->pages - 1;
        if (is_last && !of->broken)
            daemons_whole(daemons, of);
    }
    if (of->pages > 0)
        daemons_ask(daemons, master, next);
    if (!of->asked)
        of->pages = 0;
    daemons_look(daemons);
}

bool loop_daemons_read(struct loop_daemons *daemons)
{
    return loop_daemons_read_since(daemons, FRESH_MS);
}

bool loop_daemons_read_since(struct loop_daemons *daemons, int64_t fresh_ms)
{
    static const struct timeval late = {.tv_sec = LATE_S};
    int64_t now_ms = clock_boot_ms();
    if (daemons->reading || (daemons->read_ms != 0 && now_ms - daemons->read_ms < fresh_ms))
        return !daemons->reading;
    if (evtimer_add(daemons->late, &late) < 0)
        return true;
    daemons->reading = true;
    daemons->read_ms = now_ms;
    for (unsigned i, left = daemons->places->used; place_next(&left, &i);)
        daemons->of[i].begins = true;
    for (unsigned i, left = daemons->places->used; place_next(&left, &i);)
        if (!daemons->of[i].asked)
            daemons_read_on(daemons, i, "0");
    return !daemons->reading;
}

/* ---- writing ---- */

void loop_daemons_write(struct loop_daemons *daemons)
{
    for (unsigned i, left = daemons->places->used; place_next(&left, &i);) {
        daemons_expire(&daemons->of[i], false);
        if (!daemons->of[i].asked)
            daemons_ask_some(daemons, i);
    }
    daemons->stale = true;
}

void loop_daemons_connected(struct loop_daemons *daemons, unsigned master)
{
    daemons_ask_some(daemons, master);
}

void loop_daemons_lost(struct loop_daemons *daemons, unsigned master)
{
    struct daemons_of *of = &daemons->of[master];
    of->asked = of->begins = false;
    of->pages = 0;
    if (daemons->reading)
        daemons_look(daemons);
}

void loop_daemons_forget(struct loop_daemons *daemons, unsigned master)
{
    struct daemons_of *of = &daemons->of[master];
    of->asked = of->begins = of->refused = false;
    of->pages = of->count = 0;
    of->page_ms = 0;
    memset(of->heads, 0xff, sizeof of->heads);
    daemons->stale = true;
    if (daemons->reading)
        daemons_look(daemons);
}

static void daemons_on_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    loop_daemons_write(arg);
}

static void daemons_on_late(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    daemons_late(arg);
}

void loop_daemons_leave(struct loop_daemons *daemons)
{
    char key[CONF_PREFIX_BYTES + 16];
    snprintf(key, sizeof key, "%s,daemons", daemons->conf->key_prefix);
    for (unsigned i, left = daemons->places->used; place_next(&left, &i);) {
        size_t len = 0;
        char *bytes = resp_words((const char *const[]){"HDEL", key, daemons->self.id}, 3, &len);
        if (node_ask(daemons->nodes[i], bytes, len, RESP_SCRIPT_DAEMONS, 0))
            node_flush(daemons->nodes[i]);
    }
}

/* ---- what the masters say ---- */

static void daemons_refused(struct loop_daemons *daemons, unsigned master, const char *why, size_t len)
{
    char text[256];
    if (daemons->of[master].refused)
        return;
    daemons->of[master].refused = true;
    log_warn(
        "daemons_refused",
        "node=%s error=%s what=\"SHOW DAEMONS and the status page do without this master\" "
        "hint=\"give the user the rights that redlockd --check prints (acl); delete %s,daemons if it is no "
        "hash\"",
        daemons->places->node[master].address.shown, log_escape(text, sizeof text, why, len),
        daemons->conf->key_prefix);
}

/* Writes to next where the next page begins; "0" if there is none. false: it is no page. */
static bool daemons_told(struct loop_daemons *daemons, unsigned master, const struct resp_reply *reply,
                         char next[DAEMONS_CURSOR_BYTES])
{
    static const char odd[] = "an answer that is not the script's";
    static const char full[] = "16,384 daemons are listed there";
    struct daemons_page page;
    if (!reply->whole || !daemons_page_begin(&page, reply->whole, reply->whole_len)) {
        daemons_refused(daemons, master, odd, sizeof odd - 1);
        return false;
    }
    if (page.taken) {
        daemons->taken(daemons->arg, master);
        return false;
    }
    daemons_take(daemons, master, &page);
    if (page.full)
        daemons_refused(daemons, master, full, sizeof full - 1);
    else
        daemons->of[master].refused = false;
    memcpy(next, page.next, sizeof page.next);
    return true;
}

void loop_daemons_answered(struct loop_daemons *daemons, unsigned master, const struct resp_reply *reply)
{
    char next[DAEMONS_CURSOR_BYTES] = "0";
    bool good = false;
    daemons->of[master].asked = false;
    if (reply->type == RESP_STRING)
        good = daemons_told(daemons, master, reply, next);
    else if (!resp_is_not_run(reply)) /* else the node loads the script, and the next write finds it */
        daemons_refused(daemons, master, reply->text, reply->text_len);
    daemons->of[master].broken |= !good;
    if (!daemons->of[master].asked)
        daemons_read_on(daemons, master, next);
}

/* ---- showing ---- */

static int by_row(const void *a, const void *b)
{
    const struct daemons_shown *one = a, *other = b;
    return memcmp(&one->entry->row, &other->entry->row, offsetof(struct daemon_row, at));
}

static bool shown_collect(struct loop_daemons *daemons)
{
    unsigned count = 0;
    for (unsigned i, left = daemons->places->used; place_next(&left, &i);)
        count += daemons->of[i].count;
    daemons->shown_count = 0;
    if (count > daemons->shown_capacity) {
        struct daemons_shown *shown = realloc(daemons->shown, count * sizeof *shown);
        if (!shown)
            return false;
        daemons->shown = shown;
        daemons->shown_capacity = count;
    }
    for (unsigned i, left = daemons->places->used; place_next(&left, &i);)
        for (unsigned k = 0; k < daemons->of[i].count; k++)
            daemons->shown[daemons->shown_count++] = (struct daemons_shown){&daemons->of[i].list[k], 1};
    return true;
}

/* Equal rows stand behind each other: one of them is kept, if a quorum has it. */
static void shown_count(struct loop_daemons *daemons)
{
    struct daemons_shown *shown = daemons->shown;
    unsigned kept = 0, quorum = quorum_of(masters_count(daemons->places->used));
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

unsigned loop_daemons_from(struct loop_daemons *daemons, uint64_t id)
{
    unsigned count, low = 0;
    const struct daemons_shown *shown = loop_daemons_list(daemons, &count);
    while (low < count) {
        unsigned middle = low + (count - low) / 2;
        if (strtoull(shown[middle].entry->row.id, NULL, 16) < id)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

const char *loop_daemons_host(struct loop_daemons *daemons, const char *id)
{
    unsigned count;
    const struct daemons_shown *shown = loop_daemons_list(daemons, &count);
    unsigned i = loop_daemons_from(daemons, strtoull(id, NULL, 16));
    return i < count && strcmp(shown[i].entry->row.id, id) == 0 ? shown[i].entry->row.host : "?";
}

int64_t loop_daemons_age_ms(const struct daemons_shown *shown)
{
    return clock_boot_ms() - shown->entry->written_ms;
}

/* ---- steps ---- */

/* Whether it said of itself elsewhere that it has come further: a master that died has told its last. */
static bool step_is_past(const struct loop_daemons *daemons, const struct daemon_row *row)
{
    for (unsigned i, left = daemons->places->used; place_next(&left, &i);) {
        const struct daemons_entry *entry = daemons_find(&daemons->of[i], row->id);
        if (entry && entry->row.at.step > row->at.step)
            return true;
    }
    return false;
}

static bool knows_steps(const struct daemon_row *row)
{
    return row->at.marker >= DAEMONS_MARKER;
}

/* A daemon that knows no steps is behind all others. */
static bool is_behind(const struct coordinator_daemons *seen, const struct daemon_row *row, bool first)
{
    return first || (seen->knows_steps && (!knows_steps(row) || row->at.step < seen->lowest_step));
}

static void step_seen(struct coordinator_daemons *seen, const struct daemon_row *row, bool first)
{
    if (row->at.node_timeout_ms > seen->node_timeout_ms)
        seen->node_timeout_ms = row->at.node_timeout_ms;
    if (is_behind(seen, row, first)) {
        seen->lowest_step = row->at.step;
        memcpy(seen->lowest_host, row->host, sizeof seen->lowest_host);
    }
    seen->knows_steps &= knows_steps(row);
}

static bool is_same(const char *word, const char *other)
{
    return strcmp(word, other) == 0 && strcmp(word, "?") != 0;
}

/* A daemon that was killed and started again has two entries until the first one is forgotten. */
static bool was_restarted(const struct daemons_of *of, const struct daemons_entry *entry, int64_t now_ms)
{
    const struct daemon_row *row = &entry->row;
    if (now_ms - entry->written_ms < SILENT_MS)
        return false;
    for (unsigned i = 0; i < of->count; i++) {
        const struct daemon_row *later = &of->list[i].row;
        if (of->list[i].written_ms > entry->written_ms && is_same(later->host, row->host) &&
            is_same(later->listen, row->listen) && strcmp(later->since, row->since) >= 0)
            return true;
    }
    return false;
}

static unsigned steps_of(const struct loop_daemons *daemons, const struct daemons_of *of,
                         struct coordinator_daemons *seen, unsigned others)
{
    int64_t now_ms = clock_boot_ms();
    /* The latest entry comes first, so that entries which change nothing need no search. */
    for (unsigned k = of->count; k-- > 0;) {
        const struct daemons_entry *entry = &of->list[k];
        const struct daemon_row *row = &entry->row;
        if (now_ms - entry->written_ms >= DAEMONS_KEEP_MS || strcmp(row->id, daemons->self.id) == 0)
            continue;
        if (!is_behind(seen, row, others == 0) && row->at.node_timeout_ms <= seen->node_timeout_ms)
            continue;
        bool is_past = knows_steps(row) && step_is_past(daemons, row);
        if (!is_past && !was_restarted(of, entry, now_ms))
            step_seen(seen, row, others++ == 0);
    }
    return others;
}

unsigned loop_daemons_steps(const struct loop_daemons *daemons, struct coordinator_daemons *seen)
{
    unsigned lists = 0, others = 0;
    *seen = (struct coordinator_daemons){.knows_steps = true};
    for (unsigned i, left = daemons->places->used; place_next(&left, &i);) {
        const struct daemons_of *of = &daemons->of[i];
        lists += of->whole_ms != 0 && of->whole_ms >= daemons->read_ms;
        others = steps_of(daemons, of, seen, others);
    }
    if (others == 0)
        seen->lowest_step = UINT32_MAX; /* there is no other daemon */
    return lists;
}

void loop_daemons_at(struct loop_daemons *daemons, const struct daemon_step *at)
{
    daemons->self.at = *at;
    loop_daemons_write(daemons);
}

/* ---- start and end ---- */

void loop_daemons_id(struct loop_daemons *daemons, const struct token *self)
{
    char hex[TOKEN_HEX];
    line_token_hex(hex, self);
    memcpy(daemons->self.id, hex, DAEMONS_ID_HEX);
}

bool loop_daemons_start(struct loop_daemons *daemons, struct event_base *base, const struct conf *conf,
                        const struct places *places, struct node *const *nodes,
                        const struct resp_format *format)
{
    static const struct timeval every = {.tv_sec = WRITE_S};
    daemons->conf = conf;
    daemons->places = places;
    daemons->nodes = nodes;
    daemons->format = format;
    for (unsigned i = 0; i < MASTERS; i++)
        memset(daemons->of[i].heads, 0xff, sizeof daemons->of[i].heads);
    daemons->timer = event_new(base, -1, EV_PERSIST, daemons_on_timer, daemons);
    daemons->late = evtimer_new(base, daemons_on_late, daemons);
    return daemons->timer && daemons->late && event_add(daemons->timer, &every) == 0;
}

void loop_daemons_stop(struct loop_daemons *daemons)
{
    if (daemons->timer)
        event_free(daemons->timer);
    if (daemons->late)
        event_free(daemons->late);
    for (unsigned i = 0; i < MASTERS; i++)
        free(daemons->of[i].list);
    free(daemons->shown);
}
