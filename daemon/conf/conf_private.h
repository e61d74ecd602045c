/* Shared by the files of the configuration only.
 *
 *     conf.c          the schema: every key with its kind, place, bounds, default, and when a change takes effect
 *     conf_kind.c     kinds of values: text -> field, field -> text
 *     conf_users.c    the kinds that only users have
 *     conf_file.c     files -> their text
 *     conf_yaml.c     the text -> a YAML document
 *     conf_read.c     the document -> settings, by the schema, every error with its place
 *     conf_report.c   errors and warnings, and which key may have been meant
 *     conf_check.c    rules between settings; warnings
 *     conf_masters.c  the rules about the masters
 *     conf_secret.c   users and passwords for masters
 *     conf_show.c     settings -> YAML, and rows of SHOW CONFIG
 *     conf_update.c   a file that was read again
 *     conf_address.c  addresses and URLs
 *     pattern.c       patterns of names; conf_serves.c: the names that this daemon serves
 *     conf_set.c      the names of the masters, their hash, and the step from one list to the next
 *     users.c         who a client is, and what it may do */
#ifndef REDLOCKD_CONF_PRIVATE_H
#define REDLOCKD_CONF_PRIVATE_H

#include <stddef.h>

#include "daemon/conf/conf.h"

enum {
    CONF_KEYS = 41,
    CONF_WHY_BYTES = 512,
    CONF_FILE_BYTES = 1 << 20,
    CONF_FAULTS_MOST = 100, /* more errors than these are not looked for: aliases could make millions */
};

/* ---- the schema ---- */

/* A key of a mapping. The file is a mapping, whose keys stand for fields of struct conf; some of them are mappings with
 * keys of their own, or lists of such. */
struct conf_row {
    const char *key;
    const struct conf_kind *kind;
    size_t at, size;     /* the field, in the struct that the mapping is about; of a list: its first item */
    int64_t min, max;    /* numbers only */
    const char *initial; /* the default as it is written in the file; NULL: all bytes of the field are 0 */
    enum conf_when when; /* when a change takes effect ... */
    const char *with;    /* ... unless this key holds it back; NULL: none does */
};

/* A value: the field of a row in a record, which is the configuration itself or something in it. */
struct conf_value {
    struct conf *conf;
    const struct conf_row *row;
    void *record;
};

struct conf_unit {
    const char *suffix;
    int64_t factor;
};

/* A kind of value: a scalar, a mapping (which has rows), or a list (which has rows and most). An item of a list is a
 * mapping, or only the value of its first key. */
struct conf_kind {
    /* Scalars: sets it; false: why says what is wrong. */
    bool (*set)(const struct conf_value *v, const char *text, char why[CONF_WHY_BYTES]);
    /* Scalars: writes value i; false: there is none. Only a kind with `many` has more than one. */
    bool (*show)(const struct conf_value *v, unsigned i, char *out, size_t size);
    const char *allowed; /* what to write, for messages */
    /* As show(), for --print-config, where that differs; else NULL. */
    bool (*print)(const struct conf_value *v, unsigned i, char *out, size_t size);
    bool (*fits)(const char *text); /* strings */
    const char *const *words;       /* words: by the field's value, ended by NULL */
    const struct conf_unit *units;  /* numbers: from the largest unit to the smallest, which has factor 1 */
    bool quoted;                    /* printed in quotes */
    bool hidden;                    /* messages do not repeat the text */
    bool many;                      /* a list of values may stand here; set() adds one */
    bool filled;                    /* ... and that list is not empty */

    const struct conf_row *rows;
    unsigned count;      /* of rows */
    const char *noun;    /* for messages, as in "a master" */
    const char *example; /* how such a mapping is written */
    /* Called when all keys were read, of an item only if they are right; false: why says what is wrong. May be NULL. */
    bool (*done)(const struct conf_value *v, char why[CONF_WHY_BYTES]);

    unsigned most;      /* items of the list; 0: it is no list */
    size_t item;        /* the size of one */
    size_t items_at;    /* their number, an unsigned: in struct conf, or in struct users */
    size_t places;      /* where they stood, in struct conf_reader; 0: that is not kept */
    const char *things; /* for messages, as in "masters" */
    const char *advice; /* what to write instead of something that is no such list */
    bool lone;          /* one item may stand without the list */
    bool empty;         /* the list may be empty */
    bool users;         /* the items are in conf->users; each is a mapping, and is named by its first key */
};

extern const struct conf_row conf_settings[]; /* CONF_KEYS of them */
extern const struct conf_kind conf_whole;     /* the mapping that is the file */

extern const struct conf_kind conf_duration, conf_size, conf_count, conf_on_off, conf_yes_no, conf_fanout,
    conf_level, conf_verify, conf_client_cert, conf_fin, conf_serve, conf_mode, conf_prefix, conf_node_user,
    conf_password_path, conf_tls_path, conf_server_name, conf_host, conf_node_name, conf_listen_address,
    conf_node_url, conf_user_name, conf_user_uid, conf_user_gid, conf_user_cert, conf_user_pattern,
    conf_user_secret, conf_served_name;

/* Whether something identifies a user. */
bool conf_user_done(const struct conf_value *v, char why[CONF_WHY_BYTES]);

/* Sets a setting that is no mapping, or the first item of a list, to a text. */
bool conf_set(struct conf *conf, const struct conf_row *row, const char *text, char why[CONF_WHY_BYTES]);
/* Writes a setting, or item i of a list, as in SHOW CONFIG; false: there is none. */
bool conf_show(const struct conf *conf, const struct conf_row *row, unsigned i, char *out, size_t size);

/* How many items a list has, and the i-th. */
unsigned conf_items(struct conf *conf, const struct conf_kind *list);
void *conf_item(struct conf *conf, const struct conf_row *row, unsigned i);
/* Forgets the items: those of the file take the place of the default. false: no memory. */
bool conf_items_clear(struct conf *conf, const struct conf_kind *list);
/* The item behind the last one, with all bytes 0. It counts when conf_item_add() was called. */
void *conf_item_new(struct conf *conf, const struct conf_row *row);
void conf_item_add(struct conf *conf, const struct conf_kind *list);

/* ---- values ---- */

/* Quotes a refused text for its message. A text with an '@' is hidden, since it may be an address in the
 * wrong place that holds a password. */
const char *conf_shown(char *out, size_t size, const char *text);
/* Whether the text is an absolute path without control characters, which a message can name as it is. */
bool conf_is_path(const char *text);
/* Says in why that the text is not what is allowed; returns false. */
bool conf_value_refuse(char why[CONF_WHY_BYTES], const char *text, const char *allowed);
/* Reads at most ten digits, as in the protocol; *rest then points behind them. false: there are none, or more. */
bool conf_digits(const char *text, int64_t *value, const char **rest);
/* Reads "on", "off" or another pair of such words. false: it is none of them. */
bool conf_switch(const char *text, bool *on);
void conf_show_duration(int64_t ms, char *out, size_t size);

/* ---- reading ---- */

/* Where a key stood in the file; line 0: the key was not there. */
struct conf_place {
    unsigned line, column; /* from 1 */
    bool broken;           /* the value was refused, so nothing can be concluded from it */
};

struct conf_reader {
    struct conf *conf;
    const char *name; /* of the file */
    FILE *errors;
    mode_t mode; /* the file's; 0: the text is in memory */
    int faults;
    bool listed; /* an unknown key was answered with the list of all keys: once is enough */
    struct yaml_document_s *document;
    const char *setting; /* the key in the file */
    const char *key;     /* the key in a mapping of that; NULL: none */
    const char *user;    /* whose mapping it is; NULL: no user's */
    struct conf_place places[CONF_KEYS];
    struct conf_place node_places[MASTERS];
    struct conf_place before_places[MASTERS];
    struct conf_place listen_places[CONF_LISTENERS];
    struct conf_place http_places[CONF_LISTENERS];
};

/* This is one of the two lists of masters: nodes, nodes_before. */
struct conf_list {
    const char *key;
    struct conf_node *nodes;
    unsigned count;
    const struct conf_place *places;
};

enum { CONF_LISTS = 2 };

struct conf_list conf_list(struct conf_reader *r, unsigned i);

void conf_fault(struct conf_reader *r, const struct conf_place *place, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void conf_warn(struct conf_reader *r, const struct conf_place *place, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Reports an unknown key of a mapping. of says which mapping, as in "nodes"; NULL: it is the file's. */
void conf_key_unknown(struct conf_reader *r, const struct conf_place *place, const struct conf_kind *mapping,
                      const char *of, const char *key);

/* The row of a key in a mapping; NULL: there is no such key. */
const struct conf_row *conf_row_find(const struct conf_kind *mapping, const char *key);
struct conf_place *conf_place(struct conf_reader *r, const char *key);

/* Reads at most size bytes; returns how many, or -1 with errno, which is 0 if only a regular file is allowed and this
 * is none. */
ssize_t conf_file_read(const char *path, bool regular, char *text, size_t size, mode_t *mode);
/* Reads a secret file's text without its line end. Returns NULL, or what is wrong. */
const char *conf_secret_read(const char *path, char *secret, size_t size, mode_t *mode);

void conf_check_masters(struct conf_reader *r);
/* Gives each master its user and password. */
void conf_check_secrets(struct conf_reader *r);
/* Whether a uid_map or gid_map, see user_namespaces(7), has all ids from 0 to 65535. */
bool conf_users_mapped(FILE *map);
/* Called when all keys were read: checks the rules between them, takes secrets from node_password_file,
 * warns. */
void conf_check(struct conf_reader *r);

#endif
