/* Native commands: some servers compare and delete, or compare and set, without a script, for a fraction of the time.
 * Which master does so is found out in each handshake, by the commands themselves; all others get the script, and so
 * does whoever refuses a native command later. No master is excluded for that, and masters of both kinds are used side
 * by side.
 *
 *     question of the handshake ----> the master knows it: it gets the native command
 *                                                   |
 *                     an error that is about the command, or about this key
 *                                                   v
 *                     the same is sent again by script, and no answer is counted until that has run
 *
 * A native command does less than the script: it tells nobody, and knows nothing of readers. Who sends it decides
 * whether that is enough (release_send.c, resume.c). */
#ifndef REDLOCKD_NATIVE_H
#define REDLOCKD_NATIVE_H

#include "daemon/coordinator/data/state.h"

/* Asks the master which of them it knows, as part of its handshake. */
void native_ask(struct coordinator *c, struct master *m);
/* Asks once more for those that its ACL denied, which an operator may have allowed since. */
void native_ask_denied(struct coordinator *c, struct master *m);
/* Handles the answer. */
void native_told(struct coordinator *c, struct master *m, enum command_verb verb, const struct vote *vote);
/* Whether an answer to a native command says that it was not run, and that the script has to be asked: as after
 * VOTE_NOT_RUN. */
bool native_refused(struct coordinator *c, struct master *m, enum command_verb verb, const struct vote *vote);
/* Nothing is known of the master any more. */
void native_forget(struct coordinator *c, struct master *m);

static inline unsigned native_number(enum command_verb verb)
{
    return (unsigned)verb - (COMMAND_VERBS - NATIVES);
}

/* The masters among these that get this native command. */
static inline masters_t native_of(const struct coordinator *c, enum command_verb verb, masters_t masters)
{
    return c->natives[native_number(verb)] & masters;
}

#endif
