/* Shared by the files of the configuration only.
 *
 *     conf.c          the table of settings, defaults, printing
 *     conf_value.c    one value: text -> field, field -> text
 *     conf_list.c     the lists: listen, http, http_hosts, nodes
 *     conf_address.c  addresses and URLs
 *     conf_set.c      the names of the masters, and their hash
 *     conf_tls.c      certificates, keys and whom to trust
 *     conf_report.c   errors and warnings with their place in the file
 *     conf_file.c     the file -> its text
 *     conf_read.c     YAML -> settings, every error with its place; conf_yaml.h has what it shares with
 *     conf_users.c    YAML -> users
 *     users.c         who a client is, and what it may do
 *     conf_secret.c   users and passwords for masters
 *     conf_check.c    rules between settings; warnings
 *     conf_update.c   a file that was read again */
#ifndef REDLOCKD_CONF_PRIVATE_H
#define REDLOCKD_CONF_PRIVATE_H

#include <stddef.h>

#include "daemon/conf/conf.h"

enum { CONF_KEYS = 34, CONF_WHY_BYTES = 512, CONF_FILE_BYTES = 1 << 20 };

struct conf_setting;

/* A kind of value. set() returns false with the reason in why. show() writes the i-th value and returns
 * false if there is none; only lists have more than one. */
struct conf_kind {
    bool (*set)(struct conf *conf, const struct conf_setting *setting, const char *text,
                char why[CONF_WHY_BYTES]);
    bool (*show)(const struct conf *conf, const struct conf_setting *setting, unsigned i, char *out,
                 size_t size);
    bool list;   /* set() appends one item */
    bool quoted; /* printed in quotes */
    /* An item of a list may be a mapping, too. head is the key whose value set() takes, and tls() finds the place
     * for what the key tls of the item that was appended last holds. A kind that is no list but has tls() is a
     * mapping of the keys of tls. */
    const char *head;
    struct wire_settings *(*tls)(struct conf *conf);
    enum wire_side side;
};

struct conf_setting {
    const char *key;
    const struct conf_kind *kind;
    size_t offset;
    int64_t min, max;    /* numbers only */
    enum conf_when when; /* when a change takes effect ... */
    const char *with;    /* ... unless this key holds it back; NULL: none does */
};

extern const struct conf_setting conf_settings[CONF_KEYS];

extern const struct conf_kind conf_kind_listen, conf_kind_http, conf_kind_hosts, conf_kind_nodes,
    conf_kind_duration, conf_kind_size, conf_kind_count, conf_kind_switch, conf_kind_fanout, conf_kind_level,
    conf_kind_mode, conf_kind_prefix, conf_kind_user, conf_kind_path, conf_kind_users, conf_kind_node_tls;

/* Quotes a refused text for its message. A text with an '@' is hidden, since it may be an address in the
 * wrong place that holds a password. */
const char *conf_shown(char *out, size_t size, const char *text);

/* How many items a list has. */
unsigned conf_items(const struct conf *conf, const struct conf_setting *setting);
/* Forgets the items of a list: those of the file take the place of the default. */
void conf_items_clear(struct conf *conf, const struct conf_setting *setting);
/* The last entry of listen or http. */
struct conf_listener *conf_last_listener(struct conf *conf, const struct conf_setting *setting);
/* Sets a key that stands beside the address in a mapping of listen or http. A key with a list of words is
 * set once for each. */
bool conf_listener_set(struct conf_listener *listener, const struct conf_setting *setting, const char *key,
                       const char *text, char why[CONF_WHY_BYTES]);
/* Sets a key that stands beside the URL of the last master. */
bool conf_node_set(struct conf *conf, const char *key, const char *text, char why[CONF_WHY_BYTES]);
/* Writes what an entry of http serves, with the separator between the words. */
void conf_show_serves(unsigned serves, const char *separator, char *out, size_t size);

/* Says in why that the text is not what is allowed; returns false. */
bool conf_value_refuse(char why[CONF_WHY_BYTES], const char *text, const char *allowed);

/* Reads at most ten digits, as in the protocol; *rest then points behind them. false: there are none, or more. */
bool conf_digits(const char *text, int64_t *value, const char **rest);

/* Reads "on", "off" or another pair of such words. false: it is none of them. */
bool conf_switch(const char *text, bool *on);

void conf_show_duration(int64_t ms, char *out, size_t size);

/* Whether a master is printed with its user and password: with a user other than node_user, or with any if
 * there is no node_password_file. */
bool conf_node_has_own_user(const struct conf *conf, const struct conf_node *node);

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
    struct conf_place places[CONF_KEYS];
    struct conf_place node_places[MASTERS];
    struct conf_place listen_places[CONF_LISTENERS];
    struct conf_place http_places[CONF_LISTENERS];
};

void conf_fault(struct conf_reader *r, const struct conf_place *place, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void conf_warn(struct conf_reader *r, const struct conf_place *place, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Sets a key of a mapping `tls` or `node_tls`. */
bool conf_tls_set(struct wire_settings *tls, enum wire_side side, const char *key, const char *text,
                  char why[CONF_WHY_BYTES]);
/* Writes the keys that have a value, as in "ca=/etc/ca.pem,verify=full", or as YAML: ca: "/etc/ca.pem", ... */
void conf_tls_show(const struct wire_settings *tls, enum wire_side side, bool yaml, char *out, size_t size);

/* The index of a key in conf_settings; -1: there is no such key. */
int conf_key_find(const char *key);
struct conf_place *conf_place(struct conf_reader *r, const char *key);

/* Reads the text of a whole file; returns the number of errors. */
int conf_text_read(struct conf_reader *r, const char *text, size_t len);

/* Reads a secret file's text without its line end. Returns NULL, or what is wrong. */
const char *conf_secret_read(const char *path, char *secret, size_t size, mode_t *mode);
/* Gives each master its user and password. */
void conf_check_secrets(struct conf_reader *r);

/* Refuses ids of users if this process cannot see them. */
void conf_users_check(struct conf_reader *r);
/* Whether a uid_map or gid_map, see user_namespaces(7), has all ids from 0 to 65535. */
bool conf_users_mapped(FILE *map);

/* Called when all keys were read: checks the rules between them, takes secrets from node_password_file,
 * warns. */
void conf_check(struct conf_reader *r);

#endif
