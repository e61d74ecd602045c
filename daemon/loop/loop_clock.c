#include "daemon/loop/loop_clock.h"

#include "daemon/clock.h"

enum { SHARED_BY = 8 /* votes, which together take some ten us */, WALL_FRESH_US = 1000 };

void loop_clock_sleep(struct loop_clock *clock)
{
    clock->votes_left = 0;
}

static bool is_shared(const struct loop_clock *clock, const struct coordinator_event *event)
{
    enum command_verb verb = event->verb;
    bool lasting = verb == COMMAND_SET || verb == COMMAND_ZADD || verb == COMMAND_RELEASE ||
                   verb == COMMAND_RELEASE_DELEX || verb == COMMAND_RELEASE_DELIFEQ;
    return event->kind == EVENT_MASTER_VOTE && lasting && clock->votes_left > 0 &&
           event->master == clock->votes_of;
}

/* The wall clock is used only for fences. It is read once a millisecond at most, and computed from
 * CLOCK_BOOTTIME in between. Even if the process was stopped between the two readings, the result is off
 * by less than a millisecond. */
void loop_clock_stamp(struct loop_clock *clock, struct coordinator_event *event)
{
    if (is_shared(clock, event)) {
        clock->votes_left--;
        return;
    }
    clock->votes_left = event->kind == EVENT_MASTER_VOTE ? SHARED_BY - 1 : 0;
    clock->votes_of = event->master;
    int64_t boot_us = clock_boot_us();
    clock->boot_us = boot_us;
    if (boot_us - clock->wall_read_us >= WALL_FRESH_US) {
        clock->wall_read_us = boot_us;
        clock->wall_ahead_us = clock_wall_us() - boot_us;
    }
    event->wall_us = boot_us + clock->wall_ahead_us;
    event->now_ms = boot_us / 1000;
}

int64_t loop_clock_left_ms(const struct loop_clock *clock, const struct coordinator_event *event,
                           int64_t valid_ms)
{
    bool just_read = event->kind != EVENT_MASTER_VOTE || clock->votes_left == SHARED_BY - 1;
    if (valid_ms <= 0 || just_read)
        return valid_ms;
    int64_t late_ms = clock_boot_ms() - event->now_ms;
    return late_ms < valid_ms ? valid_ms - late_ms : 0;
}
