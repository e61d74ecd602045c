/* What the script that writes the group's key does (proto/lua/group.lua), as a model for simulated masters. test_model
 * compares it with a real server. */
#ifndef REDLOCKD_TESTS_GROUP_MODEL_H
#define REDLOCKD_TESTS_GROUP_MODEL_H

#include <string.h>

#include "proto/command.h"

/* The key is there or not, and readable; ours is the command's. Returns whether the key is written: it then is what
 * *ours has become. */
static inline bool group_model_writes(enum command_verb verb, bool there, const struct group *key,
                                      struct group *ours, int64_t full_ms, int64_t now_ms)
{
    if (there == (verb == COMMAND_GROUP_NEW))
        return false;
    ours->back_ms = 0;
    ours->since_ms = ours->step > 0 ? now_ms : 0;
    if (there && key->step > ours->step)
        return false;
    if (there && key->step == ours->step) {
        if (key->masters != ours->masters || key->max_ttl_ms != ours->max_ttl_ms ||
            key->before != ours->before)
            return false;
        if (key->set != 0 && ours->set != 0 && key->set != ours->set)
            return false;
        if (ours->set == 0)
            ours->set = key->set;
        ours->settled = ours->settled || key->settled;
        if (ours->step > 0 && key->since_ms < now_ms)
            ours->since_ms = key->since_ms;
    }
    if (there) {
        if (memcmp(key->run_id, ours->run_id, RUN_ID_HEX) == 0 && key->from_ms >= ours->from_ms) {
            ours->from_ms = key->from_ms;
            ours->back_ms = key->back_ms;
            memcpy(ours->by, key->by, GROUP_WORD);
            memcpy(ours->why, key->why, GROUP_WORD);
        }
    }
    int64_t at_ms = ours->from_ms;
    if (ours->back_ms != 0 && ours->back_ms + full_ms < at_ms)
        at_ms = ours->back_ms + full_ms;
    if (at_ms > now_ms + full_ms + 1000)
        ours->back_ms = now_ms;
    return true;
}

#endif
