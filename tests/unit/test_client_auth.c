/* The client library as a user: AUTH comes first on each connection, and a refusal ends what is asked. */
#include "tests/unit/client_world.h"

#define HELLO "+HELLO proto=1 server=redlockd/0.1.0 session=1 now=1000 behind=0"

static void connects(struct world *w)
{
    core_tick(w->core, w->now_ms);
    core_connecting(w->core, w->now_ms);
    ck_assert(core_credentials(w->core, "worker", "open-sesame"));
    core_connected(w->core, w->now_ms, true);
}

T(auth_comes_first)
{
    struct world *w = world_new();

    ask_lock(w, "job", 0);
    connects(w);
    expect_line(w, "#u AUTH worker open-sesame");
    expect_silence(w); /* HELLO waits for the answer */
    says(w, "#u +OK");
    expect_nothing(w);
    expect_line(w, "#h HELLO 1 events=renewed");
    says(w, "#h " HELLO);
    expect_told(w, "up*");
    expect_line(w, "#* LOCK job*");
    goes_down(w);
    expect_told(w, "down *");
    passes(w, 1000);
    connects(w);
    expect_line(w, "#u AUTH worker open-sesame");
    ck_assert_str_eq(w->core->secret, ""); /* the secret is kept no longer than needed */
}

T(a_refusal_ends_what_is_asked)
{
    struct world *w = world_new();

    for (int i = 0; i < 2; i++) { /* also if redlockd was there before */
        ask_lock(w, "job", 5000);
        connects(w);
        expect_line(w, "#u AUTH *");
        says(w, "#u -AUTH : no such user, or another secret");
        expect_nothing(w);
        ck_assert_int_eq(core_action(w->core), ACTION_CLOSE);
        core_disconnected(w->core, w->now_ms, REDLOCK_CONNECT, "closed");
        if (i == 0)
            expect_told(w, "down auth : -AUTH : no such user, or another secret");
        expect_told(w, "lock job auth : -AUTH : no such user, or another secret");
        passes(w, 2000);
        connects(w);
        expect_line(w, "#u AUTH *");
        says(w, "#u +OK");
        expect_nothing(w);
        expect_line(w, "#h HELLO *");
        says(w, "#h " HELLO);
        expect_told(w, "up*");
        goes_down(w);
        expect_told(w, "down *");
        passes(w, 2000);
    }
}

/* Too many clients of this user: that may pass. */
T(a_limit_is_no_refusal)
{
    struct world *w = world_new();

    comes_up(w);
    goes_down(w);
    expect_told(w, "down *");
    ask_lock(w, "job", 5000);
    connects(w);
    expect_line(w, "#u AUTH *");
    says(w, "#u -LIMIT limit=max_clients_per_user");
    expect_nothing(w);
    core_disconnected(w->core, w->now_ms, REDLOCK_CONNECT, "closed");
    expect_nothing(w);
}

T(what_no_line_can_have_is_refused)
{
    struct world *w = world_new();
    char secret[CORE_SECRET_BYTES + 2];

    memset(secret, 'x', sizeof secret);
    secret[CORE_SECRET_BYTES] = '\0';
    ck_assert(core_credentials(w->core, "u", secret));
    secret[CORE_SECRET_BYTES] = 'x';
    secret[CORE_SECRET_BYTES + 1] = '\0';
    ck_assert(!core_credentials(w->core, "u", secret));
    ck_assert(!core_credentials(w->core, "", "s"));
    ck_assert(!core_credentials(w->core, "u", ""));
    ck_assert(!core_credentials(w->core, "u v", "s"));
    ck_assert(!core_credentials(w->core, "u", "s\nQUIT"));
    ck_assert(!core_credentials(w->core, "u", "s\xc3\xa9same"));
}

T(strange_answers)
{
    struct world *w = world_new();

    connects(w);
    says(w, "#u +OK"); /* before AUTH is sent: the answer to nothing */
    expect_nothing(w);
    expect_line(w, "#u AUTH *");
    says(w, "#u +PONG");
    expect_nothing(w);
    ck_assert_int_eq(core_action(w->core), ACTION_CLOSE);
    core_disconnected(w->core, w->now_ms, REDLOCK_CONNECT, "closed");
    expect_told(w, "down protocol : what answers AUTH is no redlockd*");
}
