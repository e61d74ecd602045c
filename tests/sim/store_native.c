/* Native commands on a server that knows them. */
#include "tests/sim/mutant.h"
#include "tests/sim/store_readers.h"

bool store_native(struct store_key *key, int64_t now_ms, const struct store_command *command,
                  struct vote *vote)
{
    if (!command_is_native(command->native))
        return false;
    if (readers_have(key, now_ms)) {
        *vote = (struct vote){.kind = VOTE_ERROR, .error = ERROR_WRONGTYPE};
        return true;
    }
    bool ours = key->tok == command->tok && key->list == 0;
    if (!store_there(key, now_ms) || (!ours && !mutant(MUTANT_NATIVE_PLAIN)))
        return true;
    vote->kind = VOTE_YES;
    key->there = command->native == COMMAND_MOVE_IFEQ;
    key->tok = command->native == COMMAND_MOVE_IFEQ ? command->to : key->tok;
    key->maker = command->native == COMMAND_MOVE_IFEQ ? command->to_maker : key->maker;
    return true;
}

/* The server looks at the command, and not at what it would do. */
bool store_native_refuses(const struct store_command *command, enum vote_error error, bool *refuses)
{
    bool sets = command->native == COMMAND_MOVE_IFEQ || command->native == COMMAND_SET_MSETEX ||
                command->verb == COMMAND_TRY_IFEQ || command->verb == COMMAND_TRY_MSETEX;
    if (!command_is_native(command->native) && !command_is_question(command->verb))
        return false;
    *refuses = error != ERROR_OOM || sets;
    return true;
}
