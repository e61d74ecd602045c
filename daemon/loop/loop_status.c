#include "daemon/loop/loop_status.h"

#include <string.h>

#include "daemon/clock.h"
#include "daemon/loop/loop_group.h"

_Static_assert(sizeof((struct snapshot_master *)0)->by >= GROUP_WORD, "a daemon's id fits");

static void fill_errors(const struct node *node, struct snapshot_master *to)
{
    const char *word;
    uint64_t count;
    for (unsigned i = 0; node_error_count(node, i, &word, &count); i++)
        if (count > 0 && to->error_count < SNAPSHOT_ERRORS)
            to->errors[to->error_count++] = (struct snapshot_error){word, count};
}

static void fill_master(const struct loop_view *view, unsigned i, int64_t now_ms, struct snapshot_master *to)
{
    struct master_row master;
    struct node_row node;
    coordinator_master_row(view->coordinator, now_ms, i, &master);
    node_row(view->nodes[i], &node);
    to->address = view->places->node[i].address.shown;
    to->state = loop_state_name(master.state);
    to->why = loop_why_name(master.why);
    if (master.state == MASTER_DOWN && node.why[0] != '\0')
        to->why = node.why;
    memcpy(to->by, master.by, sizeof master.by);
    to->version = master.version;
    to->voting = master.state == MASTER_UP;
    to->evicts = master.evicts;
    to->for_ms = master.for_ms;
    to->left_ms = master.left_ms;
    to->rtt_us = node.rtt_us;
    to->pending = node.pending;
    to->reconnects = node_reconnects(view->nodes[i]);
    to->rtts = *node_rtts(view->nodes[i]);
    fill_errors(view->nodes[i], to);
}

static void fill_group(const struct loop_view *view, struct snapshot *s)
{
    struct group_row row;
    char text[GROUP_TEXT_BYTES];
    struct snapshot_group *to = &s->group;
    coordinator_group_row(view->coordinator, &row);
    group_why_text(&row, text);
    to->step = row.step;
    to->generation = row.generation;
    to->state = group_state_name(row.state);
    to->why = group_why_name(row.why);
    to->usual = group_is_usual(&row);
    to->left_ms = row.left_ms;
    snprintf(to->text, sizeof to->text, "%.*s", (int)sizeof to->text - 1, text);
    s->voters = masters_count(row.voters);
    s->quorum = row.needed;
}

static void fill_masters(const struct loop_view *view, struct snapshot *s)
{
    uint32_t undo[MASTERS];
    s->voting = coordinator_voters(view->coordinator);
    coordinator_undo(view->coordinator, undo);
    for (unsigned i, left = view->places->used; place_next(&left, &i);) {
        struct snapshot_master *master = &s->masters[s->master_count++];
        fill_master(view, i, s->boot_ms, master);
        master->undo = undo[i];
    }
}

static void fill_daemons(const struct loop_view *view, struct snapshot *s)
{
    loop_daemons_read(view->daemons); /* for the next page, which follows by itself */
    const struct daemons_shown *shown = loop_daemons_list(view->daemons, &s->daemon_count);
    while (s->daemon_rows < SNAPSHOT_DAEMONS && s->daemon_rows < s->daemon_count) {
        const struct daemons_shown *from = &shown[s->daemon_rows];
        const struct daemon_row *row = &from->entry->row;
        s->daemons[s->daemon_rows++] = (struct snapshot_daemon){
            .row = *row,
            .seen_ms = loop_daemons_age_ms(from),
            .masters = from->masters,
            .self = strcmp(row->id, view->daemons->self.id) == 0,
        };
    }
}

static void fill_locks(const struct loop_view *view, struct snapshot *s)
{
    struct cursor cursor = {0};
    struct lock_row row;
    while (s->lock_rows < SNAPSHOT_ROWS &&
           coordinator_oldest_lock(view->coordinator, s->boot_ms, &cursor, &row)) {
        s->oldest_locks[s->lock_rows++] = (struct snapshot_lock){
            .name = row.name,
            .client = *conns_client_word(view->conns, row.session),
            .note = row.note,
            .data = row.data,
            .session = row.session,
            .held_ms = row.held_ms,
            .valid_ms = row.valid_ms,
            .waiters = row.waiters,
            .lease = row.hold == HOLD_LEASE,
            .shared = row.shared,
            .slot = row.slot,
        };
    }
}

/* Leaders hold for long: to look at every lock once a second would hold up the others. */
static void fill_leaders(const struct loop_view *view, struct snapshot *s)
{
    struct cursor cursor = {0};
    struct lock_row row;
    for (unsigned seen = 0; seen < SNAPSHOT_LEADERS_OF && s->leader_rows < SNAPSHOT_ROWS &&
                            coordinator_oldest_lock(view->coordinator, s->boot_ms, &cursor, &row);
         seen++) {
        if (row.data.len == 0)
            continue;
        s->leaders[s->leader_rows++] = (struct snapshot_leader){
            .name = row.name,
            .client = *conns_client_word(view->conns, row.session),
            .data = row.data,
            .session = row.session,
            .fence = row.fence,
            .since_ms = s->wall_ms - row.held_ms,
        };
    }
}

static void fill_kept(const struct loop_view *view, struct snapshot *s)
{
    struct cursor cursor = {0};
    struct kept_row row;
    while (s->kept_rows < SNAPSHOT_ROWS && coordinator_kept_row(view->coordinator, s->boot_ms, &cursor, &row))
        s->kept[s->kept_rows++] = (struct snapshot_kept){.name = row.name, .left_ms = row.left_ms};
}

static void fill_waits(const struct loop_view *view, struct snapshot *s)
{
    struct cursor cursor = {0};
    struct waiter_row row;
    while (s->wait_rows < SNAPSHOT_ROWS &&
           coordinator_oldest_waiter(view->coordinator, s->boot_ms, &cursor, &row)) {
        s->oldest_waits[s->wait_rows++] = (struct snapshot_wait){
            .name = row.name,
            .client = *conns_client_word(view->conns, row.session),
            .holder = *conns_client_word(view->conns, row.holder),
            .session = row.session,
            .holder_session = row.holder,
            .held = row.held,
            .waited_ms = row.waited_ms,
            .left_ms = row.left_ms,
            .position = row.position,
        };
    }
    s->longest_wait_ms = s->wait_rows > 0 ? s->oldest_waits[0].waited_ms : 0;
}

static void fill_figures(const struct loop_view *view, struct snapshot *s)
{
    const struct conf *conf = view->conf;
    const struct figures *f = &s->figures;
    loop_figures(view, &s->figures);
    s->wall_known = coordinator_wall_ahead(view->coordinator, clock_boot_ms(), &s->wall_ahead_ms);
    s->limits[0] = (struct snapshot_limit){"max_clients", f->conns.clients, (uint64_t)conf->max_clients};
    s->limits[1] = (struct snapshot_limit){"max_locks", f->core.locks, (uint64_t)conf->max_locks};
    s->limits[2] = (struct snapshot_limit){"max_waiters", f->core.waiters, (uint64_t)conf->max_waiters};
    s->limits[3] = (struct snapshot_limit){"max_marks", f->core.kept, (uint64_t)conf->max_marks};
}

static int64_t first_end_s(struct wire_context *const *contexts, unsigned count)
{
    int64_t first_s = INT64_MAX;
    for (unsigned i = 0; i < count; i++) {
        int64_t end_s = contexts[i] ? wire_context_end_s(contexts[i]) : INT64_MAX;
        first_s = end_s < first_s ? end_s : first_s;
    }
    return first_s;
}

static void fill_ends(const struct loop_view *view, struct snapshot *s)
{
    s->cert_end_s[CERT_CLIENTS] = first_end_s(view->tls->listen, view->conf->listeners);
    s->cert_end_s[CERT_HTTP] = first_end_s(view->tls->http, view->conf->http_listeners);
    s->cert_end_s[CERT_MASTERS] = first_end_s(view->tls->nodes, MASTERS);
}

void loop_status_snapshot(const struct loop_view *view, const struct loop_status *status, struct snapshot *s)
{
    const struct coordinator_times *times = coordinator_times(view->coordinator);
    memset(s, 0, sizeof *s);
    s->version = view->version;
    s->boot_ms = clock_boot_ms();
    s->wall_ms = clock_wall_us() / 1000;
    s->up_ms = s->boot_ms - view->started_ms;
    s->reload_failed = status->reload_failed;
    fill_group(view, s);
    fill_masters(view, s);
    fill_daemons(view, s);
    fill_figures(view, s);
    fill_ends(view, s);
    fill_locks(view, s);
    fill_leaders(view, s);
    fill_kept(view, s);
    fill_waits(view, s);
    memcpy(s->lost, status->lost, sizeof s->lost);
    s->counts = conns_counts(view->conns);
    s->held = &times->held;
    s->renewal_left = &times->renewal_left;
    s->lag = &status->lag;
    s->events = &status->events;
}

void loop_status_sample(const struct loop_view *view, const struct loop_status *status,
                        struct snapshot_sample *sample)
{
    const uint64_t *lock = conns_counts(view->conns)->answers[VERB_LOCK];
    struct coordinator_stats stats;
    coordinator_stats(view->coordinator, &stats);
    sample->granted = lock[REPLY_LOCKED];
    sample->refused = lock[REPLY_BUSY] + lock[REPLY_TIMEOUT] + lock[REPLY_NOQUORUM] + lock[REPLY_LIMIT];
    sample->lost = status->lost[LOST_EXPIRED] + status->lost[LOST_GONE] + status->lost[LOST_CLOCK];
    sample->waiters = stats.waiters;
    for (unsigned i, left = view->places->used; place_next(&left, &i);) {
        struct node_row node;
        node_row(view->nodes[i], &node);
        if (node.rtt_us > sample->rtt_us)
            sample->rtt_us = node.rtt_us;
    }
}

void loop_status_lost(struct loop_status *status, const struct notice *notice)
{
    if (notice->kind == NOTICE_LOST)
        status->lost[notice->reason]++;
}
