/* Requests that the daemon repeats: RESUME wait=, and wait= of a request to become a reader. Where nothing is wrong with
 * masters and daemons, invariant 14:
 *
 *     -NOTHELD of a RESUME comes no sooner than 100 ms after the request, and then is asked no more
 *     no other refusal that is repeated comes before the time of wait= is nearly over, nor any long after it */
#include "tests/sim/oracle.h"
#include "tests/sim/sim.h"

enum { NOTHELD_US = 100000, LONGEST_PAUSE_US = 200000, NODE_TIMEOUTS = 6, SLACK_US = 300000 };

/* Times are the daemon's, and ms are cut. */
enum { CUT_US = 2000 };

static bool is_quiet(const struct sim_world *w)
{
    const int64_t *p = w->plan->param;
    return w->plan->faults == 0 && p[P_FLOOD] == FLOOD_NONE && p[P_CLASS] != CLASS_DISAGREE;
}

static int64_t slack_us(const struct sim_world *w)
{
    return NODE_TIMEOUTS * w->plan->param[P_NODE_TIMEOUT] * 1000 + SLACK_US;
}

void oracle_repeated(struct sim_world *w, const struct sim_daemon *d, const struct sim_asked *a,
                     const struct reply *reply)
{
    bool resumes = a->verb == VERB_RESUME, over = w->oracle.session[a->session].state != SESSION_OPEN;
    if ((!resumes && !a->down) || a->wait_ms == 0 || a->cancelled || over || !is_quiet(w))
        return;
    int64_t since_us = w->now_us - a->at_us, wait_us = a->wait_ms * 1000;
    int64_t least_us = wait_us - LONGEST_PAUSE_US;
    if (reply->code == REPLY_NOTHELD && (!resumes || wait_us > NOTHELD_US))
        least_us = resumes ? NOTHELD_US : 0;
    else if (reply->code != REPLY_NOQUORUM && reply->code != REPLY_NOTHELD)
        least_us = 0;
    if (since_us + CUT_US < least_us)
        violation(w, 14, "d%u refuses a request of T%u (code %d) %lld us after it came, with wait=%lld",
                  d->index, a->tok, reply->code, (long long)since_us, (long long)a->wait_ms);
    if (since_us > wait_us + slack_us(w))
        violation(w, 14, "d%u answers a request of T%u (code %d) %lld us after it came, with wait=%lld",
                  d->index, a->tok, reply->code, (long long)since_us, (long long)a->wait_ms);
}

/* The daemon that asked has heard from all masters, in time, that the token is not there: it answers -NOTHELD. */
void oracle_refused(struct sim_world *w, const struct sim_daemon *d, uint32_t tok)
{
    const struct sim_tok *t = &w->oracle.tok[tok];
    unsigned masters = d->masters - d->first;
    bool late = w->now_us > t->tried_us + w->plan->param[P_NODE_TIMEOUT] * 1000 - CUT_US;
    if (t->parent == 0 || late || (unsigned)__builtin_popcount(t->unmoved) < masters)
        return;
    w->oracle.tok[t->parent].refused_us = w->now_us;
    w->oracle.tok[t->parent].refused_by = (uint8_t)d->index;
}

/* A RESUME of tok, which would make it to, begins an attempt. */
void oracle_repeats(struct sim_world *w, const struct sim_daemon *d, uint32_t tok, uint32_t to)
{
    const struct sim_tok *t = &w->oracle.tok[tok];
    if (w->oracle.tok[to].tried_us == 0)
        w->oracle.tok[to].tried_us = w->now_us;
    if (t->refused_us == 0 || t->refused_by != d->index || !is_quiet(w))
        return;
    for (uint32_t i = 1; i < w->oracle.asks; i++) {
        const struct sim_asked *a = &w->oracle.asked[i];
        bool asks = a->verb == VERB_RESUME && a->from == tok && !a->answered && a->daemon == d->index;
        if (asks && a->at_us + NOTHELD_US > t->refused_us)
            return;
    }
    violation(w, 14, "d%u asks again for T%u, which all masters refused %lld us ago", d->index, tok,
              (long long)(w->now_us - t->refused_us));
}
