/* Requests: the list that each is in, and how it ends. */
#include <assert.h>
#include <stdlib.h>

#include "client/lib/core_private.h"

static struct ask_list *ask_list_of(struct core *core, enum ask_state state)
{
    if (state == ASK_QUEUED)
        return &core->queued;
    return state == ASK_SENT ? &core->sent : &core->done;
}

void ask_idle(struct core *core, struct ask *ask)
{
    if (ask->state == ASK_IDLE)
        return;
    TAILQ_REMOVE(ask_list_of(core, ask->state), ask, link);
    if (ask->counted)
        (*ask->counted)--;
    if (ask->cancel)
        core->cancels--;
    ask->counted = NULL;
    ask->cancel = false;
    ask->state = ASK_IDLE;
    core->fresh = true;
}

void ask_queue(struct core *core, struct ask *ask, int64_t give_up_ms)
{
    assert(ask->state == ASK_IDLE);
    ask->state = ASK_QUEUED;
    ask->give_up_ms = give_up_ms;
    ask->not_on = 0;
    TAILQ_INSERT_TAIL(&core->queued, ask, link);
    core_wants_at(core, give_up_ms);
    core->fresh = true;
}

void ask_requeue(struct core *core, struct ask *ask)
{
    ask_idle(core, ask);
    ask->state = ASK_QUEUED;
    TAILQ_INSERT_HEAD(&core->queued, ask, link);
}

void ask_done(struct core *core, struct ask *ask, enum redlock_error error, const char *text)
{
    assert(!ask_is_own(ask) && ask->state != ASK_DONE);
    ask_idle(core, ask);
    if (ask->verb == ASK_DOWNGRADE && error && ask->lock)
        ask->lock->told_shared = true;
    ask->state = ASK_DONE;
    ask->error = error;
    ask->text = text;
    TAILQ_INSERT_TAIL(&core->done, ask, link);
}

void ask_free(struct core *core, struct ask *ask)
{
    ask_idle(core, ask);
    if (ask->lock)
        ask->lock->asks--;
    slot_leave(core, ask);
    free(ask->name);
    free(ask);
}

void ask_let_go(struct core *core, struct redlock_lock *lock)
{
    for (uint32_t i = 0; lock->asks > 0 && i < core->slots_size; i++) {
        struct ask *ask = core->slots[i];
        if (!ask || ask->lock != lock || ask_is_own(ask))
            continue;
        if (ask->state != ASK_DONE)
            ask_done(core, ask, REDLOCK_CANCELLED, "the lock was let go of");
        ask->lock = NULL;
        lock->asks--;
    }
}
