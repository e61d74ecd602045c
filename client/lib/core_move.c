/* The way to the next redlockd when this one shuts down, see enum core_move. */
#include <assert.h>
#include <string.h>

#include "client/lib/core_private.h"

void core_move_wanted(struct core *core)
{
    if (core->state != CORE_UP || core->move != MOVE_NO)
        return;
    core->move = MOVE_LATER;
    core->move_failures = 0;
    core->move_ms = 0;
}

bool core_move_is_due(const struct core *core, int64_t now_ms)
{
    return core->move != MOVE_NO && core->move_ms <= now_ms;
}

void core_move_begins(struct core *core, int64_t now_ms)
{
    assert(core->move == MOVE_LATER);
    core->move = MOVE_DIALING;
    core->move_ms = now_ms + CONNECT_MS;
}

void core_move_failed(struct core *core, int64_t now_ms)
{
    int64_t most_ms = BACKOFF_FIRST_MS;

    for (unsigned i = 0; i < core->move_failures && most_ms < BACKOFF_MOST_MS; i++)
        most_ms *= 2;
    most_ms = earlier_ms(most_ms, BACKOFF_MOST_MS);
    core->move = MOVE_LATER;
    core->move_failures++;
    core->move_ms = now_ms + most_ms / 2 + core_jitter_ms(core, most_ms / 2 + 1);
    core->fresh = true; /* requests no longer wait for the move */
}

bool core_move_answered(struct core *core, const char *line, size_t len)
{
    struct answer answer;

    if (!answer_parse(line, len, &answer) || answer.code != ANSWER_PONG || answer.ready == 0)
        return false;
    core->move = MOVE_READY;
    return true;
}

bool core_may_move(const struct core *core)
{
    return core->move == MOVE_READY && core->state == CORE_UP && core->action == ACTION_NOTHING &&
           TAILQ_EMPTY(&core->sent) && core->out_used == core->out_len;
}

void core_moved(struct core *core, int64_t now_ms)
{
    core_disconnected(core, now_ms, REDLOCK_CONNECT, "redlockd shuts down");
    core->failures = 0; /* the program hears of the connection's end only if the next one fails */
    core->news_down = false;
}
