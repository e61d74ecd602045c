/* A snapshot as JSON: what the page says, for programs. Durations are in ms, but rtt_us in µs. */
#include <inttypes.h>
#include <string.h>

#include "daemon/http/http_private.h"

/* Writes before, then the key and its value. */
static void put_bytes(struct body *b, const char *before, const char *key, const char *value, size_t len)
{
    body_putf(b, "%s\"%s\":", before, key);
    body_json(b, value, len);
}

static void put_string(struct body *b, const char *before, const char *key, const char *value)
{
    put_bytes(b, before, key, value, strlen(value));
}

/* The text before the first key of item i of a list. */
static const char *item(unsigned i)
{
    return i ? ",\n {" : "\n {";
}

static void status_troubles(struct body *b, const struct snapshot *s, const struct rates *rates)
{
    struct trouble troubles[TROUBLES];
    unsigned count = troubles_find(s, rates, troubles);
    body_put(b, "\"troubles\":[");
    for (unsigned i = 0; i < count; i++) {
        put_string(b, i ? ",{" : "{", "tone", words_tone(troubles[i].tone));
        put_string(b, ",", "text", troubles[i].text);
        body_put(b, "}");
    }
    body_put(b, "],\n");
}

static void status_master(struct body *b, const char *before, const struct snapshot_master *master)
{
    char by[WORD_BYTES + 1], version[VERSION_BYTES];
    put_string(b, before, "address", master->address);
    put_string(b, ",", "state", master->state);
    put_string(b, ",", "why", master->why);
    put_string(b, ",", "by", master->by[0] ? words_foreign(master->by, sizeof master->by, by) : "");
    put_string(b, ",", "version", words_version(master, version));
    body_putf(b,
              ",\"votes\":%s,\"for\":%" PRId64 ",\"left\":%" PRId64 ",\"rtt_us\":%" PRId64
              ",\"pending\":%" PRIu64 ",\"undo\":%" PRIu64 ",\"evicts\":%s}",
              master->voting ? "true" : "false", master->for_ms, master->left_ms, master->rtt_us,
              master->pending, master->undo, master->evicts ? "true" : "false");
}

static void status_daemon(struct body *b, const char *before, const struct snapshot_daemon *daemon)
{
    put_string(b, before, "daemon", daemon->row.id);
    put_string(b, ",", "host", daemon->row.host);
    put_string(b, ",", "version", daemon->row.version);
    put_string(b, ",", "since", daemon->row.since);
    put_string(b, ",", "listen", daemon->row.listen);
    body_putf(b, ",\"seen\":%" PRId64 ",\"masters\":%u,\"self\":%s}", daemon->seen_ms, daemon->masters,
              daemon->self ? "true" : "false");
}

static void status_wait(struct body *b, const char *before, const struct snapshot_wait *wait)
{
    put_bytes(b, before, "name", wait->name.text, wait->name.len);
    put_bytes(b, ",", "client", wait->client.text, wait->client.len);
    body_putf(b, ",\"session\":%" PRIu64 ",\"waited\":%" PRId64 ",\"left\":%" PRId64 ",\"position\":%u",
              wait->session, wait->waited_ms, wait->left_ms, wait->position);
    put_bytes(b, ",", "holder", wait->holder.text, wait->holder.len);
    body_putf(b, ",\"holder_session\":%" PRIu64 ",\"held_here\":%s}", wait->holder_session,
              wait->held ? "true" : "false");
}

static void status_lock(struct body *b, const char *before, const struct snapshot_lock *lock)
{
    put_bytes(b, before, "name", lock->name.text, lock->name.len);
    put_bytes(b, ",", "client", lock->client.text, lock->client.len);
    body_putf(b, ",\"session\":%" PRIu64 ",\"held\":%" PRId64 ",\"valid\":%" PRId64 ",\"waiters\":%u",
              lock->session, lock->held_ms, lock->valid_ms, lock->waiters);
    put_string(b, ",", "hold", lock->lease ? "lease" : "session");
    put_string(b, ",", "mode", lock->shared ? "shared" : "exclusive");
    if (lock->slot)
        body_putf(b, ",\"slot\":%u", lock->slot - 1u);
    put_bytes(b, ",", "note", lock->note.text, lock->note.len);
    if (lock->data.len)
        put_bytes(b, ",", "data", lock->data.text, lock->data.len);
    body_put(b, "}");
}

static void status_leaders(struct body *b, const struct snapshot *s)
{
    body_put(b, "],\n\"leaders\":[");
    for (unsigned i = 0; i < s->leader_rows; i++) {
        const struct snapshot_leader *leader = &s->leaders[i];
        put_bytes(b, item(i), "name", leader->name.text, leader->name.len);
        put_bytes(b, ",", "data", leader->data.text, leader->data.len);
        body_putf(b, ",\"fence\":%" PRIu64, leader->fence);
        put_string(b, ",", "host", s->host);
        put_bytes(b, ",", "client", leader->client.text, leader->client.len);
        body_putf(b, ",\"session\":%" PRIu64 ",\"since\":%" PRId64 "}", leader->session, leader->since_ms);
    }
    body_put(b, "],\n\"kept_names\":[");
    for (unsigned i = 0; i < s->kept_rows; i++) {
        put_bytes(b, item(i), "name", s->kept[i].name.text, s->kept[i].name.len);
        body_putf(b, ",\"left\":%" PRId64 "}", s->kept[i].left_ms);
    }
}

static void status_events(struct body *b, const struct events *events)
{
    const struct event_row *row;
    char time[DURATION_BYTES];
    body_put(b, "\"events\":[");
    for (unsigned i = 0; (row = events_row(events, i)); i++) {
        put_string(b, item(i), "time", words_time(row->wall_ms, time));
        put_string(b, ",", "tone", words_tone(row->tone));
        put_string(b, ",", "kind", row->kind);
        put_string(b, ",", "text", row->text);
        body_put(b, "}");
    }
    body_put(b, "]}\n");
}

static void status_figures(struct body *b, const struct snapshot *s)
{
    char time[DURATION_BYTES];
    put_string(b, "{", "version", s->version);
    put_string(b, ",", "time", words_time(s->wall_ms, time));
    body_putf(b, ",\"uptime\":%" PRId64 ",\"ready\":%s", s->up_ms, s->unready ? "false" : "true");
    put_string(b, ",", "unready", s->unready ? s->unready : "");
    body_putf(b,
              ",\"masters_voting\":%u,\"quorum\":%u,\"locks\":%" PRIu64 ",\"waiters\":%" PRIu64
              ",\"names\":%" PRIu64 ",\"kept\":%" PRIu64 ",\"clients\":%" PRIu64 ",\"longest_wait\":%" PRId64
              ",\"behind\":%" PRIu64 ",\n",
              s->voting, s->quorum, s->figures.core.holds[HOLD_SESSION] + s->figures.core.holds[HOLD_LEASE],
              s->figures.core.waiters, s->figures.core.names, s->figures.core.kept, s->figures.conns.clients,
              s->longest_wait_ms, s->figures.core.behind_ms);
}

static void status_group(struct body *b, const struct snapshot_group *group)
{
    body_putf(b, "\"group\":{\"step\":%" PRIu32 ",\"generation\":%" PRIu32, group->step, group->generation);
    put_string(b, ",", "state", group->state);
    put_string(b, ",", "why", group->why);
    body_putf(b, ",\"left\":%" PRId64 "},\n", group->left_ms);
}

void status_write(struct body *b, const struct snapshot *s, const struct rates *rates)
{
    status_figures(b, s);
    status_troubles(b, s, rates);
    status_group(b, &s->group);
    body_put(b, "\"masters\":[");
    for (unsigned i = 0; i < s->master_count; i++)
        status_master(b, item(i), &s->masters[i]);
    body_putf(b, "],\n\"daemon_count\":%u,\"daemons\":[", s->daemon_count);
    for (unsigned i = 0; i < s->daemon_rows; i++)
        status_daemon(b, item(i), &s->daemons[i]);
    body_put(b, "],\n\"longest_waits\":[");
    for (unsigned i = 0; i < s->wait_rows; i++)
        status_wait(b, item(i), &s->oldest_waits[i]);
    body_put(b, "],\n\"longest_holds\":[");
    for (unsigned i = 0; i < s->lock_rows; i++)
        status_lock(b, item(i), &s->oldest_locks[i]);
    status_leaders(b, s);
    body_put(b, "],\n");
    status_events(b, s->events);
}
