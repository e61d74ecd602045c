/* The answers that clients get to WHO, BREAK and UNLOCK kept. Each function but the last ends the query. */
#ifndef REDLOCKD_LOOP_WHO_TELL_H
#define REDLOCKD_LOOP_WHO_TELL_H

#include "daemon/loop/loop_who.h"

enum { QUERY_WORDS_BYTES = 256 };

static inline unsigned query_masters(const struct who_query *query)
{
    return query->all->view->conf->masters;
}

static inline unsigned query_quorum(const struct who_query *query)
{
    return quorum_of(query_masters(query));
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
