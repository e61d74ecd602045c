/* Names that the client library watches, and what holders tell. */
#include "tests/unit/client_world.h"

static struct redlock_watch *begin(struct world *w, const char *name)
{
    enum redlock_error error = REDLOCK_OK;
    struct redlock_watch *watch = core_watch(w->core, w->now_ms, name, &error);

    ck_assert_ptr_nonnull(watch);
    return watch;
}

static struct redlock_watch *watched(struct world *w, const char *name)
{
    struct redlock_watch *watch = begin(w, name);

    expect_line(w, "#* WATCH *");
    says(w, "%s +WATCHING %s state=free", tag(w), name);
    expect_told(w, "now ok");
    ck_assert_ptr_eq(w->event.watch, watch);
    expect_nothing(w);
    return watch;
}

T(a_state_is_told_where_it_differs)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_watch *watch = watched(w, "leader");

    ck_assert_int_eq(watch->now.state, REDLOCK_NOW_FREE);
    says(w, "!NOW leader state=held fence=17 host=web1 data=a=b");
    expect_told(w, "now ok");
    ck_assert_int_eq(watch->now.state, REDLOCK_NOW_HELD);
    ck_assert_uint_eq(watch->now.fence, 17);
    ck_assert_str_eq(watch->now.host, "web1");
    ck_assert_str_eq(watch->now.data, "a=b");
    says(w, "!NOW leader state=held fence=17 host=web1 data=a=b");
    says(w, "!NOW other state=free");
    expect_nothing(w);
    says(w, "!NOW leader state=held mode=shared");
    expect_told(w, "now ok");
    ck_assert_int_eq(watch->now.mode, REDLOCK_SHARED);
    ck_assert_ptr_null(watch->now.host);
    ck_assert_ptr_null(watch->now.data);
    says(w, "!NOW leader state=of-a-later-version");
    expect_told(w, "now ok");
    ck_assert_int_eq(watch->now.state, REDLOCK_NOW_UNKNOWN);
}

T(two_watches_of_a_name)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_watch *one = watched(w, "leader"), *other = watched(w, "leader");

    says(w, "!NOW leader state=kept");
    expect_told(w, "now ok");
    expect_told(w, "now ok");
    expect_nothing(w);
    core_unwatch(w->core, one);
    expect_silence(w); /* redlockd knows one watch for both */
    says(w, "!NOW leader state=free");
    expect_told(w, "now ok");
    ck_assert_ptr_eq(w->event.watch, other);
    core_unwatch(w->core, other);
    expect_line(w, "#* UNWATCH leader");
    says(w, "%s -NOTHELD leader", tag(w));
    expect_nothing(w);
    ck_assert_uint_eq(w->core->watches_count, 0);
    ck_assert_uint_eq(w->core->slots_used, 0);
}

T(watched_again_on_the_next_connection)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_watch *watch = watched(w, "leader");

    goes_down(w);
    expect_told(w, "down *");
    passes(w, 60000); /* however long that takes */
    expect_nothing(w);
    comes_up(w);
    expect_line(w, "#* WATCH leader");
    says(w, "%s +WATCHING leader state=free", tag(w));
    expect_nothing(w);
    goes_down(w);
    expect_told(w, "down *");
    core_unwatch(w->core, watch); /* nobody is to be asked */
    comes_up(w);
    expect_silence(w);
    ck_assert_uint_eq(w->core->slots_used, 0);
}

T(no_answer_and_a_late_one)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_watch *watch = begin(w, "leader");

    expect_line(w, "#* WATCH leader");
    const char *late = tag(w);
    for (int i = 0; i < 10; i++) {
        passes(w, 1000);
        says(w, "!LATER"); /* redlockd is not silent */
        if (i < 9)
            expect_nothing(w);
    }
    expect_told(w, "now noanswer : no answer in time");
    says(w, "%s +WATCHING leader state=free", late);
    says(w, "!NOW leader state=kept");
    expect_nothing(w);
    core_unwatch(w->core, watch); /* redlockd watches the name for us, though */
    expect_line(w, "#* UNWATCH leader");
    says(w, "%s +OK", tag(w));
    expect_nothing(w);
    ck_assert_uint_eq(w->core->watches_count, 0);
}

T(refusals_end_it)
{
    static const char *const lines[][2] = {
        {"-DENIED", "denied"}, {"-LIMIT", "limit"}, {"-BADVERB", "unsupported"}};
    struct world *w = world_new();
    char pattern[64];

    comes_up(w);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct redlock_watch *watch = begin(w, "leader");
        expect_line(w, "#* WATCH leader");
        says(w, "%s %s leader : why", tag(w), lines[i][0]);
        (void)snprintf(pattern, sizeof pattern, "now %s : %s leader : why", lines[i][1], lines[i][0]);
        expect_told(w, pattern);
        core_unwatch(w->core, watch);
        expect_silence(w);
    }
    begin(w, "leader");
    expect_line(w, "#* WATCH leader");
    says(w, "%s -DRAINING leader", tag(w));
    expect_nothing(w);
    expect_silence(w);
    goes_down(w);
    expect_told(w, "down *");
    comes_up(w);
    expect_line(w, "#* WATCH leader"); /* the next redlockd is asked */
}

T(nobody_listens)
{
    struct world *w = world_new();

    begin(w, "leader");
    core_tick(w->core, w->now_ms);
    core_connecting(w->core, w->now_ms);
    goes_down(w);
    expect_told(w, "down *");
    expect_told(w, "now connect : gone");
}

T(a_lie_about_the_name_or_the_state)
{
    struct world *w = world_new();
    comes_up(w);
    begin(w, "leader");
    expect_line(w, "#* WATCH leader");
    says(w, "%s +WATCHING other state=free", tag(w));
    expect_nothing(w);
    ck_assert_int_eq(core_action(w->core), ACTION_CLOSE);
}

T(a_silent_redlockd_is_asked)
{
    struct world *w = world_new();
    comes_up(w);
    watched(w, "leader");
    passes(w, PATIENCE_MS);
    expect_line(w, "#p PING");
    passes(w, PATIENCE_MS);
    ck_assert_int_eq(core_action(w->core), ACTION_CLOSE);
}

T(too_many)
{
    struct world *w = world_new();
    enum redlock_error error = REDLOCK_OK;
    char name[32];

    for (int i = 0; i < REDLOCK_WATCHES_MAX; i++) {
        (void)snprintf(name, sizeof name, "name-%d", i);
        begin(w, name);
    }
    ck_assert_ptr_null(core_watch(w->core, w->now_ms, "more", &error));
    ck_assert_int_eq(error, REDLOCK_LIMIT);
    core_free(w->core);
}

static uint64_t tell(struct world *w, struct redlock_lock *lock, const char *data)
{
    enum redlock_error error = REDLOCK_OK;

    return core_tell(w->core, w->now_ms, lock, data, &error);
}

T(data_changes)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *lock = has_lock(w, "leader", TOKEN_A);

    uint64_t request = tell(w, lock, "there");
    expect_line(w, "#* DATA leader data=there");
    says(w, "%s +DATA leader confirmed=2/3", tag(w));
    expect_told(w, "tell leader ok");
    ck_assert_uint_eq(w->event.request, request);
    ck_assert_uint_ne(tell(w, lock, "x"), 0);
    expect_line(w, "#* DATA leader data=x");
    says(w, "%s -NOQUORUM leader votes=1/3", tag(w));
    expect_told(w, "tell leader noquorum : *");
    ck_assert_uint_ne(tell(w, lock, "x"), 0);
    expect_line(w, "#* DATA leader data=x");
    says(w, "%s -NOTHELD leader", tag(w));
    expect_told(w, "tell leader notheld : *");
    expect_told(w, "lost leader lost : gone");
    ck_assert_uint_ne(tell(w, lock, "x"), 0);
    expect_silence(w);
    expect_told(w, "tell leader lost : *");
}
