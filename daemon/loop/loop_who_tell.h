/* The answers that clients get to WHO, BREAK and UNLOCK kept. Each function but the last ends the query. */
#ifndef REDLOCKD_LOOP_WHO_TELL_H
#define REDLOCKD_LOOP_WHO_TELL_H

#include "daemon/loop/loop_who.h"

enum { QUERY_WORDS_BYTES = 256 };

/* N, as it is shown. */
static inline unsigned query_masters(const struct who_query *query)
{
    return loop_masters(query->all->view);
}

static inline unsigned query_quorum(const struct who_query *query)
{
    return loop_quorum(query->all->view).needed;
}

/* How many of these masters vote. */
static inline unsigned query_votes(const struct who_query *query, masters_t set)
{
    struct quorum quorum = loop_quorum(query->all->view);
    return quorum_count(&quorum, set);
}

void query_refuse(struct who_query *query, enum reply_code code, const char *words, const char *text);
/* Too few masters have answered, or have deleted the lock: those in yes have. */
void query_noquorum(struct who_query *query, masters_t yes);
void query_rows(struct who_query *query);   /* of WHO */
void query_unkept(struct who_query *query); /* UNLOCK kept */
void query_broken(struct who_query *query);
/* The holder that is broken, as key=value words. */
const char *query_words(const struct who_query *query, char out[QUERY_WORDS_BYTES]);

#endif
