/* The configuration: YAML in, one struct out. */
#ifndef REDLOCKD_CONF_H
#define REDLOCKD_CONF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "daemon/conf/users.h"
#include "daemon/log.h"
#include "daemon/wire/settings.h"
#include "proto/message.h"

enum {
    CONF_LISTENERS = 16,
    CONF_HOST_BYTES = 256,
    CONF_PATH_BYTES = 104,
    CONF_NAME_BYTES = 640, /* a master's name in its set: a host name stands before a path or an address */
    CONF_SECRET_BYTES = 256,
    CONF_PASSWORD_BYTES = 8193, /* a file may have so many: the tokens of cloud services have up to 3 KB */
    CONF_PREFIX_BYTES = 64,
    CONF_HTTP_HOSTS = 16,
    CONF_SERVES_MOST = 16,   /* patterns */
    CONF_VALUE_BYTES = 2048, /* a row's: a master's with four paths of its own is the longest */
};

/* An address to listen on or to dial. path is set for a Unix socket, host and port otherwise. */
struct conf_address {
    char host[CONF_HOST_BYTES]; /* without brackets */
    char path[CONF_PATH_BYTES];
    uint16_t port;
    char shown[CONF_HOST_BYTES + 16]; /* host:port, [v6]:port or unix:/path, for logs and SHOW */
};

struct conf_listener {
    struct conf_address address;
    /* A proxy may turn a reset into a FIN here, so a FIN does not prove that the client is done. */
    bool fin_breaks;
    struct wire_settings tls; /* .on: clients speak TLS here, and nothing else */
    unsigned serves;          /* entries of http only: bits of enum conf_serves */
};

/* An entry of http serves some of these. */
enum conf_serves {
    CONF_PROBES = 1 << 0,  /* /livez, /readyz */
    CONF_METRICS = 1 << 1, /* /metrics */
    CONF_PAGE = 1 << 2,    /* /, /status.json */
    CONF_SERVES_ALL = CONF_PROBES | CONF_METRICS | CONF_PAGE,
};

struct conf_node {
    bool vacant; /* a place that counts in N and has no master: it never votes */
    struct conf_address address;
    char user[CONF_SECRET_BYTES];       /* "": none */
    char password[CONF_PASSWORD_BYTES]; /* "": none; of a file: as it was when the configuration was read */
    bool password_of_file;
    int db;
    char name[CONF_HOST_BYTES];   /* "": its address is its name (conf_set.h) */
    bool no_kill;                 /* the master allows neither CLIENT ID nor CLIENT KILL */
    struct wire_settings own_tls; /* as written beside its URL */
    struct wire_settings tls;     /* own_tls over node_tls; .on: rediss:// */
};

struct conf {
    struct conf_listener listen[CONF_LISTENERS];
    unsigned listeners;
    mode_t unix_mode;
    struct conf_listener http[CONF_LISTENERS];
    unsigned http_listeners;                           /* 0: no HTTP */
    char http_hosts[CONF_HTTP_HOSTS][CONF_HOST_BYTES]; /* names by which browsers may ask for the page */
    unsigned http_host_count;
    int64_t generation; /* of nodes and max_ttl */
    struct conf_node nodes[MASTERS];
    unsigned masters; /* N: the places of nodes, vacant ones too */
    struct conf_node
        nodes_before[MASTERS]; /* the nodes of the generation before, for a start between the two */
    int64_t max_ttl_before_ms; /* of that generation; 0: as max_ttl_ms */
    unsigned masters_before;   /* 0: they are not given */
    char node_user[CONF_SECRET_BYTES];
    char node_password_file[1024];
    struct wire_settings node_tls;
    char key_prefix[CONF_PREFIX_BYTES + 1];
    char serves[CONF_SERVES_MOST][NAME_BYTES + 3]; /* patterns of names, also behind a !: conf_serves.h */
    unsigned serves_count;                         /* 0: all names */
    int64_t default_ttl_ms, min_ttl_ms, max_ttl_ms;
    int64_t node_timeout_ms;
    int64_t min_validity_ms;
    int64_t client_keepalive_ms;
    int64_t node_backlog_bytes;
    int64_t retry_min_ms, retry_max_ms;
    bool fanout_quorum; /* fanout: quorum, else all */
    bool restart_guard;
    int64_t drain_timeout_ms;
    int64_t max_clients, max_locks, max_waiters, max_watches;
    int64_t max_keep_ms, max_marks; /* of names that are kept though nobody holds them */
    int64_t max_locks_per_client, max_waits_per_client;
    int64_t max_clients_per_peer, max_locks_per_peer, max_waits_per_peer; /* see conf_share() */
    int64_t max_output_bytes;
    int64_t idle_line_timeout_ms;
    enum log_level log_level;
    bool allow_break;
    struct users *users; /* (owned) NULL: everybody may do everything */
    bool users_off;      /* and the file says so */
};

/* Sets every default, as in conf/redlockd.yaml, and no masters. */
void conf_defaults(struct conf *conf);
/* Frees what the configuration owns, and forgets its secrets. */
void conf_clear(struct conf *conf);

/* How much of the whole one peer may have; per_peer 0 stands for a quarter. */
static inline int64_t conf_share(int64_t per_peer, int64_t whole)
{
    return per_peer > 0 ? per_peer : (whole + 3) / 4;
}

/* Reads a file over the defaults. Writes every error to errors as one line "file:line:column: key: what is
 * wrong and what is allowed", or "file: what is wrong" if the file cannot be read at all. Returns the number
 * of errors; 0: *conf is complete and consistent. Warnings, such as a password that others can read or a
 * listener beyond loopback, are written there too and are not counted. */
int conf_read(struct conf *conf, const char *path, FILE *errors);

/* The same for text in memory, which messages call name. For tests. */
int conf_parse(struct conf *conf, const char *name, const char *text, size_t len, FILE *errors);

/* The same while the daemon runs. It reads regular files only, since a pipe might never end. */
int conf_read_again(struct conf *conf, const char *path, FILE *errors);

/* Reads node_password_file, which may change at any time. NULL, or what is wrong (static text, or good until
 * the next call). */
const char *conf_password_read(const struct conf *conf, char password[CONF_PASSWORD_BYTES]);

/* When a changed setting takes effect after the file was read again. */
enum conf_when {
    CONF_AT_ONCE,
    CONF_NEW_CLIENTS, /* for clients that connect from now on */
    CONF_NEXT_LOGIN,  /* at the next login to a master */
    CONF_STEPS,       /* in the steps to the new generation, which have begun */
    CONF_RESTART,     /* when this daemon is restarted */
    CONF_GENERATION,  /* with the next generation */
    CONF_ALL_RESTART, /* when all daemons of these masters have been stopped and started again */
};

struct conf_change {
    const char
        *key; /* "password" is not a setting: it stands for the content of node_password_file or a URL */
    enum conf_when when;
    const char *with;      /* the other key whose change was not taken and held this one back; NULL: none */
    const char *from, *to; /* as in SHOW CONFIG, valid during the call; NULL for lists and secrets */
};

/* Whether the file has lost its users without saying that they are off, as a file that was cut off does: then
 * conf_update() would open the daemon to everybody. */
bool conf_loses_users(const struct conf *conf, const struct conf *fresh);
/* Whether the generation, the masters or max_ttl differ: all daemons change these together, in steps. */
bool conf_group_differs(const struct conf *conf, const struct conf *fresh);
/* Whether a master of both has another address, or another no_kill, so that this daemon must be restarted. Writes
 * its name. */
bool conf_master_moved(const struct conf *conf, const struct conf *fresh, char name[CONF_NAME_BYTES]);
/* Takes serves: of conf into fresh, and tells where they differed: to be called first. */
void conf_keep_serves(const struct conf *conf, struct conf *fresh,
                      void (*told)(void *arg, const struct conf_change *change), void *arg);
/* Copies from fresh (complete and consistent) the settings that may change while the daemon runs, so that
 * conf stays consistent. told() is called for each difference, including the ones that were not taken. group:
 * whether what conf_group_differs() asks about is taken as well. */
void conf_update(struct conf *conf, const struct conf *fresh, bool group,
                 void (*told)(void *arg, const struct conf_change *change), void *arg);

/* For one, two or an even number of masters, or vacant places: returns true and writes a line that says how many
 * failures they survive. voters: places that are not vacant. */
bool conf_masters_advice(unsigned masters, unsigned voters, char *out, size_t size);

/* Row i of the settings as key and value, without secrets; each listener and each master has a row of its
 * own. false: there is no such row. For SHOW CONFIG. */
bool conf_row(const struct conf *conf, unsigned i, char *key, size_t key_size, char *value,
              size_t value_size);

/* Prints all settings as YAML that conf_parse() can read, with *** in place of secrets. For
 * --print-config. */
void conf_print(const struct conf *conf, FILE *out);

#endif
