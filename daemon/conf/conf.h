/* The configuration: YAML in, one struct out. */
#ifndef REDLOCKD_CONF_H
#define REDLOCKD_CONF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "daemon/log.h"
#include "proto/message.h"

enum {
    CONF_LISTENERS = 16,
    CONF_HOST_BYTES = 256,
    CONF_PATH_BYTES = 104,
    CONF_SECRET_BYTES = 256,
    CONF_PREFIX_BYTES = 64
};

/* An address to listen on or to dial: path is set for a Unix socket, host and port else. */
struct conf_address {
    char host[CONF_HOST_BYTES]; /* without brackets */
    char path[CONF_PATH_BYTES];
    uint16_t port;
    char shown[CONF_HOST_BYTES + 16]; /* host:port, [v6]:port or unix:/path: for logs and SHOW */
};

struct conf_listener {
    struct conf_address address;
    bool
        fin_breaks; /* a client's FIN may be made of a reset on the way, and so is no proof that it is done */
};

struct conf_node {
    struct conf_address address;
    char user[CONF_SECRET_BYTES];     /* "": none */
    char password[CONF_SECRET_BYTES]; /* "": none */
    int db;
};

struct conf {
    struct conf_listener listen[CONF_LISTENERS];
    unsigned listeners;
    mode_t unix_mode;
    struct conf_node nodes[MASTERS];
    unsigned masters;
    char node_user[CONF_SECRET_BYTES];
    char node_password_file[1024];
    char key_prefix[CONF_PREFIX_BYTES + 1];
    int64_t default_ttl_ms, min_ttl_ms, max_ttl_ms;
    int64_t node_timeout_ms;
    int64_t min_validity_ms;
    int64_t client_keepalive_ms;
    int64_t node_backlog_bytes;
    int64_t retry_min_ms, retry_max_ms;
    bool restart_guard;
    int64_t drain_timeout_ms;
    int64_t max_clients, max_locks, max_waiters;
    int64_t max_locks_per_client, max_waits_per_client;
    int64_t max_clients_per_peer, max_locks_per_peer, max_waits_per_peer; /* see conf_share() */
    int64_t max_output_bytes;
    int64_t idle_line_timeout_ms;
    enum log_level log_level;
};

/* What stands without a file: every default of conf/redlockd.yaml, no masters. */
void conf_defaults(struct conf *conf);

/* What one peer may have of the whole: 0 stands for a quarter. */
static inline int64_t conf_share(int64_t per_peer, int64_t whole)
{
    return per_peer > 0 ? per_peer : (whole + 3) / 4;
}

/* Reads a file over the defaults. Every error goes to errors as one line
 * "file:line:column: key: what is wrong and what is allowed", and the number of them
 * is returned; 0: *conf is whole and consistent. Warnings (a password that others can
 * read, a listener beyond loopback) go there too and are not counted. */
int conf_read(struct conf *conf, const char *path, FILE *errors);

/* The same of text in memory, called name in messages: for tests. */
int conf_parse(struct conf *conf, const char *name, const char *text, size_t len, FILE *errors);

/* The same while the daemon runs: only of a regular file, since a pipe might never end. */
int conf_read_again(struct conf *conf, const char *path, FILE *errors);

/* From when on a setting counts that was changed in a file which is read again. */
enum conf_when {
    CONF_AT_ONCE,
    CONF_NEW_CLIENTS, /* for those who connect from now on */
    CONF_NEXT_LOGIN,  /* at a master */
    CONF_RESTART,     /* not before this daemon is started again ... */
    CONF_ALL_RESTART, /* ... or every daemon that works on these masters */
};

struct conf_change {
    const char *key; /* "password": no setting, but what node_password_file or a URL holds */
    enum conf_when when;
    const char *with;      /* it was not taken, because this other key was not; NULL: by itself */
    const char *from, *to; /* as in SHOW CONFIG; NULL of lists and secrets. Good for the call */
};

/* Takes over from fresh (whole and consistent) what may change while the daemon runs, so that conf stays
 * consistent. told() hears of each difference, also of those that were left. */
void conf_update(struct conf *conf, const struct conf *fresh,
                 void (*told)(void *arg, const struct conf_change *change), void *arg);

/* One, two and even numbers of masters: true, and a line that says how many failures they survive. */
bool conf_masters_advice(unsigned masters, char *out, size_t size);

/* Row i of the settings as "key" and "value" (secrets as ***, one row for each listener
 * and master); false after the last. For SHOW CONFIG and --print-config. */
bool conf_row(const struct conf *conf, unsigned i, char *key, size_t key_size, char *value,
              size_t value_size);

/* The whole as YAML that conf_parse() reads again (secrets as ***). */
void conf_print(const struct conf *conf, FILE *out);

#endif
