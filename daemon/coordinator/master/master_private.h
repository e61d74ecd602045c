/* Between the files of master.h: master.c moves it through its states, master_handshake.c asks who it is,
 * master_memory.c judges what it may have forgotten, master_undo.c sends what it owes us. */
#ifndef REDLOCKD_MASTER_PRIVATE_H
#define REDLOCKD_MASTER_PRIVATE_H

#include "daemon/coordinator/master/master.h"

/* ---- master.c ---- */

void master_move(struct coordinator *c, struct master *m, enum master_state to, enum master_why why);
void master_say_why(struct master *m, enum master_why why); /* in the same state */
/* Not used; the connection stays, and it is asked again. */
void master_refuse(struct coordinator *c, struct master *m, enum master_why why);
void master_rearm(struct coordinator *c, struct master *m);
void master_ask(struct coordinator *c, struct master *m, const struct command *command);
/* Until all that was sent so far is answered, long silence closes the connection. */
void master_watch(struct coordinator *c, struct master *m);
/* The undo list, then lock commands. */
void master_begin_service(struct coordinator *c, struct master *m);
/* To quarantine, where it has to be, or to vote. */
void master_enter_service(struct coordinator *c, struct master *m);

/* This daemon stood still for so long, and its time-outs do not count that. */
void master_stood_still(struct coordinator *c, struct master *m, int64_t stall_ms);

/* ---- master_handshake.c ---- */

void handshake_begin(struct coordinator *c, struct master *m);
void handshake_again(struct coordinator *c, struct master *m); /* of one that was refused */
/* An answer to one of its questions; the last one decides. */
void handshake_told(struct coordinator *c, struct master *m, enum command_verb verb, const struct vote *vote);
enum master_why why_of_error(enum vote_error error);

/* ---- master_memory.c ---- */

int64_t memory_px_ms(const struct coordinator *c); /* how long the group's key lives unless it is touched */
/* The handshake's reading of the group's key: may it be used, and from when on? */
void memory_judge(struct coordinator *c, struct master *m, const struct vote *group);
void memory_told_new(struct coordinator *c, struct master *m, const struct vote *vote); /* GROUP_NEW */
/* May a master that is waiting go on? */
bool memory_may_write(const struct coordinator *c);
void memory_go_on(struct coordinator *c, struct master *m);
void memory_clock_jumped(struct coordinator *c, struct master *m);

void probe_send(struct coordinator *c, struct master *m);
void probe_told(struct coordinator *c, struct master *m, const struct vote *vote);

/* ---- master_undo.c ---- */

enum { UNDO_IN_FLIGHT = 128 /* releases without reply, at most */ };

void undo_begin(struct coordinator *c, struct master *m);
void undo_step(struct coordinator *c, struct master *m);
/* The pass is over once each release of it was answered: a master that hangs in it must not get lock commands. */
void undo_look(struct coordinator *c, struct master *m);

#endif
