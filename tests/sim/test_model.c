/* The simulated master is true: the same random commands go to it and to a real
 * redis-server, and both must vote alike. */
#include <check.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "proto/resp.h"
#include "tests/sim/sim.h"

enum {
    SEQUENCES = 40,
    COMMANDS = 60,
    NAMES = 3,
    TOKENS = 4,
    NEAR_MS = 5, /* so close to its end whether a key is there depends on chance */
    START_MS = 10000,
};

static char folder[] = "/tmp/redlockd-model-XXXXXX";
static char path[sizeof(folder) + 16];
static pid_t server;
static int fd = -1;
static struct resp_reader *reader;

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t); /* the server's own clock */
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void nap(void)
{
    poll(NULL, 0, 1);
}

/* ---- the real server ---- */

static bool server_connect(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return true;
    close(fd);
    fd = -1;
    return false;
}

static void server_start(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/redis.sock", folder);
    server = fork();
    ck_assert_int_ge(server, 0);
    if (server == 0) {
        execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--dir",
               folder, "--logfile", "/dev/null", (char *)NULL);
        _exit(127);
    }
    int64_t end_ms = now_ms() + START_MS;
    while (!server_connect()) {
        ck_assert_msg(now_ms() < end_ms, "redis-server does not answer on %s", path);
        nap();
    }
    reader = resp_reader_new();
    ck_assert_ptr_nonnull(reader);
}

static void server_stop(void)
{
    close(fd);
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    unlink(path);
    rmdir(folder);
    resp_reader_free(reader);
}

static const struct resp_reply *ask_bytes(char *bytes, size_t len)
{
    ck_assert_ptr_nonnull(bytes);
    for (size_t sent = 0; sent < len;) {
        ssize_t n = write(fd, bytes + sent, len - sent);
        ck_assert_int_gt(n, 0);
        sent += (size_t)n;
    }
    resp_bytes_free(bytes);
    const struct resp_reply *reply;
    const char *why = "";
    for (int got; (got = resp_reader_next(reader, &reply, &why)) != 1;) {
        char in[4096];
        ck_assert_msg(got == 0, "%s", why);
        ssize_t n = read(fd, in, sizeof(in));
        ck_assert_int_gt(n, 0);
        ck_assert_int_eq(resp_reader_feed(reader, in, (size_t)n), 0);
    }
    return reply;
}

static void ask(struct resp_format *format, const struct store_command *what, struct vote *vote)
{
    struct command command = {.verb = what->verb, .bucket = what->bucket, .number = what->number, .ref = 1};
    command.name.len = 2;
    command.name.text[0] = 'n';
    command.name.text[1] = (char)('0' + what->name);
    memset(command.token.bytes, (int)what->tok, sizeof(command.token.bytes));
    size_t len = 0;
    char *bytes = resp_command(format, &command, &len);
    resp_vote(what->verb, ask_bytes(bytes, len), vote);
}

/* ---- the same to both ---- */

static void draw(uint64_t sequence, uint64_t step, struct store_command *command)
{
    static const enum command_verb verbs[] = {
        COMMAND_SET,     COMMAND_SET,    COMMAND_SET,    COMMAND_ZADD,  COMMAND_ZSCORE, COMMAND_RELEASE,
        COMMAND_RELEASE, COMMAND_EXTEND, COMMAND_EXTEND, COMMAND_CHECK, COMMAND_CHECK};
    uint64_t at = 16 * step;
    *command = (struct store_command){
        .verb = verbs[chance_below(sequence, 1, at, CHANCE_PLAN, 11)],
        .name = (unsigned)chance_below(sequence, 1, at + 1, CHANCE_PLAN, NAMES),
        .tok = 1 + (uint32_t)chance_below(sequence, 1, at + 2, CHANCE_PLAN, TOKENS),
        .bucket = (uint32_t)chance_below(sequence, 1, at + 3, CHANCE_PLAN, 3),
        .number = 1 + (uint64_t)chance_below(sequence, 1, at + 4, CHANCE_PLAN, 60),
    };
    if (command->verb == COMMAND_ZADD)
        command->number += UINT64_C(1700000000000000) + FENCE_MAX / 2 * (step % 3 == 0);
    if (command->verb == COMMAND_SET || command->verb == COMMAND_EXTEND)
        command->number += 10;
}

/* Not where the answer hangs on a millisecond. */
static void keep_off(const struct store *store, unsigned name)
{
    const struct store_key *key = &store->key[name];
    while (key->there && now_ms() >= key->expires_ms - NEAR_MS && now_ms() <= key->expires_ms + NEAR_MS)
        nap();
}

static bool same(enum command_verb verb, const struct vote *real, const struct vote *model)
{
    if (real->kind != model->kind)
        return false;
    if (real->kind != VOTE_NUMBER)
        return true;
    int64_t apart = (int64_t)real->number - (int64_t)model->number;
    bool ttl = verb == COMMAND_EXTEND || verb == COMMAND_CHECK;
    return ttl ? apart >= -NEAR_MS && apart <= NEAR_MS : apart == 0;
}

/* False: the machine was too slow to tell. */
static bool compare(struct resp_format *format, struct store *store, uint64_t sequence, uint64_t step)
{
    struct store_command command;
    struct vote real, model;
    draw(sequence, step, &command);
    keep_off(store, command.name);
    int64_t begin_ms = now_ms();
    ask(format, &command, &real);
    if (now_ms() - begin_ms > 2)
        return false;
    store_run(store, begin_ms, &command, &model);
    ck_assert_msg(same(command.verb, &real, &model),
                  "sequence %llu step %llu: verb %d n%u token %u number %llu: the server says %d/%llu, the "
                  "model %d/%llu",
                  (unsigned long long)sequence, (unsigned long long)step, command.verb, command.name,
                  command.tok, (unsigned long long)command.number, real.kind, (unsigned long long)real.number,
                  model.kind, (unsigned long long)model.number);
    return true;
}

START_TEST(model_votes_as_a_real_server)
{
    unsigned compared = 0;
    size_t len = 0;
    for (unsigned script = 0; script < RESP_SCRIPTS; script++) {
        char *bytes = resp_script_load(script, &len);
        ck_assert_int_eq(ask_bytes(bytes, len)->type, RESP_STRING);
    }
    for (uint64_t sequence = 0; sequence < SEQUENCES; sequence++) {
        char prefix[32];
        snprintf(prefix, sizeof(prefix), "model%llu:", (unsigned long long)sequence);
        struct resp_format *format = resp_format_new(prefix);
        struct store store;
        memset(&store, 0, sizeof(store));
        ck_assert_ptr_nonnull(format);
        for (uint64_t step = 0; step < COMMANDS && compare(format, &store, sequence, step); step++) {
            compared++;
            if (chance_below(sequence, 2, step, CHANCE_PLAN, 8) == 0)
                nap();
        }
        resp_format_free(format);
    }
    ck_assert_uint_gt(compared, SEQUENCES * COMMANDS / 8);
}
END_TEST

START_TEST(a_lost_script_is_not_run)
{
    struct store_command command = {.verb = COMMAND_CHECK, .tok = 1};
    struct vote vote;
    struct resp_format *format = resp_format_new("fresh:");
    ask(format, &command, &vote);
    ck_assert_int_eq(vote.kind, VOTE_NOT_RUN);
    resp_format_free(format);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("model");
    TCase *tcase = tcase_create("model");
    tcase_add_checked_fixture(tcase, server_start, server_stop);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, model_votes_as_a_real_server);
    tcase_add_test(tcase, a_lost_script_is_not_run);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
