/* Commands to RESP bytes, RESP replies to votes.
 *
 * Replies are read by hiredis' reader with functions of our own, which fill one
 * fixed struct, so that a reply costs no allocation, and which refuse what no
 * master of ours would send. Builds against hiredis 0.14 and 1.x. */
#ifndef REDLOCKD_PROTO_RESP_H
#define REDLOCKD_PROTO_RESP_H

#include <stddef.h>

#include "proto/command.h"

/* ---- commands ---- */

struct resp_format; /* the key prefix, and all that is the same in each command, made once */

enum { RESP_COMMAND_BYTES = 1024 }; /* no command is longer */

struct resp_format *resp_format_new(const char *key_prefix); /* NULL: no memory */
void resp_format_free(struct resp_format *format);

/* Writes the bytes of one command and returns how many they are. The same go to every master. */
size_t resp_command(char out[RESP_COMMAND_BYTES], const struct resp_format *format,
                    const struct command *command);

/* EXTENDs of several keys in one script. One that is zeroed is empty. */
enum {
    RESP_BATCH_KEYS = 64,
    RESP_BATCH_HEAD_BYTES = 80,
    RESP_KEY_BYTES = 272, /* at most, as a word; and a token with a number: */
    RESP_PAIR_BYTES = 80,
};

struct resp_batch {
    unsigned keys;
    size_t keys_bytes, pairs_bytes;
    char bytes[RESP_BATCH_HEAD_BYTES + RESP_BATCH_KEYS * (RESP_KEY_BYTES + RESP_PAIR_BYTES)];
    char pairs[RESP_BATCH_KEYS * RESP_PAIR_BYTES];
};

/* An EXTEND, if it has room for another key. */
void resp_batch_add(struct resp_batch *batch, const struct resp_format *format,
                    const struct command *command);
/* The bytes of the command, if it has keys; they are good until the next is added to what is empty again. */
const char *resp_batch_end(struct resp_batch *batch, size_t *len);

/* What the transport says on its own at the start of a connection; NULL: no memory. *len gets the length; free
 * with resp_bytes_free(). user may be NULL or empty: AUTH with the password alone. */
char *resp_auth(const char *user, const char *password, size_t *len);
char *resp_select(int db, size_t *len);

/* The scripts that RELEASE, EXTEND, CHECK and MOVE run by EVALSHA. */
enum { RESP_SCRIPTS = 4, RESP_SHA1_HEX = 40 };
char *resp_script_load(unsigned script, size_t *len);
const char *resp_script_text(unsigned script);
const char *resp_script_sha1(unsigned script); /* what SCRIPT LOAD must answer */
/* Which script a verb runs; -1: none. */
int resp_script_of(enum command_verb verb);

void resp_bytes_free(char *bytes);

/* ---- replies ---- */

enum resp_type { RESP_NIL, RESP_STATUS, RESP_ERROR, RESP_INTEGER, RESP_STRING, RESP_ARRAY };

enum { RESP_TEXT_BYTES = 256, RESP_REPLY_BYTES = 64 * 1024, RESP_ARRAY_ELEMENTS = 256 };

/* The last whole reply. Strings longer than text are cut (text_len is what was
 * kept); an INFO reply is read into info as it arrives. Of an array the elements are
 * kept where all are integers, or all strings of 1 to 18 digits: nobody needs others. */
struct resp_reply {
    enum resp_type type;
    bool integers, decimals; /* of an array: what all its elements are; both of one that has none */
    long long integer;       /* of an array: how many elements it has */
    int64_t element[RESP_ARRAY_ELEMENTS];
    size_t whole_len; /* of a string as it came */
    size_t text_len;
    char text[RESP_TEXT_BYTES + 1]; /* terminated by NUL */
    bool has_info;                  /* a string that told all that info holds */
    struct master_info info;
};

struct resp_reader;

struct resp_reader *resp_reader_new(void); /* NULL: no memory */
void resp_reader_free(struct resp_reader *reader);

/* Feeds bytes. 0, or -1: no memory. */
int resp_reader_feed(struct resp_reader *reader, const char *bytes, size_t len);

/* The next whole reply: 1 and *reply (valid until the next call), 0 when more bytes
 * are needed, -1 when the peer breaks the protocol or a limit: *why says how, and the
 * connection must be closed. */
int resp_reader_next(struct resp_reader *reader, const struct resp_reply **reply, const char **why);

/* What a reply says to a command. A reply of a type that the command cannot have is
 * VOTE_ERROR with ERROR_OTHER. */
void resp_vote(enum command_verb verb, const struct resp_reply *reply, struct vote *vote);
/* The same of an EXTEND of so many keys, to one of them. What is wrong or refused is so for all. */
void resp_vote_key(const struct resp_reply *reply, unsigned key, unsigned keys, struct vote *vote);

/* The class of an error reply. */
enum vote_error resp_error(const struct resp_reply *reply);
const char *resp_error_name(enum vote_error error); /* "OOM", ... */

#endif
