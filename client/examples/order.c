/* An order that must not be placed twice, although it is sent twice: a customer clicks again, a phone repeats
 * a request that got no answer, two web servers take the same request from a queue.
 *
 *     nc -l localhost 7001                     the supplier: you
 *     order localhost:7001 4711 'two lamps'    type OK where nc runs: "placed"
 *     order localhost:7001 4711 'two lamps'    "placed already, or being placed"
 *
 * The lock is a lease named after the order, and is not given back after the order was placed: for its TTL
 * every repeat finds the lock, here or on another host, whether this program still runs or not. Try it: end
 * the first `order` with ^C before you answer. A session lock would be free then, and the repeat would place
 * an order that may have been placed. The lock is given back only if the supplier surely has no order.
 *
 * Exit status: 0 placed, 1 surely not placed (try again at any time), 2 wrong usage, 3 a repeat, 4 in doubt,
 * 75 no lock.
 *
 * Choose a TTL (-t, in seconds; redlockd's max_ttl has to allow it) that is longer than the time in which
 * repeats may come. The lock covers the time in which nobody knows the outcome yet; to refuse repeats for
 * ever, put the order's number under a unique index in your database. A supplier that recognises an order's
 * number needs no lock. Comparing fences does not help: a repeat has the higher fence.
 *
 *     cc order.c $(pkg-config --cflags --libs libredlock) */
#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <redlock.h>

enum { TTL_S = 60, SUPPLIER_S = 10 };
enum outcome { PLACED = 0, NOT_PLACED = 1, USAGE = 2, REPEATED = 3, IN_DOUBT = 4, NO_LOCK = 75 };

static FILE *dial(const char *host, const char *port)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    const struct timeval limit = {.tv_sec = SUPPLIER_S};
    struct addrinfo *list = NULL;
    int fd = -1;

    if (getaddrinfo(host, port, &hints, &list) != 0)
        return NULL;
    for (const struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
        if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) != 0) {
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(list);
    if (fd < 0)
        return NULL;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return fdopen(fd, "r+");
}

/* Reads an answer. A read with a time limit also ends, without an answer, when this program is stopped and
 * continued (^Z, fg), and is then repeated. */
static bool order_hear(FILE *supplier, char *answer, int size)
{
    char *heard;

    do {
        clearerr(supplier);
        errno = 0;
        heard = fgets(answer, size, supplier);
    } while (!heard && errno == EINTR);
    return heard != NULL;
}

/* Places the order with a supplier that does not notice repeats. */
static enum outcome place(FILE *supplier, const char *number, const char *what, uint64_t fence)
{
    char answer[64] = "";

    fprintf(supplier, "ORDER %s fence=%llu %s\n", number, (unsigned long long)fence, what);
    /* From here on the supplier may have the order. */
    if (fflush(supplier) != 0 || !order_hear(supplier, answer, sizeof answer))
        return IN_DOUBT;
    if (strncmp(answer, "OK", 2) == 0)
        return PLACED;
    return strncmp(answer, "NO", 2) == 0 ? NOT_PLACED : IN_DOUBT;
}

static enum outcome order_locked(struct redlock_lock *lock, char *address, const char *number,
                                 const char *what)
{
    char *colon = strrchr(address, ':');

    if (colon)
        *colon = '\0';
    FILE *supplier = dial(address, colon ? colon + 1 : "7001");
    if (!supplier) {
        fprintf(stderr, "the supplier cannot be reached\n");
        return NOT_PLACED;
    }
    /* A pause until here may have lasted longer than the lease. */
    enum outcome outcome = NOT_PLACED;
    if (redlock_valid_ms(lock) > SUPPLIER_S * 1000L)
        outcome = place(supplier, number, what, redlock_fence(lock));
    (void)fclose(supplier);
    return outcome;
}

static enum outcome order(struct redlock *redlock, char *address, const char *number, const char *what,
                          long ttl_s)
{
    static const char *const says[] = {
        [PLACED] = "placed", [NOT_PLACED] = "not placed", [IN_DOUBT] = "in doubt"};
    const struct redlock_lock_options options = {.ttl_ms = ttl_s * 1000, .hold = REDLOCK_LEASE};
    char name[REDLOCK_NAME_BYTES + 1];

    (void)snprintf(name, sizeof name, "order:%s", number);
    struct redlock_lock *lock = redlock_lock(redlock, name, &options);
    if (!lock && redlock_error(redlock) == REDLOCK_BUSY) {
        printf("order %s: placed already, or being placed\n", number);
        return REPEATED;
    }
    if (!lock) {
        fprintf(stderr, "order %s: not placed, try later: %s\n", number, redlock_error_text(redlock));
        return NO_LOCK;
    }
    enum outcome outcome = order_locked(lock, address, number, what);
    printf("order %s: %s\n", number, says[outcome]);
    if (outcome == NOT_PLACED)
        (void)redlock_unlock(lock);
    return outcome;
}

int main(int argc, char **argv)
{
    bool timed = argc > 2 && strcmp(argv[1], "-t") == 0;
    long ttl_s = timed ? strtol(argv[2], NULL, 10) : TTL_S;

    argc -= timed ? 2 : 0;
    argv += timed ? 2 : 0;
    if (argc != 4 || ttl_s <= SUPPLIER_S) {
        fprintf(stderr, "usage: order [-t SECONDS] SUPPLIER NUMBER WHAT, with more than %d seconds\n",
                SUPPLIER_S);
        return USAGE;
    }
    struct redlock *redlock = redlock_open(NULL, NULL);
    enum outcome outcome = order(redlock, argv[1], argv[2], argv[3], ttl_s);
    redlock_close(redlock); /* the lease stays */
    return (int)outcome;
}
