/* The protocol as one would type it: order, tags, SHOW, refusals, the two ends of a connection. */
#include "proto/shown.h"
#include "tests/integ/harness.h"

#include <stdio.h>
#include <string.h>

static struct cluster masters;
static struct daemon redlockd;
static struct client a, b;

static void begin(const char *settings)
{
    cluster_start(&masters, 3, TCP);
    daemon_start(&redlockd, &masters, settings);
    client_open(&a, &redlockd);
    client_open_tcp(&b, &redlockd);
    eventually(masters_up(&a, &masters));
}

/* "%65" stands for 65 digits: the longest words need not be typed. */
static const char *const refused[][2] = {
    {"FROB", "-BADVERB*"},
    {"LOCK", "-BADARG*"},
    {"LOCK name other", "-BADARG*"},
    {"LOCK a=b", "-BADARG*"},
    {"LOCK a\"b", "-BADARG*"},
    {"LOCK :a", "-BADARG*"},
    {"LOCK %201", "-BADARG*"},
    {"LOCK name ttl=", "-BADARG*"},
    {"LOCK name ttl=1x", "-BADARG*"},
    {"LOCK name ttl=-1s", "-BADARG*"},
    {"LOCK name ttl=0", "-BADARG*"},
    {"LOCK name ttl=9999", "-BADARG*min_ttl*"},
    {"LOCK name ttl=61s", "-BADARG*max_ttl*quarantine*"},
    {"LOCK name ttl=12345678901", "-BADARG*"},
    {"LOCK name wait=721h", "-BADARG*"},
    {"LOCK name ttl=10s ttl=10s", "-BADARG*"},
    {"LOCK name ttl=10s TTL=20s", "-BADARG*"},
    {"LOCK name frob=1", "-BADARG*"},
    {"LOCK name ttl=20s max=10s", "-BADARG*"},
    {"LOCK name hold=ever", "-BADARG*"},
    {"LOCK name note=%65", "-BADARG*"},
    {"UNLOCK", "-BADARG*"},
    {"UNLOCK name token=12", "-BADARG*"},
    {"UNLOCK name ttl=10s", "-BADARG*"},
    {"EXTEND name", "-BADARG*"},
    {"EXTEND name ttl=10s", "-BADARG*"},
    {"EXTEND name token=%40 ttl=61s", "-BADARG*max_ttl*"},
    {"CHECK name", "-BADARG*"},
    {"CHECK name token=xyz", "-BADARG*"},
    {"PING pong", "-BADARG*"},
    {"SHOW", "-BADARG*"},
    {"SHOW TELLY", "-BADARG*"},
    {"HELLO", "-BADARG*"},
    {"HELLO 1 events=all", "-BADARG*"},
    {"HELLO 1 client=%65", "-BADARG*"},
    {"HELLO 2", "-UNSUPPORTED proto=1*"},
    {"LOCK a,b,a", "-BADARG*"},
    {"UNLOCK a,b", "-NOTHELD a,b*"},
    {"LOCK name mode=both", "-BADARG name*"},
    {"LOCK name slots=0", "-BADARG*"},
    {"LOCK name slots=2000", "-BADARG*"},
    {"LOCK name slots=2 mode=shared", "-BADARG*"},
    {"RESUME name", "-BADARG*"},
    {"RESUME name token=12", "-BADARG*"},
    {"RESUME name token=%40 hold=lease", "-BADARG*"},
    {"RESUME name token=%40 wait=1x", "-BADARG*"},
    {"RESUME name token=%40 ttl=61s", "-BADARG*max_ttl*"},
    {"RESUME name token=%40 ttl=20s max=10s", "-BADARG*"},
    {"RESUME name token=%40", "-NOTHELD*"},
    {"AUTH user", "-BADARG*"},
    {"PI\001NG", "-BADLINE*"},
    {"LOCK caf\303\251", "-BADLINE*"},
    {"PING\tPING", "-BADLINE*"},
    {"# PING", "-BADTAG*"},
    {"#a!b PING", "-BADTAG*"},
    {"#12345678901234567 PING", "-BADTAG*"},
    {"CANCEL", "-BADTAG*"},
    {"CANCEL nobody", "-BADTAG*"},
    {"#t FROB", "#t -BADVERB*"},
    {"#t LOCK name ttl=9x", "#t -BADARG*"},
    {"#t RESUME name token=%40 ttl=9x", "#t -BADARG*"},
    {"#t AUTH user secret more", "#t -BADARG*"},
};

static void spelled_out(char *out, const char *line)
{
    const char *percent = strchr(line, '%');
    unsigned count = 0;
    int used = 0;
    if (!percent || sscanf(percent, "%%%u%n", &count, &used) != 1) {
        strcpy(out, line);
        return;
    }
    sprintf(out, "%.*s%0*d%s", (int)(percent - line), line, (int)count, 0, percent + used);
}

T(wrong_requests_are_refused_and_the_connection_goes_on)
{
    begin(PATIENT);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        char line[512];
        spelled_out(line, refused[i][0]);
        client_send(&a, "%s\nPING", line);
        expect(&a, refused[i][1]);
        expect(&a, "+PONG ready=1");
    }
    client_write(&a, "PI\0NG\n", 6);
    expect(&a, "-BADLINE*");
    ck_assert_str_eq(redis(&masters.server[0], "KEYS redlock:[^,]*"), "");
}

T(longest_things_that_are_allowed)
{
    begin(PATIENT);
    char name[201];
    memset(name, 'n', 200);
    name[200] = '\0';
    ask(&a, "+HELLO *", "HELLO 1 client=%.64s", name);
    struct grant grant = lock(&a, "%s ttl=60s wait=720h max=30h mode=exclusive note=%.64s", name, name);
    ask(&a, "#1234567890123456 +HELD n*", "#1234567890123456 CHECK %s token=%s", name, grant.token);
    ck_assert_ptr_nonnull(strstr(show(&a, "LOCKS"), name));
    ck_assert_ptr_nonnull(strstr(show(&a, "CLIENTS"), "client=nnn"));

    char line[1025]; /* 1,024 bytes with its end */
    memset(line, ' ', sizeof line);
    memcpy(line, "PING", 4);
    line[1023] = '\n';
    client_write(&a, line, 1024);
    expect(&a, "+PONG ready=1");
    line[1023] = ' ';
    line[1024] = '\n';
    client_write(&a, line, 1025);
    expect(&a, "-TOOLONG*");
    ask(&a, "+PONG ready=1", "PING");
}

T(lines_as_people_write_them)
{
    begin(PATIENT);
    ask(&a, "+PONG ready=1", "ping");
    ask(&a, "+PONG ready=1", "  PING  \r");
    ask(&a, "+PONG ready=1", "\n\r\n   \nPiNg");
    ask(&a, "#x.Y_-1 +PONG ready=1", "#x.Y_-1   PING");
    ask(&a, "+LOCKED Case *", "lock   Case  HOLD=lease   Ttl=10000");
    ask(&a, "+LOCKED case *", "LOCK case ttl=1m\r");
    int64_t before_ms = now_ms();
    const char *hello = ask(&a, "+HELLO proto=1 server=redlockd/* session=* now=*", "HELLO 1 client=me");
    int64_t told_ms = number(hello, "now");
    ck_assert(told_ms >= before_ms && told_ms <= now_ms());
}

T(untagged_in_order_tagged_at_once)
{
    begin(PATIENT);
    lock(&a, "held");
    client_send(&b, "LOCK held wait=300ms\nPING\nLOCK held\nHELLO 1");
    expect(&b, "-TIMEOUT held *");
    expect(&b, "+PONG ready=1");
    expect(&b, "-BUSY held*");
    expect(&b, "+HELLO *");

    client_send(&b, "#w LOCK held wait=30s\n#w PING\nPING\n#2 PING");
    expect(&b, "-BADTAG tag=w*");
    expect(&b, "+PONG ready=1");
    expect(&b, "#2 +PONG ready=1");
    ask(&a, "+UNLOCKED held *", "UNLOCK held");
    expect(&b, "#w +LOCKED held *");
    ask(&b, "#w +UNLOCKED held *", "#w UNLOCK held"); /* its tag is free again */
}

T(many_requests_at_once_are_answered_in_order)
{
    begin(PATIENT);
    for (int i = 0; i < 300; i++)
        client_send(&a,
                    i % 3 == 0   ? "LOCK n%d"
                    : i % 3 == 1 ? "CHECK n%d token=%040d"
                                 : "UNLOCK n%d",
                    i / 3, 0);
    for (int i = 0; i < 100; i++) {
        char pattern[64];
        snprintf(pattern, sizeof pattern, "+LOCKED n%d *", i);
        expect(&a, pattern);
        snprintf(pattern, sizeof pattern, "-NOTHELD n%d*", i);
        expect(&a, pattern);
        snprintf(pattern, sizeof pattern, "+UNLOCKED n%d *", i);
        expect(&a, pattern);
    }
}

T(quit_gives_back)
{
    begin(PATIENT);
    struct grant grant = lock(&b, "quit");
    client_send(&b, "#1 LOCK quit wait=30s\nQUIT\nPING");
    expect(&b, "#1 -CANCELLED quit*");
    ck_assert_str_eq(kv(expect(&b, "!LOST quit token=* reason=closed"), "token"), grant.token);
    expect(&b, "+BYE");
    expect_closed(&b);
    eventually(cluster_is_free(&masters, "quit"));
}

/* printf 'PING\nLOCK job hold=lease ttl=5s\n' | nc -N */
T(client_that_closes_its_side_gets_its_answers)
{
    begin(PATIENT);
    client_send(&b, "PING\nLOCK job hold=lease ttl=60s");
    client_half_close(&b);
    expect(&b, "+PONG ready=1");
    struct grant grant = grant_of(expect(&b, "+LOCKED job token=* fence=* valid=* until=*"));
    expect_closed(&b);
    ask(&a, "+HELD job *", "CHECK job token=%s", grant.token);

    client_open_tcp(&b, &redlockd);
    client_send(&b, "#1 LOCK job wait=30s\nLOCK session\nLOCK job wait=30s\nPING");
    client_half_close(&b);
    grant = grant_of(await(&b, "+LOCKED session *"));
    client_close(&b);
    eventually(cluster_is_free(&masters, "session"));

    client_open(&b, &redlockd);
    client_send(&b, "LOCK job wait=30s\nLOCK session\nPING");
    client_half_close(&b);
    expect(&b, "-CANCELLED job*");
    grant = grant_of(expect(&b, "+LOCKED session *"));
    expect(&b, "+PONG ready=1");
    ck_assert_str_eq(kv(expect(&b, "!LOST session token=* reason=closed"), "token"), grant.token);
    expect_closed(&b);
    eventually(cluster_is_free(&masters, "session"));
    ck_assert_uint_eq(rows_with(show(&a, "WAITERS"), ""), 0);
}

T(show_nodes)
{
    begin(PATIENT);
    const char *rows = show(&a, "NODES");
    for (unsigned i = 0; i < 3; i++) {
        char address[64];
        snprintf(address, sizeof address, "node=127.0.0.1:%u ", masters.server[i].port);
        const char *row = row_with(rows, address);
        ck_assert_msg(row != NULL, "no %s in %s", address, rows);
        ck_assert_str_eq(kv(row, "state"), "up");
        ck_assert_msg(strstr(redis(&masters.server[i], "INFO server"), kv(row, "run_id")) != NULL, "%s", row);
        ck_assert_uint_eq(strlen(kv(row, "run_id")), 8);
        ck_assert_msg(strstr(redis(&masters.server[i], "INFO server"), kv(row, "version")) != NULL, "%s",
                      row);
        ck_assert_int_ge(number(row, "rtt_us"), 0);
        ck_assert_int_ge(number(row, "pending"), 0);
        ck_assert_int_eq(number(row, "undo"), 0);
        ck_assert_int_eq(number(row, "errors"), 0);
        ck_assert_int_ge(number(row, "for"), 0);
    }
    ck_assert_uint_eq(rows_with(rows, "node="), 3);
}

T(show_locks_waiters_clients)
{
    char shown[TOKEN_SHOWN + 1];
    begin(PATIENT);
    const char *hello = ask(&a, "+HELLO *", "HELLO 1 client=painter");
    int64_t session = number(hello, "session");
    struct grant grant = lock(&a, "wall note=blue");
    grant_of(ask(&a, "+LOCKED wall *", "LOCK wall token=%s", grant.token));
    lock(&a, "door hold=lease ttl=60s");
    client_send(&b, "#q LOCK wall wait=30s");

    const char *row = NULL;
    eventually((row = row_with(show(&a, "WAITERS"), "name=wall ")) != NULL);
    ck_assert_int_eq(number(row, "position"), 1);
    ck_assert_int_ge(number(row, "waited"), 0);
    ck_assert_int_gt(number(row, "left"), 10000);
    int64_t waiting = number(row, "session");
    ck_assert(waiting >= 0 && waiting != session);

    const char *locks = show(&a, "LOCKS");
    ck_assert_uint_eq(rows_with(locks, "name="), 2);
    row = row_with(locks, "name=wall ");
    ck_assert_str_eq(kv(row, "mode"), "exclusive");
    ck_assert_str_eq(kv(row, "hold"), "session");
    ck_assert_str_eq(kv(row, "client"), "painter");
    ck_assert_str_eq(kv(row, "note"), "blue");
    ck_assert_int_eq(number(row, "session"), session);
    ck_assert_int_eq(number(row, "fence"), grant.fence);
    ck_assert_int_eq(number(row, "depth"), 2);
    ck_assert_int_eq(number(row, "waiters"), 1);
    ck_assert_int_gt(number(row, "valid"), 0);
    shown_token(grant.token, shown);
    ck_assert_str_eq(kv(row, "token"), shown);
    ck_assert_uint_eq(strlen(kv(row, "nodes")), 3);
    ck_assert_str_eq(kv(row_with(locks, "name=door "), "hold"), "lease");

    const char *clients = show(&a, "CLIENTS");
    ck_assert_uint_eq(rows_with(clients, "session="), 2);
    row = row_with(clients, "client=painter");
    ck_assert_int_eq(number(row, "session"), session);
    ck_assert_int_ge(number(row, "locks"), 1);
    ck_assert_ptr_nonnull(strstr(kv(row, "address"), "unix:pid="));
    row = row_with(clients, "address=127.0.0.1:");
    ck_assert_int_eq(number(row, "session"), waiting);
    ck_assert_int_eq(number(row, "waits"), 1);
    ck_assert_int_ge(number(row, "idle"), 0);
    ck_assert_int_eq(number(row, "out"), 0);
    ck_assert_ptr_null(strstr(locks, grant.token)); /* never a whole token */
}

T(show_the_rest)
{
    cluster_start(&masters, 1, TCP);
    char settings[256];
    redis(&masters.server[0], "CONFIG SET requirepass geheimnis");
    snprintf(settings, sizeof settings, PATIENT "nodes:\n  - redis://:geheimnis@127.0.0.1:%u\n",
             masters.server[0].port);
    daemon_start(&redlockd, NULL, settings);
    client_open(&a, &redlockd);
    eventually(rows_with(show(&a, "NODES"), "state=up") == 1);
    lock(&a, "one");

    const char *config = show(&a, "CONFIG");
    ck_assert_ptr_nonnull(strstr(config, "* node_timeout=5s\n"));
    ck_assert_ptr_nonnull(strstr(config, "* key_prefix=redlock:\n"));
    ck_assert_ptr_null(strstr(config, "geheimnis"));
    ck_assert_ptr_null(strstr(show(&a, "NODES"), "geheimnis"));
    ck_assert(!daemon_logged(&redlockd, "geheimnis"));

    const char *stats = show(&a, "STATS");
    ck_assert_msg(strstr(stats, "* grants=1\n") != NULL, "%s", stats);
    ck_assert_ptr_nonnull(strstr(show(&a, "VERSION"), "=" REDLOCKD_VERSION "\n"));

    client_send(&a, "#v show version");
    unsigned rows = 0;
    for (; strncmp(next_line(&a), "#v * ", 5) == 0; rows++)
        ;
    char end[32];
    snprintf(end, sizeof end, "#v +END %u", rows);
    ck_assert_str_eq(a.line, end);
    ck_assert_uint_gt(rows_with((client_send(&a, "HELP"), client_rows_at(&a, __FILE__, __LINE__)), "LOCK"),
                      0);
}
