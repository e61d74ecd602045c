#include "tests/unit/real_server.h"

struct server server;
struct resp_format *format;

void server_setup(void)
{
    server_folder(&server);
    server_run(&server, 0, NULL, NULL);
    format = resp_format_new("t:");
}

void server_teardown(void)
{
    server_remove(&server);
    resp_format_free(format);
}

struct resp_reply exchange(const char *bytes, size_t len)
{
    struct resp_reader *reader = resp_reader_new();
    const struct resp_reply *reply = NULL;
    const char *why = "";
    int got, fd = server_connect(&server);
    ck_assert_int_ge(fd, 0);
    server_write(fd, bytes, len);
    while ((got = resp_reader_next(reader, &reply, &why)) == 0) {
        char in[4096];
        ssize_t n = recv(fd, in, sizeof in, 0);
        ck_assert_int_gt(n, 0);
        ck_assert_int_eq(resp_reader_feed(reader, in, (size_t)n), 0);
    }
    ck_assert_msg(got == 1, "%s", why);
    struct resp_reply copy = *reply;
    resp_reader_free(reader);
    close(fd);
    return copy;
}

struct vote run_command(const struct command *command)
{
    char bytes[RESP_COMMAND_BYTES];
    struct resp_reply reply = exchange(bytes, resp_command(bytes, format, command));
    struct vote vote;
    resp_vote(command->verb, &reply, &vote);
    return vote;
}

struct vote run(enum command_verb verb, const char *name, uint64_t number)
{
    struct command command = command_of(verb, name, number);
    return run_command(&command);
}

struct vote release_waking(const char *name)
{
    struct command command = command_of(COMMAND_RELEASE, name, 60000);
    command_to(&command);
    return run_command(&command);
}

void is_reply(const char *command, const char *expected)
{
    char reply[512];
    server_ask(&server, command, reply, sizeof reply);
    ck_assert_str_eq(reply, expected);
}

long long number_of(const char *command)
{
    char reply[512];
    server_ask(&server, command, reply, sizeof reply);
    ck_assert_int_eq(reply[0], ':');
    return atoll(reply + 1);
}

void load_scripts(void)
{
    for (unsigned i = 0; i < RESP_SCRIPTS; i++) {
        size_t len;
        char *bytes = resp_script_load(i, &len);
        struct resp_reply reply = exchange(bytes, len);
        resp_bytes_free(bytes);
        ck_assert_int_eq(reply.type, RESP_STRING);
        ck_assert_str_eq(reply.text, resp_script_sha1(i));
    }
}

void fresh(void)
{
    server_say(&server, "FLUSHALL");
    load_scripts();
}

int listen_as(const char *id)
{
    char line[64];
    int fd = server_connect(&server);
    snprintf(line, sizeof line, "SUBSCRIBE t:,wake:%s\r\n", id);
    server_write(fd, line, strlen(line));
    ck_assert_int_gt(recv(fd, line, sizeof line, 0), 0);
    return fd;
}

void hears(int fd, const char *message)
{
    char in[256], expected[64];
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    if (message == NULL) {
        server_say(&server, "PING"); /* the server has written what it published before */
        ck_assert_int_eq(poll(&ready, 1, 0), 0);
        return;
    }
    ssize_t len = recv(fd, in, sizeof in - 1, 0);
    ck_assert_int_gt(len, 0);
    in[len] = 0;
    snprintf(expected, sizeof expected, "$%zu\r\n%s\r\n", strlen(message), message);
    ck_assert_msg(strcmp(in + len - strlen(expected), expected) == 0, "%s", in);
}
