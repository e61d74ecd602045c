/* Tests single replies to several commands, also from a server that does what no server should. */
#include "tests/unit/fake_master.h"
#include "tests/unit/suite.h"

enum { FIRST_REF = 21 };

static void send_extends(unsigned keys)
{
    static struct resp_batch batch;
    uint64_t refs[RESP_BATCH_KEYS];
    size_t len;
    for (unsigned i = 0; i < keys; i++) {
        struct command command = {.verb = COMMAND_EXTEND, .number = 1000, .name = {.len = 3, .text = "job"}};
        resp_batch_add(&batch, node_format, &command);
        refs[i] = FIRST_REF + i;
    }
    const char *bytes = resp_batch_end(&batch, &len);
    node_send_extends(node, bytes, len, refs, keys);
}

static uint64_t pending(void)
{
    struct node_row row;
    node_row(node, &row);
    return row.pending;
}

static void are_refs(unsigned from, unsigned count, uint64_t ref)
{
    for (unsigned i = 0; i < count; i++) {
        ck_assert_int_eq(told.vote[from + i].verb, COMMAND_EXTEND);
        ck_assert_uint_eq(told.vote[from + i].ref, ref + i);
    }
}

SETUP(bench_setup, bench_teardown);
SETUP(fake_listen, fake_remove);

T_EACH(a_reply_to_several, 2)
{
    static const char replies[] = "+OK\r\n*3\r\n:500\r\n:-2\r\n:700\r\n$-1\r\n";
    fake_connected();
    send_command(COMMAND_SET, 10000, 1);
    send_extends(3);
    send_command(COMMAND_SET, 10000, 2);
    ck_assert_uint_eq(pending(), 5);
    node_flush(node);
    if (_i) {
        fake_say(replies);
    } else {
        for (size_t i = 0; i + 1 < sizeof replies; i++) {
            ck_assert_uint_le(told.votes, i >= 26 ? 4 : 1);
            server_write(fake_fd, replies + i, 1);
            turn();
        }
    }
    UNTIL(told.votes == 5);
    are_refs(1, 3, FIRST_REF);
    ck_assert_int_eq(told.vote[0].vote.kind, VOTE_YES);
    ck_assert_uint_eq(told.vote[1].vote.number, 500);
    ck_assert_int_eq(told.vote[2].vote.kind, VOTE_NO);
    ck_assert_uint_eq(told.vote[3].vote.number, 700);
    ck_assert_int_eq(told.vote[4].vote.kind, VOTE_NO);
    ck_assert_uint_eq(told.vote[4].ref, 2);
    ck_assert_uint_eq(pending(), 0);
    struct node_row row;
    node_row(node, &row);
    ck_assert_int_gt(row.rtt_us, 0);
}

static const char *const wrong_for_three[] = {
    "*2\r\n:500\r\n:500\r\n",
    "*4\r\n:500\r\n:500\r\n:500\r\n:500\r\n",
    "*3\r\n:500\r\n:500\r\n$-1\r\n",
    "*3\r\n:500\r\n:500\r\n-READONLY no\r\n",
    "*3\r\n:500\r\n$3\r\n500\r\n:500\r\n",
    "*0\r\n",
    ":500\r\n:500\r\n:500\r\n",
    "$-1\r\n",
};

/* Not even the votes before the wrong one count. */
T_EACH(a_wrong_reply_to_several, sizeof wrong_for_three / sizeof wrong_for_three[0])
{
    fake_connected();
    send_extends(3);
    node_flush(node);
    UNTIL(fake_has("EVALSHA"));
    fake_say(wrong_for_three[_i]);
    is_lost_and_redialled("protocol");
    ck_assert_uint_eq(told.votes, 0);
}

T(an_error_in_reply_to_several)
{
    struct node_row row;
    fake_connected();
    send_extends(3);
    send_extends(2);
    node_flush(node);
    fake_say("-READONLY You can't write against a read only replica.\r\n*2\r\n:500\r\n:500\r\n");
    UNTIL(told.votes == 5);
    are_refs(0, 3, FIRST_REF);
    are_refs(3, 2, FIRST_REF);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(told.vote[i].vote.kind, VOTE_ERROR);
        ck_assert_int_eq(told.vote[i].vote.error, ERROR_READONLY);
    }
    ck_assert_uint_eq(told.vote[3].vote.number, 500);
    node_row(node, &row);
    ck_assert_uint_eq(row.errors, 1); /* the master refused the script once */
}

/* The script is loaded once, and the caller decides whether to ask again. */
T(several_whose_script_is_not_there)
{
    fake_connected();
    send_extends(RESP_BATCH_KEYS);
    send_extends(3);
    node_flush(node);
    UNTIL((fake_has(""), fake_count("EVALSHA") == 2));
    fake_say("-NOSCRIPT No matching script.\r\n-NOSCRIPT No matching script.\r\n");
    UNTIL(told.votes == RESP_BATCH_KEYS + 3);
    are_refs(0, RESP_BATCH_KEYS, FIRST_REF);
    are_refs(RESP_BATCH_KEYS, 3, FIRST_REF);
    for (unsigned i = 0; i < told.votes; i++)
        ck_assert_int_eq(told.vote[i].vote.kind, VOTE_NOT_RUN);
    send_extends(1);
    node_flush(node);
    UNTIL(fake_has(resp_script_text((unsigned)resp_script_of(COMMAND_EXTEND))));
    UNTIL((fake_has(""), fake_count("EVALSHA") == 3));
    ck_assert_uint_eq(fake_count("LOAD"), 1);
    fake_say("$40\r\n");
    fake_say(resp_script_sha1((unsigned)resp_script_of(COMMAND_EXTEND)));
    fake_say("\r\n*1\r\n:500\r\n");
    UNTIL(told.votes == RESP_BATCH_KEYS + 4);
    ck_assert_uint_eq(told.vote[RESP_BATCH_KEYS + 3].vote.number, 500);
}

/* A handler closes the connection: the rest of the votes is not told, neither now nor on the next
 * connection. */
T_EACH(closed_amid_the_votes_of_several, 3)
{
    fake_connected();
    close_at_vote = (unsigned)_i + 1;
    send_extends(3);
    node_flush(node);
    fake_say("*3\r\n:500\r\n:500\r\n:500\r\n");
    UNTIL(told.votes == close_at_vote);
    fake_login();
    UNTIL(told.connected == 2);
    ck_assert_uint_eq(told.votes, (unsigned)_i + 1);
    ck_assert_uint_eq(told.lost, 0);
    close_at_vote = 0;
    send_extends(2);
    node_flush(node);
    fake_say("*2\r\n:800\r\n:900\r\n");
    UNTIL(told.votes == (unsigned)_i + 3);
    are_refs((unsigned)_i + 1, 2, FIRST_REF);
    ck_assert_uint_eq(told.vote[_i + 1].vote.number, 800);
}

T(the_end_amid_a_reply_to_several)
{
    fake_connected();
    send_extends(3);
    node_flush(node);
    UNTIL(fake_has("EVALSHA"));
    fake_say("*3\r\n:500\r\n:500\r\n:50");
    turn();
    fake_close();
    is_lost_and_redialled("closed_by_master");
    ck_assert_uint_eq(told.votes, 0);
}

T(a_reply_to_several_that_were_not_written)
{
    fake_connected();
    send_extends(3);
    fake_say("*3\r\n:500\r\n:500\r\n:500\r\n");
    is_lost_and_redialled("unsolicited_reply");
    ck_assert_uint_eq(told.votes, 0);
}
