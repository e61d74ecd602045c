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
    enum { RESP_SCRIPT_NONE = -1 };
    static const int8_t scripts[COMMAND_VERBS] = {
#define COMMAND(name, script, vote, words)  [COMMAND_##name] = RESP_SCRIPT_##script,
#define FOR_LIST(name, script, vote, words) [COMMAND_##name##_ALL] = RESP_SCRIPT_##script,
#define NATIVE(name, form, vote, words)     [COMMAND_##name##_##form] = RESP_SCRIPT_NONE,
#include "proto/command.def"
    };
    assert((unsigned)verb < COMMAND_VERBS);
    return scripts[verb];
}
