#include "daemon/loop/loop_show.h"

#include <assert.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/clock.h"
#include "daemon/loop/loop_native.h"
#include "daemon/loop/loop_show_group.h"
#include "daemon/loop/loop_user.h"
#include "daemon/wire/wire.h"
#include "proto/shown.h"

const char *loop_state_name(enum master_state state)
{
    static const char *const names[] = {
        [MASTER_DOWN] = "down",    [MASTER_HANDSHAKE] = "down", [MASTER_REFUSED] = "refused",
        [MASTER_KILLING] = "down", [MASTER_UNDOING] = "down",   [MASTER_QUARANTINE] = "quarantine",
        [MASTER_UP] = "up",        [MASTER_SLOW] = "slow",
    };
    return names[state];
}

const char *loop_why_name(enum master_why why)
{
    static const char *const names[] = {
        [WHY_NONE] = "",
        [WHY_REPLICA] = "replica",
        [WHY_CLUSTER] = "cluster",
        [WHY_VERSION] = "version",
        [WHY_DUPLICATE] = "twin",
        [WHY_NOPERM] = "noperm",
        [WHY_NOSCRIPT] = "noscript",
        [WHY_FENCE] = "fence",
        [WHY_LOADING] = "loading",
        [WHY_RESTART] = "restart",
        [WHY_DEMOTED] = "demoted",
        [WHY_SILENT] = "silent",
        [WHY_BACKLOG] = "backlog",
        [WHY_TIMEOUT] = "timeout",
        [WHY_GROUP] = "group",
        [WHY_UNREADABLE] = "unreadable",
        [WHY_BUSY] = "busy",
        [WHY_MISCONF] = "misconf",
        [WHY_NOREPLICAS] = "noreplicas",
        [WHY_PROMOTED] = "promoted",
        [WHY_MEMORY] = "memory",
        [WHY_CLOCK] = "clock",
        [WHY_OOM] = "oom",
        [WHY_DOUBTED] = "doubted",
        [WHY_RECONNECT] = "reconnect",
    };
    return names[why];
}

const char *loop_lacking_name(enum lacking lacks)
{
    static const char *const names[LACKINGS] = {
        [LACKING_NOTHING] = "",  [LACKING_SET] = "SET",         [LACKING_PEXPIRE] = "PEXPIRE",
        [LACKING_PTTL] = "PTTL", [LACKING_KEEPTTL] = "KEEPTTL", [LACKING_GET] = "GET",
        [LACKING_DEL] = "DEL",   [LACKING_EVALSHA] = "EVALSHA", [LACKING_GETEX] = "GETEX",
        [LACKING_TIME] = "TIME", [LACKING_INFO] = "INFO",       [LACKING_CLIENT_ID] = "CLIENT",
    };
    return names[lacks];
}

unsigned loop_masters(const struct loop_view *view)
{
    struct group_row row;
    coordinator_group_row(view->coordinator, &row);
    return row.step % 2 == 0 ? row.masters : masters_count(row.voters);
}

void loop_noquorum(const struct loop_view *view, struct reply *reply)
{
    struct quorum quorum = loop_quorum(view);
    unsigned count = 0;
    reply->needed = quorum.needed;
    reply->votes = 0;
    for (unsigned i, left = quorum.of; place_next(&left, &i);) {
        reply->votes = (uint8_t)(reply->votes + (reply->nodes[i] == '+'));
        reply->nodes[count++] = reply->nodes[i];
    }
    reply->masters = (uint8_t)loop_masters(view);
    while (count < reply->masters)
        reply->nodes[count++] = '!'; /* vacant */
}

struct quorum loop_quorum(const struct loop_view *view)
{
    struct group_row row;
    coordinator_group_row(view->coordinator, &row);
    unsigned count = masters_count(row.voters);
    return (struct quorum){row.voters, (uint8_t)row.needed,
                           (uint8_t)(row.needed <= count ? count - row.needed + 1 : 1)};
}

/* The signs of the masters, in the order of SHOW NODES. */
static void row_signs(const struct loop_view *view, struct row *row, const char signs[MASTERS])
{
    char text[MASTERS];
    size_t len = 0;
    for (unsigned i, left = view->places->used; place_next(&left, &i);)
        text[len++] = signs[i];
    line_row_text(row, "nodes", text, len);
}

static void row_client(const struct loop_view *view, struct row *row, uint64_t session)
{
    const struct word *client = conns_client_word(view->conns, session);
    line_row_unsigned(row, "session", session);
    line_row_text(row, "client", client->text, client->len);
}

static void row_user(const struct loop_view *view, struct row *row, const struct user *user)
{
    if (view->conf->users)
        line_row_string(row, "user", user ? user->name : "");
}

enum made { MADE_NONE, MADE_HIDDEN, MADE_LATER, MADE_ROW };

/* They stand behind the locks. */
static enum made kept_row(const struct loop_view *view, uint64_t viewer, uint64_t state[8], struct row *row)
{
    struct cursor cursor = {.slot = state[3]};
    struct kept_row kept;
    if (!coordinator_kept_row(view->coordinator, clock_boot_ms(), &cursor, &kept))
        return MADE_NONE;
    state[3] = cursor.slot;
    if (!loop_user_sees(view, viewer, 0, NULL, &kept.name))
        return MADE_HIDDEN;
    char token[TOKEN_HEX], shown[TOKEN_SHOWN + 1];
    line_token_hex(token, &kept.token);
    shown_token(token, shown);
    line_row_text(row, "name", kept.name.text, kept.name.len);
    line_row_string(row, "mode", "kept");
    line_row_string(row, "token", shown);
    line_row_signed(row, "left", kept.left_ms);
    row_signs(view, row, kept.nodes);
    return MADE_ROW;
}

static enum made lock_row(const struct loop_view *view, uint64_t viewer, uint64_t state[8], struct row *row)
{
    struct cursor cursor = {state[0], state[1], (uint32_t)state[2]};
    struct lock_row lock;
    if (!coordinator_lock_row(view->coordinator, clock_boot_ms(), &cursor, &lock))
        return kept_row(view, viewer, state, row);
    state[0] = cursor.slot;
    const struct user *owner = loop_user_of_lock(view, &lock);
    if (!loop_user_sees(view, viewer, lock.session, owner, &lock.name))
        return MADE_HIDDEN;
    char token[TOKEN_HEX], shown[TOKEN_SHOWN + 1];
    line_token_hex(token, &lock.token);
    shown_token(token, shown);
    line_row_text(row, "name", lock.name.text, lock.name.len);
    line_row_string(row, "mode", lock.shared ? "shared" : "exclusive");
    if (lock.slot != 0)
        line_row_unsigned(row, "slot", lock.slot - 1u);
    line_row_string(row, "hold", lock.hold == HOLD_SESSION ? "session" : "lease");
    row_client(view, row, lock.session);
    row_user(view, row, owner);
    line_row_string(row, "token", shown);
    line_row_unsigned(row, "fence", lock.fence);
    line_row_signed(row, "valid", lock.valid_ms);
    line_row_unsigned(row, "depth", lock.depth);
    row_signs(view, row, lock.nodes);
    line_row_unsigned(row, "waiters", lock.waiters);
    line_row_text(row, "note", lock.note.text, lock.note.len);
    if (lock.data.len != 0)
        line_row_text(row, "data", lock.data.text, lock.data.len);
    return MADE_ROW;
}

static enum made waiter_row(const struct loop_view *view, uint64_t viewer, uint64_t state[8], struct row *row)
{
    struct cursor cursor = {state[0], state[1], (uint32_t)state[2]};
    struct waiter_row wait;
    if (!coordinator_waiter_row(view->coordinator, clock_boot_ms(), &cursor, &wait))
        return MADE_NONE;
    state[0] = cursor.slot;
    state[1] = cursor.id;
    state[2] = cursor.position;
    const struct user *owner = conns_user(view->conns, wait.session);
    if (!loop_user_sees(view, viewer, wait.session, owner, &wait.name))
        return MADE_HIDDEN;
    line_row_text(row, "name", wait.name.text, wait.name.len);
    if (wait.slots != 0)
        line_row_unsigned(row, "slots", wait.slots);
    row_client(view, row, wait.session);
    line_row_unsigned(row, "position", wait.position);
    line_row_signed(row, "waited", wait.waited_ms);
    line_row_signed(row, "left", wait.left_ms);
    return MADE_ROW;
}

static void row_version(struct row *row, uint32_t version)
{
    char text[32];
    snprintf(text, sizeof text, "%u.%u.%u", version >> 16, version >> 8 & 255, version & 255);
    line_row_string(row, "version", version ? text : "");
}

/* Of a master whose daemons have other masters: both sets. */
static void row_sets(const struct loop_view *view, struct row *row, unsigned master)
{
    const struct set_theirs *theirs = &view->set->theirs[master];
    char text[LOOP_SET_SHOWN_BYTES];
    if (theirs->set == 0)
        return;
    snprintf(text, sizeof text, "%016" PRIx64, view->set->set);
    line_row_string(row, "set", text);
    loop_set_names(view->set, text);
    line_row_string(row, "names", text);
    snprintf(text, sizeof text, "%016" PRIx64, theirs->set);
    line_row_string(row, "their_set", text);
    line_row_string(row, "their_names", theirs->names);
}

/* From the first step on the key has no N. */
static void row_theirs(const struct loop_view *view, struct row *row, unsigned i,
                       const struct master_row *master)
{
    if (master->their_masters == 0 && master->their_set == 0)
        return;
    if (master->their_masters != 0)
        line_row_unsigned(row, "n", loop_masters(view));
    line_row_signed(row, "max_ttl", view->conf->max_ttl_ms);
    if (master->their_masters != 0)
        line_row_unsigned(row, "their_n", master->their_masters);
    line_row_signed(row, "their_max_ttl", master->their_max_ttl_ms);
    row_sets(view, row, i);
}

static enum made node_row_of(const struct loop_view *view, uint64_t viewer, uint64_t state[8],
                             struct row *row)
{
    (void)viewer;
    unsigned i, left = (unsigned)view->places->used >> state[0] << state[0];
    if (!place_next(&left, &i))
        return MADE_NONE;
    state[0] = i + 1;
    struct master_row master;
    struct node_row node;
    uint32_t undo[MASTERS];
    coordinator_undo(view->coordinator, undo);
    coordinator_master_row(view->coordinator, clock_boot_ms(), i, &master);
    node_row(view->nodes[i], &node);
    const char *why = master.why != WHY_NONE ? loop_why_name(master.why) : "";
    if (master.state == MASTER_DOWN && node.why[0] != '\0')
        why = node.why;
    line_row_string(row, "node", view->places->node[i].address.shown);
    line_row_string(row, "state", loop_state_name(master.state));
    line_row_text(row, "run_id", master.run_id, master.run_id[0] ? 8 : 0);
    row_version(row, master.version);
    line_row_signed(row, "rtt_us", node.rtt_us);
    struct node_row subscriber;
    node_row(view->subscribers[i], &subscriber);
    line_row_string(row, "wake", subscriber.ready ? "up" : "down");
    if (!subscriber.ready && subscriber.why[0] != '\0')
        line_row_string(row, "wake_why", subscriber.why);
    line_row_unsigned(row, "pending", node.pending);
    line_row_unsigned(row, "undo", undo[i]);
    line_row_unsigned(row, "errors", node.errors);
    line_row_signed(row, "for", master.for_ms);
    if (master.left_ms > 0)
        line_row_signed(row, "left", master.left_ms);
    if (master.by[0] != '\0')
        line_row_string(row, "by", master.by);
    if (why[0] != '\0')
        line_row_string(row, "why", why);
    char natives[NATIVE_BYTES];
    if (master.natives != 0)
        line_row_string(row, "native", loop_native_words(master.natives, natives));
    if (master.natives_denied != 0)
        line_row_string(row, "allow", loop_native_rights(master.natives_denied, ',', natives));
    if (master.clock_known)
        line_row_signed(row, "clock", master.clock_ahead_ms);
    if (master.why == WHY_FENCE)
        line_row_unsigned(row, "fence", master.beyond);
    if (master.lacks != LACKING_NOTHING)
        line_row_string(row, "lacks", loop_lacking_name(master.lacks));
    row_theirs(view, row, i, &master);
    if (!(loop_quorum(view).of & masters_bit(i)))
        line_row_string(row, "voter", "no"); /* it comes or goes with a generation */
    if (view->places->node[i].no_kill)
        line_row_string(row, "no_kill", "yes");
    if (master.evicts)
        line_row_string(row, "warn", "evicts");
    return MADE_ROW;
}

/* state[0]: the least id that is still to be shown; state[1]: the list was read for this question. */
static enum made daemon_row_of(const struct loop_view *view, uint64_t viewer, uint64_t state[8],
                               struct row *row)
{
    (void)viewer;
    unsigned count;
    state[1] = state[1] || loop_daemons_read(view->daemons);
    if (!state[1])
        return MADE_LATER;
    const struct daemons_shown *shown = loop_daemons_list(view->daemons, &count);
    unsigned i = loop_daemons_from(view->daemons, state[0]);
    if (i == count)
        return MADE_NONE;
    const struct daemon_row *daemon = &shown[i].entry->row;
    state[0] = strtoull(daemon->id, NULL, 16) + 1;
    line_row_string(row, "daemon", daemon->id);
    line_row_string(row, "host", daemon->host);
    line_row_string(row, "version", daemon->version);
    line_row_string(row, "since", daemon->since);
    line_row_string(row, "listen", daemon->listen);
    line_row_signed(row, "seen", loop_daemons_age_ms(&shown[i]));
    line_row_unsigned(row, "masters", shown[i].masters);
    if (daemon->at.marker != 0) {
        line_row_unsigned(row, "step", daemon->at.step);
        line_row_unsigned(row, "generation", daemon->at.generation);
    }
    line_row_string(row, "self", strcmp(daemon->id, view->daemons->self.id) == 0 ? "yes" : "no");
    return MADE_ROW;
}

/* ---- one key=value a row ---- */

static void add_handshakes(const struct node *node, struct loop_stats *stats)
{
    uint64_t done, failed;
    node_handshakes(node, &done, &failed);
    stats->handshakes += done;
    stats->handshakes_failed += failed;
}

void loop_figures(const struct loop_view *view, struct figures *figures)
{
    struct loop_stats *stats = &figures->loop;
    int64_t ahead_ms;
    if (!coordinator_wall_ahead(view->coordinator, clock_boot_ms(), &ahead_ms))
        ahead_ms = 0;
    *figures = (struct figures){
        .loop.uptime_ms = (uint64_t)(clock_boot_ms() - view->started_ms),
        .loop.masters = loop_masters(view),
        .loop.masters_voting = coordinator_voters(view->coordinator),
        .loop.wall_ahead_ms = ahead_ms > 0 ? (uint64_t)ahead_ms : 0,
        .loop.wall_late_ms = ahead_ms < 0 ? (uint64_t)-ahead_ms : 0,
        .loop.tls_files_refused = view->tls->failed,
    };
    for (unsigned i, left = view->places->used; place_next(&left, &i);) {
        add_handshakes(view->nodes[i], stats);
        add_handshakes(view->subscribers[i], stats);
    }
    conns_stats(view->conns, &figures->conns);
    coordinator_stats(view->coordinator, &figures->core);
}

static enum made stats_row(const struct loop_view *view, uint64_t viewer, uint64_t state[8], struct row *row)
{
    (void)viewer;
    struct figures figures;
    loop_figures(view, &figures);
    while (state[0] < FIGURES_COUNT && !figures_table[state[0]].shown)
        state[0]++;
    if (state[0] == FIGURES_COUNT)
        return MADE_NONE;
    const struct figure *figure = &figures_table[state[0]++];
    line_row_unsigned(row, figure->name, figures_value(&figures, figure));
    return MADE_ROW;
}

static enum made config_row(const struct loop_view *view, uint64_t viewer, uint64_t state[8], struct row *row)
{
    (void)viewer;
    char key[64], value[CONF_VALUE_BYTES];
    if (!conf_row(view->conf, (unsigned)state[0], key, sizeof key, value, sizeof value))
        return MADE_NONE;
    line_row_string(row, key, value);
    state[0]++;
    return MADE_ROW;
}

static enum made version_row(const struct loop_view *view, uint64_t viewer, uint64_t state[8],
                             struct row *row)
{
    (void)viewer;
    const char *const rows[][2] = {
        {"redlockd", view->version},
        {"proto", "1"},
        {"libevent", event_get_version()},
        {"openssl", wire_library()},
    };
    if (state[0] >= sizeof rows / sizeof rows[0])
        return MADE_NONE;
    line_row_string(row, rows[state[0]][0], rows[state[0]][1]);
    state[0]++;
    return MADE_ROW;
}

static enum made group_row_of(const struct loop_view *view, uint64_t viewer, uint64_t state[8],
                              struct row *row)
{
    (void)viewer;
    return show_group(view, state, row) ? MADE_ROW : MADE_NONE;
}

static enum made reload_row_of(const struct loop_view *view, uint64_t viewer, uint64_t state[8],
                               struct row *row)
{
    (void)viewer;
    return show_reload(view, state, row) ? MADE_ROW : MADE_NONE;
}

size_t loop_show_row(const struct loop_view *view, uint64_t session, enum show show, const struct tag *tag,
                     uint64_t state[8], char *out)
{
    static enum made (*const makers[])(const struct loop_view *, uint64_t, uint64_t[8], struct row *) = {
        [SHOW_LOCKS] = lock_row,        [SHOW_WAITERS] = waiter_row, [SHOW_NODES] = node_row_of,
        [SHOW_DAEMONS] = daemon_row_of, [SHOW_STATS] = stats_row,    [SHOW_CONFIG] = config_row,
        [SHOW_VERSION] = version_row,   [SHOW_GROUP] = group_row_of, [SHOW_RELOAD] = reload_row_of,
    };
    struct row row;
    assert(show != SHOW_CLIENTS && makers[show] != NULL);
    line_row_begin(&row, out, tag);
    switch (makers[show](view, session, state, &row)) {
    case MADE_NONE: return 0;
    case MADE_HIDDEN: return ROW_HIDDEN;
    case MADE_LATER: return ROW_LATER;
    case MADE_ROW: break;
    }
    return line_row_end(&row);
}
