/* The users of the configuration: who they are, and what they may do. conf_users.c reads them.
 *
 * Each user is found by one of its marks, in this order: the name and secret that AUTH shows, a name in the
 * client's certificate, the user id or the group id of a Unix socket's peer. The user `anyone` has no mark:
 * it stands for all clients that no other user matches. Nothing is allowed that no rule allows. */
#ifndef REDLOCKD_USERS_H
#define REDLOCKD_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/message.h"
#include "proto/secret.h"

enum {
    USERS_MAX = 256,
    USER_MARKS = 4096,            /* marks and patterns of all users */
    USER_NUMBERS = 2 * USERS_MAX, /* a reload gives new users other numbers than the users before had */
    USER_NOBODY = 65534 /* the kernel shows this id for each one that is not mapped: it proves nothing */
};

#define USER_ANYONE "anyone"

enum user_mark_kind { MARK_UID, MARK_GID, MARK_CERT, MARK_LOCK, MARK_SHOW };

/* A mark is one item of uid, gid, cert, lock or show. */
struct user_mark {
    enum user_mark_kind kind;
    uint32_t id; /* uid, gid */
    char *text;  /* cert, lock, show; else NULL */
};

struct user {
    char name[WORD_BYTES + 1];
    uint16_t number;     /* below USER_NUMBERS; the same after a reload */
    uint16_t first, end; /* its marks in users->marks */
    bool admin;
    int64_t max_locks, max_waits, max_clients; /* 0: those per peer */
    char *secret_file;                         /* NULL: none */
    uint8_t secret[SECRET_HASH_BYTES];         /* SHA-256 of the secret */
};

struct users {
    unsigned owners; /* configurations */
    unsigned count, marks_count;
    const struct user *numbered[USER_NUMBERS]; /* (ref in list) by number; NULL: none */
    struct user list[USERS_MAX];
    struct user_mark marks[USER_MARKS];
};

/* The properties by which a client's user is found. */
struct user_client {
    bool local; /* a Unix socket: uid and gid are those of its peer */
    uid_t uid;
    gid_t gid;
    /* The names of its verified certificate, each with a LF behind it: of dNSName, of URI, or the CN if it
     * has no list of names. NULL: no certificate. */
    const char *certificate;
};

struct users *users_new(void); /* NULL: no memory */
/* Another configuration becomes an owner, too. */
struct users *users_share(struct users *users);
/* An owner gives them up; the last one frees them. */
void users_free(struct users *users);

const struct user *users_named(const struct users *users, const char *name, size_t len); /* NULL: none */
/* The user that matches the client by other marks than AUTH, or else anyone; NULL: there is none. */
const struct user *users_find(const struct users *users, const struct user_client *client);

bool user_may_lock(const struct users *users, const struct user *user, const struct name *name);
/* Whether SHOW may tell the user of that name, though the lock is not its own. */
bool user_may_show(const struct users *users, const struct user *user, const struct name *name);
/* Whether the user may see at least some name. */
bool user_shows(const struct users *users, const struct user *user);

/* Whether some user has a mark of that kind. */
bool users_have(const struct users *users, enum user_mark_kind kind);
/* Whether cert, as in the configuration, is that name of a certificate. DNS names are compared in any case; a
 * URI, which has a colon, byte for byte. */
bool user_cert_fits(const char *cert, const char *name, size_t len);

/* Gives each user its number: the one that a user of this name had before, or else one that was free. before
 * may be NULL. */
void users_number(struct users *users, const struct users *before);
/* Either list may be NULL. Numbers do not count. */
bool users_equal(const struct users *a, const struct users *b);

const char *user_mark_word(enum user_mark_kind kind); /* its key in the configuration */
/* Row i of what SHOW CONFIG tells of the users, as in "billing,lock=billing/x"; false: there is none. */
bool users_row(const struct users *users, unsigned i, char *out, size_t size);
unsigned users_rows(const struct users *users); /* how many */

#endif
