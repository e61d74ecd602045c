/* Five masters and three daemons, each on a host of its own. A host's clock can stand still without
 * counting the time, like that of a paused virtual machine. Each test then asserts that no lock and no vote
 * was lost by it. */
#ifndef REDLOCKD_TESTS_STALLED_H
#define REDLOCKD_TESTS_STALLED_H

#include "tests/integ/only.h"
#include "tests/integ/steady.h"

#include <signal.h>
#include <stdio.h>

enum { HOSTS = 3, RENEW_TTL_MS = 4500, READING_MS = 8 /* the error of readings in whole ms */ };
enum { SHORT_MS = 150, LONG_MS = 3000, QUICK_US = 20000 };

struct host {
    struct daemon daemon;
    struct client holder; /* holds the lock that must be kept */
    struct grant held;
    char name[16];
    int64_t stopped_ms; /* the last stop */
    int64_t lost_ms;    /* the time that its clock has stood still, all stops together */
    int64_t behind_ms;  /* the part of lost_ms that clients have been told */
};

extern struct host hosts[HOSTS];

void host_start(unsigned i);
void cluster_of_five(void);
/* A new connection, which has been told of no event; valid until the next call. */
struct client *viewer(const struct host *host);
int64_t behind_ms(const struct host *host);
int64_t figure(const struct host *host, const char *key);

/* ---- a host stands still ---- */

/* Waits, for some seconds at most, until all masters answer quickly: slow answers leave open how far a clock is off. */
void answers_are_quick(const struct host *host);
void still_at_once(struct host *host);
/* Both. */
void still_begin(struct host *host);
/* Ends a stop that lasts at least ms, of which the host's clock missed exactly ms. */
void still_end(struct host *host, int64_t ms);
/* The masters' answers show at most the time that was lost. A round trip hides a part of it, and more
 * than half only where this machine stood still, too. */
bool has_noticed(struct host *host);
/* The holder's event, the statistics and the log tell the same time. */
void is_told(struct host *host);

/* ---- what it may not cost ---- */

/* Asserts that this many masters vote again, and that no daemon has put a master in quarantine for its
 * clock, or told other daemons to. */
void none_is_blamed(unsigned voting);
void is_kept(const struct host *host);
/* A new lock is valid for no longer than its TTL, by the host's own clock. */
void grants(const struct host *host);
/* The holder's lock was renewed, no event but renewals came, and the host grants. */
void goes_on(struct host *host, int64_t since_ms);

#endif
