/* The client's line protocol: lines -> requests, replies -> lines.
 *
 * These functions work on text in the caller's memory, without allocation, state or I/O, so that the
 * client programs can use them, too. protocol.txt is the reference. */
#ifndef REDLOCKD_PROTO_LINE_H
#define REDLOCKD_PROTO_LINE_H

#include <stddef.h>

#include "proto/message.h"

/* Why a line was refused, and what to write instead:
 *
 *     [#tag] -CODE [name] [words] [: text]
 *
 * Empty fields are left out of the reply. */
struct refusal {
    enum reply_code code;
    struct tag tag;   /* len 0: the refusal goes out untagged */
    struct name name; /* len 0: the line had no name, or one that is not allowed */
    uint64_t order;   /* of a list, as in its request */
    char words[64];   /* key=value words for programs, as in "tag=7" */
    char text[160];   /* for people */
};

/* Parses one line. The caller cuts off LF or CR LF, and deals with lines that never end; more than
 * LINE_BYTES - 1 bytes are -TOOLONG here. An empty line, or one of spaces, is LINE_EMPTY. LINE_REFUSED
 * fills *refusal and leaves *request undefined. */
enum line_result { LINE_REQUEST, LINE_EMPTY, LINE_REFUSED };
enum line_result line_parse(const char *line, size_t len, struct request *request, struct refusal *refusal);

/* Each of these functions writes one line with its LF, without a NUL, and returns its length. out must have
 * room for SERVER_LINE_BYTES. tag may have len 0. line_format_hello() alone writes +HELLO, and
 * line_format_broken() +BROKEN, whose words are not in a reply. */
size_t line_format_reply(char *out, const struct tag *tag, const struct reply *reply);
size_t line_format_notice(char *out, const struct notice *notice);
size_t line_format_refusal(char *out, const struct refusal *refusal);
size_t line_format_hello(char *out, const struct tag *tag, const char *version, uint64_t session,
                         int64_t now_ms, int64_t behind_ms);
size_t line_format_broken(char *out, const struct tag *tag, const struct name *name, const char *words);
size_t line_format_end(char *out, const struct tag *tag, uint64_t rows);
/* Writes the tag, "* " and line_help(i); returns 0 if there is no row i. */
size_t line_format_help(char *out, const struct tag *tag, unsigned i);

/* A row of key=value words under construction: line_row_begin() writes the tag and "* ", line_row_text()
 * and the like append "key=value", line_row_end() ends the line. Bytes of a value outside 0x21-0x7e become
 * '?'. A text that does not fit into the line is cut, and a number that does not fit is left out. */
struct row {
    char *out;
    size_t len;
    bool any;
};
void line_row_begin(struct row *row, char *out, const struct tag *tag);
void line_row_text(struct row *row, const char *key, const char *value, size_t len);
void line_row_string(struct row *row, const char *key, const char *value);
void line_row_signed(struct row *row, const char *key, int64_t value);
void line_row_unsigned(struct row *row, const char *key, uint64_t value);
size_t line_row_end(struct row *row);

/* The words of the protocol for a verb ("LOCK"), a reply ("+LOCKED"), a limit ("max_locks") and the reason of a
 * loss ("expired"). */
const char *line_verb_word(enum verb verb);
const char *line_code_word(enum reply_code code);
const char *line_limit_word(enum limit limit);
const char *line_lost_word(enum lost_reason reason);

/* Row i of HELP without its "* "; NULL after the last row. */
const char *line_help(unsigned i);

/* Writes a token as TOKEN_HEX lower-case hex digits, without a NUL. */
void line_token_hex(char *out, const struct token *token);

/* Whether the first bytes of a connection are HTTP or TLS rather than this protocol. They may be less than
 * a line (then ask again when more have come) or more than one line. */
bool line_is_foreign(const char *bytes, size_t len);

/* Whether a line, or the beginning of a line, has a colon in its verb, as headers of HTTP or mail have. */
bool line_is_header(const char *line, size_t len);

/* A duration ("250", "250ms", "10s", "5m", "1h") in ms; -1: no duration, or more than 30 days. */
int64_t line_duration_ms(const char *text, size_t len);

#endif
