/* Beliefs in true time: invariants 1 and 2. */
#include "tests/sim/oracle.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/sim.h"

static void *grow(void *list, uint32_t *capacity, uint32_t count, size_t size)
{
    if (count < *capacity)
        return list;
    *capacity = *capacity == 0 ? 1024 : 2 * *capacity;
    void *grown = realloc(list, *capacity * size);
    assert(grown != NULL);
    return grown;
}

static uint32_t tok_hash(const struct token *token)
{
    uint64_t h;
    memcpy(&h, token->bytes + TOKEN_RANDOM_AT, sizeof(h));
    return (uint32_t)h % TOK_TABLE;
}

/* The table is large, and mostly empty. */
static void toks_forget(struct sim_oracle *o)
{
    for (uint32_t tok = 1; tok < o->toks; tok++) {
        uint32_t at = tok_hash(&o->tok[tok].token);
        while (o->tok_table[at] != tok)
            at = (at + 1) % TOK_TABLE;
        o->tok_table[at] = 0;
    }
}

void oracle_begin(struct sim_world *w)
{
    struct sim_oracle *o = &w->oracle;
    if (o->tok_table == NULL)
        o->tok_table = calloc(TOK_TABLE, sizeof(*o->tok_table));
    assert(o->tok_table != NULL);
    toks_forget(o);
    o->toks = o->sessions = o->asks = 1; /* index 0 means none */
    o->tok = grow(o->tok, &o->tok_capacity, 0, sizeof(*o->tok));
    o->session = grow(o->session, &o->session_capacity, 0, sizeof(*o->session));
    o->asked = grow(o->asked, &o->ask_capacity, 0, sizeof(*o->asked));
    memset(&o->tok[0], 0, sizeof(o->tok[0]));
    memset(&o->session[0], 0, sizeof(o->session[0]));
    memset(&o->asked[0], 0, sizeof(o->asked[0]));
    memset(o->unanswered, 0, sizeof(o->unanswered));
    memset(o->holders, 0, sizeof(o->holders));
    memset(o->fence, 0, sizeof(o->fence));
    memset(o->alone, 0, sizeof(o->alone));
    memset(o->fences, 0, sizeof(o->fences));
    memset(o->fence_number, 0, sizeof(o->fence_number));
    memset(o->last_set, 0, sizeof(o->last_set));
    memset(o->asked_tok, 0, sizeof(o->asked_tok));
    memset(o->refused_us, 0, sizeof(o->refused_us));
    memset(o->given_us, 0, sizeof(o->given_us));
    memset(o->fence_next, 0, sizeof(o->fence_next));
    memset(o->outstandings, 0, sizeof(o->outstandings));
    memset(o->served_us, 0, sizeof(o->served_us));
    memset(o->extendings, 0, sizeof(o->extendings));
    memset(o->turn_us, 0, sizeof(o->turn_us));
    memset(o->freed_us, 0, sizeof(o->freed_us));
    memset(o->writer_us, 0, sizeof(o->writer_us)); /* else the world before would excuse this one */
    memset(o->broke, 0, sizeof(o->broke));
    memset(o->letter_us, 0, sizeof(o->letter_us));
    memset(o->kept, 0, sizeof(o->kept));
    memset(o->unreleased_us, 0, sizeof(o->unreleased_us));
    memset(o->heard_us, 0, sizeof(o->heard_us));
    memset(o->given_back_us, 0, sizeof(o->given_back_us));
    memset(o->still, 0, sizeof(o->still));
    memset(o->ends_us, 0, sizeof(o->ends_us));
    o->crashed_us = 0;
    memset(o->crowd, 0, sizeof(o->crowd));
}

uint32_t oracle_tok(struct sim_world *w, const struct token *token, unsigned name)
{
    struct sim_oracle *o = &w->oracle;
    for (uint32_t at = tok_hash(token);; at = (at + 1) % TOK_TABLE) {
        uint32_t index = o->tok_table[at];
        if (index != 0 && memcmp(&o->tok[index].token, token, sizeof(*token)) == 0)
            return index;
        if (index != 0)
            continue;
        assert(o->toks < TOK_TABLE / 2);
        o->tok = grow(o->tok, &o->tok_capacity, o->toks, sizeof(*o->tok));
        o->tok[o->toks] = (struct sim_tok){.token = *token, .name = name, .daemon = SIM_DAEMONS};
        o->tok_table[at] = o->toks;
        return o->toks++;
    }
}

uint32_t session_new(struct sim_world *w, unsigned client, unsigned daemon)
{
    struct sim_oracle *o = &w->oracle;
    o->session = grow(o->session, &o->session_capacity, o->sessions, sizeof(*o->session));
    const struct sim_client *c = &w->client[client];
    bool remote = c->remote || daemon != c->home;
    const struct sim_clock *clock = c->remote ? &c->clock : &w->daemon[c->home].clock;
    o->session[o->sessions] = (struct sim_session){.client = (uint8_t)client,
                                                   .daemon = (uint8_t)daemon,
                                                   .remote = remote,
                                                   .incarnation = w->daemon[daemon].incarnation,
                                                   .hello_sent_us = clock_us(clock, w->now_us)};
    return o->sessions++;
}

uint32_t asked_new(struct sim_world *w, uint32_t session, unsigned verb, unsigned name)
{
    struct sim_oracle *o = &w->oracle;
    o->asked = grow(o->asked, &o->ask_capacity, o->asks, sizeof(*o->asked));
    o->asked[o->asks] = (struct sim_asked){.verb = (uint8_t)verb,
                                           .name = name,
                                           .session = session,
                                           .daemon = o->session[session].daemon,
                                           .incarnation = o->session[session].incarnation};
    o->unanswered[o->session[session].client]++;
    return o->asks++;
}

/* ---- holders ---- */

static void holder_remove(struct sim_world *w, uint32_t tok)
{
    struct sim_oracle *o = &w->oracle;
    o->tok[tok].until_us = 0;
    FOR_NAMES(name, o->tok[tok].name)
    {
        for (unsigned i = 0; i < o->holders[name]; i++) {
            if (o->holder[name][i] == tok) {
                o->holder[name][i] = o->holder[name][--o->holders[name]];
                o->served_us[key_base(name)] = w->now_us;
                break;
            }
        }
    }
}

/* Forgets the holders whose deadline has come. */
static void holders_prune(struct sim_world *w, unsigned name)
{
    struct sim_oracle *o = &w->oracle;
    for (unsigned i = 0; i < o->holders[name];) {
        struct sim_tok *t = &o->tok[o->holder[name][i]];
        if (t->until_us > w->now_us) {
            i++;
            continue;
        }
        if (t->until_us > o->served_us[key_base(name)])
            o->served_us[key_base(name)] = t->until_us;
        o->holder[name][i] = o->holder[name][--o->holders[name]];
    }
}

bool oracle_held(struct sim_world *w, unsigned name)
{
    holders_prune(w, name);
    return w->oracle.holders[name] > 0;
}

bool oracle_full(struct sim_world *w, unsigned name)
{
    unsigned slots = name_slots(w, name), held = 0;
    for (unsigned slot = 0; slot < slots; slot++)
        held += oracle_held(w, key_of_slot(name, slot));
    return slots == 0 ? oracle_held(w, name) : held == slots;
}

/* COVERED: until its deadline this master cannot grant the name to another. EXCUSED: the master can,
 * since it forgot the key, and daemons may not know that yet. */
enum cover { COVERED, EXCUSED, OPEN };

static enum cover holder_covered(const struct sim_world *w, const struct sim_daemon *d,
                                 const struct sim_master *m, uint32_t tok, int64_t until_us)
{
    const struct sim_tok *t = &w->oracle.tok[tok];
    bool kept = true;
    FOR_NAMES(name, t->name)
    {
        const struct store_key *key = master_key(m, name);
        int64_t kept_ms = 0;
        if (t->shared && key->there && key->readers > 0)
            kept_ms = oracle_kept_ms(w, m, clock_ms(&m->clock, w->now_us), tok);
        else if (key->there && key->readers == 0 && oracle_keeps(w, key->tok, tok))
            kept_ms = key->expires_ms;
        kept &= kept_ms > 0 && clock_when(&m->clock, (kept_ms + 1) * 1000) >= until_us;
    }
    if (kept)
        return COVERED;
    if (master_young_us(m, d->full_us) < until_us)
        return OPEN;
    return m->unseen ? EXCUSED : COVERED;
}

/* The number of masters that can grant the name to another before until_us although their loss was visible, or
 * although they are none of the given masters; unseen: the number of the given masters whose loss no daemon can
 * see. */
static unsigned masters_open(const struct sim_world *w, uint32_t tok, int64_t until_us, uint16_t masters,
                             unsigned *unseen)
{
    const struct sim_daemon *d = &w->daemon[w->oracle.tok[tok].daemon];
    unsigned open = 0;
    *unseen = 0;
    for (unsigned m = d->first; m < d->masters; m++) {
        enum cover cover = holder_covered(w, d, &w->master[m], tok, until_us);
        bool given = (masters & (1u << m)) != 0;
        bool asked = w->plan->param[P_FANOUT] == FANOUT_ALL || (w->oracle.tok[tok].sent & (1u << m)) != 0;
        if (cover == COVERED && !asked) /* alone such masters are too few; with an unseen loss they are not */
            cover = EXCUSED;
        open += cover == OPEN || (cover == EXCUSED && !given);
        *unseen += cover == EXCUSED && given;
    }
    return open;
}

bool oracle_is_excused(const struct sim_world *w, uint32_t tok, int64_t until_us)
{
    const struct sim_tok *t = &w->oracle.tok[tok];
    unsigned unseen, quorum = w->daemon[t->daemon].quorum;
    if (generation_class(w)) /* no loss is unseen there */
        return false;
    unsigned open = masters_open(w, tok, until_us, t->yes, &unseen);
    return open < quorum && open + unseen >= quorum;
}

void oracle_covers(struct sim_world *w, unsigned name)
{
    struct sim_oracle *o = &w->oracle;
    holders_prune(w, name);
    if (generation_class(w)) /* the quorums of daemons differ: only their locks are judged */
        return;
    for (unsigned i = 0; i < o->holders[name]; i++) {
        uint32_t tok = o->holder[name][i];
        struct sim_tok *t = &o->tok[tok];
        const struct sim_daemon *d = &w->daemon[t->daemon];
        int64_t until_us = oracle_believes_us(w, t);
        if (until_us <= w->now_us || t->broken)
            continue;
        unsigned unseen, open = masters_open(w, tok, until_us, UINT16_MAX, &unseen);
        t->excused = t->excused || open + unseen >= d->quorum;
        if (open >= d->quorum)
            violation(w, 2,
                      "T%u of n%u (c%u) was told that it holds until %.6f, but before that %u of %u masters "
                      "could grant the name to another",
                      tok, name, t->believer, (double)until_us / 1e6, open, d->masters);
    }
}

void oracle_covers_each(struct sim_world *w, unsigned name)
{
    FOR_NAMES(n, name) oracle_covers(w, n);
}

/* A client that is paused, and hears of its lock later, is excused as well. */
static void excuse_told(struct sim_world *w)
{
    struct sim_oracle *o = &w->oracle;
    for (uint32_t i = 1; i < o->toks; i++) {
        struct sim_tok *t = &o->tok[i];
        const struct sim_daemon *d = &w->daemon[t->daemon];
        if (generation_class(w) || !t->granted || t->excused || t->told_ms == 0 ||
            t->incarnation != d->incarnation)
            continue;
        int64_t until_us = clock_when(&d->clock, t->told_ms * 1000);
        if (until_us <= w->now_us)
            continue;
        unsigned unseen, open = masters_open(w, i, until_us, UINT16_MAX, &unseen);
        t->excused = open < d->quorum && open + unseen >= d->quorum;
    }
}

void oracle_memory(struct sim_world *w)
{
    for (unsigned i = 0; i < w->keys; i++)
        oracle_covers(w, i);
    excuse_told(w);
}

/* Whether each master that granted both locks forgot one of them, which no daemon can see yet. Two losses on
 * different masters, each too few to excuse a lock by itself, may come together like that. */
static bool both_excused(const struct sim_world *w, uint32_t a, uint32_t b)
{
    const struct sim_tok *ta = &w->oracle.tok[a], *tb = &w->oracle.tok[b];
    const struct sim_daemon *da = &w->daemon[ta->daemon], *db = &w->daemon[tb->daemon];
    unsigned both = ta->yes & tb->yes;
    for (unsigned m = 0; both >> m != 0; m++) {
        const struct sim_master *master = &w->master[m];
        if ((both >> m & 1) == 0)
            continue;
        if (holder_covered(w, da, master, a, oracle_believes_us(w, ta)) != EXCUSED &&
            holder_covered(w, db, master, b, oracle_believes_us(w, tb)) != EXCUSED)
            return false;
    }
    return both != 0;
}

static void holders_overlap(struct sim_world *w, unsigned name, uint32_t tok)
{
    struct sim_oracle *o = &w->oracle;
    if (oracle_believes_us(w, &o->tok[tok]) <= w->now_us)
        return;
    for (unsigned i = 0; i < o->holders[name]; i++) {
        uint32_t other = o->holder[name][i];
        if (oracle_family(w, other) == oracle_family(w, tok) || o->tok[tok].excused || o->tok[other].excused)
            continue;
        if (o->tok[tok].shared && o->tok[other].shared)
            continue;
        if (oracle_believes_us(w, &o->tok[other]) <= w->now_us || both_excused(w, tok, other))
            continue;
        violation(w, 1,
                  "n%u is held twice: T%u (c%u, fence %llu) until %.6f and T%u (c%u, fence %llu) until %.6f",
                  name, other, o->tok[other].believer, (unsigned long long)o->tok[other].fence,
                  (double)o->tok[other].until_us / 1e6, tok, o->tok[tok].believer,
                  (unsigned long long)o->tok[tok].fence, (double)o->tok[tok].until_us / 1e6);
    }
}

void oracle_overlaps(struct sim_world *w, unsigned name)
{
    holders_prune(w, name);
    for (unsigned i = 0; i < w->oracle.holders[name]; i++)
        holders_overlap(w, name, w->oracle.holder[name][i]);
}

/* Removes the other tokens of this token's family: only the newest token of a family counts. */
static void family_leaves(struct sim_world *w, uint32_t tok)
{
    struct sim_oracle *o = &w->oracle;
    unsigned name = first_name(o->tok[tok].name);
    for (unsigned i = 0; i < o->holders[name];) {
        uint32_t other = o->holder[name][i];
        if (other != tok && oracle_family(w, other) == oracle_family(w, tok))
            holder_remove(w, other);
        else
            i++;
    }
}

void oracle_holds(struct sim_world *w, unsigned client, uint32_t session, uint32_t tok, int64_t until_us)
{
    struct sim_oracle *o = &w->oracle;
    struct sim_tok *t = &o->tok[tok];
    FOR_NAMES(name, t->name) holders_prune(w, name);
    if (t->parent != 0 || t->down_of != 0)
        family_leaves(w, tok);
    if (t->given_up || t->moved || until_us <= w->now_us || until_us <= t->until_us)
        return;
    bool known = t->until_us > w->now_us;
    t->until_us = until_us;
    t->believer = client;
    oracle_told_by(w, tok, session);
    trace_add(w, TRACE_HOLD, client, tok, t->name, (uint64_t)until_us, 0, 0, 0);
    FOR_NAMES(name, t->name)
    {
        if (!known) {
            assert(o->holders[name] < ORACLE_HOLDERS);
            o->holder[name][o->holders[name]++] = tok;
        }
        oracle_covers(w, name); /* comes first, since it may excuse the overlap */
        holders_overlap(w, name, tok);
    }
}

void oracle_gives_up(struct sim_world *w, unsigned client, uint32_t tok)
{
    trace_add(w, TRACE_GIVES, client, tok, 0, 0, 0, 0, 0);
    w->oracle.tok[tok].given_up = true;
    if (oracle_other(w, tok) != 0)
        w->oracle.tok[oracle_other(w, tok)].given_up = true;
    holder_remove(w, tok);
    if (!w->oracle.tok[tok].moved)
        family_leaves(w, tok);
}

void oracle_hears_lost(struct sim_world *w, unsigned client, uint32_t tok)
{
    (void)client;
    holder_remove(w, tok);
}

/* Needed only where a planted bug stops the clock: told deadlines last longer by the time that the clock
 * stood still. */
void oracle_slept(struct sim_world *w, unsigned daemon, int64_t for_us)
{
    struct sim_oracle *o = &w->oracle;
    for (unsigned name = 0; name < w->keys; name++) {
        for (unsigned i = 0; i < o->holders[name]; i++) {
            struct sim_tok *t = &o->tok[o->holder[name][i]];
            const struct sim_client *c = &w->client[t->believer];
            if (first_name(t->name) == name && c->home == daemon && !c->remote &&
                t->until_us > w->now_us - for_us)
                t->until_us += for_us;
        }
        holders_prune(w, name);
        if (o->holders[name] > 1)
            holders_overlap(w, name, o->holder[name][0]);
        oracle_covers(w, name);
    }
}
