/* What the holder of a lock tells others: LOCK data=, DATA. WHO reads it from the masters.
 *
 *     LOCK data= --Q granted, the fence stands--> TELLING --Q have the data--> +LOCKED
 *                                                        \--fewer----------> undone, as a fence that was not stored
 *     DATA ----------------------------------------------> TELLING --Q have it--> +DATA
 *     a renewal, a heal --------------------------------> sent again, with the key's new TTL
 *     RESUME --Q moved the key, +LOCKED--> ADOPT: the masters write it for the new token and fence, and tell it to this
 *                                          daemon, which may not have known it
 *
 * A master keeps it beside the key, for as long as the key lives, and it begins with the token. One script writes it, only
 * where the key has that token, and whoever reads it compares the two: so it needs no release, and is never told of a
 * later holder. The tokens of such locks say so (token_tells()), by which a RESUME at another daemon knows of it. */
#ifndef REDLOCKD_DATA_H
#define REDLOCKD_DATA_H

#include "daemon/coordinator/data/state.h"

/* A LOCK came: data= makes it a leader's. */
void data_asked(const struct coordinator *c, struct wait *wait, const struct data *data);
/* The head's attempt has its fence: it tells masters what the head wants told. Returns false if there is no such thing, or
 * they have it. */
bool data_begins(struct coordinator *c, struct round *round);
/* The functions that follow do nothing for a lease whose holder tells nothing. The lease has nothing to tell yet; it tells
 * what the head wanted told. */
void data_none(const struct coordinator *c, const struct lease *lease);
void data_taken(const struct coordinator *c, const struct lease *lease, const struct wait *head);

/* Sends it to these masters again, behind what gave the key its TTL. */
void data_again(struct coordinator *c, const struct lease *lease, masters_t masters);
/* A RESUME of the old token brought the lease; and a master's answer to that. */
void data_adopt(struct coordinator *c, const struct lease *lease, const struct token *old);
void data_adopted(struct coordinator *c, const struct coordinator_event *event);

/* DATA, for the lease that the session has of the name; NULL: none. */
void data_request(struct coordinator *c, const struct coordinator_event *event, struct lease *lease);
void data_look(struct coordinator *c, struct round *round, bool late);

#endif
