/* The transport to a master, against real servers. */
#include "tests/unit/node_world.h"
#include "tests/unit/suite.h"

static struct server server;

static void server_setup(void)
{
    server_folder(&server);
    server_run(&server, server_free_port(), NULL, NULL);
}

static void server_teardown(void)
{
    server_remove(&server);
}

SETUP(bench_setup, bench_teardown);
SETUP(server_setup, server_teardown);

T_EACH(commands_and_votes, 2)
{
    server_say(&server, "FLUSHALL");
    _i ? dial_tcp("127.0.0.1", server.port) : dial_unix(server.path);
    UNTIL(told.connected);
    ck_assert(!node_wants_flush(node));
    send_command(COMMAND_SET, 10000, 11);
    send_command(COMMAND_ZADD, 500, 12);
    send_command(COMMAND_EXTEND, 20000, 13);
    send_command(COMMAND_CHECK, 0, 14);
    send_command(COMMAND_RELEASE, 0, 15);
    send_command(COMMAND_ZSCORE, 0, 16);
    send_command(COMMAND_INFO, 0, 17);
    ck_assert(node_wants_flush(node));
    turn();
    ck_assert_uint_eq(told.votes, 0); /* nothing is written before node_flush() */
    node_flush(node);
    ck_assert(!node_wants_flush(node));
    ck_assert_uint_eq(told.votes, 0); /* node_flush() reads nothing */
    UNTIL(told.votes == 7);
    static const enum vote_kind kinds[] = {VOTE_YES, VOTE_YES,    VOTE_NUMBER, VOTE_NUMBER,
                                           VOTE_YES, VOTE_NUMBER, VOTE_INFO};
    for (unsigned i = 0; i < 7; i++) {
        ck_assert_uint_eq(told.vote[i].ref, 11 + i);
        ck_assert_int_eq(told.vote[i].vote.kind, kinds[i]);
    }
    ck_assert_uint_eq(told.vote[2].vote.number, 20000);
    ck_assert_uint_eq(told.vote[5].vote.number, 500);
    struct node_row row;
    node_row(node, &row);
    ck_assert_int_gt(row.rtt_us, 0);
    ck_assert_int_lt(row.rtt_us, 5000000);
    ck_assert_uint_eq(row.pending, 0);
    ck_assert_uint_eq(row.errors, 0);
    ck_assert_str_eq(row.why, "");
    ck_assert_uint_eq(told.failed + told.lost, 0);
}

/* Most hosts files also give ::1, where no server listens: the next address is tried. */
T(a_name)
{
    dial_tcp("localhost", server.port);
    UNTIL(told.connected);
    ck_assert_uint_eq(told.failed, 0);
}

T(a_name_that_is_none)
{
    dial_tcp("no-such-host.invalid", server.port);
    UNTIL(told.failed);
    ck_assert_str_eq(row_why(), "resolve");
    UNTIL(log_count("why=resolve") == 1);
}

T(sent_from_within_connected)
{
    send_when_connected = true;
    dial_unix(server.path);
    UNTIL(told.votes);
    ck_assert_int_eq(told.vote[0].vote.kind, VOTE_NUMBER);
}

T(another_database)
{
    char reply[64];
    server_say(&server, "FLUSHALL");
    node_conf.nodes[0].db = 3;
    dial_unix(server.path);
    UNTIL(told.connected);
    send_command(COMMAND_SET, 10000, 1);
    node_flush(node);
    UNTIL(told.votes == 1);
    ck_assert_int_eq(told.vote[0].vote.kind, VOTE_YES);
    server_ask(&server, "EXISTS t:job", reply, sizeof reply);
    ck_assert_str_eq(reply, ":0\r\n");
    server_ask(&server, "INFO keyspace", reply, sizeof reply);
    ck_assert_ptr_nonnull(strstr(reply, "db3:keys=1"));
}

T(a_database_that_is_none)
{
    node_conf.nodes[0].db = 9999;
    dial_unix(server.path);
    UNTIL(told.failed);
    ck_assert_str_eq(row_why(), "login_refused");
    ck_assert_uint_eq(log_count("asked=\"SELECT\" hint=\"the number at the end of the URL"), 1);
}

T(users_and_passwords)
{
    server_say(&server, "ACL SETUSER redlockd on >sesame ~* +@all");
    set_login("redlockd", "hunter2");
    dial_unix(server.path);
    UNTIL(dials() == 3);
    ck_assert_uint_eq(told.failed, 1);
    ck_assert_uint_eq(told.connected, 0);
    ck_assert_str_eq(row_why(), "login_refused");
    ck_assert_uint_eq(log_count("why=login_refused"), 1);
    ck_assert_uint_eq(log_count("WRONGPASS"), 1);
    ck_assert_uint_eq(log_count("hint=\"node_user and node_password_file"), 1);
    ck_assert_uint_eq(log_count("hunter2"), 0);
    set_login("redlockd", "sesame");
    UNTIL(told.connected);
    send_command(COMMAND_CLIENT_ID, 0, 1);
    node_flush(node);
    UNTIL(told.votes);
    ck_assert_int_eq(told.vote[0].vote.kind, VOTE_NUMBER);
    /* A password alone. */
    node_free(node);
    server_say(&server, "CONFIG SET requirepass open");
    set_login("", "open");
    told.connection = 0;
    dial_unix(server.path);
    UNTIL(told.connected == 2);
    server_kill(&server); /* a new server has no password */
    server_run(&server, server.port, NULL, NULL);
}

/* Some servers do not answer the second AUTH, since a reply to the SET before is still in their buffer. */
T(a_wrong_password_amid_commands)
{
    server_say(&server, "ACL SETUSER redlockd on >sesame ~* +@all");
    set_login("redlockd", "sesame");
    node_conf.nodes[0].password_of_file = true;
    dial_unix(server.path);
    UNTIL(told.connected);
    send_command(COMMAND_SET, 10000, 1);
    node_reauthenticate(node, "hunter2");
    send_command(COMMAND_SET, 10000, 2);
    send_command(COMMAND_TIME, 0, 3);
    node_flush(node);
    UNTIL(told.votes == 3);
    ck_assert_int_eq(told.vote[0].vote.kind, VOTE_YES);
    ck_assert_int_eq(told.vote[1].vote.kind, VOTE_NO); /* the same key again */
    ck_assert_int_eq(told.vote[2].vote.kind, VOTE_NUMBER);
    ck_assert_uint_eq(log_count("why=refused"), 1);
    node_reauthenticate(node, "sesame");
    send_command(COMMAND_TIME, 0, 4);
    node_flush(node);
    UNTIL(told.votes == 4);
    ck_assert_uint_eq(log_count("why=refused"), 1);
    ck_assert_uint_eq(told.lost, 0);
}

T(scripts_flushed)
{
    static char stats[8192];
    server_say(&server, "FLUSHALL");
    server_say(&server, "SCRIPT FLUSH");
    server_say(&server, "CONFIG RESETSTAT");
    dial_unix(server.path);
    UNTIL(told.connected);
    server_say(&server, "SCRIPT FLUSH");
    for (unsigned i = 0; i < 100; i++)
        send_command(i % 2 ? COMMAND_EXTEND : COMMAND_RELEASE, 1000, i + 1);
    send_command(COMMAND_SET, 10000, 101);
    node_flush(node);
    UNTIL(told.votes == 101);
    for (unsigned i = 0; i < 100; i++) {
        ck_assert_int_eq(told.vote[i].vote.kind, VOTE_NOT_RUN);
        ck_assert_uint_eq(told.vote[i].ref, i + 1);
    }
    ck_assert_int_eq(told.vote[100].vote.kind, VOTE_YES);
    send_command(COMMAND_EXTEND, 20000, 102);
    send_command(COMMAND_RELEASE, 0, 103);
    node_flush(node);
    UNTIL(told.votes == 103);
    ck_assert_uint_eq(told.vote[101].vote.number, 20000);
    ck_assert_int_eq(told.vote[102].vote.kind, VOTE_YES);
    server_ask(&server, "INFO commandstats", stats, sizeof stats);
    char loads[64]; /* all scripts at the login, and the two that were missing */
    snprintf(loads, sizeof loads, "cmdstat_script|load:calls=%d,", RESP_SCRIPTS + 2);
    ck_assert_ptr_nonnull(strstr(stats, loads));
    /* Each script is loaded again whenever it is missing. */
    server_say(&server, "SCRIPT FLUSH");
    send_command(COMMAND_CHECK, 0, 104);
    node_flush(node);
    UNTIL(told.votes == 104);
    ck_assert_int_eq(told.vote[103].vote.kind, VOTE_NOT_RUN);
    snprintf(loads, sizeof loads, "cmdstat_script|load:calls=%d,", RESP_SCRIPTS + 3);
    UNTIL((server_ask(&server, "INFO commandstats", stats, sizeof stats), strstr(stats, loads)));
    ck_assert_uint_eq(told.lost, 0);
}

/* At the next connection they are there: a master is not to compile them for each daemon that comes back. */
T(scripts_are_not_loaded_again)
{
    static char stats[8192];
    char loads[64];
    server_say(&server, "FLUSHALL");
    server_say(&server, "SCRIPT FLUSH");
    server_say(&server, "CONFIG RESETSTAT");
    dial_unix(server.path);
    UNTIL(told.connected == 1);
    server_say(&server, "CLIENT KILL TYPE normal SKIPME yes");
    UNTIL(told.connected == 2);
    send_command(COMMAND_RELEASE, 0, 1);
    node_flush(node);
    UNTIL(told.votes == 1);
    ck_assert_int_eq(told.vote[0].vote.kind, VOTE_NO);
    server_ask(&server, "INFO commandstats", stats, sizeof stats);
    snprintf(loads, sizeof loads, "cmdstat_script|load:calls=%d,", RESP_SCRIPTS);
    ck_assert_ptr_nonnull(strstr(stats, loads));
}

T(errors_are_logged_once)
{
    struct node_row row;
    server_say(&server, "FLUSHALL");
    server_say(&server, "CONFIG SET maxmemory 1");
    dial_unix(server.path);
    UNTIL(told.connected);
    for (unsigned i = 0; i < 20; i++)
        send_command(COMMAND_SET, 10000, i + 1);
    node_flush(node);
    UNTIL(told.votes == 20);
    server_say(&server, "CONFIG SET maxmemory 0");
    ck_assert_int_eq(told.vote[19].vote.kind, VOTE_ERROR);
    ck_assert_int_eq(told.vote[19].vote.error, ERROR_OOM);
    ck_assert_uint_eq(log_count("event=node_error"), 1);
    ck_assert_uint_eq(log_count("class=OOM error=\"OOM command not allowed"), 1);
    node_row(node, &row);
    ck_assert_uint_eq(row.errors, 20);
    ck_assert_str_eq(row.why, "OOM");
    ck_assert_uint_eq(told.lost, 0);
}

T(closed_from_within_voted)
{
    dial_unix(server.path);
    UNTIL(told.connected);
    close_at_vote = 3;
    for (unsigned i = 0; i < 10; i++)
        send_command(COMMAND_CLIENT_ID, 0, i + 1);
    node_flush(node);
    UNTIL(told.votes == 3);
    send_command(COMMAND_CLIENT_ID, 0, 99); /* without a connection nothing happens */
    ck_assert(!node_wants_flush(node));
    node_flush(node);
    UNTIL(told.connected == 2);
    ck_assert_uint_eq(told.votes, 3);
    ck_assert_uint_eq(told.lost, 0);
    ck_assert_str_eq(row_why(), "test");
    send_command(COMMAND_CLIENT_ID, 0, 50);
    node_flush(node);
    UNTIL(told.votes == 4);
    ck_assert_uint_eq(told.vote[3].ref, 50);
}

T(a_server_that_comes_later)
{
    char shown[256];
    server_kill(&server);
    dial_unix(server.path);
    long long start_ms = test_now_ms();
    UNTIL(dials() >= 5 && test_now_ms() - start_ms > 1200);
    ck_assert_uint_eq(told.failed, 1);
    ck_assert_uint_eq(log_count("event=node_unreachable"), 1);
    snprintf(shown, sizeof shown, "node=unix:%s why=connect detail=\"No such file", server.path);
    ck_assert_uint_eq(log_count(shown), 1);
    server_run(&server, server.port, NULL, NULL);
    UNTIL(told.connected);
    ck_assert_uint_eq(told.failed, 1);
    /* A server that goes away and comes back. */
    send_command(COMMAND_CLIENT_ID, 0, 1);
    node_flush(node);
    UNTIL(told.votes == 1);
    server_kill(&server);
    send_command(COMMAND_CLIENT_ID, 0, 2);
    node_flush(node);
    UNTIL(told.lost);
    server_run(&server, server.port, NULL, NULL);
    UNTIL(told.connected == 2);
    ck_assert_uint_eq(told.lost, 1);
    ck_assert_uint_eq(told.votes, 1);
    ck_assert_uint_eq(told.failed, 1);
}

T(a_server_that_goes_away)
{
    dial_unix(server.path);
    UNTIL(told.connected);
    server_kill(&server);
    UNTIL(told.lost);
    UNTIL(dials() == 4);
    ck_assert_uint_eq(told.failed, 0); /* failed() is only for the first dial of a node */
    ck_assert_uint_eq(told.lost, 1);
}

T(a_port_where_nobody_listens)
{
    int port = server_free_port();
    dial_tcp("127.0.0.1", port);
    UNTIL(dials() == 2);
    ck_assert_uint_eq(told.failed, 1);
    ck_assert_uint_eq(log_count("why=connect detail=\"Connection refused\""), 1);
}

/* Sends and flushes as the loop does, until the backlog is reported or the connection is lost; returns the
 * number of commands. */
static unsigned fill_backlog(void)
{
    unsigned before = told.backlog + told.lost, sent = 0;
    while (told.backlog + told.lost == before) {
        ck_assert_uint_lt(sent, 1000000);
        for (unsigned i = 0; i < 100; i++)
            send_command(COMMAND_SET, 10000, ++sent);
        if (node_wants_flush(node))
            node_flush(node);
        ck_assert_uint_eq(told.votes, 0);
    }
    return sent;
}

T_EACH(backlog_of_a_stopped_server, 2)
{
    struct node_row row;
    close_at_backlog = !_i;
    node_conf.node_backlog_bytes = 1 << 17;
    dial_unix(server.path);
    UNTIL(told.connected);
    ck_assert_int_eq(kill(server.pid, SIGSTOP), 0);
    fill_backlog();
    ck_assert_uint_eq(told.backlog, 1);
    ck_assert_uint_eq(told.lost, 0);
    if (_i) {
        /* A handler that does not close at the backlog loses the connection at twice the limit. */
        ck_assert_uint_ge(fill_backlog(), (unsigned)node_conf.node_backlog_bytes / 200);
        ck_assert_uint_eq(told.backlog, 1);
        ck_assert_uint_eq(told.lost, 1);
    }
    node_row(node, &row);
    ck_assert_uint_eq(row.pending, 0);
    ck_assert_str_eq(row.why, "backlog");
    UNTIL(log_count("why=login_timeout") == 1); /* the server accepts, and says nothing */
    ck_assert_int_eq(kill(server.pid, SIGCONT), 0);
    UNTIL(told.connected == 2);
    ck_assert_uint_eq(told.votes, 0);
}

/* EV_WRITE takes over after EAGAIN, and every reply comes. */
T(more_than_a_socket_takes)
{
    node_conf.node_backlog_bytes = 16 << 20;
    dial_unix(server.path);
    UNTIL(told.connected);
    ck_assert_int_eq(kill(server.pid, SIGSTOP), 0);
    for (unsigned i = 0; i < VOTES; i++)
        send_command(COMMAND_SET, 10000, i + 1);
    node_flush(node);
    ck_assert(!node_wants_flush(node)); /* without turning the loop: the test waits for the socket */
    ck_assert_int_eq(kill(server.pid, SIGCONT), 0);
    UNTIL(told.votes == VOTES);
    for (unsigned i = 0; i < VOTES; i++)
        ck_assert_uint_eq(told.vote[i].ref, i + 1);
    ck_assert_uint_eq(told.backlog + told.lost, 0);
}
