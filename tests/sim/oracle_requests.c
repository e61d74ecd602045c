/* Requests and their replies: invariants 3, 4, 6 and 9. */
#include "tests/sim/oracle.h"

#include "daemon/coordinator/base/quorum.h"
#include "daemon/coordinator/base/token.h"

#include <assert.h>
#include <string.h>

#include "tests/sim/sim.h"

static bool is_ask_alive(const struct sim_world *w, const struct sim_asked *a)
{
    return !a->cancelled && w->oracle.session[a->session].state == SESSION_OPEN;
}

void oracle_asked(struct sim_world *w, struct sim_daemon *d, uint32_t request)
{
    struct sim_oracle *o = &w->oracle;
    struct sim_asked *a = &o->asked[request];
    o->requests++;
    a->at_us = w->now_us;
    trace_add(w, TRACE_REQUEST, d->index, a->session, request, a->verb, a->name, a->tok,
              (uint64_t)a->wait_ms);
    if (a->verb == VERB_UNLOCK && a->tok != 0)
        FOR_NAMES(n, o->tok[a->tok].name) o->given_us[d->index][n] = w->now_us;
    if (a->verb != VERB_LOCK || a->reentry)
        return;
    assert(o->outstandings[d->index] < ORACLE_OUTSTANDING);
    o->outstanding[d->index][o->outstandings[d->index]++] = request;
    if (a->name & SIM_LIST)
        return;
    oracle_crowd_asks(w, d, a);
    o->still[a->name].asks[d->index]++;
}

/* Whether the request that was granted should have waited for the other one, which came first. A list that was
 * refused lets others pass, but overtakes nobody. */
static bool overtakes(const struct sim_asked *granted, const struct sim_asked *other)
{
    if (granted->name == other->name)
        return true;
    return (granted->name & SIM_LIST) && !(other->name & SIM_LIST) && other->wait_ms > 0 &&
           (names_of(granted->name) & names_of(other->name)) != 0;
}

/* Checks first come, first served, and ends the request. */
static void outstanding_remove(struct sim_world *w, struct sim_daemon *d, uint32_t request, bool granted)
{
    struct sim_oracle *o = &w->oracle;
    uint32_t *list = o->outstanding[d->index];
    for (unsigned i = 0; i < o->outstandings[d->index]; i++) {
        const struct sim_asked *a = &o->asked[list[i]];
        if (list[i] == request) {
            oracle_writer_gone(w, a);
            o->asked[request].over_us = w->now_us;
            o->outstandings[d->index]--;
            memmove(list + i, list + i + 1, (o->outstandings[d->index] - i) * sizeof(*list));
            return;
        }
        if (granted && overtakes(&o->asked[request], a) && is_ask_alive(w, a))
            violation(w, 4, "d%u grants n%u to request %u before request %u, which came first and waits",
                      d->index, a->name, request, list[i]);
    }
}

void oracle_daemon_gone(struct sim_world *w, struct sim_daemon *d)
{
    struct sim_oracle *o = &w->oracle;
    for (unsigned i = 0; i < o->outstandings[d->index]; i++)
        oracle_writer_gone(w, &o->asked[o->outstanding[d->index][i]]);
    o->outstandings[d->index] = 0;
}

void oracle_session_over(struct sim_world *w, uint32_t session, bool given_up)
{
    struct sim_oracle *o = &w->oracle;
    for (uint32_t tok = o->session[session].toks; given_up && tok != 0; tok = o->tok[tok].session_next) {
        if (!o->tok[tok].lease && !o->tok[tok].moved)
            o->tok[tok].given_up = o->tok[oracle_other(w, tok)].given_up = true;
    }
    o->tok[0].given_up = false;
}

/* ---- replies ---- */

static void told(struct sim_world *w, struct sim_daemon *d, uint32_t tok, int64_t valid_ms, int64_t until_ms,
                 int64_t least_ms, const char *what)
{
    int64_t now_ms = clock_ms(&d->clock, w->now_us);
    struct sim_tok *t = &w->oracle.tok[tok];
    if (valid_ms < least_ms || until_ms - now_ms < least_ms)
        violation(w, 2, "d%u says %s for T%u with only %lld ms left (until - now = %lld)", d->index, what,
                  tok, (long long)valid_ms, (long long)(until_ms - now_ms));
    int64_t unsaid_ms =
        until_ms - now_ms - valid_ms; /* a clock that stood still may go back by less than a ms */
    if (unsaid_ms < 0 || unsaid_ms > (d->stall.number > 0 ? 1 : 0))
        violation(w, 2, "d%u says %s for T%u: valid=%lld, but until - now = %lld", d->index, what, tok,
                  (long long)valid_ms, (long long)(until_ms - now_ms));
    bool known = t->daemon == d->index && t->incarnation == d->incarnation && !t->forgotten;
    bool recorded = t->told_ms == 0 || now_ms < t->told_ms; /* a lock that is over is forgotten for good */
    if (known && recorded && until_ms > t->told_ms && strcmp(what, "HELD") != 0)
        t->told_ms = until_ms; /* a CHECK changes no record */
    if (t->maxed && oracle_is_ours(t, d))
        violation(w, 2, "d%u says %s for T%u, which it said to be over by its max=", d->index, what, tok);
    if (t->ends_ms != 0 && known && until_ms > t->ends_ms)
        violation(w, 2, "d%u says %s for T%u until %lld, beyond its max= at %lld", d->index, what, tok,
                  (long long)until_ms, (long long)t->ends_ms);
}

static unsigned count(uint16_t set)
{
    return (unsigned)__builtin_popcount(set);
}

/* A lock that may be handed on has its fence from a reserve: what was stored is higher. */
static bool is_stored(const struct sim_fence_acks *acks, const struct sim_tok *t, int64_t set_us,
                      uint64_t fence)
{
    if (t->secret == 0)
        return acks->number == fence;
    return acks->name == t->name && acks->sent_us >= set_us && acks->number >= fence;
}

/* An unseen stall cut the lock's round in two, and it is not on a quorum any more: others may have been granted the name
 * meanwhile. Where a quorum has it still, nobody was. */
static bool is_cut(const struct sim_world *w, const struct sim_daemon *d, uint32_t tok)
{
    unsigned kept = 0;
    for (unsigned i = d->first; d->stall.open && i < d->masters; i++) {
        const struct sim_master *m = &w->master[i];
        kept += oracle_kept_ms(w, m, clock_ms(&m->clock, w->now_us), oracle_key(w, tok)) != 0;
    }
    return d->stall.open && kept < d->quorum;
}

/* Whether so many of the clocks that the daemon knows are ahead that no more than a minority of them is not. */
static bool knows_few_clocks(const struct sim_world *w, const struct sim_daemon *d)
{
    unsigned known = 0, ahead = 0, minority = d->masters - d->first - d->quorum;
    for (unsigned i = d->first; i < d->masters; i++) {
        bool told = d->node[i].time_rtt_us > 0 && d->node[i].time_behind_ms == coordinator_behind_ms(d->core);
        known += told;
        ahead += told && w->master[i].set_ahead;
    }
    return ahead > 0 && ahead + minority >= known;
}

void oracle_proposes(struct sim_world *w, const struct sim_daemon *d, uint64_t fence)
{
    int64_t most_us = WALL_ZERO_US + w->now_us + w->plan->param[P_MAX_TTL] * 1000 / 2;
    if (w->wall_ahead && (int64_t)fence > most_us && knows_few_clocks(w, d))
        w->far_fence = true;
}

/* Where the clocks of more than a minority are behind, so are proposals; after a loss of memory fences may fall. Where
 * as many are ahead, they let a daemon that is ahead as well propose more than the masters' quarantine makes up for. So
 * do fewer where the daemon does not know all clocks. */
static bool median_is_wrong(const struct sim_world *w, const struct sim_daemon *d)
{
    unsigned back = 0, ahead = 0;
    for (unsigned i = d->first; i < d->masters; i++) {
        back += w->master[i].set_back;
        ahead += w->master[i].set_ahead;
    }
    unsigned minority = d->masters - d->first - d->quorum;
    return back > minority || (ahead > minority && w->wall_ahead) || w->far_fence;
}

/* A daemon takes no fence that lies more than max_ttl and a day beyond the clocks, and clocks that are right differ by
 * less than max_ttl / 2. */
static uint64_t last_fence(const struct sim_world *w)
{
    int64_t beyond_us = INT64_C(2) * 86400 * 1000000 + 2 * w->plan->param[P_MAX_TTL] * 1000;
    return (uint64_t)(WALL_ZERO_US + w->now_us + beyond_us);
}

static void check_fence(struct sim_world *w, struct sim_daemon *d, uint32_t tok, const struct reply *reply)
{
    struct sim_oracle *o = &w->oracle;
    const struct sim_tok *t = &o->tok[tok];
    uint64_t fence = reply->fence;
    const uint64_t *fences = t->shared ? o->alone : o->fence;
    unsigned name = first_name(t->name);
    if (t->broken)
        return; /* others may have the name, and this daemon cannot know */
    FOR_NAMES(n, t->name) name = fences[n] > fences[name] ? n : name;
    uint64_t before = fences[name];
    if (fence > last_fence(w))
        violation(w, 3, "n%u: T%u gets fence %llu, which no clock explains", name, tok,
                  (unsigned long long)fence);
    bool grows = fence > before;
    if (!grows && t->blind != 0)
        return; /* a master forgot the higher fence, and no daemon could know */
    for (unsigned i = 0; i < ORACLE_FENCES && !grows; i++)
        if (is_stored(&o->fences[d->index][i], t, o->tok[oracle_key(w, tok)].set_us, fence) &&
            o->fences[d->index][i].blind != 0)
            return; /* a master forgot it between the key's SET and the fence's ZADD */
    uint32_t higher = t->shared ? o->alone_tok[name] : o->fence_tok[name];
    if (!grows && (o->tok[higher].blind & t->yes) != 0)
        return; /* the other lock was granted by a master that had forgotten this one, and no daemon could know */
    bool cut = is_cut(w, d, tok);
    if (!grows && (cut || median_is_wrong(w, d)))
        return;
    if (!grows && !oracle_is_excused(w, tok, clock_when(&d->clock, reply->until_ms * 1000)))
        violation(w, 3, "n%u: T%u gets fence %llu after T%u got %llu", name, tok, (unsigned long long)fence,
                  higher, (unsigned long long)before);
    FOR_NAMES(n, t->name)
    {
        if (!grows || cut || fence <= o->fence[n]) /* it may lie above the next lock's fence */
            break;
        o->fence[n] = fence;
        o->fence_tok[n] = tok;
    }
    FOR_NAMES(n, t->name)
    {
        if (!grows || cut || t->shared)
            break;
        o->alone[n] = fence;
        o->alone_tok[n] = tok;
    }
    uint16_t stored = 0;
    if (t->joined && t->parent != 0)
        return; /* a RESUME keeps the fence of its lock */
    for (unsigned i = 0; i < ORACLE_FENCES; i++) {
        const struct sim_fence_acks *acks = &o->fences[d->index][i];
        if (!is_stored(acks, t, o->tok[oracle_key(w, tok)].set_us, fence))
            continue;
        for (unsigned m = d->first; m < d->masters; m++) {
            if ((acks->valid & t->valid & (1u << m)) && acks->epoch[m] == t->at[m].epoch)
                stored |= (uint16_t)(1u << m);
        }
    }
    if (generation_class(w) && t->sent == 0)
        return; /* it was asked for at another step, perhaps */
    if (count(stored) < d->quorum)
        violation(w, 9,
                  "T%u of n%u: fence %llu is told though only %u masters that granted and may vote stored it",
                  tok, t->name, (unsigned long long)fence, count(stored));
}

/* The index of the name that was granted: the name's own, or that of one of its slots. */
static unsigned granted_key(struct sim_world *w, const struct sim_daemon *d, const struct sim_asked *a,
                            const struct reply *reply)
{
    unsigned slots = a->slots;
    if (slots == 0 && name_slots(w, a->name) != 0)
        slots = SIM_SLOTS; /* the request has a token, which knows its slot */
    if ((reply->slot != 0) != (slots != 0) || reply->slot > slots)
        violation(w, 1, "d%u grants slot %d of n%u to a client that named %u slots", d->index,
                  reply->slot - 1, a->name, slots);
    return reply->slot != 0 ? key_of_slot(a->name, reply->slot - 1u) : a->name;
}

/* Whether the other daemons have given so many of the odd daemon's masters their number that no quorum is left. Where
 * they ended before that, nothing tells the odd daemon of them. */
static bool others_came(const struct sim_world *w, const struct sim_daemon *odd)
{
    unsigned wrote = 0;
    for (unsigned i = odd->first; i < odd->masters; i++)
        wrote += (w->others_wrote >> i & 1) != 0;
    return wrote + odd->quorum > odd->masters - odd->first;
}

static void granted(struct sim_world *w, struct sim_daemon *d, uint32_t request, const struct reply *reply)
{
    struct sim_oracle *o = &w->oracle;
    struct sim_asked *a = &o->asked[request];
    unsigned key = granted_key(w, d, a, reply);
    uint32_t tok = oracle_tok(w, &reply->token, key);
    struct sim_tok *t = &o->tok[tok];
    if (t->granted || t->name != key)
        violation(w, 6, "T%u is granted to request %u, but belongs to another", tok, request);
    if (a->verb == VERB_LOCK && t->sent == 0 && a->shared)
        oracle_joins(w, d, tok, key);
    else if (a->verb == VERB_LOCK && t->sent == 0)
        oracle_handed(w, d, tok, key);
    if (a->verb == VERB_RESUME)
        oracle_resumed(w, d, request, reply);
    a->tok = tok;
    t->granted = true;
    t->lease = a->lease;
    t->shared = a->verb == VERB_RESUME ? token_is_shared(&t->token) : a->shared;
    t->session = a->session;
    t->session_next = o->session[a->session].toks;
    o->session[a->session].toks = tok;
    t->request = request;
    t->fence = reply->fence;
    if (o->session[a->session].state != SESSION_OPEN && !t->lease)
        t->given_up = true; /* the session has asked for its end before */
    if (a->max_ms > 0)
        t->ends_ms = clock_ms(&d->clock, w->now_us) + a->max_ms;
    if (d->index == w->daemons - 1 && w->plan->param[P_ODD_LATE] > 0 && !w->odd_over && others_came(w, d))
        violation(w, 9, "d%u grants n%u, though it came to masters whose daemons have another N or max_ttl",
                  d->index, a->name);
    o->grants++;
    FOR_NAMES(n, a->name)
    {
        o->served_us[n] = w->now_us;
        oracle_turn(w, d, n);
        if (a->verb == VERB_LOCK && a->wait_ms > 0) /* a RESUME waits for masters, and not for the name */
            oracle_was_free(w, n, a->at_us, t->shared);
    }
    told(w, d, tok, reply->valid_ms, reply->until_ms, w->plan->param[P_MIN_VALIDITY], "LOCKED");
    if (a->tells)
        oracle_told_granted(w, d, tok);
    if (count(t->valid) < d->quorum && !(generation_class(w) && t->sent == 0))
        violation(w, 9, "T%u of n%u is granted by %u masters that may vote (%#x of %#x that said yes)", tok,
                  t->name, count(t->valid), t->valid, t->yes);
    /* Where no master was asked, the votes were counted, and judged, before. */
    if (t->sent != 0 && count(oracle_fresh(w, d, t->yes)) < d->quorum)
        violation(w, 9, "T%u of n%u is granted by masters that were not probed lately (%#x of %#x were)", tok,
                  t->name, oracle_fresh(w, d, t->yes), t->yes);
    oracle_marker_granted(w, d, a->name);
    FOR_NAMES(n, key) oracle_kept_granted(w, d, n, tok);
    check_fence(w, d, tok, reply);
}

void oracle_replied(struct sim_world *w, struct sim_daemon *d, const struct action *action)
{
    struct sim_oracle *o = &w->oracle;
    uint32_t request = (uint32_t)action->request;
    const struct reply *reply = &action->u.reply;
    if (request == 0 || request >= o->asks || o->asked[request].session != action->session)
        violation(w, 6, "d%u answers request %u of session %llu, which is not there", d->index, request,
                  (unsigned long long)action->session);
    struct sim_asked *a = &o->asked[request];
    struct sim_session *s = &o->session[a->session];
    uint32_t tok = a->tok;
    if (reply->code == REPLY_LOCKED)
        tok = oracle_tok(w, &reply->token, granted_key(w, d, a, reply));
    trace_add(w, TRACE_REPLY, d->index, a->session, request, reply->code, tok, reply->fence,
              (uint64_t)reply->valid_ms);
    if (a->answered)
        violation(w, 6, "d%u answers request %u twice", d->index, request);
    bool over = s->state == SESSION_ENDED && reply->code == REPLY_LOCKED;
    if (over || a->incarnation != d->incarnation || a->daemon != d->index)
        violation(w, 6, "d%u answers request %u, whose session is over", d->index, request);
    oracle_repeated(w, d, a, reply);
    a->answered = true;
    o->unanswered[s->client]--;
    s->unanswered--;
    bool lock = a->verb == VERB_LOCK && !a->reentry;
    bool locked = reply->code == REPLY_LOCKED;
    if (lock && (locked || reply->code == REPLY_TIMEOUT))
        oracle_has_waited(w, request, locked);
    oracle_flood_replied(w, d, request, reply);
    if (lock && reply->code == REPLY_BUSY)
        oracle_busy(w, d, request, reply);
    if (lock)
        outstanding_remove(w, d, request, locked);
    if (lock && !(a->name & SIM_LIST))
        oracle_crowd_answered(w, a, locked);
    if (locked && (lock || a->verb == VERB_RESUME))
        granted(w, d, request, reply);
    else if (locked)
        oracle_reentered(w, d, request, reply);
    else if (a->verb == VERB_RESUME)
        oracle_resume_refused(w, d, request, reply);
    if (!locked && a->verb == VERB_RESUME)
        queue_push(w, w->now_us + ORPHAN_US, ITEM_ORPHANS, d->index, a->from, d->incarnation);
    if (locked && a->down) {
        told(w, d, tok, reply->valid_ms, reply->until_ms, 1, "LOCKED");
        oracle_told_extended(w, d, tok);
    }
    if (reply->code == REPLY_KEPT)
        oracle_kept(w, d, reply, a);
    if (reply->code == REPLY_EXTENDED) {
        told(w, d, tok, reply->valid_ms, reply->until_ms, 1, "EXTENDED");
        oracle_told_extended(w, d, tok);
    }
    if (reply->code == REPLY_WATCHING)
        oracle_watch_told(w, d, a->session, a->name, &reply->now);
    if (reply->code == REPLY_HELD)
        told(w, d, tok, reply->valid_ms, reply->until_ms, 1, "HELD");
}

/* Clients that poll for a name may keep a heal from a master for a moment: a lock that is on no more
 * than Q masters is excused the first restart, but not the next. */
void oracle_crashed(struct sim_world *w, const struct sim_master *m)
{
    const struct sim_oracle *o = &w->oracle;
    for (unsigned name = 0; name < w->keys; name++) {
        for (unsigned i = 0; i < o->holders[name]; i++) {
            struct sim_tok *t = &w->oracle.tok[o->holder[name][i]];
            unsigned others = 0;
            for (unsigned k = 0; k < w->masters; k++) {
                const struct sim_master *other = &w->master[k];
                int64_t now_ms = clock_ms(&other->clock, w->now_us);
                others += other != m && oracle_kept_ms(w, other, now_ms, o->holder[name][i]) != 0;
            }
            t->thin |= !t->outlived && others < quorum_of(w->masters);
            t->outlived = true;
        }
    }
}

/* A renewal begins a third of the TTL, and up to a tenth of that, after the answers to the one before. The shortest TTL,
 * less that, drift and min_validity, may leave less than the two round trips: renewals fail by chance there. */
static bool is_tight(const struct sim_world *w)
{
    const int64_t *p = w->plan->param;
    int64_t third_ms = p[P_MIN_TTL] / 3, pause_ms = third_ms + third_ms / 10 + 1;
    int64_t spare_ms = quorum_until_ms(0, p[P_MIN_TTL]) - p[P_MIN_VALIDITY] - pause_ms;
    return spare_ms * 1000 < 4 * (p[P_DELAY] + p[P_JITTER]);
}

/* A lock is on Q masters, and before its first renewal it need not be on more. */
static void lost(struct sim_world *w, const struct sim_daemon *d, uint32_t tok, enum lost_reason reason)
{
    const struct sim_tok *t = &w->oracle.tok[tok];
    bool unwanted = reason == LOST_EXPIRED || reason == LOST_GONE;
    bool renewed = t->renewed_us != 0 && t->renewed_us < w->oracle.crashed_us && !t->thin;
    if (w->plan->param[P_CLASS] == CLASS_ROLLING && unwanted && renewed && !t->given_up && !is_tight(w))
        violation(w, 13, "d%u lost T%u of n%u (reason %d), though masters were only restarted one by one",
                  d->index, tok, t->name, reason);
    if (generation_smooth(w) && d->spare && unwanted && !t->given_up && t->deleted_us == 0 && !t->resumed &&
        t->parent == 0 && t->down_to == 0 && !is_tight(w))
        violation(w, 13, "d%u lost T%u of n%u (reason %d), though only masters were replaced", d->index, tok,
                  t->name, reason);
    FOR_NAMES(n, t->name)
    {
        if (t->deleted_us != 0)
            w->oracle.heard_us[d->index][key_base(n)] = w->now_us;
    }
}

void oracle_noticed(struct sim_world *w, struct sim_daemon *d, const struct action *action)
{
    const struct notice *notice = &action->u.notice;
    if (notice->kind == NOTICE_NOW) {
        oracle_watch_told(w, d, (uint32_t)action->session, name_index(&notice->name), &notice->now);
        return;
    }
    bool of_lock = notice->kind != NOTICE_DRAIN && notice->kind != NOTICE_CLOCK;
    uint32_t tok = !of_lock ? 0 : oracle_tok(w, &notice->token, 0);
    trace_add(w, TRACE_NOTICE, d->index, action->session, notice->kind, notice->reason, tok,
              (uint64_t)notice->valid_ms, 0);
    struct sim_tok *t = &w->oracle.tok[tok];
    if (notice->kind == NOTICE_RENEWED) {
        told(w, d, tok, notice->valid_ms, notice->until_ms, 1, "RENEWED");
        oracle_told_extended(w, d, tok);
    }
    if (notice->kind == NOTICE_RENEWED && t->renewed_us == 0)
        t->renewed_us = w->now_us;
    if (notice->kind == NOTICE_LOST)
        lost(w, d, tok, notice->reason);
    if (notice->kind == NOTICE_LOST)
        oracle_flood_lost(w, d, tok, notice);
    if (notice->kind == NOTICE_LOST && notice->reason == LOST_GONE && oracle_lost_wrongly(w, tok))
        violation(w, 13, "d%u lost T%u of n%u, though a quorum has its key", d->index, tok, t->name);
    if (notice->kind == NOTICE_LOST)
        t->forgotten = true;
    if (notice->kind == NOTICE_LOST && oracle_other(w, tok) != 0)
        w->oracle.tok[oracle_other(w, tok)].forgotten = true;
    if (notice->kind == NOTICE_LOST && notice->reason == LOST_MAX)
        t->maxed = true;
    if (of_lock && w->oracle.tok[tok].session != action->session)
        violation(w, 6, "d%u tells session %llu of T%u, which is not its lock", d->index,
                  (unsigned long long)action->session, tok);
}
