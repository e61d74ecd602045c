/* The daemons of a group as each master lists them, in the hash <prefix>,daemons:
 *
 *     5f0c93aa -> at=1732200000000 host=web1 version=0.1.0 since=2026-11-22T14:03:05Z listen=10.0.0.9:7335
 *                 step=4 generation=2 marker=2 node_timeout=50
 *
 * (one line). The words from step= on change while the daemon runs: the step by which it votes, the generation of its
 * file, the version of the group's key that it knows, and its node_timeout in ms. The first daemons did not write them.
 * at is the master's own time. Each daemon writes itself there every 10 s, by a script. With a page of the hash, which
 * a daemon reads once a minute, or page by page where somebody asks for the list, the script also drops what is older
 * than a minute on that page, and answers with the rest of it:
 *
 *     ok 0                      or full: there is no room for this daemon; and where the next page begins, 0: at
 *     5f0c93aa 120 host=...     the first one. An entry a line: its id, its age in ms, its words.
 *
 * or "taken": another daemon has the id. All of it is read from a master, so it may be anything. */
#ifndef REDLOCKD_PROTO_DAEMONS_H
#define REDLOCKD_PROTO_DAEMONS_H

#include <stddef.h>

#include "proto/message.h"

enum {
    DAEMONS_ID_HEX = 2 * TOKEN_ID_BYTES,
    DAEMONS_MAX = 16384,     /* in the hash; the script has the same number */
    DAEMONS_KEEP_MS = 60000, /* age from which on an entry counts no more; the script has the same number */
    DAEMONS_ENTRIES = 512,   /* a page has so many at most, whatever a master says */
    DAEMONS_WORDS_BYTES = 4 * (WORD_BYTES + 16) + 80,
    DAEMONS_MARKER = 2, /* the version of the group's key that has steps */
    DAEMONS_CURSOR_BYTES = 24,
};

/* Words of at most WORD_BYTES; "?" stands for any other text. The rest of each array is zero. */
struct daemon_row {
    char id[DAEMONS_ID_HEX + 1];
    char host[WORD_BYTES + 1], version[WORD_BYTES + 1], since[WORD_BYTES + 1], listen[WORD_BYTES + 1];
    struct daemon_step {
        uint32_t step, generation;
        uint32_t marker; /* 0: it does not say, and knows no steps */
        uint32_t node_timeout_ms;
    } at;
};

/* Writes a text, or "?" if it is no word. */
void daemons_word(char out[WORD_BYTES + 1], const char *text, size_t len);
/* Writes the words of a row as they stand behind at=. */
void daemons_words(char out[DAEMONS_WORDS_BYTES], const struct daemon_row *row);

struct daemons_page {
    bool taken, full;
    char next[DAEMONS_CURSOR_BYTES]; /* "0": this was the last page */
    const char *at, *end;
    unsigned entries;
};

/* text must live as long as the page. false: no script of ours has written it. */
bool daemons_page_begin(struct daemons_page *page, const char *text, size_t len);
/* Reads the next entry, and skips what is none; false: there are no more. */
bool daemons_page_next(struct daemons_page *page, struct daemon_row *row, int64_t *age_ms);

#endif
