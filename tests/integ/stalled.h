/* Five masters and three daemons on hosts of their own, whose clocks do not count when they stand still, as that of a
 * virtual machine that is paused. What none of that may change is the same in each test. */
#ifndef REDLOCKD_TESTS_STALLED_H
#define REDLOCKD_TESTS_STALLED_H

#include "tests/integ/steady.h"

#include <signal.h>
#include <stdio.h>

enum { HOSTS = 3, RENEW_TTL_MS = 4500, READING_MS = 8 /* what readings in whole ms may add */ };
enum { SHORT_MS = 150, LONG_MS = 3000, QUICK_US = 20000 };

struct host {
    struct daemon daemon;
    struct client holder; /* of a lock that is to be kept */
    struct grant held;
    char name[16];
    int64_t stopped_ms; /* when it was stopped last */
    int64_t lost_ms;    /* for so long its clock stood still, all in all */
    int64_t behind_ms;  /* and so much of it has been told */
};

extern struct cluster masters;
extern struct host hosts[HOSTS];

void host_start(unsigned i);
void cluster_of_five(void);
/* A new connection, which has been told of no event. Good until the next call. */
struct client *viewer(const struct host *host);
int64_t behind_ms(const struct host *host);
int64_t figure(const struct host *host, const char *key);

/* ---- a host stands still ---- */

void still_begin(struct host *host);
/* For at least ms, of which its clock did not count exactly ms. */
void still_end(struct host *host, int64_t ms);
/* What the masters' answers show is at most what was lost, and less than that by a round trip: by more than half only
 * where this machine stood still, too. */
bool has_noticed(struct host *host);
/* Everybody is told the same. */
void is_told(struct host *host);

/* ---- what it may not cost ---- */

/* So many vote again, and nobody has kept out, or told others to keep out, a master for its clock. */
void none_is_blamed(unsigned voting);
void is_kept(const struct host *host);
/* A lock that is valid for no longer than its TTL, by the host's own clock. */
void grants(const struct host *host);
/* Its lock was renewed, and nothing was told but renewals; it grants. */
void goes_on(struct host *host, int64_t since_ms);

#endif
