/* Commands to RESP bytes, RESP replies to votes.
 *
 * The reader reads short replies itself, all others through hiredis' reader with functions of our own. These
 * fill one fixed struct, so that a reply costs no allocation, and refuse replies that no master of ours would
 * send. Builds against hiredis 0.14 and 1.x. */
#ifndef REDLOCKD_PROTO_RESP_H
#define REDLOCKD_PROTO_RESP_H

#include <stddef.h>

#include "proto/command.h"

/* ---- commands ---- */

struct resp_format; /* the key prefix and all bytes that are the same in each command, made once */

enum {
    RESP_COMMAND_BYTES = 3584,       /* no command is longer */
    RESP_ID_HEX = 2 * TOKEN_ID_BYTES /* a daemon's id, as in queues and channels */
};

struct resp_format *resp_format_new(const char *key_prefix); /* NULL: no memory */
void resp_format_free(struct resp_format *format);

/* Writes the bytes of one command, which are the same for every master, and returns their number. */
size_t resp_command(char out[RESP_COMMAND_BYTES], const struct resp_format *format,
                    const struct command *command);

/* EXTENDs of several keys in one call of the script. Begins zeroed. All have the same most_ms. */
enum {
    RESP_BATCH_KEYS = 64,
    RESP_BATCH_HEAD_BYTES = 80,
    RESP_KEY_BYTES = 280, /* a key as RESP, at most */
    RESP_PAIR_BYTES = 80, /* a token and a TTL as RESP, at most */
    RESP_MOST_BYTES = 32,
};

struct resp_batch {
    unsigned keys;
    uint64_t most_ms;
    size_t keys_bytes, pairs_bytes;
    char
        bytes[RESP_BATCH_HEAD_BYTES + RESP_BATCH_KEYS * (RESP_KEY_BYTES + RESP_PAIR_BYTES) + RESP_MOST_BYTES];
    char pairs[RESP_BATCH_KEYS * RESP_PAIR_BYTES];
};

/* Adds an EXTEND. The batch must have room for another key. */
void resp_batch_add(struct resp_batch *batch, const struct resp_format *format,
                    const struct command *command);
/* Returns the bytes of the command and empties the batch, which must have keys. The bytes are valid until
 * the next resp_batch_add(). */
const char *resp_batch_end(struct resp_batch *batch, size_t *len);

/* SEEs of several names in one call of the script, of the same daemon. Begins zeroed; as for resp_batch. */
struct resp_sees {
    unsigned keys;
    size_t keys_bytes, rest_bytes;
    char bytes[RESP_BATCH_HEAD_BYTES + RESP_BATCH_KEYS * 4 * RESP_KEY_BYTES + RESP_KEY_BYTES];
    char rest[RESP_BATCH_KEYS * RESP_KEY_BYTES + RESP_KEY_BYTES];
};

void resp_sees_add(struct resp_sees *sees, const struct resp_format *format, const struct command *command);
const char *resp_sees_end(struct resp_sees *sees, size_t *len);

/* The commands with which a connection begins; NULL: no memory. *len gets the length, and
 * resp_bytes_free() frees the bytes. Without a user (NULL or empty), AUTH has the password alone. */
char *resp_auth(const char *user, const char *password, size_t *len);
char *resp_select(int db, size_t *len);
char *resp_client_id(size_t *len);
char *resp_client_kill(uint64_t id, size_t *len);
char *resp_info(size_t *len);
char *resp_subscribe(const char *channel, size_t *len);
char *resp_ping(const char *text, size_t *len); /* the reply is the text, if there is one */

/* A command of these words. */
char *resp_words(const char *const words[], unsigned count, size_t *len);
/* id and words: this daemon, and what stands behind at= in its entry; cursor: where the page begins. */
char *resp_daemons(const struct resp_format *format, const char *id, const char *words, const char *cursor,
                   size_t *len);

/* The scripts, which run by EVALSHA. */
enum {
#define SCRIPT(name) RESP_SCRIPT_##name,
#include "proto/command.def"
    RESP_SCRIPTS,
    RESP_SHA1_HEX = 40
};
/* CHECK of no lock: an answer without effect, or NOSCRIPT. */
char *resp_script_trial(const char *key_prefix, size_t *len);
char *resp_script_load(unsigned script, size_t *len);
const char *resp_script_text(unsigned script);
const char *resp_script_sha1(unsigned script); /* SCRIPT LOAD must answer it */
/* The script that a verb runs; -1: none. */
int resp_script_of(enum command_verb verb);

void resp_bytes_free(char *bytes);

/* ---- replies ---- */

enum resp_type { RESP_NIL, RESP_STATUS, RESP_ERROR, RESP_INTEGER, RESP_STRING, RESP_ARRAY };

enum {
    RESP_TEXT_BYTES = 256,
    RESP_REPLY_BYTES = 64 * 1024,
    RESP_ARRAY_ELEMENTS = 256,
    RESP_FIRST_BYTES = 16
};

/* The last complete reply. A longer string than text has room for is cut, but a reply to INFO is parsed into
 * info before. The elements of an array are of use if all are integers, or all are strings of 1 to 18
 * digits. */
struct resp_reply {
    enum resp_type type;
    bool integers, decimals; /* array: all elements are such; both are true for an empty array */
    long long integer;       /* array: the number of elements */
    int64_t element[RESP_ARRAY_ELEMENTS];
    size_t whole_len; /* the length of a text before it was cut */
    const char *
        whole; /* RESP_STRING, or the last string of an array that text is too short for: all of it, until any
                        * reader reads its next reply; not terminated */
    size_t text_len;
    char text[RESP_TEXT_BYTES + 1]; /* terminated by NUL; array: the last of its strings */
    char first[RESP_FIRST_BYTES];   /* array: its first element, if that is a string, cut; terminated */
    bool has_info;                  /* the string had every field of info */
    struct master_info info;
};

struct resp_reader;

struct resp_reader *resp_reader_new(void); /* NULL: no memory */
void resp_reader_free(struct resp_reader *reader);

/* Takes bytes from the socket. 0, or -1: no memory. */
int resp_reader_feed(struct resp_reader *reader, const char *bytes, size_t len);

/* Returns 1 and the next complete reply (valid until the next call), 0 if more bytes are needed, or -1 if
 * the peer broke the protocol or a limit, or there is no memory: *why says which, and the connection must
 * be closed. */
int resp_reader_next(struct resp_reader *reader, const struct resp_reply **reply, const char **why);

/* The vote that a reply to a command is. A reply whose type the command cannot have is VOTE_ERROR with
 * ERROR_OTHER. */
void resp_vote(enum command_verb verb, const struct resp_reply *reply, struct vote *vote);
/* The vote on one key of an EXTEND of several. An error or a wrong type counts for all keys. */
void resp_vote_key(const struct resp_reply *reply, unsigned key, unsigned keys, struct vote *vote);
/* The same of several SEEs. */
void resp_vote_seen(const struct resp_reply *reply, unsigned key, unsigned keys, struct vote *vote);

/* Whether the server does not have the script that was to run. */
bool resp_is_not_run(const struct resp_reply *reply);
/* The class of an error reply. */
enum vote_error resp_error(const struct resp_reply *reply);
const char *resp_error_name(enum vote_error error); /* "OOM", ... */

#endif
