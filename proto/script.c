/* The scripts by number, and which verb runs which. */
#include "proto/script.h"

#include <assert.h>

const char *resp_script_text(unsigned script)
{
    assert(script < RESP_SCRIPTS);
    return resp_scripts[script].text;
}

const char *resp_script_sha1(unsigned script)
{
    assert(script < RESP_SCRIPTS);
    return resp_scripts[script].sha1;
}

int resp_script_of(enum command_verb verb)
{
    switch (verb) {
    case COMMAND_RELEASE: return RESP_SCRIPT_RELEASE;
    case COMMAND_EXTEND: return RESP_SCRIPT_EXTEND;
    case COMMAND_CHECK: return RESP_SCRIPT_CHECK;
    case COMMAND_MOVE: return RESP_SCRIPT_MOVE;
    case COMMAND_ENQUEUE: return RESP_SCRIPT_ENQUEUE;
    case COMMAND_PASS:
    case COMMAND_ALONG: return RESP_SCRIPT_PASS;
    case COMMAND_SETTLE: return RESP_SCRIPT_SETTLE;
    case COMMAND_SHARE:
    case COMMAND_SHARE_AT: return RESP_SCRIPT_SHARE;
    case COMMAND_DOWN: return RESP_SCRIPT_DOWN;
    case COMMAND_SET_ALL:
    case COMMAND_HEAL_ALL: return RESP_SCRIPT_SET_ALL;
    case COMMAND_RELEASE_ALL: return RESP_SCRIPT_RELEASE_ALL;
    case COMMAND_EXTEND_ALL:
    case COMMAND_CHECK_ALL: return RESP_SCRIPT_EXTEND_ALL;
    case COMMAND_MOVE_ALL: return RESP_SCRIPT_MOVE_ALL;
    case COMMAND_ZSCORE_ALL: return RESP_SCRIPT_ZSCORE_ALL;
    case COMMAND_LOOK: return RESP_SCRIPT_LOOK;
    case COMMAND_GROUP_SET:
    case COMMAND_GROUP_NEW: return RESP_SCRIPT_GROUP;
    case COMMAND_TRY: return RESP_SCRIPT_TRY;
    case COMMAND_CUT: return RESP_SCRIPT_CUT;
    case COMMAND_ZADD_ALL:
    case COMMAND_TIME:
    case COMMAND_GROUP:
    case COMMAND_PROBE:
    case COMMAND_HEAL:
    case COMMAND_GET:
    case COMMAND_DEQUEUE:
    case COMMAND_LETTER:
    case COMMAND_CLIENT_ID:
    case COMMAND_INFO:
    case COMMAND_KILL:
    case COMMAND_SET:
    case COMMAND_ZADD:
    case COMMAND_ZSCORE: break;
    }
    return -1;
}
