/* The client library against a server that says anything, and against its own limits. */
#include "tests/unit/client_world.h"

static void expect_fnmatch(const char *text, const char *pattern)
{
    ck_assert_msg(fnmatch(pattern, text, 0) == 0, "\"%s\" is not \"%s\"", text, pattern);
}

/* An answer may come in pieces of any size, with CR LF, with empty lines between. */
T(an_answer_byte_by_byte)
{
    struct world *w = world_new();
    char line[256];

    comes_up(w);
    ask_lock(w, "job", 0);
    expect_line(w, "#* LOCK *");
    (void)snprintf(line, sizeof line, "\n\r\n%s +LOCKED job token=" TOKEN_A " fence=1 valid=1 until=9000\r\n",
                   tag(w));
    for (size_t i = 0; line[i]; i++) {
        expect_nothing(w);
        bytes_come(w, line + i, 1);
    }
    expect_told(w, "lock job ok");
}

T(what_answers_nothing_is_ignored)
{
    struct world *w = world_new();

    comes_up(w);
    ask_lock(w, "job", 0);
    expect_line(w, "#* LOCK *");
    char mine[20];
    (void)snprintf(mine, sizeof mine, "%s", tag(w));
    says(w, "#0.99 +LOCKED job token=" TOKEN_A " fence=1 valid=1 until=9000");
    says(w, "#ffff.1 -BUSY job");
    says(w, "#x -BUSY job");
    says(w, "#1. -BUSY job");
    says(w, "#.1 -BUSY job");
    says(w, "%s.1 -BUSY job", mine);
    says(w, "!RENEWED job token=" TOKEN_A " valid=1 until=99999999");
    says(w, "!LOST job token=" TOKEN_A " reason=gone");
    says(w, "!NEWS from=later");
    expect_nothing(w);
    ck_assert_int_eq(core_action(w->core), ACTION_NOTHING);
    says(w, "%s -BUSY job", mine);
    expect_told(w, "lock job busy : *");
    says(w, "%s -BUSY job", mine); /* twice */
    expect_nothing(w);
}

static void breaks(const char *answer, const char *why)
{
    struct world *w = world_new();
    char line[3 * SERVER_LINE_BYTES];

    comes_up(w);
    ask_lock(w, "job", 0);
    expect_line(w, "#* LOCK *");
    bool tagged = strncmp(answer, "%s", 2) == 0;
    (void)snprintf(line, sizeof line, "%s%s", tagged ? tag(w) : "", tagged ? answer + 2 : answer);
    says(w, "%s", line);
    says(w, "!DRAIN"); /* later lines are not listened to */
    expect_nothing(w);
    ck_assert_msg(core_action(w->core) == ACTION_CLOSE, "%s", answer);
    expect_silence(w);
    core_disconnected(w->core, w->now_ms, REDLOCK_CONNECT, "overwritten");
    expect_told(w, why);
    core_free(w->core);
}

T(what_no_redlockd_says_ends_the_connection)
{
    char longest[2 * SERVER_LINE_BYTES];

    breaks("HTTP/1.1 400 Bad Request", "down protocol : what answers is no redlockd*");
    breaks("%s +HELD job valid=1 until=2", "down protocol : *does not fit*");
    breaks("%s +UNLOCKED job", "down protocol : *does not fit*");
    breaks("%s * name=job", "down protocol : *does not fit*");
    breaks("%s +LOCKED other token=" TOKEN_A " fence=1 valid=1 until=9000", "down protocol : *does not fit*");
    breaks("%s +LOCKED job token=" TOKEN_A " fence=1 valid=1", "down protocol : *");
    breaks("-BADLINE : byte 7", "down protocol : -BADLINE : byte 7");
    breaks("+OK", "down protocol : +OK");
    breaks("-LIMIT limit=max_clients", "down connect : -LIMIT limit=max_clients");
    breaks("#h -DENIED", "down protocol : -DENIED");
    breaks("#h +HELLO proto=2 now=7", "down protocol : *no redlockd of protocol 1");
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    breaks(longest, "down protocol : *longer than 2,048 bytes");
}

T(a_line_as_long_as_allowed)
{
    struct world *w = world_new();
    char line[SERVER_LINE_BYTES + 1];

    comes_up(w);
    ask_lock(w, "job", 0);
    expect_line(w, "#* LOCK *");
    int len = snprintf(line, sizeof line, "%s -BUSY job : ", tag(w));
    memset(line + len, 'x', sizeof line - (size_t)len);
    line[SERVER_LINE_BYTES - 1] = '\0'; /* says() appends the LF */
    says(w, "%s", line);
    expect_told(w, "lock job busy : -BUSY job : xxx*");
    ck_assert_uint_eq(strlen(w->event.text), SERVER_LINE_BYTES - 1 - (size_t)len + strlen("-BUSY job : "));
}

/* A server with impossible values: nothing is held for ever, nothing overflows. */
T(until_the_end_of_the_world)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *lock = has_lock(w, "job", TOKEN_A);

    says(w, "!RENEWED job token=" TOKEN_A " valid=1 until=999999999999999999");
    expect_told(w, "renewed job ok");
    ck_assert_int_eq(deadline(lock), w->now_ms + DURATION_MAX_MS);
    says(w, "!RENEWED job token=" TOKEN_A " valid=1 until=0");
    expect_told(w, "renewed job ok");
    passes(w, 100);
    expect_told(w, "lost job lost : expired");
}

T(limits_of_a_handle)
{
    struct world *w = world_new();
    enum redlock_error error = REDLOCK_OK;

    for (int i = 0; i < REDLOCK_LOCKS_MAX; i++)
        ck_assert_ptr_nonnull(core_attach(w->core, "job", TOKEN_A, &error));
    ck_assert_ptr_null(core_attach(w->core, "job", TOKEN_A, &error));
    ck_assert_int_eq(error, REDLOCK_LIMIT);
    for (int i = 0; i < REDLOCK_REQUESTS_MAX; i++)
        ck_assert_uint_gt(core_show(w->core, w->now_ms, "NODES", &error), 0);
    error = REDLOCK_OK;
    ck_assert_uint_eq(core_show(w->core, w->now_ms, "NODES", &error), 0);
    ck_assert_int_eq(error, REDLOCK_LIMIT);
    core_free(w->core);
}

/* Lines of the greatest length, as many as can be, and a kernel that takes no more: nothing overflows. */
T(output_that_nobody_takes)
{
    struct world *w = world_new();
    char name[REDLOCK_NAME_BYTES + 1];
    size_t len = 0;
    comes_up(w);

    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    for (int i = 0; i < CORE_WAITS; i++)
        ask_lock(w, name, 5000);
    for (int i = 0; i < 10; i++)
        (void)core_output(w->core, w->now_ms, &len);
    ck_assert_uint_le(len, CORE_OUTPUT_BYTES);
    ck_assert_uint_gt(len, CORE_OUTPUT_BYTES - LINE_BYTES);
    ck_assert(core_has_output(w->core));
    for (int i = 0; i < CORE_WAITS; i++) {
        expect_fnmatch(line_of(w), "#* LOCK nnn* ttl=9000 wait=5000");
        ck_assert_uint_lt(strlen(w->line), LINE_BYTES);
    }
    expect_silence(w);
    ck_assert(!core_has_output(w->core));
}
