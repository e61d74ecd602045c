#include "daemon/loop/loop_log.h"

#include <inttypes.h>

#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/loop/loop_native.h"
#include "proto/shown.h"

enum { LOST_A_SECOND = 10, ADVICE_BYTES = NATIVE_ACL_BYTES };

/* Why the group waits says more than that this master is not used. */
static bool group_waits(const struct loop_view *view)
{
    struct group_row group;
    coordinator_group_row(view->coordinator, &group);
    return group.why != GROUP_WHY_NONE && group.why != GROUP_WHY_OTHER_LIST;
}

/* Writes what the operator has to do about a master; "": nothing. */
static void advice_of(const struct loop_view *view, const struct master_row *row, char out[ADVICE_BYTES])
{
    const struct conf *conf = view->conf;
    out[0] = '\0';
    if (row->why == WHY_UNREADABLE && row->later)
        snprintf(out, ADVICE_BYTES,
                 " warn=\"a later redlockd wrote %s,group, so no master is used here: upgrade this one\"",
                 conf->key_prefix);
    else if (row->why == WHY_UNREADABLE)
        snprintf(out, ADVICE_BYTES, " warn=\"%s,group is not as a redlockd writes it: delete it there\"",
                 conf->key_prefix);
    else if (row->why == WHY_GROUP && row->their_masters == 0 && row->their_set != 0)
        snprintf(
            out, ADVICE_BYTES,
            " max_ttl=%lld their_max_ttl=%lld warn=\"this master's other daemons have another list with this "
            "generation, or another max_ttl: see event=other_masters, and OPERATING.md, When it is stuck\"",
            (long long)conf->max_ttl_ms, (long long)row->their_max_ttl_ms);
    else if (row->why == WHY_GROUP && row->their_masters == 0 && group_waits(view))
        snprintf(out, ADVICE_BYTES, " warn=\"it is not used at this step: see event=generation\"");
    else if (row->why == WHY_GROUP && row->their_masters == 0)
        snprintf(
            out, ADVICE_BYTES,
            " warn=\"no lock is granted here while another master has other daemons; those that are held are "
            "renewed for max_ttl at most\"");
    else if (row->why == WHY_GROUP)
        snprintf(out, ADVICE_BYTES,
                 " n=%u max_ttl=%lld their_n=%u their_max_ttl=%lld warn=\"this master's other daemons have "
                 "another N, max_ttl or other masters; to change it see CHANGES in redlockd.yaml(5)\"",
                 loop_masters(view), (long long)conf->max_ttl_ms, row->their_masters,
                 (long long)row->their_max_ttl_ms);
    else if (row->why == WHY_NOSCRIPT)
        snprintf(
            out, ADVICE_BYTES,
            " lacks=%s hint=\"locks could not be renewed or given back there: is this command renamed, or "
            "unknown to this server or a proxy before it? event=node_error has its words\"",
            loop_lacking_name(row->lacks));
    else if (row->why == WHY_FENCE)
        snprintf(
            out, ADVICE_BYTES,
            " fence=%llu warn=\"a fence there is beyond what any clock explains, so its votes for such names "
            "do "
            "not count: delete %s,fences and %s,group there, and it is kept out until it may vote again\"",
            (unsigned long long)row->beyond, conf->key_prefix, conf->key_prefix);
    else if (row->why == WHY_NOPERM)
        snprintf(out, ADVICE_BYTES,
                 "%s%s hint=\"give the user the rights that redlockd --check prints (acl); if this service "
                 "refuses "
                 "CLIENT ID and CLIENT KILL to everybody, see no_kill in redlockd.yaml(5)\"",
                 row->lacks != LACKING_NOTHING ? " lacks=" : "", loop_lacking_name(row->lacks));
    else if (row->evicts)
        snprintf(out, ADVICE_BYTES, " warn=\"maxmemory-policy may evict locks: set noeviction\"");
}

static void log_master(struct loop_log *all, const struct loop_view *view, unsigned i,
                       const struct master_row *row)
{
    struct node_row node;
    char advice[ADVICE_BYTES];
    enum master_state state = row->state;
    node_row(view->nodes[i], &node);
    advice_of(view, row, advice);
    if (!advice[0])
        loop_native_advice(view->conf, row, advice);
    const char *why = state == MASTER_DOWN && row->why == WHY_NONE ? node.why : loop_why_name(row->why);
    bool good = state == MASTER_UP && !row->evicts && row->why == WHY_NONE;
    void (*log)(const char *, const char *, ...) = good ? log_info : log_warn;
    char left[32] = "";
    if (row->left_ms > 0)
        snprintf(left, sizeof left, " left=%lld", (long long)row->left_ms);
    log("master", "node=%s state=%s%s%s%s%s%s%s%.8s voting=%u/%u%s", view->places->node[i].address.shown,
        loop_state_name(state), why[0] ? " why=" : "", why, row->by[0] ? " by=" : "", row->by, left,
        row->run_id[0] ? " run_id=" : "", row->run_id, coordinator_voters(view->coordinator),
        loop_masters(view), advice);
    bool away = state == MASTER_DOWN || state == MASTER_REFUSED;
    enum event_tone tone = away ? TONE_BAD : TONE_WARN;
    events_add(all->events, good ? TONE_GOOD : tone, "master", "%.200s is %s%s%s%s; %u of %u vote",
               view->places->node[i].address.shown, loop_state_name(state), why[0] ? ": " : "", why,
               row->evicts ? ", and may evict locks" : "", coordinator_voters(view->coordinator),
               loop_masters(view));
}

static void log_clock(struct loop_log *all, const struct loop_view *view, unsigned i,
                      const struct master_row *row)
{
    log_warn("clock",
             "node=%s back=%lld warn=\"this master's clock jumped back, so locks there end late: let it be "
             "slewed, not stepped\"",
             view->places->node[i].address.shown, (long long)row->clock_back_ms);
    events_add(all->events, TONE_WARN, "clock", "the clock of %.200s jumped back by %lld ms",
               view->places->node[i].address.shown, (long long)row->clock_back_ms);
}

void loop_log_behind(struct loop_log *log, int64_t stall_ms, int64_t behind_ms)
{
    events_add(log->events, TONE_WARN, "clock",
               "this host stood still for %lld ms that its clock did not count; %lld ms in all",
               (long long)stall_ms, (long long)behind_ms);
    log_warn(
        "clock_behind",
        "ms=%lld total=%lld warn=\"this host stood still and its clock did not count that time: deadlines of "
        "locks come earlier by it, and !CLOCK tells the clients\"",
        (long long)stall_ms, (long long)behind_ms);
}

bool loop_log_masters(struct loop_log *log, const struct loop_view *view)
{
    bool changed = false;
    for (unsigned i, left = view->places->used; place_next(&left, &i);) {
        uint32_t changes = coordinator_master_changes(view->coordinator, i) - log->changes[i];
        if (changes == 0)
            continue;
        changed = true;
        struct master_row row;
        coordinator_master_row(view->coordinator, clock_boot_ms(), i, &row);
        /* Each jump of a clock also counts as a change. */
        uint32_t clock_backs = row.clock_backs - log->clock_backs[i];
        if (clock_backs > 0)
            log_clock(log, view, i, &row);
        if (changes > clock_backs && row.state != MASTER_HANDSHAKE && row.state != MASTER_KILLING &&
            row.state != MASTER_UNDOING)
            log_master(log, view, i, &row);
        log->changes[i] += changes;
        log->clock_backs[i] += clock_backs;
    }
    return changed;
}

void loop_log_quorum(struct loop_log *log, const struct loop_view *view)
{
    unsigned voters = coordinator_voters(view->coordinator), masters = loop_masters(view);
    unsigned needed = loop_quorum(view).needed;
    bool has_quorum = voters >= needed;
    if (log->told_quorum && has_quorum == log->has_quorum)
        return;
    struct coordinator_stats stats;
    coordinator_stats(view->coordinator, &stats);
    if (has_quorum)
        log_info("quorum", "voting=%u/%u needed=%u", voters, masters, needed);
    else
        log_error("no_quorum",
                  "voting=%u/%u needed=%u locks=%" PRIu64 " waiters=%" PRIu64
                  " why=\"no lock is granted until more "
                  "masters vote (see their state); held locks go on while masters in quarantine answer\"",
                  voters, masters, needed, stats.locks, stats.waiters);
    events_add(log->events, has_quorum ? TONE_GOOD : TONE_BAD, has_quorum ? "quorum" : "noquorum",
               has_quorum ? "locks are granted: %u of %u masters vote"
                          : "no lock is granted: %u of %u masters vote",
               voters, masters);
    log->has_quorum = has_quorum;
    log->told_quorum = true;
}

enum { YEAR_2020_S = 1577836800 };

static void log_before_2020(struct loop_log *log)
{
    bool before = clock_wall_us() / 1000000 < YEAR_2020_S;
    if (before == log->before_2020)
        return;
    log->before_2020 = before;
    if (before)
        log_warn("wall_clock", "why=\"this host's clock shows a year before 2020\" warn=\"fences would fall "
                               "after masters forget: "
                               "set the clock, and let it be kept by NTP\"");
}

/* The clocks of all daemons are to lie within half of max_ttl; so a quarter off the masters' is too much. */
void loop_log_wall(struct loop_log *log, const struct loop_view *view)
{
    int64_t ahead_ms, now_ms = clock_boot_ms();
    log->wall_at_ms = now_ms + 1000;
    log_before_2020(log);
    if (!coordinator_wall_ahead(view->coordinator, now_ms, &ahead_ms))
        return;
    int64_t off_ms = ahead_ms < 0 ? -ahead_ms : ahead_ms;
    bool off = off_ms > view->conf->max_ttl_ms / 4;
    if (off == log->wall_off)
        return;
    log->wall_off = off;
    if (!off) {
        log_info("wall_clock", "ahead=%lld why=\"it is right again\"", (long long)ahead_ms);
        return;
    }
    log_warn("wall_clock",
             "ahead=%lld of=\"the median of the masters' clocks\" warn=\"this host's clock is %s theirs by "
             "more than "
             "a quarter of max_ttl: set it, or theirs (clock= in SHOW NODES), and let NTP keep it; fences "
             "follow the "
             "masters' where this one is ahead\"",
             (long long)ahead_ms, ahead_ms > 0 ? "ahead of" : "behind");
    events_add(log->events, TONE_WARN, "clock", "this host's clock is %lld ms off the masters' clocks",
               (long long)ahead_ms);
}

void loop_log_fence(struct loop_log *log)
{
    int64_t second = clock_boot_ms() / 1000;
    if (second == log->fence_second)
        return;
    log->fence_second = second;
    log_error(
        "limit",
        "limit=fence warn=\"no fence can be granted for some names: the fences on the masters, or what "
        "this daemon has proposed, lie more than a day ahead of all clocks; see why=fence in SHOW NODES "
        "and the clocks of all hosts; restart this redlockd if its own clock was wrong\"");
}

/* Logs only losses that nobody asked for: the deadline passed, or the masters no longer have the key. */
void loop_log_lost(struct loop_log *log, const struct notice *notice)
{
    static const char *const why[LOST_REASONS] = {
        [LOST_EXPIRED] = "it could not be renewed in time",
        [LOST_GONE] = "the masters do not have it any more",
        [LOST_CLOCK] = "a clock stood still, as its holder says",
    };
    if (notice->kind != NOTICE_LOST || why[notice->reason] == NULL)
        return;
    int64_t second = clock_boot_ms() / 1000;
    log->lost = second == log->second ? log->lost + 1 : 1;
    log->second = second;
    if (log->lost > LOST_A_SECOND)
        return;
    char name[256], token[TOKEN_HEX], shown[TOKEN_SHOWN + 1];
    line_token_hex(token, &notice->token);
    shown_token(token, shown);
    events_add(log->events, TONE_BAD, "lost", "%.*s: %s%s", notice->name.len, notice->name.text,
               why[notice->reason], log->lost == LOST_A_SECOND ? "; more in this second are not listed" : "");
    log_warn("lock_lost", "name=%s token=%s reason=%s%s",
             log_escape(name, sizeof name, notice->name.text, notice->name.len), shown,
             line_lost_word(notice->reason),
             log->lost == LOST_A_SECOND ? " more=\"not logged in this second\"" : "");
}
