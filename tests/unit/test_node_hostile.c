/* The transport to a master, against a server that does what no server should. */
#include "tests/unit/fake_master.h"
#include "tests/unit/suite.h"

static const struct {
    const char *reply; /* to a SET; NULL: unasked */
    const char *why;
} bad_replies[] = {
    {"HTTP/1.1 400 Bad Request\r\n\r\n", "protocol"},
    {"*2147483647\r\n", "protocol"},
    {"*1\r\n*1\r\n*1\r\n", "protocol"},
    {">2\r\n+message\r\n+x\r\n", "protocol"},
    {"$-5\r\n", "protocol"},
    {":5\r\n", "protocol"}, /* a reply that SET never has: the order of replies is lost */
    {"*1\r\n+OK\r\n", "protocol"},
    {"+OK\r\n+OK\r\n", "unsolicited_reply"},
};

SETUP(bench_setup, bench_teardown);
SETUP(fake_listen, fake_remove);

T_EACH(bad_reply, sizeof bad_replies / sizeof bad_replies[0])
{
    fake_connected();
    send_command(COMMAND_SET, 10000, 1);
    node_flush(node);
    UNTIL(fake_has("PX"));
    fake_say(bad_replies[_i].reply);
    UNTIL(told.lost);
    ck_assert_uint_eq(told.votes, _i == 7 ? 1 : 0);
    is_lost_and_redialled(bad_replies[_i].why);
}

T_EACH(a_reply_that_nobody_asked_for, 2)
{
    fake_connected();
    if (_i)
        send_command(COMMAND_SET, 10000,
                     1); /* the command is not written yet, so the reply does not answer it */
    fake_say("+OK\r\n");
    is_lost_and_redialled("unsolicited_reply");
    ck_assert_uint_eq(told.votes, 0);
}

T(a_reply_without_end)
{
    char block[1000];
    memset(block, 'x', sizeof block);
    fake_connected();
    send_command(COMMAND_SET, 10000, 1);
    node_flush(node);
    fake_say("+");
    for (unsigned sent = 0; !told.lost; sent++) {
        ck_assert_uint_lt(sent, 1000);
        send(fake_fd, block, sizeof block, MSG_NOSIGNAL);
        turn();
    }
    is_lost_and_redialled("protocol");
}

T(the_end_within_a_reply)
{
    fake_connected();
    send_command(COMMAND_SET, 10000, 1);
    node_flush(node);
    UNTIL(fake_has("PX"));
    fake_say("+O");
    turn();
    fake_close();
    is_lost_and_redialled("closed_by_master");
}

T(whole_replies_before_the_end_count)
{
    fake_connected();
    send_command(COMMAND_SET, 10000, 1);
    send_command(COMMAND_SET, 10000, 2);
    node_flush(node);
    UNTIL(fake_has("PX"));
    fake_say("+OK\r\n$-1");
    fake_close();
    UNTIL(told.lost);
    ck_assert_uint_eq(told.votes, 1);
    ck_assert_uint_eq(told.vote[0].ref, 1);
}

T(replies_in_pieces)
{
    static const char replies[] = "+OK\r\n$-1\r\n-OOM \x1b[31m\"no\r\n";
    fake_connected();
    for (unsigned i = 1; i <= 3; i++)
        send_command(COMMAND_SET, 10000, i);
    node_flush(node);
    for (size_t i = 0; i + 1 < sizeof replies; i++) {
        server_write(fake_fd, replies + i, 1);
        turn();
    }
    UNTIL(told.votes == 3);
    ck_assert_int_eq(told.vote[0].vote.kind, VOTE_YES);
    ck_assert_int_eq(told.vote[1].vote.kind, VOTE_NO);
    ck_assert_int_eq(told.vote[2].vote.error, ERROR_OOM);
    ck_assert_uint_eq(log_count("error=\"OOM \\x1b[31m\\\"no\""), 1);
}

/* Servers repeat the words of a command that they do not know. */
T(no_secret_in_the_log)
{
    set_login("me", "hunter2");
    dial_unix(fake.path);
    fake_accept();
    UNTIL(fake_has("hunter2"));
    fake_say("-ERR unknown command 'AUTH', with args beginning with: 'me' 'hunter2' \r\n");
    UNTIL(told.failed);
    fake_accept();
    UNTIL(fake_has("hunter2"));
    fake_say("-LOADING hunter2 is no good\r\n");
    UNTIL(log_count("why=loading") == 1);
    ck_assert_uint_eq(log_count("unknown command 'AUTH'"), 1);
    ck_assert_uint_eq(log_count("hunter2"), 0);
    set_login("", "");
    fake_login();
    UNTIL(told.connected);
    send_command(COMMAND_SET, 1000, 1);
    node_flush(node);
    fake_say("-ERR unknown command 'SET', with args beginning with: 't:job' '0000000000000000000'\r\n");
    UNTIL(told.votes);
    ck_assert_uint_eq(log_count("unknown command 'SET'"), 1);
    ck_assert_uint_eq(log_count("00000000"), 0);
}

#define MARK "$13\r\nredlockd-auth\r\n"

static const struct {
    const char *replies; /* to AUTH and the PING behind it */
    bool refused, lost;
} auth_replies[] = {
    {"+OK\r\n" MARK, false, false},
    {"-WRONGPASS hunter2\r\n" MARK, true, false},
    {MARK, true, false}, /* Redis from 7.2 on sends no error there */
    {"-NOPERM ping\r\n", true, true},
    {"+OK\r\n-NOPERM ping\r\n", false, true},
    {"", false, true},
};

/* Whatever the replies to AUTH are, no vote is taken for that of the command before. */
T_EACH(auth_amid_commands, sizeof auth_replies / sizeof auth_replies[0])
{
    fake_connected();
    node_conf.nodes[0].password_of_file = true;
    send_command(COMMAND_SET, 10000, 1);
    node_reauthenticate(node, "hunter2");
    send_command(COMMAND_SET, 10000, 2);
    send_command(COMMAND_SET, 10000, 3);
    node_flush(node);
    UNTIL(fake_has("redlockd-auth"));
    fake_say("+OK\r\n");
    fake_say(auth_replies[_i].replies);
    fake_say("$-1\r\n+OK\r\n");
    UNTIL(told.lost || told.votes == 3);
    ck_assert_uint_eq(told.lost, auth_replies[_i].lost);
    ck_assert_uint_eq(told.votes, auth_replies[_i].lost ? 1 : 3);
    ck_assert_int_eq(told.vote[0].vote.kind, VOTE_YES);
    if (!told.lost)
        ck_assert_int_eq(told.vote[1].vote.kind, VOTE_NO);
    ck_assert_uint_eq(log_count("why=refused"), auth_replies[_i].refused);
    ck_assert_uint_eq(log_count("hunter2"), 0);
}

T(loading_at_login)
{
    dial_unix(fake.path);
    for (unsigned i = 0; i < 3; i++) {
        fake_accept();
        UNTIL(fake_has("EVALSHA"));
        fake_say("-LOADING Redis is loading the dataset in memory\r\n");
        UNTIL(dials() == i + 1);
    }
    ck_assert_str_eq(row_why(), "loading");
    ck_assert_uint_eq(log_count("why=loading"), 1);
    fake_login();
    UNTIL(told.connected);
    ck_assert_uint_eq(told.failed, 1);
    ck_assert_uint_eq(told.lost, 0);
}

T(another_script_at_login)
{
    dial_unix(fake.path);
    fake_accept();
    UNTIL(fake_has("EVALSHA"));
    fake_say("-NOSCRIPT No matching script. Please use EVAL.\r\n");
    UNTIL(fake_has(resp_script_text(RESP_SCRIPTS - 1)));
    fake_say("$40\r\n0123456789012345678901234567890123456789\r\n");
    UNTIL(told.failed);
    ck_assert_str_eq(row_why(), "login_refused");
}

/* Where a node of a cluster does not have the key's slot, the coordinator asks what kind of server it is. */
T_EACH(a_node_of_a_cluster_at_login, 2)
{
    dial_unix(fake.path);
    fake_accept();
    UNTIL(fake_has("EVALSHA"));
    fake_say(_i == 0 ? "-CLUSTERDOWN Hash slot not served\r\n" : "-MOVED 3999 127.0.0.1:6381\r\n");
    fake_say_scripts();
    UNTIL(told.connected);
    ck_assert_uint_eq(told.failed, 0);
}

T(silence_at_login)
{
    dial_unix(fake.path);
    fake_accept();
    UNTIL(told.failed);
    ck_assert_str_eq(row_why(), "login_timeout");
    ck_assert_uint_eq(told.connected, 0);
}

T(what_was_not_sent_never_is)
{
    fake_connected();
    send_command(COMMAND_SET, 10000, 1);
    node_close(node, "test");
    fake_login();
    UNTIL(told.connected == 2);
    ck_assert(!fake_has("\r\nPX\r\n"));
    ck_assert_uint_eq(told.votes + told.lost, 0);
}

/* A hostile server answers the login and closes then: a proxy with nothing behind it, a crash at the first
 * command. */
T(a_connection_that_does_not_last_backs_off)
{
    long long start_ms = test_now_ms();
    dial_unix(fake.path);
    for (unsigned i = 1; i <= 6; i++) {
        fake_login();
        UNTIL(told.connected == i);
        fake_close();
        UNTIL(told.lost == i);
    }
    /* At least half of 50, 100, 200, 400 and 800 ms, which jitter leaves. */
    ck_assert_int_ge(test_now_ms() - start_ms, 775);
}

/* After a refused load the script is loaded again when it is missed again. */
T(a_script_that_cannot_be_loaded)
{
    fake_connected();
    for (unsigned i = 1; i <= 2; i++) {
        fake_got_len = 0;
        send_command(COMMAND_CHECK, 0, i);
        node_flush(node);
        fake_say("-NOSCRIPT No matching script.\r\n");
        UNTIL(fake_has(resp_script_text((unsigned)resp_script_of(COMMAND_CHECK))));
        ck_assert_uint_eq(told.votes, i);
        fake_say("-OOM no\r\n");
        UNTIL(log_count("class=OOM") == 1);
        struct node_row row;
        UNTIL((node_row(node, &row), row.pending == 0));
    }
    ck_assert_uint_eq(told.lost, 0);
}

T(freed_in_every_state)
{
    node = node_new(base, dns, &node_conf, &node_conf.nodes[0], 0, &handler);
    node_free(node);
    dial_unix(fake.path);
    node_free(node);
    dial_unix(fake.path);
    fake_accept();
    node_free(node);
    fake_connected();
    send_command(COMMAND_SET, 10000, 1);
    node_free(node);
    node_conf.nodes[0].address.path[0] = '\0';
    dial_tcp("no-such-host.invalid", 1);
    turn();
    node_free(node);
    node = NULL;
    turn();
}
