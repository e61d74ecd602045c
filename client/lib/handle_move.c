/* The move to another redlockd when this one shuts down, see enum core_move in core.h. */
#include <string.h>

#include "client/lib/handle.h"

static void move_failed(struct redlock *redlock)
{
    link_close(&redlock->next, true);
    core_move_failed(redlock->core, handle_now_ms());
}

static void move_dial(struct redlock *redlock)
{
    core_move_begins(redlock->core, handle_now_ms());
    redlock->next_asked = false;
    redlock->next_len = 0;
    link_connect(&redlock->next);
}

/* Says PING on the other connection, once, and reads the answer. false: the move has failed. */
static bool move_ask(struct redlock *redlock)
{
    struct link *next = &redlock->next;

    if (!redlock->next_asked && link_write(next, "PING\n", 5) != 5)
        return false;
    redlock->next_asked = true;
    size_t room = sizeof redlock->next_line - redlock->next_len;
    ssize_t len = link_read(next, redlock->next_line + redlock->next_len, room);
    if (len <= 0)
        return len == 0;
    redlock->next_len += (size_t)len;
    const char *lf = memchr(redlock->next_line, '\n', redlock->next_len);
    if (lf)
        return core_move_answered(redlock->core, redlock->next_line, (size_t)(lf - redlock->next_line));
    return redlock->next_len < sizeof redlock->next_line;
}

/* false: the move has failed. */
static bool move_goes_on(struct redlock *redlock)
{
    char byte;

    if (redlock->core->move == MOVE_READY)
        return link_read(&redlock->next, &byte, 1) == 0; /* redlockd has nothing to say there */
    if (redlock->core->move != MOVE_DIALING)
        return true;
    link_progress(&redlock->next);
    if (redlock->next.state == LINK_OPEN)
        return move_ask(redlock);
    return redlock->next.state == LINK_CONNECTING;
}

static void move_over(struct redlock *redlock)
{
    struct core *core = redlock->core;

    link_take_over(&redlock->link, &redlock->next, core->connection);
    core_moved(core, handle_now_ms());
    core_connecting(core, handle_now_ms());
    if (handle_credentials(redlock))
        core_connected(core, handle_now_ms(), redlock->link.local);
    else
        link_close(&redlock->link, true);
}

void handle_move(struct redlock *redlock)
{
    struct core *core = redlock->core;

    if (core->move == MOVE_NO) {
        link_close(&redlock->next, true);
        return;
    }
    bool due = core_move_is_due(core, handle_now_ms());
    if (due && core->move == MOVE_LATER)
        move_dial(redlock);
    else if (due)
        move_failed(redlock);
    if (!move_goes_on(redlock))
        move_failed(redlock);
    if (core_may_move(core))
        move_over(redlock);
    else
        link_watch(&redlock->next);
}
