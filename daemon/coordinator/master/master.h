/* Masters: for each Redis server, the state that says what it may be used for (enum master_state in
 * coordinator.h). The picture of the states is in master.c. */
#ifndef REDLOCKD_MASTER_H
#define REDLOCKD_MASTER_H

#include "daemon/coordinator/data/state.h"

/* Sets up master number index, without a connection. */
void master_init(struct coordinator *c, unsigned index);

/* A new connection was logged in: the handshake begins. */
void master_connected(struct coordinator *c, struct master *m, uint32_t connection);
/* The connection is gone, or could not be made. */
void master_lost(struct coordinator *c, struct master *m);
/* Too many bytes wait to be sent: the connection is closed. */
void master_backlog(struct coordinator *c, struct master *m);
/* This daemon's step, or what keys show, has changed: which masters vote and get renewals and releases is judged anew. */
void master_follow_step(struct coordinator *c);
/* Handles the master's deadline item. */
void master_timer(struct coordinator *c, struct master *m);

/* Any reply arrived, so the master is alive. Called for every reply, before the reply is handled. */
void master_heard(struct coordinator *c, struct master *m);
/* Handles the reply to a command about the master itself: CLIENT ID, INFO, TIME, KILL, the group's key,
 * PROBE. */
void master_told(struct coordinator *c, struct master *m, enum command_verb verb, const struct vote *vote);
/* Handles an error reply to any command: the master may have to leave service. */
void master_answered_error(struct coordinator *c, struct master *m, enum command_verb verb,
                           enum vote_error error);

/* These masters left a command unanswered for node_timeout: they are slow until they have caught up. */
void masters_overdue(struct coordinator *c, masters_t masters);
/* The configuration changed: time-outs are computed anew. */
void masters_reconfigured(struct coordinator *c);

#endif
