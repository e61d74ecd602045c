/* The tables of the page. On a narrow screen each cell stands on a line of its own, behind its label. */
#include <inttypes.h>
#include <string.h>

#include "daemon/http/http_private.h"

static void cell(struct body *b, const char *label, const char *value)
{
    body_putf(b, "<td data-l=\"%s\">", label);
    body_html(b, value, strlen(value));
    body_put(b, "</td>");
}

static void cell_name(struct body *b, const char *label, const struct name *name)
{
    body_putf(b, "<td data-l=\"%s\" class=name>", label);
    body_html(b, name->text, name->len);
    body_put(b, "</td>");
}

static void cell_duration(struct body *b, const char *label, int64_t ms)
{
    char out[DURATION_BYTES];
    body_putf(b, "<td data-l=\"%s\" class=number>%s</td>", label, words_duration(ms, out));
}

static void cell_count(struct body *b, const char *label, uint64_t count)
{
    body_putf(b, "<td data-l=\"%s\" class=number>%" PRIu64 "</td>", label, count);
}

static void cell_client(struct body *b, const char *label, const struct word *client, uint64_t session)
{
    char out[CLIENT_BYTES];
    cell(b, label, words_client(client, session, out));
}

/* ---- masters ---- */

static const char *tone_of(const struct snapshot_master *master)
{
    if (master->voting)
        return master->evicts ? "warn" : "good";
    return strcmp(master->state, "quarantine") == 0 || strcmp(master->state, "slow") == 0 ? "warn" : "bad";
}

static void master_row(struct body *b, const struct snapshot_master *master)
{
    char out[WHY_BYTES], version[VERSION_BYTES];
    body_putf(b, "<tr class=%s>", tone_of(master));
    body_put(b, "<td data-l=Master class=name>");
    body_html(b, master->address, strlen(master->address));
    body_putf(b, "</td><td data-l=State><b class=tag>%s</b></td>", master->state);
    cell(b, "Why", master->evicts && master->voting ? "may evict locks" : words_why(master, out));
    cell_duration(b, "For", master->for_ms);
    if (master->left_ms > 0)
        cell_duration(b, "Kept out for", master->left_ms);
    else
        cell(b, "Kept out for", "");
    if (master->rtt_us >= 0)
        body_putf(b, "<td data-l=\"Round trip\" class=number>%" PRId64 ".%02" PRId64 " ms</td>",
                  master->rtt_us / 1000, master->rtt_us % 1000 / 10);
    else
        cell(b, "Round trip", "");
    cell_count(b, "Unanswered", master->pending);
    cell_count(b, "Releases owed", master->undo);
    cell(b, "Version", words_version(master, version));
    body_put(b, "</tr>\n");
}

void page_masters(struct body *b, const struct snapshot *s)
{
    body_put(b, "<h2>Masters</h2>\n<table><thead><tr><th>Master<th>State<th>Why<th>For<th>Kept out for"
                "<th>Round trip<th>Unanswered<th>Releases owed<th>Version</tr></thead>\n<tbody>\n");
    for (unsigned i = 0; i < s->master_count; i++)
        master_row(b, &s->masters[i]);
    body_put(b, "</tbody></table>\n");
}

/* ---- daemons ---- */

static void daemon_row(struct body *b, const struct snapshot_daemon *daemon, unsigned masters)
{
    body_put(b, daemon->masters < masters ? "<tr class=warn>" : "<tr>");
    body_put(b, "<td data-l=Daemon class=name>");
    body_html(b, daemon->row.id, strlen(daemon->row.id));
    body_put(b, daemon->self ? " <b class=tag>this one</b></td>" : "</td>");
    cell(b, "Host", daemon->row.host);
    cell(b, "Listens on", daemon->row.listen);
    cell(b, "Version", daemon->row.version);
    cell(b, "Since", daemon->row.since);
    cell_duration(b, "Seen before", daemon->seen_ms);
    body_putf(b, "<td data-l=\"Listed by\" class=number>%u of %u masters</td></tr>\n", daemon->masters,
              masters);
}

void page_daemons(struct body *b, const struct snapshot *s)
{
    body_put(
        b, "<h2>Daemons on these masters</h2>\n<table><thead><tr><th>Daemon<th>Host<th>Listens on<th>Version"
           "<th>Since<th>Seen before<th>Listed by</tr></thead>\n<tbody>\n");
    for (unsigned i = 0; i < s->daemon_rows; i++)
        daemon_row(b, &s->daemons[i], s->master_count);
    if (s->daemon_count > s->daemon_rows)
        body_putf(b, "<tr><td colspan=7 class=dim>and %u more: redlock show daemons</td></tr>\n",
                  s->daemon_count - s->daemon_rows);
    if (s->daemon_count == 0)
        body_put(b, "<tr><td colspan=7 class=dim>no quorum of masters lists any yet</td></tr>\n");
    body_put(b, "</tbody></table>\n");
}

/* ---- waits and holds ---- */

static void wait_row(struct body *b, const struct snapshot_wait *wait)
{
    body_put(b, "<tr>");
    cell_name(b, "Lock", &wait->name);
    cell_duration(b, "Waited", wait->waited_ms);
    cell_duration(b, "Gives up in", wait->left_ms);
    cell_count(b, "Place", wait->position);
    cell_client(b, "Client", &wait->client, wait->session);
    if (wait->held)
        cell_client(b, "Held by", &wait->holder, wait->holder_session);
    else
        cell(b, "Held by", "nobody here");
    body_put(b, "</tr>\n");
}

void page_waits(struct body *b, const struct snapshot *s)
{
    body_put(b, "<h2>Longest waits</h2>\n");
    if (s->wait_rows == 0) {
        body_put(b, "<p class=none>No request waits.</p>\n");
        return;
    }
    body_put(b, "<table><thead><tr><th>Lock<th>Waited<th>Gives up in<th>Place<th>Client<th>Held by</tr>"
                "</thead>\n<tbody>\n");
    for (unsigned i = 0; i < s->wait_rows; i++)
        wait_row(b, &s->oldest_waits[i]);
    body_put(b, "</tbody></table>\n");
    if (s->figures.core.waiters > s->wait_rows)
        body_putf(b, "<p class=none>and %" PRIu64 " more</p>\n", s->figures.core.waiters - s->wait_rows);
}

static void lock_row(struct body *b, const struct snapshot_lock *lock)
{
    char kind[KIND_BYTES];
    body_put(b, "<tr>");
    cell_name(b, "Lock", &lock->name);
    cell_duration(b, "Held for", lock->held_ms);
    cell_duration(b, lock->lease ? "Ends in" : "Valid for", lock->valid_ms);
    cell_count(b, "Waiting", lock->waiters);
    cell_client(b, "Client", &lock->client, lock->session);
    cell(b, "Kind", words_kind(lock, kind));
    body_put(b, "<td data-l=Note>");
    body_html(b, lock->note.text, lock->note.len);
    if (lock->data.len) {
        body_put(b, lock->note.len ? " <code>" : "<code>");
        body_html(b, lock->data.text, lock->data.len);
        body_put(b, "</code>");
    }
    body_put(b, "</td></tr>\n");
}

void page_locks(struct body *b, const struct snapshot *s)
{
    uint64_t locks = s->figures.core.holds[HOLD_SESSION] + s->figures.core.holds[HOLD_LEASE];
    body_put(b, "<h2>Longest held</h2>\n");
    if (s->lock_rows == 0) {
        body_put(b, "<p class=none>No lock is held through this daemon.</p>\n");
        return;
    }
    body_put(b,
             "<table><thead><tr><th>Lock<th>Held for<th>Valid for<th>Waiting<th>Client<th>Kind<th>Note</tr>"
             "</thead>\n<tbody>\n");
    for (unsigned i = 0; i < s->lock_rows; i++)
        lock_row(b, &s->oldest_locks[i]);
    body_put(b, "</tbody></table>\n");
    if (locks > s->lock_rows)
        body_putf(b, "<p class=none>and %" PRIu64 " more</p>\n", locks - s->lock_rows);
}

/* ---- leaders, and names that are kept ---- */

static void leader_row(struct body *b, const char *host, const struct snapshot_leader *leader)
{
    char time[DURATION_BYTES];
    body_put(b, "<tr>");
    cell_name(b, "Lock", &leader->name);
    body_put(b, "<td data-l=Data><code>");
    body_html(b, leader->data.text, leader->data.len);
    body_put(b, "</code></td>");
    cell_count(b, "Fence", leader->fence);
    cell(b, "Host", host);
    cell_client(b, "Client", &leader->client, leader->session);
    body_putf(b, "<td data-l=Since class=number>%s</td></tr>\n", words_time(leader->since_ms, time));
}

void page_leaders(struct body *b, const struct snapshot *s)
{
    if (s->leader_rows == 0)
        return;
    body_put(b,
             "<h2>Leaders</h2>\n<table><thead><tr><th>Lock<th>Data<th>Fence<th>Host<th>Client<th>Since</tr>"
             "</thead>\n<tbody>\n");
    for (unsigned i = 0; i < s->leader_rows; i++)
        leader_row(b, s->host, &s->leaders[i]);
    body_put(b, "</tbody></table>\n");
}

void page_kept(struct body *b, const struct snapshot *s)
{
    if (s->kept_rows == 0)
        return;
    body_put(b, "<h2>Names kept</h2>\n<table><thead><tr><th>Name<th>Kept for</tr></thead>\n<tbody>\n");
    for (unsigned i = 0; i < s->kept_rows; i++) {
        body_put(b, "<tr>");
        cell_name(b, "Name", &s->kept[i].name);
        cell_duration(b, "Kept for", s->kept[i].left_ms);
        body_put(b, "</tr>\n");
    }
    body_put(b, "</tbody></table>\n");
    if (s->figures.core.kept > s->kept_rows)
        body_putf(b, "<p class=none>and %" PRIu64 " more</p>\n", s->figures.core.kept - s->kept_rows);
}

/* ---- events ---- */

void page_events(struct body *b, const struct snapshot *s)
{
    const struct event_row *row;
    char time[DURATION_BYTES], ago[DURATION_BYTES];
    body_put(b, "<h2>Last events</h2>\n<table class=events><thead><tr><th>Time (UTC)<th>Ago<th>Event<th>What"
                "</tr></thead>\n<tbody>\n");
    for (unsigned i = 0; (row = events_row(s->events, i)); i++) {
        int64_t ago_ms = s->wall_ms > row->wall_ms ? s->wall_ms - row->wall_ms : 0;
        body_putf(b,
                  "<tr class=%s><td data-l=Time>%s</td><td data-l=Ago class=number>%s</td>"
                  "<td data-l=Event><b class=tag>%s</b></td><td data-l=What>",
                  words_tone(row->tone), words_time(row->wall_ms, time), words_duration(ago_ms, ago),
                  row->kind);
        body_html(b, row->text, strlen(row->text));
        body_put(b, "</td></tr>\n");
    }
    body_put(b, "</tbody></table>\n");
}
