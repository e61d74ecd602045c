/* Questions that an object's own data answers, below the files that act on the objects. */
#include "daemon/coordinator/data/state.h"

#include <string.h>

struct lease *lease_of_hold(struct hold *hold)
{
    return (struct lease *)(void *)((char *)hold - offsetof(struct lease, hold));
}

static bool is_down(const struct lease *lease)
{
    return lease->secret != NULL && lease->secret->down;
}

const struct token *lease_told(const struct lease *lease)
{
    return is_down(lease) && !lease->secret->down_told ? &lease->secret->was : &lease->hold.token;
}

const struct token *lease_was(const struct lease *lease)
{
    return is_down(lease) ? &lease->secret->was : &lease->hold.token;
}

bool lease_was_known_by(const struct lease *lease, const struct token *token)
{
    return is_down(lease) && memcmp(lease->secret->was.bytes, token->bytes, TOKEN_BYTES) == 0;
}

bool lease_is_bound(const struct lease *lease)
{
    return lease->hold.session != NULL && lease->hold.kind == HOLD_SESSION;
}

bool wait_is_over(const struct coordinator *c, const struct wait *wait)
{
    bool late = wait->patient && wait->tried && c->now_ms >= wait->deadline_ms;
    return late || c->draining || wait->session->state >= SESSION_RELEASING;
}

bool release_is_awaited(const struct resource *resource)
{
    return resource->giving_back != NULL && !resource->giving_back->hands_over;
}

static bool resumes(const struct resume *resume, const struct token *token)
{
    return memcmp(resume->old.bytes, token->bytes, TOKEN_BYTES) == 0;
}

bool lease_is_resumed(const struct lease *lease)
{
    const struct resume *resume = lease->resource->resumes;
    const struct token *was = lease_was(lease);
    while (resume != NULL && !resumes(resume, &lease->hold.token) && !resumes(resume, was))
        resume = resume->next;
    return resume != NULL;
}

void resume_given_back(struct resource *resource, const struct token *token)
{
    for (struct resume *resume = resource->resumes; resume != NULL; resume = resume->next)
        if (resumes(resume, token))
            resume->given_back = true;
}

masters_t masters_clock_doubted(const struct coordinator *c)
{
    masters_t set = 0;
    for (unsigned i = 0; i < c->config.masters; i++) {
        const struct master *m = &c->masters[i];
        /* Another reason to keep the master out may have been found since. */
        bool seen = m->clock.jumped_ms != 0 && c->now_ms - m->clock.jumped_ms < c->full_ms;
        bool out = m->memory.quarantine_until_ms > c->now_ms;
        if (m->clock.jumped || (out && (seen || m->memory.quarantine_why == WHY_CLOCK)))
            set |= masters_bit(i);
    }
    return set;
}

int64_t stall_lately_ms(const struct coordinator *c)
{
    return c->now_ms - c->stall_seen_ms <= c->full_ms ? c->stall_ms : 0;
}

bool trial_is_open(const struct coordinator *c)
{
    return c->trial.open;
}
