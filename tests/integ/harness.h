/* Real masters, the real daemon and its clients, for tests.
 *
 *     test (forked by Check) --+-- redis-server x N   on a Unix socket, and on 127.0.0.1 if asked
 *                              +-- redlockd           REDLOCKD, or build/redlockd
 *                              +-- client             blocking sockets with a deadline
 *
 * Each process that a test starts dies with the test, however it ends, and the folder in /tmp goes with the
 * program, whose main() is the harness's. Each helper fails the test by itself. A helper that gets a file and line names the test's line. No
 * helper sleeps for a fixed time: conditions are polled until they hold, or until WAIT_MS or another bound is
 * over. */
#ifndef REDLOCKD_TESTS_HARNESS_H
#define REDLOCKD_TESTS_HARNESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/skew/skew.h"
#include "tests/unit/suite.h"

enum {
    WAIT_MS = 15000, /* only a bound, far beyond what any step here takes */
    SERVERS = 7,
    FOLDER = 80,
    PATH = 104, /* the name of a Unix socket has to fit */
    TOKEN = 41,
};

int64_t now_ms(void); /* CLOCK_BOOTTIME, as until= is */
void nap(void);
void fail_at(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4), noreturn));

/* For bounds on the processes under test: under ASan the daemon is several times larger. */
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
    struct skew *skew; /* NULL: the server uses the machine's clocks */
};

struct cluster {
    unsigned count;
    struct server server[SERVERS];
};

enum transport { UNIX, TCP };

void cluster_start(struct cluster *cluster, unsigned count, enum transport transport);
/* Starts servers with wall clocks of their own, to be set while they run: server[0].skew->wall_us =
 * 3000000. */
void cluster_start_skewed(struct cluster *cluster, unsigned count, enum transport transport);
/* Writes the group's key as daemons with this max_ttl would: a daemon that starts need not quarantine
 * the masters. */
void cluster_trust(const struct cluster *cluster, int64_t max_ttl_ms);
void server_kill(struct server *server);
void server_start(struct server *server); /* once more, in its folder, with its dump if there is one */
/* Starts the server so that it loads its dump slowly, with a pause of key_us at each key, and answers
 * after each KiB; does not wait for it. */
void server_start_loading(struct server *server, unsigned key_us);
/* Starts the server anew, empty, as one that has no command CLIENT. */
void server_start_without(struct server *server, const char *command);
void server_stop(struct server *server); /* SIGSTOP; returns when the process stands still */
void server_cont(struct server *server);

/* The answer to a command, as text: "OK", "(nil)", "42", "READONLY ...", array elements with a space
 * between; "(down)" when there is no connection. Good until eight more were asked. */
const char *redis(const struct server *server, const char *format, ...);
/* The server refuses writes from now on, until CONFIG SET stop-writes-on-bgsave-error no. */
void server_misconf(struct server *server);
/* The answer to a line as one types it into redis-cli: the server takes its words and quotes apart. */
const char *redis_typed(const struct server *server, const char *line);
/* On how many masters the command has this answer. */
unsigned cluster_answers(const struct cluster *cluster, const char *answer, const char *format, ...);
/* Whether each master answers that it does not have the lock's key. */
bool cluster_is_free(const struct cluster *cluster, const char *name);
/* On how many masters the lock's key holds this token. */
unsigned cluster_holds(const struct cluster *cluster, const char *name, const char *token);
/* Whether UNLOCK has deleted the key on a majority; waits for the other masters, which may be a little
 * later. */
bool cluster_gave_back(const struct cluster *cluster, const char *name);

/* ---- the daemon ---- */

struct daemon {
    pid_t pid; /* 0: not running */
    char folder[FOLDER];
    char config[PATH];
    char log[PATH]; /* the file with its stdout and stderr */
    char path[PATH];
    uint16_t port;
    struct skew *skew; /* NULL: the daemon uses the machine's clocks */
};

/* Starts a daemon that listens on a Unix socket and on 127.0.0.1, and works on the cluster's masters.
 * settings are lines of YAML. They take the place of the harness' own lines: listen, nodes, restart_guard:
 * off, node_timeout: 250ms, min_ttl: 500ms. */
void daemon_start(struct daemon *daemon, const struct cluster *cluster, const char *settings);
/* Starts a daemon with clocks of its own, to be set while it runs. */
void daemon_start_skewed(struct daemon *daemon, const struct cluster *cluster, const char *settings);
/* For a test in which no master hangs and no lock has to run out: with these settings, a machine that
 * stands still for seconds makes no master slow and ends no lock. */
#define PATIENT "node_timeout: 5s\nmin_ttl: 10s\ndefault_ttl: 30s\n"
/* The steps of daemon_start(): the first writes the daemon's file, the second starts it with these
 * arguments, the third waits until it listens. */
void daemon_configure(struct daemon *daemon, const struct cluster *cluster, const char *settings);
void daemon_run(struct daemon *daemon, const char *const arguments[]);
void daemon_listens(struct daemon *daemon);
void daemon_signal(struct daemon *daemon, int signal); /* SIGSTOP: returns when the daemon stands still */
int daemon_exit(struct daemon *daemon);                /* waits for its end: the exit status, or -signal */
bool daemon_logged(const struct daemon *daemon, const char *text);
const char *daemon_binary(void);
/* A line of /proc/<pid>/status, in kB. */
long daemon_status_kb(const struct daemon *daemon, const char *key);
long daemon_cpu_ms(const struct daemon *daemon);

char *folder_new(const char *what); /* makes a folder; the path is good for the rest of the test */
uint16_t port_free(void);
void file_write(const char *path, const char *text);
char *file_read(const char *path); /* to be freed; "" where there is none */
/* Keeps a text for the rest of the test, where LeakSanitizer can reach it. */
char *keep(char *text);
/* Starts a program that dies with the test; its output goes to that file, where output is not NULL. */
pid_t program_start(const char *const argv[], const char *output);
/* The clocks of programs that program_start_skewed() starts in that folder: the machine's, until they
 * are set. */
struct skew *skew_make(const char *folder);
pid_t program_start_skewed(const char *const argv[], const char *output, const char *folder);
void process_stop(pid_t pid); /* SIGSTOP; returns when the process stands still */

/* ---- clients ---- */

struct client {
    int fd;
    size_t len;       /* bytes that were read */
    size_t used;      /* bytes that were given out as lines */
    int renew_ttl_ms; /* its lock's, from lock_steady() */
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
void client_reset(struct client *client);  /* TCP: ends the connection with a RST */
bool client_silent(struct client *client); /* whether no bytes came beyond the lines that were taken */

/* The next line, without its LF; NULL: the connection was closed. Good until the next call. */
const char *client_line_at(struct client *client, const char *file, int line);
/* The next line has to match (fnmatch: * ? [] \). */
const char *client_expect_at(struct client *client, const char *pattern, const char *file, int line);
/* Skips lines up to the first line that matches. */
const char *client_await_at(struct client *client, const char *pattern, const char *file, int line);
void client_closed_at(struct client *client, const char *file, int line);
/* Rows up to +END, each with its LF; kept. */
char *client_rows_at(struct client *client, const char *file, int line);
#define next_line(client)       client_line_at(client, __FILE__, __LINE__)
#define expect(client, pattern) client_expect_at(client, pattern, __FILE__, __LINE__)
#define await(client, pattern)  client_await_at(client, pattern, __FILE__, __LINE__)
#define expect_closed(client)   client_closed_at(client, __FILE__, __LINE__)
/* Sends and expects: ask(&c, "+PONG ready=1", "PING"). */
#define ask(client, pattern, ...) \
    (client_send(client, __VA_ARGS__), client_expect_at(client, pattern, __FILE__, __LINE__))
/* Asks again for as long as the answer is -NOQUORUM, which a machine that stands still can cause where
 * node_timeout has to be short. */
#define ask_again(client, pattern, ...) client_ask_again_at(client, pattern, __FILE__, __LINE__, __VA_ARGS__)
const char *client_ask_again_at(struct client *client, const char *pattern, const char *file, int line,
                                const char *format, ...) __attribute__((format(printf, 5, 6)));
/* The rows of SHOW, asked once: show(&c, "NODES"). */
#define show(client, what) (client_send(client, "SHOW %s", what), client_rows_at(client, __FILE__, __LINE__))

/* The value of key= in a line, "" without it; number() as a number, -1 without it. Good until
 * sixteen more were asked. */
const char *kv(const char *line, const char *key);
int64_t number(const char *line, const char *key);
/* The first line of rows that holds this text, up to the end of rows; NULL: none. */
const char *row_with(const char *rows, const char *text);
/* How many lines of rows hold this text. */
unsigned rows_with(const char *rows, const char *text);

/* The master's row of SHOW NODES, and its state= there. */
const char *node_row(struct client *client, const struct server *server);
const char *node_state(struct client *client, const struct server *server);

/* Starts a daemon on the cluster and opens a client, which sees all masters vote. */
void daemon_serves(struct daemon *daemon, const struct cluster *cluster, const char *settings,
                   struct client *client);

/* Whether all of the daemon's masters may vote. A daemon listens as soon as it has tried each master
 * once, and a pause may have cost it that try. */
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

/* A helper that waits looks at the clock every few ms. A longer gap means that the machine stood still,
 * and so did every process that had to act in time. */
enum { STILL_MS = 250 }; /* a pause that costs a master its vote, by the harness' node_timeout */
extern int64_t looked_ms, still_ms;
void look_begin(void);
void look(void);

/* Plays a scene in which locks live for ttl_ms; false: the locks ended too early. Where the machine is
 * known to have stood still meanwhile, the scene is played again with twice as long a TTL, a few times. */
void play(bool (*scene)(int ttl_ms), int ttl_ms);

#endif
