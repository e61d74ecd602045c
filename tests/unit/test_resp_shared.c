/* The scripts of readers (mode=shared) on a real server. */
#include <time.h>

#include "tests/unit/real_server.h"
#include "tests/unit/suite.h"

static struct command reader(enum command_verb verb, uint8_t tok, uint64_t number)
{
    struct command command = command_of(verb, "job", number);
    memset(command.token.bytes, tok, TOKEN_BYTES);
    return command;
}

static struct vote run_reader(enum command_verb verb, uint8_t tok, uint64_t number)
{
    struct command command = reader(verb, tok, number);
    return run_command(&command);
}

/* What no command may leave behind is a key without a TTL. */
static void lives(long long least_ms, long long most_ms)
{
    long long left_ms = number_of("PTTL t:job");
    ck_assert_msg(left_ms > least_ms && left_ms <= most_ms, "the key lives for %lld ms", left_ms);
}

SETUP_ONCE(server_setup, server_teardown);

T(readers_share_and_writers_do_not)
{
    fresh();
    ck_assert_int_eq(run_reader(COMMAND_SHARE, 1, 20000).kind, VOTE_YES);
    lives(10000, 20000);
    ck_assert_int_eq(run_reader(COMMAND_SHARE, 2, 60000).kind, VOTE_YES);
    lives(50000, 60000);
    ck_assert_int_eq(run_reader(COMMAND_SHARE, 3, 10000).kind, VOTE_YES);
    lives(50000, 60000);
    ck_assert_int_eq(run_reader(COMMAND_SET, 4, 10000).kind, VOTE_NO);
    ck_assert_int_eq(run_reader(COMMAND_RELEASE, 4, 0).kind, VOTE_NO);
    ck_assert_int_eq(run_reader(COMMAND_RELEASE, 2, 0).kind, VOTE_YES);
    lives(10000, 20000);
    ck_assert_int_eq(run_reader(COMMAND_RELEASE, 2, 0).kind, VOTE_NO);
    ck_assert_int_eq(run_reader(COMMAND_RELEASE, 1, 0).kind, VOTE_YES);
    ck_assert_int_eq(run_reader(COMMAND_RELEASE, 3, 0).kind, VOTE_YES);
    ck_assert_int_eq(number_of("EXISTS t:job"), 0);
    ck_assert_int_eq(run_reader(COMMAND_SET, 4, 10000).kind, VOTE_YES);
    ck_assert_int_eq(run_reader(COMMAND_SHARE, 1, 20000).kind, VOTE_NO);
}

/* The next whole ms of the server's clock, less than 0.2 ms from now. */
static uint64_t next_ms(void)
{
    struct timespec at;
    do
        clock_gettime(CLOCK_REALTIME, &at);
    while (at.tv_nsec % 1000000 < 800000);
    return (uint64_t)at.tv_sec * 1000 + (uint64_t)at.tv_nsec / 1000000 + 1;
}

/* The last reader's instant may pass while the script runs: then the key is gone before the reader is added. */
T(no_key_is_without_a_ttl)
{
    fresh();
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t soon_ms = next_ms();
        (void)run_reader(COMMAND_SHARE_AT, 1, soon_ms);
        (void)run_reader(COMMAND_SHARE_AT, 2, soon_ms);
        (void)run_reader(COMMAND_SHARE_AT, 3, soon_ms);
        ck_assert_int_ne(number_of("PTTL t:job"), -1);
        server_say(&server, "DEL t:job");
    }
}

T(a_readers_time_is_its_own)
{
    fresh();
    ck_assert_int_eq(run_reader(COMMAND_SHARE, 1, 20000).kind, VOTE_YES);
    ck_assert_int_eq(run_reader(COMMAND_SHARE, 2, 20000).kind, VOTE_YES);
    ck_assert_uint_eq(run_reader(COMMAND_EXTEND, 1, 60000).number, 60000);
    lives(50000, 60000);
    struct vote vote = run_reader(COMMAND_CHECK, 2, 0);
    ck_assert(vote.kind == VOTE_NUMBER && vote.number > 10000 && vote.number <= 20000);
    vote = run_reader(COMMAND_EXTEND, 1, 1000); /* never shorter */
    ck_assert(vote.kind == VOTE_NUMBER && vote.number > 50000);
    ck_assert_int_eq(run_reader(COMMAND_EXTEND, 3, 60000).kind, VOTE_NO); /* never adds */
    ck_assert_int_eq(run_reader(COMMAND_CHECK, 3, 0).kind, VOTE_NO);
    ck_assert_int_eq(number_of("ZCARD t:job"), 2);
}

/* The clock cannot be set, but the time of a reader can. */
T(a_reader_whose_time_is_over_is_gone)
{
    fresh();
    ck_assert_int_eq(run_reader(COMMAND_SHARE, 1, 20000).kind, VOTE_YES);
    ck_assert_int_eq(run_reader(COMMAND_SHARE, 2, 60000).kind, VOTE_YES);
    server_say(&server, "ZADD t:job 1 0101010101010101010101010101010101010101");
    ck_assert_int_eq(run_reader(COMMAND_CHECK, 1, 0).kind, VOTE_NO);
    ck_assert_int_eq(run_reader(COMMAND_EXTEND, 1, 30000).kind, VOTE_NO);
    struct command move = reader(COMMAND_MOVE, 1, 0);
    ck_assert_int_eq(run_command(&move).kind, VOTE_NO);
    ck_assert_int_eq(run_reader(COMMAND_RELEASE, 1, 0).kind, VOTE_NO);
    ck_assert_int_eq(number_of("ZCARD t:job"), 1);
    lives(50000, 60000);
}

T(resume_moves_one_reader)
{
    fresh();
    ck_assert_int_eq(run_reader(COMMAND_SHARE, 1, 20000).kind, VOTE_YES);
    ck_assert_int_eq(run_reader(COMMAND_SHARE, 2, 60000).kind, VOTE_YES);
    struct command move = reader(COMMAND_MOVE, 1, 0);
    ck_assert_int_eq(run_command(&move).kind, VOTE_YES);
    ck_assert_int_eq(run_command(&move).kind, VOTE_NO);
    struct command check = reader(COMMAND_CHECK, 1, 0);
    check.token = move.to;
    struct vote vote = run_command(&check);
    ck_assert(vote.kind == VOTE_NUMBER && vote.number <= 20000);
    ck_assert_int_eq(run_reader(COMMAND_CHECK, 2, 0).kind, VOTE_NUMBER);
}

T(a_heal_never_adds_time)
{
    fresh();
    uint64_t now_ms = run(COMMAND_TIME, "", 0).number;
    ck_assert_int_eq(run_reader(COMMAND_SHARE_AT, 1, now_ms - 1).kind, VOTE_NO);
    ck_assert_int_eq(number_of("EXISTS t:job"), 0);
    ck_assert_int_eq(run_reader(COMMAND_SHARE_AT, 1, now_ms + 30000).kind, VOTE_YES);
    lives(20000, 30000);
    ck_assert_int_eq(run_reader(COMMAND_SHARE_AT, 1, now_ms + 60000).kind, VOTE_NO); /* it is there */
    lives(20000, 30000);
    ck_assert_int_eq(run_reader(COMMAND_SHARE_AT, 2, now_ms + 60000).kind, VOTE_YES);
    lives(50000, 60000);
}

T(a_full_memory_refuses_the_first_reader_only)
{
    fresh();
    ck_assert_int_eq(run_reader(COMMAND_SHARE, 1, 20000).kind, VOTE_YES);
    server_say(&server, "CONFIG SET maxmemory 1");
    struct command other = command_of(COMMAND_SHARE, "other", 20000);
    ck_assert_int_eq(run_command(&other).kind, VOTE_ERROR);
    ck_assert_int_eq(number_of("EXISTS t:other"), 0);
    ck_assert_int_eq(run_reader(COMMAND_SHARE, 2, 60000).kind, VOTE_YES);
    ck_assert_uint_eq(run_reader(COMMAND_EXTEND, 2, 90000).number, 90000);
    ck_assert_int_eq(run_reader(COMMAND_RELEASE, 1, 0).kind, VOTE_YES);
    server_say(&server, "CONFIG SET maxmemory 0");
    lives(80000, 90000);
}

static void user_may(const char *right, bool may)
{
    char line[64];
    snprintf(line, sizeof line, "ACL SETUSER default %c%s", may ? '+' : '-', right);
    server_say(&server, line);
}

/* A daemon whose user may not do all that readers need takes none, and its other locks do not suffer. */
T(without_rights)
{
    static const char *const rights[] = {"zrem", "pexpireat", "zrange"};
    for (unsigned i = 0; i < 3; i++) {
        fresh();
        ck_assert_int_eq(run_reader(COMMAND_SHARE, 1, 20000).kind, VOTE_YES);
        user_may(rights[i], false);
        struct command other = command_of(COMMAND_SHARE, "other", 20000);
        struct vote first = run_command(&other), second = run_reader(COMMAND_SHARE, 2, 20000);
        struct vote extended = run_reader(COMMAND_EXTEND, 1, 60000);
        user_may(rights[i], true);
        ck_assert_msg(first.error == ERROR_NOPERM && second.error == ERROR_NOPERM, "without %s", rights[i]);
        ck_assert_int_eq(number_of("EXISTS t:other"), 0);
        ck_assert_int_eq(number_of("ZCARD t:job"), 1);
        ck_assert_int_eq(extended.kind, VOTE_NUMBER);
        lives(10000, 60000);
    }
}

/* ---- a writer becomes a reader ---- */

/* DOWN of the token 1 or 2 to 3. */
static struct vote run_down(const char *name, uint64_t number)
{
    struct command command = command_of(COMMAND_DOWN, name, number);
    memset(command.token.bytes, 1, TOKEN_BYTES);
    command.has_other = true;
    memset(command.other.bytes, 2, TOKEN_BYTES);
    memset(command.to.bytes, 3, TOKEN_BYTES);
    return run_command(&command);
}

T(a_writer_becomes_a_reader)
{
    for (uint8_t tok = 1; tok <= 2; tok++) {
        fresh();
        ck_assert_int_eq(run_reader(COMMAND_SET, tok, 60000).kind, VOTE_YES);
        struct vote vote = run_down("job", 1);
        ck_assert(vote.kind == VOTE_NUMBER && vote.number > 50000 && vote.number <= 60000);
        lives(50000, 60000);
        ck_assert_int_eq(run_reader(COMMAND_CHECK, tok, 0).kind, VOTE_NO);
        ck_assert_int_eq(run_reader(COMMAND_CHECK, 3, 0).kind, VOTE_NUMBER);
        ck_assert_int_eq(run_reader(COMMAND_SET, 4, 60000).kind, VOTE_NO);
        ck_assert_int_eq(run_reader(COMMAND_SHARE, 4, 20000).kind, VOTE_YES);
        vote = run_down("job", 90000); /* once more: a renewal */
        ck_assert(vote.kind == VOTE_NUMBER && vote.number == 90000);
        lives(80000, 90000);
        ck_assert_int_eq(number_of("ZCARD t:job"), 2);
        ck_assert_int_eq(run_reader(COMMAND_RELEASE, 3, 0).kind, VOTE_YES);
        lives(10000, 20000);
    }
}

T(only_its_own_key_becomes_a_readers)
{
    fresh();
    ck_assert_int_eq(run_down("job", 60000).kind, VOTE_NO);
    ck_assert_int_eq(number_of("EXISTS t:job"), 0);
    ck_assert_int_eq(run_reader(COMMAND_SET, 4, 60000).kind, VOTE_YES);
    ck_assert_int_eq(run_down("job", 60000).kind, VOTE_NO);
    ck_assert_int_eq(run_reader(COMMAND_CHECK, 4, 0).kind, VOTE_NUMBER);
    fresh();
    ck_assert_int_eq(run_reader(COMMAND_SHARE, 4, 60000).kind, VOTE_YES);
    ck_assert_int_eq(run_down("job", 60000).kind, VOTE_NO);
    ck_assert_int_eq(number_of("ZCARD t:job"), 1);
    fresh();
    server_say(&server, "LPUSH t:job a");
    ck_assert_int_eq(run_down("job", 60000).kind, VOTE_NO);
    ck_assert_int_eq(number_of("LLEN t:job"), 1);
}

/* Neither a full memory nor a right that is missing leaves half of it, or a key without a TTL. */
T(a_downgrade_is_done_or_not)
{
    static const char *const rights[] = {"zrem", "pexpireat", "zadd", "del"};
    fresh();
    ck_assert_int_eq(run_reader(COMMAND_SET, 1, 60000).kind, VOTE_YES);
    server_say(&server, "CONFIG SET maxmemory 1");
    ck_assert_int_eq(run_down("job", 1).kind, VOTE_NUMBER);
    server_say(&server, "CONFIG SET maxmemory 0");
    lives(50000, 60000);
    ck_assert_int_eq(number_of("ZCARD t:job"), 1);
    for (unsigned i = 0; i < 4; i++) {
        fresh();
        ck_assert_int_eq(run_reader(COMMAND_SET, 1, 60000).kind, VOTE_YES);
        user_may(rights[i], false);
        struct vote vote = run_down("job", 90000);
        user_may(rights[i], true);
        ck_assert_msg(vote.kind == VOTE_ERROR && vote.error == ERROR_NOPERM, "without %s", rights[i]);
        lives(50000, 60001);
        vote = run_reader(COMMAND_CHECK, 1, 0);
        ck_assert_msg(vote.kind == VOTE_NUMBER && vote.number > 50000, "without %s", rights[i]);
    }
}

T(a_release_finds_each_form)
{
    for (uint8_t tok = 1; tok <= 3; tok++) {
        fresh();
        ck_assert_int_eq(run_reader(tok == 3 ? COMMAND_SHARE : COMMAND_SET, tok, 60000).kind, VOTE_YES);
        struct command release = reader(COMMAND_RELEASE, 3, 0);
        release.has_other = release.has_third = true;
        memset(release.other.bytes, 1, TOKEN_BYTES);
        memset(release.third.bytes, 2, TOKEN_BYTES);
        ck_assert_int_eq(run_command(&release).kind, VOTE_YES);
        ck_assert_int_eq(number_of("EXISTS t:job"), 0);
    }
}

T(a_key_of_another_type_is_left_alone)
{
    fresh();
    server_say(&server, "LPUSH t:job a");
    ck_assert_int_eq(run_reader(COMMAND_SHARE, 1, 20000).kind, VOTE_NO);
    ck_assert_int_eq(run_reader(COMMAND_EXTEND, 1, 20000).kind, VOTE_NO);
    ck_assert_int_eq(run_reader(COMMAND_CHECK, 1, 0).kind, VOTE_NO);
    ck_assert_int_eq(run_reader(COMMAND_RELEASE, 1, 0).kind, VOTE_NO);
    ck_assert_int_eq(number_of("LLEN t:job"), 1);
}

/* ---- a writer's mark: the daemon f0f1f2f3 leaves it ---- */

static struct vote enqueue(bool shared, uint64_t waited_ms, uint8_t daemon)
{
    struct command command = command_of(COMMAND_ENQUEUE, "job", 60000);
    command.shared = shared;
    command.waited_ms = waited_ms;
    if (daemon != 0)
        memset(command.to.bytes, daemon, TOKEN_BYTES);
    return run_command(&command);
}

static struct vote share_by(uint8_t daemon, uint8_t tok, uint64_t waited_ms)
{
    struct command command = reader(COMMAND_SHARE, tok, 20000);
    memset(command.to.bytes, daemon, TOKEN_BYTES);
    command.waited_ms = waited_ms;
    return run_command(&command);
}

T(a_writer_that_finds_readers_leaves_a_mark)
{
    fresh();
    ck_assert(!enqueue(false, 0, 0).marked);
    ck_assert_int_eq(number_of("EXISTS t:,writer:job"), 0);
    ck_assert_int_eq(share_by(0xaa, 1, 0).kind, VOTE_YES);
    ck_assert_int_eq(enqueue(true, 0, 0xbb).kind, VOTE_NO); /* a reader may come along */
    struct vote vote = enqueue(false, 1000, 0);
    ck_assert(vote.kind == VOTE_HEARD && vote.marked && vote.number > 10000);
    ck_assert_int_gt(number_of("PTTL t:,writer:job"), 0);
    ck_assert_int_eq(share_by(0xaa, 2, 0).kind, VOTE_NO);     /* came later */
    ck_assert_int_eq(share_by(0xaa, 2, 5000).kind, VOTE_YES); /* came sooner */
    struct command own = reader(COMMAND_SHARE, 3, 20000);
    ck_assert_int_eq(run_command(&own).kind, VOTE_YES); /* of the writer's own daemon */
    vote = enqueue(false, 0, 0xcc);
    ck_assert(vote.kind == VOTE_HEARD && !vote.marked); /* an older mark stands */
    vote = enqueue(true, 0, 0xbb);
    ck_assert(vote.kind == VOTE_HEARD && vote.number <= 2000);
}

T(a_mark_goes_with_its_writer)
{
    fresh();
    ck_assert_int_eq(share_by(0xaa, 1, 0).kind, VOTE_YES);
    ck_assert(enqueue(false, 0, 0).marked);
    ck_assert_int_eq(number_of("EXISTS t:,writer:job"), 1);
    struct command along = command_of(COMMAND_ALONG, "job", 60000);
    memset(along.to.bytes, 0xdd, TOKEN_BYTES);
    run_command(&along); /* another daemon's */
    ck_assert_int_eq(number_of("EXISTS t:,writer:job"), 1);
    server_say(&server, "ZADD t:,queue:job 5 bbbbbbbb");
    int next = listen_as("bbbbbbbb");
    ck_assert_int_eq(run(COMMAND_ALONG, "job", 60000).kind, VOTE_HEARD); /* readers have the name */
    hears(next, "w job");
    ck_assert_int_eq(number_of("EXISTS t:,writer:job"), 0);
    close(next);
}

/* The name is free, and the reader must not wait for a wake that went elsewhere. */
T(a_reader_that_is_barred_wakes_the_writer)
{
    fresh();
    server_say(&server, "SET t:,writer:job \"1 bbbbbbbb\" PX 60000");
    int writer = listen_as("bbbbbbbb");
    ck_assert_int_eq(share_by(0xaa, 1, 0).kind, VOTE_NO);
    ck_assert_int_eq(enqueue(true, 0, 0xaa).kind, VOTE_HEARD);
    hears(writer, "w job");
    close(writer);
    while (enqueue(true, 0, 0xaa).kind == VOTE_HEARD)
        poll(NULL, 0, 1); /* the server has yet to see that the listener is gone */
    ck_assert_int_eq(number_of("EXISTS t:,writer:job"), 0);
    ck_assert_int_eq(share_by(0xaa, 1, 0).kind, VOTE_YES);
}
