/* Users: who may do what, with real sockets, real processes of other users, and real reloads. */
#include "tests/integ/command.h"
#include "tests/integ/network.h"
#include "tests/integ/users.h"

#include <arpa/inet.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define WRONG   "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define NO_SUCH "-AUTH : no such user, or another secret"

static struct client a, b, c;

/* ---- by uid and gid ---- */

T(rights_of_a_uid)
{
    users_begin(&a, "  - {name: web, uid: ME, lock: ['web/*', nightly], show: ['web/*']}\n" OPS);
    eventually(masters_up(&a, &masters));
    struct grant grant = lock(&a, "web/1");
    lock(&a, "nightly");
    ask(&a, "-DENIED weather : user web may not lock it", "LOCK weather");
    ask(&a, "-DENIED other : user web may not lock it", "RESUME other token=%s", grant.token);
    ask(&a, "-DENIED other *", "UNLOCK other token=%s", grant.token);
    ask(&a, "-DENIED other *", "EXTEND other token=%s", grant.token);
    ask(&a, "-DENIED other *", "CHECK other token=%s", grant.token);
    ask(&a, "-DENIED : user web may not SHOW CONFIG*", "SHOW CONFIG");
    ask(&a, "-DENIED : user web may not SHOW CLIENTS*", "SHOW CLIENTS");
    ck_assert_ptr_nonnull(strstr(show(&a, "VERSION"), "proto=1"));

    client_open(&b, &redlockd);
    ask(&b, "+OK", AS_OPS);
    lock(&b, "web/2");
    lock(&b, "secret");
    const char *seen = show(&a, "LOCKS");
    ck_assert_uint_eq(rows_with(seen, "name="), 3);
    ck_assert_str_eq(kv(row_with(seen, "name=web/2 "), "user"), "ops");
    ck_assert_str_eq(kv(row_with(seen, "name=nightly "), "user"),
                     "web"); /* one's own, without a right to show it */
    ck_assert_uint_eq(rows_with(show(&b, "LOCKS"), "name="), 4);
    const char *clients = show(&b, "CLIENTS");
    ck_assert_uint_eq(rows_with(clients, "user=ops "), 1);
    ck_assert_uint_eq(rows_with(clients, "user=web "), 1);
    const char *config = show(&b, "CONFIG");
    ck_assert_ptr_nonnull(strstr(config, "* users=web,lock=web/*\n"));
    ck_assert_ptr_nonnull(strstr(config, "/ops.sha256\n"));
    ck_assert_ptr_null(strstr(config, "a8ae6e6e"));
}

/* A child of another user connects, and hands its socket over. */
static void client_open_as(struct client *client, uid_t uid, gid_t gid)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    char byte = 0;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    int pair[2], status = 0;

    memcpy(address.sun_path, redlockd.path, strlen(redlockd.path) + 1);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    pid_t child = fork();
    if (child == 0) {
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        if (setgroups(0, NULL) < 0 || setgid(gid) < 0 || setuid(uid) < 0 ||
            connect(fd, (const struct sockaddr *)&address, sizeof address) < 0)
            _exit(1);
        control.header = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
        _exit(sendmsg(pair[1], &message, 0) == 1 ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(recvmsg(pair[0], &message, 0), 1);
    *client = (struct client){.fd = -1};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    ck_assert_ptr_nonnull(header);
    memcpy(&client->fd, CMSG_DATA(header), sizeof client->fd);
    close(pair[0]);
    close(pair[1]);
}

T(processes_of_other_users)
{
    if (geteuid() != 0) {
        printf("left out: clients with other uids (they need root)\n");
        return;
    }
    users_begin_with_ops(&a, OPS "  - {name: by-gid, gid: 4242, lock: ['*']}\n"
                                 "  - {name: by-uid, uid: 4241, lock: ['*']}\n"
                                 "  - {name: anyone, lock: ['public/*']}\n");
    static const struct {
        uid_t uid;
        gid_t gid;
        const char *user;
    } clients[] = {
        {4241, 4242, "by-uid"}, {4240, 4242, "by-gid"}, {4240, 4240, "anyone"}, {65534, 65534, "anyone"}};
    for (unsigned i = 0; i < 4; i++) {
        char user[32];
        client_open_as(&b, clients[i].uid, clients[i].gid);
        ask(&b, "+LOCKED *", "LOCK public/%u", i);
        snprintf(user, sizeof user, "user=%s ", clients[i].user);
        const char *row = row_with(show(&a, "LOCKS"), user);
        ck_assert_msg(row != NULL, "%s", user);
        client_send(&b, "LOCK private/%u", i);
        ck_assert_int_eq(strncmp(next_line(&b), i < 2 ? "+LOCKED" : "-DENIED", 7), 0);
        client_close(&b);
    }
}

/* ---- AUTH ---- */

T(auth)
{
    users_begin_with_ops(&a, OPS);
    client_open(&b, &redlockd);
    ask(&b, "-AUTH job : *", "LOCK job");
    ask(&b, "+PONG ready=1", "PING");
    ask(&b, NO_SUCH, "AUTH ops " WRONG);
    ask(&b, "#7 " NO_SUCH, "#7 AUTH somebody-else " SECRET);
    ask(&b, "+OK", AS_OPS);
    lock(&b, "job");
    ask(&b, "-AUTH : only while *", AS_OPS);

    client_open_tcp(&c, &redlockd); /* 127.0.0.1 */
    for (unsigned i = 0; i < 3; i++)
        ask(&c, NO_SUCH, "AUTH ops " WRONG);
    expect_closed(&c);
    client_open_tcp(&c, &redlockd);
    ask(&c, "+OK", AS_OPS);
    ask(&c, "-BUSY job*", "LOCK job");
    ck_assert_ptr_nonnull(strstr(show(&c, "STATS"), "* auth_failed=5\n"));

    ck_assert(daemon_logged(&redlockd, "event=auth_failed"));
    static const char *const unsaid[] = {"0123456789abcdef", "1123456789abcdef", "somebody-else", "a8ae6e6e"};
    for (unsigned i = 0; i < 4; i++)
        ck_assert(!daemon_logged(&redlockd, unsaid[i]));
}

/* All lines come in one segment: what stands behind AUTH is done after it, with the rights that it gave
 * or not. */
T(a_pipeline_behind_auth)
{
    users_begin_with_ops(&a, OPS "  - {name: web, uid: ME, lock: ['web/*']}\n");
    client_open(&b, &redlockd);
    client_send(&b, "#1 LOCK web/1\nLOCK web/2\nUNLOCK web/2\nUNLOCK web/1\n%s\n#2 LOCK any\n#3 PING",
                AS_OPS);
    await(&b, "+UNLOCKED web/1 *");
    await(&b, "+OK");
    expect(&b, "#3 +PONG ready=1");
    expect(&b, "#2 +LOCKED any *");
    ask(&b, "+UNLOCKED any *", "UNLOCK any");
    client_send(&b, "AUTH ops " WRONG "\n#4 LOCK any2\n#5 PING");
    expect(&b, NO_SUCH);
    expect(&b, "#5 +PONG ready=1"); /* the client is ops still, as before the AUTH that failed */
    expect(&b, "#4 +LOCKED any2 *");
}

T(a_stranger_is_closed)
{
    users_begin(&a, OPS);
    client_open(&b, &redlockd);
    ask(&b, "+PONG ready=1", "PING");
    ask(&a, "+OK", AS_OPS);
    eventually(rows_with(show(&a, "CLIENTS"), "user= ") == 0);
    expect_closed(&b);
    ck_assert_uint_eq(rows_with(show(&a, "CLIENTS"), "user=ops "), 1);
}

static void client_open_at(struct client *client, const char *address)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(redlockd.port)};

    *client = (struct client){.fd = socket(AF_INET, SOCK_STREAM, 0)};
    inet_pton(AF_INET, address, &in.sin_addr);
    ck_assert_int_eq(connect(client->fd, (struct sockaddr *)&in, sizeof in), 0);
}

T(no_secret_over_a_network)
{
    if (!network_enter("10.9.8.7")) {
        printf("left out: a client of another address (it needs root)\n");
        return;
    }
    cluster_start(&masters, 3, UNIX);
    daemon_configure(&redlockd, &masters, "");
    char settings[4096];
    snprintf(settings, sizeof settings, "%slisten: ['0.0.0.0:%u', 'unix:%s']\n",
             users_settings(OPS "  - {name: anyone, lock: ['public/*']}\n"), redlockd.port, redlockd.path);
    daemon_configure(&redlockd, &masters, settings);
    daemon_run(&redlockd, (const char *const[]){"-c", redlockd.config, NULL});
    daemon_listens(&redlockd);
    client_open(&a, &redlockd);
    ask(&a, "+OK", AS_OPS);
    eventually(masters_up(&a, &masters));
    client_open_at(&b, "10.9.8.7");
    ask(&b, "-AUTH : not over plain TCP; this secret has been seen, make a new one", AS_OPS);
    ask(&b, "-DENIED job : user anyone may not lock it", "LOCK job");
    lock(&b, "public/1");
    client_open_at(&c, "127.0.0.1");
    ask(&c, "+OK", AS_OPS);
    ck_assert(daemon_logged(&redlockd, "over plain TCP nobody can prove to be one of the users"));
}

/* ---- a reload takes a right away ---- */

T(while_a_lock_is_held)
{
    users_begin_with_ops(&a, OPS "  - {name: web, uid: ME, lock: ['web/*', 'job']}\n");
    client_open(&b, &redlockd);
    struct grant job = lock(&b, "job ttl=12s");
    lock(&b, "web/1 ttl=12s");
    client_send(&a, "#1 LOCK job wait=60s ttl=12s");
    eventually(rows_with(show(&a, "WAITERS"), "name=job ") == 1);
    int64_t before_ms = now_ms();
    users_reload(OPS "  - {name: web, uid: ME, lock: ['web/*']}\n");
    expect(&b, "!LOST job token=* reason=denied");
    ck_assert_uint_ge(cluster_holds(&masters, "job", job.token),
                      2); /* its holder may not have read that yet */
    ask(&b, "-DENIED job *", "UNLOCK job token=%s", job.token);
    ask(&b, "-DENIED job *", "RESUME job token=%s", job.token);
    ask(&b, "+UNLOCKED web/1 *", "UNLOCK web/1");
    struct grant next = grant_of(await(&a, "#1 +LOCKED job *") + strlen("#1 "));
    ck_assert_int_gt(next.fence, job.fence);
    ck_assert_int_ge(now_ms(), job.until_ms - 1000);
    ck_assert_int_gt(now_ms(), before_ms);
    ck_assert(daemon_logged(&redlockd, "event=denied locks=1 waits=0"));
    lock(&b, "web/2");
}

/* Its user is not served the lock when the masters come back. */
T(while_a_resume_is_repeated)
{
    users_begin_with_ops(&a, OPS "  - {name: web, uid: ME, lock: ['web/*', 'job']}\n");
    client_open(&b, &redlockd);
    struct grant job = lock(&b, "job ttl=60s hold=lease");
    lock(&b, "web/1 ttl=60s");
    eventually(cluster_holds(&masters, "job", job.token) == 3);
    server_stop(&masters.server[0]);
    server_stop(&masters.server[1]);
    client_send(&b, "#1 RESUME job token=%s wait=10m", job.token);
    client_send(&b, "#2 RESUME web/1 token=%040d wait=10m", 7);
    users_reload(OPS "  - {name: web, uid: ME, lock: ['web/*']}\n");
    expect(&b, "#1 -DENIED job *");
    ck_assert(daemon_logged(&redlockd, "event=denied locks=0 waits=1"));
    server_cont(&masters.server[0]);
    server_cont(&masters.server[1]);
    expect(&b, "#2 -NOTHELD web/1*");
    eventually(cluster_holds(&masters, "job", job.token) == 3);
}

/* A file that has lost its users opens nothing; users: off does. */
T(a_file_without_its_users)
{
    char less[4096];
    users_begin_with_ops(&a, OPS);
    client_open(&b, &redlockd);
    ask(&b, "-AUTH job *", "LOCK job");
    char *whole = keep(file_read(redlockd.config)), *cut = strstr(whole, "users:\n");
    ck_assert_ptr_nonnull(cut);
    const char *rest = strchr(strchr(cut, '\n') + 1, '\n') + 1; /* behind the line of ops */
    snprintf(less, sizeof less, "%.*s%s", (int)(cut - whole), whole, rest);
    file_write(redlockd.config, less);
    daemon_signal(&redlockd, SIGHUP);
    eventually(daemon_logged(&redlockd, "event=reload "));
    ck_assert(daemon_logged(&redlockd, "why=\"users: missing, so everybody could do everything"));
    ck_assert(daemon_logged(&redlockd, "event=conf file="));
    ck_assert(daemon_logged(&redlockd, "errors=1 why=\"nothing was changed\""));
    ask(&b, "-AUTH job *", "LOCK job");
    ck_assert_ptr_nonnull(row_with(show(&a, "CONFIG"), "users=ops,"));
    snprintf(less, sizeof less, "%.*susers: off\n%s", (int)(cut - whole), whole, rest);
    file_write(redlockd.config, less);
    daemon_signal(&redlockd, SIGHUP);
    eventually(daemon_logged(&redlockd, "level=warn event=conf why=\"users: off: "));
    lock(&b, "job");
}

/* More than one turn of the loop looks at: the daemon goes on to answer meanwhile. */
T(while_very_many_are_held)
{
    enum { LOCKS = 2000, WAITS = 300, PINGS = 12000 };
    static char pings[PINGS * 5];
    unsigned lost = 0, denied = 0, between = 0;

    users_begin_with_ops(&a, OPS "  - {name: web, uid: ME, lock: ['job/*']}\n"
                                 "max_locks_per_client: 3000\nmax_waits_per_client: 400\n");
    client_open(&b, &redlockd);
    lock(&a, "job/kept");
    for (unsigned i = 0; i < LOCKS; i++)
        lock(&b, "job/%u ttl=30s", i);
    for (unsigned i = 0; i < WAITS; i++)
        client_send(&b, "#%u LOCK job/kept wait=10m", i);
    eventually(rows_with(show(&a, "WAITERS"), "name=job/kept ") == WAITS);
    daemon_configure(&redlockd, &masters, users_settings(OPS "  - {name: web, uid: ME, lock: ['web/*']}\n"));
    daemon_signal(&redlockd, SIGSTOP);
    daemon_signal(&redlockd, SIGHUP);
    for (unsigned i = 0; i < PINGS; i++)
        memcpy(pings + i * 5, "PING\n", 5);
    client_write(&b, pings, sizeof pings);
    daemon_signal(&redlockd, SIGCONT);
    while (lost < LOCKS) {
        const char *line = next_line(&b);
        ck_assert_msg(line != NULL, "closed after %u !LOST", lost);
        bool is_lost = strncmp(line, "!LOST job/", 10) == 0 && strstr(line, " reason=denied");
        bool is_pong = strncmp(line, "+PONG ", 6) == 0, is_denied = strstr(line, " -DENIED job/kept ");
        ck_assert_msg(is_lost || is_pong || is_denied, "%s", line);
        lost += is_lost;
        denied += is_denied;
        between += is_pong && lost > 0;
    }
    ck_assert_uint_eq(denied, WAITS);
    ck_assert_uint_gt(between, 0);
    eventually(daemon_logged(&redlockd, "event=denied locks=2000 waits=300"));
    ck_assert_uint_eq(rows_with(show(&a, "LOCKS"), "name="), 1);
    ask(&a, "+UNLOCKED job/kept *", "UNLOCK job/kept");
}

T(while_one_waits)
{
    users_begin_with_ops(&a, OPS "  - {name: web, uid: ME, lock: ['web/*', 'job']}\n");
    client_open(&b, &redlockd);
    client_open(&c, &redlockd);
    lock(&a, "job");
    client_send(&b, "#1 LOCK job wait=60s\n#2 LOCK job wait=60s");
    client_send(&c, "LOCK job wait=60s");
    eventually(rows_with(show(&a, "WAITERS"), "name=job ") == 3);
    users_reload(OPS "  - {name: web, uid: ME, lock: ['web/*']}\n");
    await(&b, "#1 -DENIED job : the right to lock it was taken away");
    await(&b, "#2 -DENIED job *");
    expect(&c, "-DENIED job *");
    ck_assert_uint_eq(rows_with(show(&a, "WAITERS"), ""), 0);
    ask(&a, "+UNLOCKED job *", "UNLOCK job"); /* the holder has kept its right */
    users_reload(OPS);
    ask(&b, "-AUTH web/1 *", "LOCK web/1");
    ask(&b, "+OK", AS_OPS);
    lock(&b, "web/1");
}

/* ---- limits ---- */

T(limits_of_a_user)
{
    users_begin_with_ops(
        &a, OPS "  - {name: web, uid: ME, lock: ['*'], max_locks: 2, max_waits: 1, max_clients: 2}\n");
    client_open(&b, &redlockd);
    client_open(&c, &redlockd);
    ask(&b, "+PONG ready=1", "PING");
    ask(&c, "+PONG ready=1", "PING");
    struct client third;
    client_open(&third, &redlockd);
    expect(&third, "-LIMIT limit=max_clients_per_user");
    expect_closed(&third);
    lock(&b, "x");
    lock(&c, "y");
    ask(&b, "-LIMIT z limit=max_locks_per_user", "LOCK z");
    lock(&a, "z"); /* another user */
    ask(&c, "+UNLOCKED y *", "UNLOCK y");
    client_send(&b, "#1 LOCK z wait=60s");
    eventually(rows_with(show(&a, "WAITERS"), "name=z ") == 1);
    ask(&c, "-LIMIT z limit=max_waits_per_user", "LOCK z wait=60s");
}

/* ---- what is refused at the start ---- */

/* The exit status of redlockd --check, behind another program where there is one. */
static int check_code(const char *before)
{
    struct command command;
    char line[4 * PATH];

    snprintf(line, sizeof line, "%s '%s' --check -c '%s' 2>&1", before, daemon_binary(), redlockd.config);
    int code = RUN(&command, "sh", "-c", line);
    file_write(redlockd.log, output(&command));
    return code;
}

T(bad_surroundings)
{
    char file[PATH + 16];
    users_begin(&a, OPS "  - {name: web, uid: ME, lock: ['*']}\n");
    ck_assert_int_eq(check_code(""), 0);
    snprintf(file, sizeof file, "%s/ops.sha256", redlockd.folder);
    ck_assert_int_eq(chmod(file, 0644), 0);
    ck_assert_int_ne(check_code(""), 0);
    ck_assert(daemon_logged(&redlockd, "everybody can read"));
    ck_assert_int_eq(chmod(file, 0600), 0);
    struct command unshared;
    if (RUN(&unshared, "unshare", "-r", "true") != 0) {
        printf("left out: a user namespace that hides the users\n");
        return;
    }
    ck_assert_int_ne(check_code("unshare -r"), 0); /* as PrivateUsers=yes of systemd */
    ck_assert(daemon_logged(&redlockd, "users: uid: this process sees other users as 65534"));
}

/* ---- the command ---- */

T(the_command_as_a_user)
{
    struct command command;
    char file[PATH + 16], line[80], secret[PATH + 16];

    users_begin(&a, OPS);
    command_use(&redlockd);
    ck_assert_int_eq(RUN(&command, "sh", "-c", "$R mkuser batch"), 0);
    const char *made = output(&command);
    ck_assert_uint_eq(strlen(made), 130);
    ck_assert_uint_eq(strspn(made, "0123456789abcdef"), 64);
    ck_assert_ptr_nonnull(
        strstr(errors(&command), "{name: \"batch\", secret_file: /etc/redlockd/batch.sha256"));
    snprintf(file, sizeof file, "%s/batch.sha256", redlockd.folder);
    snprintf(secret, sizeof secret, "%s/batch.secret", redlockd.folder);
    snprintf(line, sizeof line, "%.65s", made + 65);
    file_write(file, line);
    ck_assert_int_eq(chmod(file, 0600), 0);
    snprintf(line, sizeof line, "%.65s", made);
    file_write(secret, line);
    char users[512];
    snprintf(users, sizeof users, OPS "  - {name: batch, secret_file: %s, lock: ['batch/*']}\n", file);
    users_reload(users);

    ck_assert_int_eq(RUN(&command, "sh", "-c", "$R run -w 10s batch/x -- true"), 125);
    ck_assert_ptr_nonnull(
        strstr(errors(&command), "this connection is no user's: AUTH <user> <secret> first"));
    setenv("REDLOCK_USER", "batch", 1);
    ck_assert_int_eq(RUN(&command, "sh", "-c", "$R run -w 10s batch/x -- true"), 125);
    ck_assert_ptr_nonnull(strstr(errors(&command), "a user needs a secret file"));
    setenv("REDLOCK_SECRET_FILE", "/nowhere", 1);
    ck_assert_int_eq(RUN(&command, "sh", "-c", "$R run -w 10s batch/x -- true"), 125);
    ck_assert_ptr_nonnull(strstr(errors(&command), "cannot read the secret in /nowhere: No such file"));
    setenv("REDLOCK_SECRET_FILE", file, 1); /* the wrong one of the two */
    ck_assert_int_eq(RUN(&command, "sh", "-c", "$R run -w 10s batch/x -- true"), 125);
    ck_assert_ptr_nonnull(strstr(errors(&command), "no such user, or another secret"));
    setenv("REDLOCK_SECRET_FILE", secret, 1);
    ck_assert_int_eq(RUN(&command, "sh", "-c", "$R run -w 10s batch/x -- true"), 0);
    ck_assert_int_eq(RUN(&command, "sh", "-c", "$R run -w 10s other -- true"), 125);
    ck_assert_ptr_nonnull(strstr(errors(&command), "user batch may not lock it"));
    ck_assert_int_eq(RUN(&command, "sh", "-c", "$R run -a 192.0.2.77:7335 batch/x -- true"), 125);
    ck_assert_ptr_nonnull(strstr(errors(&command), "a secret does not go over TCP to another host"));
}
