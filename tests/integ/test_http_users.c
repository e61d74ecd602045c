/* With users, HTTP shows each viewer what SHOW would: names that it may show, and clients only to an admin. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/integ/http.h"

/* As base64 has them: ops:SECRET, ops:WRONG, none:SECRET. */
#define OPS    "b3BzOjAxMjM0NTY3ODlhYmNkZWYwMTIzNDU2Nzg5YWJjZGVmMDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
#define WRONG  "b3BzOjExMjM0NTY3ODlhYmNkZWYwMTIzNDU2Nzg5YWJjZGVmMDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
#define NOBODY "bm9uZTowMTIzNDU2Nzg5YWJjZGVmMDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWYwMTIzNDU2Nzg5YWJjZGVm"
#define HASH   "a8ae6e6ee929abea3afcfc5258c8ccd6f85273e0d4626d26c7279f3250f77c8e"

static struct cluster cluster;
static struct daemon d;
static struct client c;
static uint16_t port;
static char path[PATH], secret[PATH + 16];

/* users: the lines of users behind that of ops. */
static const char *settings_of(const char *users)
{
    static char settings[2048];
    snprintf(settings, sizeof settings,
             PATIENT "http: ['127.0.0.1:%u', 'unix:%s']\nusers:\n"
                     "  - {name: ops, secret_file: %s, lock: ['*'], show: ['*'], admin: yes}\n%s",
             port, path, secret, users);
    return settings;
}

static void begin(const char *users)
{
    cluster_start(&cluster, 3, UNIX);
    d = (struct daemon){.pid = 0};
    port = port_free();
    snprintf(path, sizeof path, "%s/http.sock", folder_new("http"));
    snprintf(secret, sizeof secret, "%s/ops.sha256", folder_new("secret"));
    file_write(secret, HASH "\n");
    ck_assert_int_eq(chmod(secret, 0600), 0);
    daemon_start(&d, &cluster, settings_of(users));
    client_open(&c, &d);
    ask(&c, "+HELLO *", "HELLO 1 client=the-client");
    ask_again(&c, "+LOCKED *", "LOCK report/day");
    ask_again(&c, "+LOCKED *", "LOCK hidden");
    ask_again(&c, "+LOCKED *", "LOCK report/leader data=reachable:1");
    ask_again(&c, "+LOCKED *", "LOCK hidden/leader data=hidden-data");
    ask_again(&c, "+LOCKED *", "LOCK report/kept");
    ask_again(&c, "+KEPT *", "UNLOCK report/kept keep=1h");
    ask_again(&c, "+LOCKED *", "LOCK hidden/kept");
    ask_again(&c, "+KEPT *", "UNLOCK hidden/kept keep=1h");
}

static const char *get_as(const char *where, const char *basic)
{
    char text[512];
    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic %s\r\n\r\n",
             where, basic);
    return http_ask(port, text);
}

static const char *get_local(const char *where)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char text[256];
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", where);
    http_send(fd, text, strlen(text));
    return http_rest(fd);
}

static const char *me(const char *rights)
{
    char text[256];
    snprintf(text, sizeof text, "  - {name: me, uid: [%u], lock: ['*'], %s}\n", (unsigned)getuid(), rights);
    return keep(strdup(text));
}

/* A secret is what `redlock mkuser` makes: one that a person made up could be guessed. And a guess takes a second. */
T(guesses)
{
    char file[PATH + 16], line[PATH + 128];
    snprintf(file, sizeof file, "%s/weak.sha256", folder_new("weak"));
    file_write(file, "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n"); /* of "test" */
    ck_assert_int_eq(chmod(file, 0600), 0);
    snprintf(line, sizeof line, "  - {name: weak, secret_file: %s, show: ['*']}\n%s", file,
             me("show: ['report/*']"));
    begin(line);
    ck_assert_int_eq(http_status(get_as("/", "d2Vhazp0ZXN0")), 401); /* weak:test */
    int64_t began_ms = now_ms();
    ck_assert_int_eq(http_status(get_as("/", WRONG)), 401);
    ck_assert_int_ge(now_ms() - began_ms, 900); /* 1 s by the daemon's loop, whose clock is a moment behind */
    ck_assert_int_eq(http_status(get_as("/", OPS)), 200);
}

/* Guesses on all connections keep nobody out. */
T(many_guesses)
{
    enum { MANY = 64 };
    int fds[MANY];
    begin(me("show: ['report/*']"));
    for (unsigned i = 0; i < MANY; i++) {
        static const char guess[] =
            "GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic " WRONG "\r\n\r\n";
        fds[i] = http_dial(port);
        http_send(fds[i], guess, sizeof guess - 1);
    }
    ck_assert_int_eq(http_status(get_as("/", OPS)), 200);
    for (unsigned i = 0; i < MANY; i++)
        close(fds[i]);
}

T(a_secret_opens_the_page)
{
    begin(me("show: ['report/*']"));
    ck_assert_int_eq(http_status(http_get(port, "/livez")), 200);
    ck_assert_int_eq(http_status(http_get(port, "/readyz")), 200);
    static const char *const closed[] = {"/", "/status.json", "/metrics"};
    for (unsigned i = 0; i < 3; i++) {
        const char *answer = http_get(port, closed[i]);
        ck_assert_int_eq(http_status(answer), 401);
        ck_assert_ptr_nonnull(strstr(answer, "\r\nWWW-Authenticate: Basic realm=\"redlockd\"\r\n"));
        ck_assert_ptr_null(strstr(answer, "report"));
        ck_assert_int_eq(http_status(get_as(closed[i], WRONG)), 401);
        ck_assert_int_eq(http_status(get_as(closed[i], NOBODY)), 401);
        ck_assert_int_eq(http_status(get_as(closed[i], "")), 401);
        ck_assert_int_eq(http_status(get_as(closed[i], "!!!")), 401);
        ck_assert_int_eq(http_status(get_as(closed[i], OPS OPS OPS)), 401);
        ck_assert_int_eq(http_status(get_as(closed[i], OPS)), 200);
    }
    const char *failures = "\nredlockd_auth_failures_total{method=\"basic\"} 15\n";
    eventually(strstr(get_as("/metrics", OPS), failures) != NULL);
    ck_assert(daemon_logged(&d, "event=auth_failed address=127.0.0.1:"));
    const char *page = get_as("/", OPS);
    ck_assert(strstr(page, ">report/day<") && strstr(page, ">hidden<") && strstr(page, ">the-client<"));
}

T(a_user_sees_what_it_may_show)
{
    begin(me("show: ['report/*']"));
    const char *page = get_local("/"), *json = get_local("/status.json");
    ck_assert_int_eq(http_status(page), 200);
    ck_assert_ptr_nonnull(strstr(page, ">report/day<"));
    ck_assert_ptr_nonnull(strstr(page, ">report/leader</td><td data-l=Data><code>reachable:1</code>"));
    ck_assert_ptr_nonnull(strstr(page, ">report/kept<"));
    ck_assert_ptr_null(strstr(page, "hidden"));
    ck_assert_ptr_null(strstr(page, "the-client"));
    ck_assert_ptr_nonnull(strstr(json, "\"report/day\""));
    ck_assert_ptr_nonnull(strstr(json, "\"name\":\"report/leader\",\"data\":\"reachable:1\",\"fence\":"));
    ck_assert_ptr_nonnull(strstr(json, "\"kept_names\":[\n {\"name\":\"report/kept\",\"left\":"));
    ck_assert_ptr_null(strstr(json, "hidden"));
    ck_assert_ptr_null(strstr(json, "the-client"));
    ck_assert_int_eq(http_status(get_local("/metrics")), 200);
}

T(a_user_without_show_sees_nothing)
{
    begin(me("admin: no"));
    ck_assert_int_eq(http_status(get_local("/")), 401);
    ck_assert_int_eq(http_status(get_local("/metrics")), 401);
    ck_assert_int_eq(http_status(get_local("/livez")), 200);
}

T(a_right_that_is_taken_away_is_counted)
{
    static const char before[] = "\nredlockd_locks_lost_total{reason=\"denied\"} 0\n",
                      after[] = "\nredlockd_locks_lost_total{reason=\"denied\"} 2\n"; /* and hidden/leader */
    begin(me("show: ['*']"));
    ck_assert_ptr_nonnull(strstr(get_as("/metrics", OPS), before));
    char text[256];
    snprintf(text, sizeof text, "  - {name: me, uid: [%u], lock: ['report/*']}\n", (unsigned)getuid());
    daemon_configure(&d, &cluster, settings_of(text));
    daemon_signal(&d, SIGHUP);
    await(&c, "!LOST hidden token=* reason=denied");
    eventually(strstr(get_as("/metrics", OPS), after) != NULL);
}
