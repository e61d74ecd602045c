#include "daemon/coordinator/data/state.h"

struct reload_answer coordinator_reload_try(const struct coordinator *c, int64_t now_ms,
                                            const struct coordinator_set *next)
{
    (void)now_ms;
    bool same = next->hash == c->config.set.hash && next->masters == c->config.set.masters;
    if (next->generation != 0)
        return (struct reload_answer){.group = RELOAD_JUMP};
    return (struct reload_answer){.group = same ? RELOAD_SAME : RELOAD_OTHER_LIST};
}

struct reload_answer coordinator_reload(struct coordinator *c, int64_t now_ms, const struct coordinator_set *next)
{
    return coordinator_reload_try(c, now_ms, next);
}

uint16_t coordinator_places(const struct coordinator *c)
{
    return masters_all(c->config.masters);
}

void coordinator_daemons(struct coordinator *c, int64_t now_ms, const struct coordinator_daemons *seen)
{
    (void)c;
    (void)now_ms;
    (void)seen;
}

void coordinator_group_row(const struct coordinator *c, int64_t now_ms, struct group_row *row)
{
    (void)now_ms;
    *row = (struct group_row){.set = c->config.set.hash,
                              .voters = c->quorum.of,
                              .needed = c->quorum.needed,
                              .masters = c->config.set.masters,
                              .max_ttl_ms = c->config.max_ttl_ms};
}

uint32_t coordinator_step_number(const struct coordinator *c)
{
    (void)c;
    return 0;
}
