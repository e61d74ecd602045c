/* Real masters, the real daemon and its clients, for tests.
 *
 *     test (forked by Check) --+-- redis-server x N   on a Unix socket, and on 127.0.0.1 if asked
 *                              +-- redlockd           REDLOCKD, or build/redlockd
 *                              +-- client             blocking sockets with a deadline
 *
 * Whatever a test starts dies with it, however it ends, and the folder in /tmp goes with the
 * program. Everything fails the test by itself, naming the test's line. Nothing sleeps for a
 * fixed time: things are polled until they are so, or until WAIT_MS is over. */
#ifndef REDLOCKD_TESTS_HARNESS_H
#define REDLOCKD_TESTS_HARNESS_H

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/skew/skew.h"

enum {
    WAIT_MS = 15000, /* far beyond what anything here takes: only a bound */
    SERVERS = 7,
    FOLDER = 80,
    PATH = 104, /* the name of a Unix socket has to fit */
    TOKEN = 41,
};

/* Runs the suite, each test in a process of its own; the program's exit status. */
int harness_main(Suite *suite);
/* Adds one test case, so that each test has its own time limit. */
void add_test(Suite *suite, const char *name, const TTest *test);
#define ADD(suite, test) add_test(suite, #test, test)

int64_t now_ms(void); /* CLOCK_BOOTTIME, as until= is */
void nap(void);
void fail_at(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4), noreturn));

/* For what is said about the processes under test: the daemon is several times larger under ASan. */
bool under_sanitizer(void);

#define eventually_within(condition, bound_ms)                                                            \
    do {                                                                                                  \
        int64_t end_ms_ = now_ms() + (bound_ms);                                                          \
        while (!(condition)) {                                                                            \
            if (now_ms() > end_ms_)                                                                       \
                fail_at(__FILE__, __LINE__, "not within %lld ms: %s", (long long)(bound_ms), #condition); \
            nap();                                                                                        \
        }                                                                                                 \
    } while (0)
#define eventually(condition) eventually_within(condition, WAIT_MS)

/* ---- masters ---- */

struct server {
    pid_t pid; /* 0: not running */
    char folder[FOLDER];
    char path[PATH];
    uint16_t port;     /* 0: Unix socket only */
    struct skew *skew; /* NULL: its clocks are the machine's */
};

struct cluster {
    unsigned count;
    struct server server[SERVERS];
};

enum transport { UNIX, TCP };

void cluster_start(struct cluster *cluster, unsigned count, enum transport transport);
/* The same with wall clocks of their own, to be set while they run: server[0].skew->wall_us = 3000000. */
void cluster_start_skewed(struct cluster *cluster, unsigned count, enum transport transport);
/* As if daemons with this max_ttl had known them for long: one that starts need not keep them out. */
void cluster_trust(const struct cluster *cluster, int64_t max_ttl_ms);
void server_kill(struct server *server);
void server_start(struct server *server); /* again: where it was, from its dump if there is one */
/* The same, with so long a pause at each key of its dump, answering after each KiB of it; not waited for. */
void server_start_loading(struct server *server, unsigned key_us);
void server_stop(struct server *server); /* SIGSTOP, and sure that it stands */
void server_cont(struct server *server);

/* The answer to a command, as text: "OK", "(nil)", "42", "READONLY ...", array elements with a space
 * between; "(down)" when there is no connection. Good until eight more were asked. */
const char *redis(const struct server *server, const char *format, ...);
/* From now on it refuses writes, until CONFIG SET stop-writes-on-bgsave-error no. */
void server_misconf(struct server *server);
/* The same of one line as somebody types it into redis-cli: its words and quotes are taken apart by the server. */
const char *redis_typed(const struct server *server, const char *line);
/* On how many masters the command answers so. */
unsigned cluster_answers(const struct cluster *cluster, const char *answer, const char *format, ...);
/* On how many masters the lock's key holds this token. */
unsigned cluster_holds(const struct cluster *cluster, const char *name, const char *token);
/* Whether a majority has no such lock any more, as its UNLOCK says; waits for the others, which may be a little later. */
bool cluster_gave_back(const struct cluster *cluster, const char *name);

/* ---- the daemon ---- */

struct daemon {
    pid_t pid; /* 0: not running */
    char folder[FOLDER];
    char config[PATH];
    char log[PATH]; /* what it wrote to stdout and stderr */
    char path[PATH];
    uint16_t port;
    struct skew *skew; /* NULL: its clocks are the machine's */
};

/* Listens on a Unix socket and on 127.0.0.1, works on the cluster's masters. settings are lines of YAML
 * that take the place of the harness' own: restart_guard: off, node_timeout: 250ms, min_ttl: 500ms. */
void daemon_start(struct daemon *daemon, const struct cluster *cluster, const char *settings);
/* The same with clocks of its own, to be set while it runs. */
void daemon_start_skewed(struct daemon *daemon, const struct cluster *cluster, const char *settings);
/* For a test in which no master hangs and no lock has to run out: a machine that stands still for seconds makes no
 * master slow then, and ends no lock. */
#define PATIENT "node_timeout: 5s\nmin_ttl: 10s\ndefault_ttl: 30s\n"
/* Only writes its file; only starts it, with these arguments; waits until it listens. */
void daemon_configure(struct daemon *daemon, const struct cluster *cluster, const char *settings);
void daemon_run(struct daemon *daemon, const char *const arguments[]);
void daemon_listens(struct daemon *daemon);
void daemon_signal(struct daemon *daemon, int signal); /* SIGSTOP: and sure that it stands */
int daemon_exit(struct daemon *daemon);                /* waits for its end: the exit status, or -signal */
bool daemon_logged(const struct daemon *daemon, const char *text);
const char *daemon_binary(void);
/* A line of /proc/<pid>/status, in kB. */
long daemon_status_kb(const struct daemon *daemon, const char *key);
long daemon_cpu_ms(const struct daemon *daemon);

char *folder_new(const char *what); /* a fresh folder, kept */
uint16_t port_free(void);
void file_write(const char *path, const char *text);
char *file_read(const char *path); /* to be freed; "" where there is none */
/* What is handed out for the rest of the test; LeakSanitizer sees that it is not forgotten. */
char *keep(char *text);
/* Starts a program in the test's hands: dies with it, output (where not NULL) to that file. */
pid_t program_start(const char *const argv[], const char *output);
/* Clocks that are the machine's until they are set, for what program_start_skewed() starts in that folder. */
struct skew *skew_make(const char *folder);
pid_t program_start_skewed(const char *const argv[], const char *output, const char *folder);
void process_stop(pid_t pid); /* SIGSTOP, and sure that it stands: kill(2) only queues it */

/* ---- clients ---- */

struct client {
    int fd;
    size_t len;       /* bytes read ... */
    size_t used;      /* ... and given out as lines */
    int renew_ttl_ms; /* of its lock, from lock_steady() */
    char buffer[1 << 16];
    char line[4096];
};

void client_open(struct client *client, const struct daemon *daemon); /* the Unix socket */
void client_open_tcp(struct client *client, const struct daemon *daemon);
void client_send(struct client *client, const char *format, ...)
    __attribute__((format(printf, 2, 3))); /* adds the LF */
void client_write(struct client *client, const void *bytes, size_t len);
void client_half_close(struct client *client);
void client_close(struct client *client);
void client_reset(struct client *client);  /* TCP: ends it with a RST */
bool client_silent(struct client *client); /* nothing has come that was not taken */

/* The next line, without its LF; NULL: the connection was closed. Good until the next call. */
const char *client_line_at(struct client *client, const char *file, int line);
/* The next line has to match (fnmatch: * ? [] \). */
const char *client_expect_at(struct client *client, const char *pattern, const char *file, int line);
/* Lines are skipped up to one that matches. */
const char *client_await_at(struct client *client, const char *pattern, const char *file, int line);
void client_closed_at(struct client *client, const char *file, int line);
/* Rows up to +END, each with its LF; kept. */
char *client_rows_at(struct client *client, const char *file, int line);
#define next_line(client)       client_line_at(client, __FILE__, __LINE__)
#define expect(client, pattern) client_expect_at(client, pattern, __FILE__, __LINE__)
#define await(client, pattern)  client_await_at(client, pattern, __FILE__, __LINE__)
#define expect_closed(client)   client_closed_at(client, __FILE__, __LINE__)
/* Sends and expects: ask(&c, "+PONG", "PING"). */
#define ask(client, pattern, ...) \
    (client_send(client, __VA_ARGS__), client_expect_at(client, pattern, __FILE__, __LINE__))
/* The same, again for as long as it is -NOQUORUM: where node_timeout has to be short, a machine that stands still ends it. */
#define ask_again(client, pattern, ...) client_ask_again_at(client, pattern, __FILE__, __LINE__, __VA_ARGS__)
const char *client_ask_again_at(struct client *client, const char *pattern, const char *file, int line,
                                const char *format, ...) __attribute__((format(printf, 5, 6)));
/* SHOW's rows, once: show(&c, "NODES"). */
#define show(client, what) (client_send(client, "SHOW %s", what), client_rows_at(client, __FILE__, __LINE__))

/* The value of key= in a line, "" without it; number() as a number, -1 without it. Good until
 * sixteen more were asked. */
const char *kv(const char *line, const char *key);
int64_t number(const char *line, const char *key);
/* The line of rows that holds this text; NULL: none. */
const char *row_with(const char *rows, const char *text);
/* How many lines of rows hold this text. */
unsigned rows_with(const char *rows, const char *text);

/* The master's row of SHOW NODES, and its state= there. */
const char *node_row(struct client *client, const struct server *server);
const char *node_state(struct client *client, const struct server *server);

/* Whether all of its masters may vote: a daemon listens when it has tried each once, and a pause may have cost it one. */
bool masters_up(struct client *client, const struct cluster *cluster);

struct grant {
    char token[TOKEN];
    int64_t fence;
    int64_t valid_ms;
    int64_t until_ms;
};

/* Reads a +LOCKED line, and checks its form. */
struct grant grant_of(const char *line);
#define lock(client, ...) grant_of(ask(client, "+LOCKED *", "LOCK " __VA_ARGS__))

/* ---- a machine that stands still ---- */

/* Who waits for anything here looks at the clock every few ms, or the machine has not let us: nor then anybody else
 * who was to act in time. */
enum { STILL_MS = 250 }; /* what costs a master its vote, by the harness' node_timeout */
extern int64_t looked_ms, still_ms;
void look_begin(void);
void look(void);

/* Plays a scene in which locks live for ttl_ms; false: they ended too early. Where we have seen that the machine stood
 * still it is played again with twice as long, a few times. */
void play(bool (*scene)(int ttl_ms), int ttl_ms);

#endif
