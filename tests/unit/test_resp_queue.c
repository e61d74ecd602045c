/* The queue of daemons on a real server: who waits, who is woken, and who is told. */
#include "tests/unit/real_server.h"
#include "tests/unit/suite.h"

static long long score(void)
{
    char reply[64];
    server_ask(&server, "ZSCORE t:,queue:job f0f1f2f3", reply, sizeof reply);
    ck_assert_int_eq(reply[0], '$');
    return strtoll(strchr(reply, '\n') + 1, NULL, 10);
}

SETUP_ONCE(server_setup, server_teardown);

T(who_waits_joins_the_queue_and_tells_the_holder)
{
    fresh();
    struct command command = command_of(COMMAND_ENQUEUE, "job", 60000);
    command.waited_ms = 5000;
    ck_assert_int_eq(run_command(&command).kind, VOTE_NO); /* no key */
    struct vote now = run(COMMAND_TIME, "", 0);
    long long first = score();
    ck_assert_int_ge(first, (long long)now.number - 5000 - 1000);
    ck_assert_int_le(first, (long long)now.number - 5000);
    ck_assert_int_gt(number_of("PTTL t:,queue:job"), 50000);
    command.waited_ms = 9000; /* its place stays */
    ck_assert_int_eq(run(COMMAND_SET, "job", 30000).kind, VOTE_YES);
    struct vote vote = run_command(&command);
    ck_assert_int_eq(vote.kind, VOTE_UNHEARD);
    ck_assert(vote.number > 20000 && vote.number <= 30000);
    ck_assert_int_eq(score(), first);
    int holder = listen_as("00010203");
    ck_assert_int_eq(run_command(&command).kind, VOTE_HEARD);
    hears(holder, "t job");
    ck_assert_int_eq(run(COMMAND_DEQUEUE, "job", 0).kind, VOTE_YES);
    ck_assert_int_eq(run(COMMAND_DEQUEUE, "job", 0).kind, VOTE_NO);
    close(holder);
}

T(a_release_wakes_the_first)
{
    fresh();
    ck_assert_int_eq(release_waking("job").kind, VOTE_NO);
    ck_assert_int_eq(run(COMMAND_SET, "job", 60000).kind, VOTE_YES);
    ck_assert_int_eq(release_waking("job").kind, VOTE_YES); /* nobody waits */
    server_say(&server, "ZADD t:,queue:job 1 f0f1f2f3 2 bbbbbbbb 3 cccccccc");
    int woken = listen_as("bbbbbbbb"), next = listen_as("cccccccc");
    ck_assert_int_eq(release_waking("job").kind, VOTE_NO); /* no key of ours: nobody is woken */
    ck_assert_int_eq(run(COMMAND_SET, "job", 60000).kind, VOTE_YES);
    ck_assert_int_eq(run(COMMAND_RELEASE, "job", 0).kind, VOTE_YES); /* the release does not wake */
    hears(woken, NULL);
    ck_assert_int_eq(run(COMMAND_SET, "job", 60000).kind, VOTE_YES);
    struct vote vote = release_waking("job");
    ck_assert_int_eq(vote.kind, VOTE_HEARD);
    ck_assert_uint_gt(vote.number, 1000000);
    hears(woken, "w job");
    hears(next, NULL);
    is_reply("ZRANGE t:,queue:job 0 9", "*1\r\n$8\r\ncccccccc\r\n"); /* this daemon is out, too */
    ck_assert_int_eq(run(COMMAND_SET, "job", 60000).kind, VOTE_YES);
    close(next);
    while (number_of("PUBLISH t:,wake:cccccccc x") != 0)
        poll(NULL, 0, 1);
    ck_assert_int_eq(release_waking("job").kind, VOTE_UNHEARD);
    is_reply("EXISTS t:job t:,queue:job", ":0\r\n");
    close(woken);
}

T(who_polls_comes_before_those_who_are_woken)
{
    fresh();
    server_say(&server, "ZADD t:,queue:job 1 aaaaaaaa 2 f0f1f2f3 3 bbbbbbbb 4 cccccccc");
    int woken = listen_as("bbbbbbbb"), next = listen_as("cccccccc");
    ck_assert_int_eq(run(COMMAND_SET, "job", 60000).kind, VOTE_YES);
    ck_assert_int_eq(release_waking("job").kind, VOTE_UNHEARD);
    hears(woken, "l job");
    hears(next, NULL);
    is_reply("ZRANGE t:,queue:job 0 9", "*1\r\n$8\r\ncccccccc\r\n");
    close(woken);
    close(next);
}

T(a_daemon_with_waiters_goes_to_the_end)
{
    fresh();
    ck_assert_int_eq(run(COMMAND_SET, "job", 60000).kind, VOTE_YES);
    server_say(&server, "ZADD t:,queue:job 1 f0f1f2f3 2 aaaaaaaa 3 bbbbbbbb");
    struct command command = command_of(COMMAND_RELEASE, "job", 60000);
    command_to(&command);
    command.stays = true;
    int woken = listen_as("aaaaaaaa");
    ck_assert_int_eq(run_command(&command).kind, VOTE_HEARD);
    hears(woken, "w job");
    is_reply("ZRANGE t:,queue:job 0 9", "*2\r\n$8\r\nbbbbbbbb\r\n$8\r\nf0f1f2f3\r\n");
    ck_assert_int_gt(number_of("PTTL t:,queue:job"), 50000);
    close(woken);
}

/* ---- letters ---- */

static struct vote release_token(const char *name, const char *by)
{
    struct command command = command_of(COMMAND_RELEASE, name, 60000);
    command_to(&command);
    memcpy(command.to.bytes, by, TOKEN_ID_BYTES);
    command.name.slot = strchr(name, ',') != NULL;
    return run_command(&command);
}

T(the_daemon_whose_key_is_deleted_gets_a_letter)
{
    fresh();
    int holder = listen_as("00010203");
    ck_assert_int_eq(run(COMMAND_SET, "job", 60000).kind, VOTE_YES);
    ck_assert_int_eq(release_token("job", "else").kind, VOTE_YES);
    hears(holder, "g job");
    ck_assert_int_eq(release_token("job", "else").kind, VOTE_NO); /* there is no key any more */
    ck_assert_int_eq(run(COMMAND_SET, "job", 60000).kind, VOTE_YES);
    ck_assert_int_eq(release_token("job", "\0\1\2\3").kind, VOTE_YES); /* by the daemon itself */
    struct command slot = command_of(COMMAND_SET, "job,12", 60000);
    slot.name.slot = 1;
    ck_assert_int_eq(run_command(&slot).kind, VOTE_YES);
    ck_assert_int_eq(release_token("job,12", "else").kind, VOTE_YES);
    hears(holder, "g job,12");
    ck_assert_int_eq(run(COMMAND_SHARE, "job", 60000).kind, VOTE_YES);
    server_say(&server, "ZADD t:job 9999999999999 another"); /* readers are left */
    ck_assert_int_eq(release_token("job", "else").kind, VOTE_YES);
    hears(holder, "g job");
    ck_assert_int_eq(run(COMMAND_LETTER, "job", 0).kind, VOTE_YES);
    hears(holder, "g job");
    close(holder);
    ck_assert_int_eq(run(COMMAND_LETTER, "job", 0).kind, VOTE_NO);
}

T(a_list_is_told_by_its_first_name)
{
    fresh();
    int holder = listen_as("00010203");
    struct command command = command_of(COMMAND_SET_ALL, "a,b", 60000);
    command.name.more = 1;
    ck_assert_int_eq(run_command(&command).kind, VOTE_YES);
    command.verb = COMMAND_RELEASE_ALL;
    command_to(&command);
    ck_assert_int_eq(run_command(&command).kind, VOTE_YES);
    hears(holder, "g a");
    close(holder);
}

T(who_is_woken_in_vain_passes_it_on)
{
    fresh();
    server_say(&server, "ZADD t:,queue:job 1 bbbbbbbb 2 cccccccc");
    ck_assert_int_eq(run(COMMAND_SET, "job", 60000).kind, VOTE_YES);
    int holder = listen_as("00010203"), woken = listen_as("bbbbbbbb");
    ck_assert_int_eq(run(COMMAND_PASS, "job", 60000).kind, VOTE_NO); /* the key is there */
    hears(holder, "t job");
    is_reply("ZCARD t:,queue:job", ":2\r\n");
    ck_assert_int_eq(run(COMMAND_RELEASE, "job", 0).kind, VOTE_YES);
    ck_assert_int_eq(run(COMMAND_PASS, "job", 60000).kind, VOTE_HEARD);
    hears(woken, "w job");
    ck_assert_int_eq(run(COMMAND_PASS, "job", 60000).kind, VOTE_UNHEARD);
    ck_assert_int_eq(run(COMMAND_PASS, "job", 60000).kind, VOTE_YES);
    hears(holder, NULL);
    int own = listen_as("f0f1f2f3");
    server_say(&server, "SET t:job f0f1f2f3");
    ck_assert_int_eq(run(COMMAND_PASS, "job", 60000).kind, VOTE_NO);
    hears(own, NULL); /* a daemon does not tell itself */
    close(holder);
    close(woken);
    close(own);
}

/* The key is deleted all the same, and the first of the queue keeps its place. */
T(a_user_who_may_not_publish)
{
    fresh();
    server_say(&server, "ZADD t:,queue:job 1 aaaaaaaa");
    ck_assert_int_eq(run(COMMAND_SET, "job", 60000).kind, VOTE_YES);
    server_say(&server, "ACL SETUSER default -publish");
    struct vote release = release_waking("job");
    is_reply("EXISTS t:job", ":0\r\n");
    is_reply("ZRANGE t:,queue:job 0 9", "*1\r\n$8\r\naaaaaaaa\r\n");
    ck_assert_int_gt(number_of("PTTL t:,queue:job"), 50000);
    ck_assert_int_eq(run(COMMAND_SET, "job", 60000).kind, VOTE_YES);
    struct vote enqueue = run(COMMAND_ENQUEUE, "job", 60000);
    server_say(&server, "ACL SETUSER default +publish");
    ck_assert_int_eq(enqueue.kind, VOTE_UNHEARD);
    ck_assert_int_eq(enqueue.error, ERROR_NOPERM);
    ck_assert_int_eq(release.kind, VOTE_UNHEARD);
    ck_assert_int_eq(release.error, ERROR_NOPERM);
}

T(a_user_who_may_not_take_off_the_queue)
{
    fresh();
    server_say(&server, "ZADD t:,queue:job 1 aaaaaaaa");
    ck_assert_int_eq(run(COMMAND_SET, "job", 60000).kind, VOTE_YES);
    server_say(&server, "ACL SETUSER default -zrem");
    struct vote release = release_waking("job");
    server_say(&server, "ACL SETUSER default +zrem");
    ck_assert_int_eq(release.kind, VOTE_UNHEARD);
    is_reply("EXISTS t:job", ":0\r\n");
}

T(a_queue_that_is_none)
{
    fresh();
    server_say(&server, "LPUSH t:,queue:job a");
    ck_assert_int_eq(run(COMMAND_SET, "job", 60000).kind, VOTE_YES);
    ck_assert_int_eq(run(COMMAND_ENQUEUE, "job", 60000).kind, VOTE_ERROR);
    ck_assert_int_eq(release_waking("job").kind, VOTE_UNHEARD);
    is_reply("EXISTS t:job", ":0\r\n");
}
