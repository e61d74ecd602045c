/* Requests of the client library and their answers: tags, order, limits, time-outs. */
#include "tests/unit/client_world.h"

T(nothing_is_asked_before_hello_is_answered)
{
    struct world *w = world_new();

    ask_lock(w, "job", 0);
    dial(w, true);
    expect_silence(w);
    says(w, "#h +HELLO proto=1 server=redlockd/9 now=%lld", (long long)w->now_ms);
    expect_told(w, "up ok : redlockd/9");
    expect_nothing(w);
    expect_line(w, "#*.* LOCK job ttl=9000");
    expect_silence(w);
}

T(all_options_of_lock)
{
    struct world *w = world_new();
    struct redlock_lock_options options = {
        .ttl_ms = 5000, .wait_ms = 2000, .max_ms = 60000, .hold = REDLOCK_LEASE, .note = "backup"};
    enum redlock_error error;

    comes_up(w);
    ck_assert_ptr_nonnull(core_lock(w->core, w->now_ms, "job", NULL, &options, &error));
    passes(w, 500);
    expect_line(w, "#* LOCK job ttl=5000 wait=1500 max=60000 hold=lease note=backup");
    options = (struct redlock_lock_options){.wait_ms = REDLOCK_WAIT_LONGEST};
    ck_assert_ptr_nonnull(core_lock(w->core, w->now_ms, "job", NULL, &options, &error));
    expect_line(w, "#* LOCK job wait=2592000000");
    options = (struct redlock_lock_options){.note = "n", .max_ms = 9};
    ck_assert_ptr_nonnull(core_lock(w->core, w->now_ms, "job", TOKEN_A, &options, &error));
    expect_line(w, "#* RESUME job token=" TOKEN_A " max=9 note=n");
}

T(answers_in_another_order)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *a = ask_lock(w, "a", 0), *b = ask_lock(w, "b", 5000), *c = ask_lock(w, "c", 0);
    const char *tags[3];

    for (int i = 0; i < 3; i++) {
        expect_line(w, "#* LOCK *");
        tags[i] = tag(w);
    }
    says(w, "%s -BUSY c retry=300", tags[2]);
    says(w, "%s +LOCKED a token=" TOKEN_A " fence=1 valid=1 until=9000", tags[0]);
    expect_told(w, "lock c busy : -BUSY c retry=300");
    ck_assert_ptr_eq(w->event.lock, c);
    ck_assert_int_eq(w->event.retry_ms, 300);
    expect_told(w, "lock a ok");
    ck_assert_ptr_eq(w->event.lock, a);
    expect_nothing(w);
    says(w, "%s -TIMEOUT b waited=5000", tags[1]);
    expect_told(w, "lock b timeout : *");
    ck_assert_ptr_eq(w->event.lock, b);
    expect_nothing(w);
}

T(a_wait_that_connecting_has_used_up)
{
    struct world *w = world_new();
    ask_lock(w, "job", 50);
    ask_lock(w, "other", 0);
    passes(w, 60);
    comes_up(w);
    expect_line(w, "#* LOCK job ttl=9000");
    says(w, "%s -BUSY job retry=300", tag(w));
    expect_told(w, "lock job timeout : -BUSY job retry=300");
    expect_line(w, "#* LOCK other ttl=9000");
    says(w, "%s -BUSY other", tag(w));
    expect_told(w, "lock other busy : *");
}

T(each_refusal_has_its_error)
{
    static const struct {
        const char *line, *error;
    } known[] = {
        {"-BUSY", "busy"},
        {"-TIMEOUT", "timeout"},
        {"-NOQUORUM", "noquorum"},
        {"-NOTHELD", "notheld"},
        {"-CANCELLED", "cancelled"},
        {"-MODE", "mode"},
        {"-LIMIT", "limit"},
        {"-DRAINING", "draining"},
        {"-DENIED", "denied"},
        {"-AUTH", "auth"},
        {"-BADARG", "badrequest"},
        {"-BADVERB", "unsupported"},
        {"-UNSUPPORTED", "unsupported"},
        {"-LATER", "badrequest"},
    };
    struct world *w = world_new();
    char pattern[64];

    comes_up(w);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        ask_lock(w, "job", 0);
        expect_line(w, "#* LOCK *");
        says(w, "%s %s job x=1 : why", tag(w), known[i].line);
        (void)snprintf(pattern, sizeof pattern, "lock job %s : %s job x=1 : why", known[i].error,
                       known[i].line);
        expect_told(w, pattern);
        expect_nothing(w);
    }
}

static struct redlock_lock *ask_for(struct world *w, const char *name,
                                    const struct redlock_lock_options *options)
{
    enum redlock_error error;
    return core_lock(w->core, w->now_ms, name, NULL, options, &error);
}

/* Several names are one lock, whose name is the list as it was asked. */
T(several_names)
{
    struct world *w = world_new();
    char names[REDLOCK_NAMES_BYTES + 1], line[2000];
    comes_up(w);
    struct redlock_lock *lock = ask_for(w, "to,from", &(struct redlock_lock_options){0});
    expect_line(w, "#* LOCK to,from");
    says(w, "%s +LOCKED to,from token=" TOKEN_A " fence=1 valid=9 until=%d", tag(w), START_MS + TTL_MS);
    expect_told(w, "lock to,from ok");
    ck_assert_str_eq(redlock_name(lock), "to,from");
    says(w, "!LOST to,from token=" TOKEN_A " reason=gone");
    expect_told(w, "lost to,from *");

    /* The longest list, with all options: its lines are not too long. */
    for (unsigned i = 0; i < REDLOCK_NAMES_BYTES; i++)
        names[i] = i % 100 == 99 ? ',' : 'n';
    names[REDLOCK_NAMES_BYTES - 1] = 'n';
    names[REDLOCK_NAMES_BYTES] = '\0';
    char note[WORD_BYTES + 1];
    memset(note, 'w', WORD_BYTES);
    note[WORD_BYTES] = '\0';
    const struct redlock_lock_options all = {
        .ttl_ms = DURATION_MAX_MS, .wait_ms = DURATION_MAX_MS, .max_ms = DURATION_MAX_MS, .note = note};
    ask_for(w, names, &all);
    expect_line(w, "#* LOCK nn*");
    ck_assert_uint_lt(strlen(w->line), LINE_BYTES - 20);
    (void)snprintf(line, sizeof line, "%s +LOCKED %s token=" TOKEN_B " fence=1 valid=9 until=%d", tag(w),
                   names, START_MS + TTL_MS);
    says(w, "%s", line);
    expect_told(w, "lock nn* ok");
    goes_down(w);
    expect_told(w, "down *");
    comes_up(w);
    expect_line(w, "#* RESUME nn*");
    ck_assert_uint_lt(strlen(w->line), LINE_BYTES - 20);
}

T(one_of_several_slots)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *lock = ask_for(w, "pool", &(struct redlock_lock_options){.slots = 5});
    ck_assert_int_eq(redlock_slot(lock), -1);
    expect_line(w, "#* LOCK pool slots=5");
    says(w, "%s +LOCKED pool token=" TOKEN_A " fence=1 valid=9 until=%d slot=4", tag(w), START_MS + TTL_MS);
    expect_told(w, "lock pool ok");
    ck_assert_int_eq(redlock_slot(lock), 4);
    lock = ask_for(w, "pool", &(struct redlock_lock_options){.slots = 5});
    expect_line(w, "#* LOCK pool slots=5");
    says(w, "%s +LOCKED pool token=" TOKEN_B " fence=1 valid=9 until=%d slot=1024", tag(w),
         START_MS + TTL_MS);
    expect_told(w, "lock pool ok");
    ck_assert_int_eq(redlock_slot(lock), -1); /* there is no such slot */
    lock = ask_for(w, "pool", &(struct redlock_lock_options){.slots = 6});
    expect_line(w, "#* LOCK pool slots=6");
    says(w, "%s -MODE pool slots=5", tag(w));
    expect_told(w, "lock pool mode : -MODE pool slots=5");
    ck_assert_int_eq(redlock_slot(NULL), -1);
}

T(who_has_it)
{
    struct world *w = world_new();
    enum redlock_error error;

    comes_up(w);
    uint64_t id = core_who(w->core, w->now_ms, ASK_WHO, "job", -1, &error);
    expect_line(w, "#* WHO job");
    says(w, "%s * name=job mode=exclusive", tag(w));
    says(w, "%s +END 1", tag(w));
    expect_told(w, "row ok : name=job mode=exclusive");
    ck_assert_uint_eq(w->event.request, id);
    expect_told(w, "show ok");
    core_who(w->core, w->now_ms, ASK_WHO, "job", -1, &error);
    expect_line(w, "#* WHO job");
    says(w, "%s -NOQUORUM job votes=1/3 nodes=+!! : too few", tag(w));
    expect_told(w, "show noquorum : -NOQUORUM job *");
    core_who(w->core, w->now_ms, ASK_WHO, "job", -1, &error);
    expect_line(w, "#* WHO job");
    goes_down(w);
    expect_told(w, "down *");
    comes_up(w);
    expect_line(w, "#* WHO job"); /* asked once more, since no row was told */
    ck_assert_uint_eq(w->core->slots_used, 1);
}

/* BREAK is never repeated by itself: it might meet the next holder. */
T(break_is_asked_once)
{
    struct world *w = world_new();
    enum redlock_error error;

    comes_up(w);
    core_who(w->core, w->now_ms, ASK_BREAK, "job", -1, &error);
    expect_line(w, "#* BREAK job");
    says(w, "%s +BROKEN job daemon=5f0c93aa host=web1 confirmed=3/3", tag(w));
    expect_told(w, "show ok : +BROKEN job daemon=5f0c93aa *");
    core_who(w->core, w->now_ms, ASK_BREAK, "job", 3, &error);
    expect_line(w, "#* BREAK job slot=3");
    goes_down(w);
    expect_told(w, "down *");
    expect_told(w, "show noanswer : the connection ended, and whether it was broken is not known");
    comes_up(w);
    expect_silence(w);
    ck_assert_uint_eq(w->core->slots_used, 0);
}

T(rows)
{
    struct world *w = world_new();
    enum redlock_error error;

    comes_up(w);
    uint64_t id = core_show(w->core, w->now_ms, "LOCKS", &error);
    expect_line(w, "#* SHOW LOCKS");
    says(w, "%s * name=a", tag(w));
    says(w, "%s * name=b", tag(w));
    says(w, "%s +END 2", tag(w));
    expect_told(w, "row ok : name=a");
    ck_assert_uint_eq(w->event.request, id);
    expect_told(w, "row ok : name=b");
    expect_told(w, "show ok");
    ck_assert_uint_eq(w->event.request, id);
    expect_nothing(w);
}

T(extend_check_unlock)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *lock = has_lock(w, "job", TOKEN_A);
    enum redlock_error error;

    uint64_t extend = core_ask(w->core, w->now_ms, lock, ASK_EXTEND, 20000, &error);
    expect_line(w, "#* EXTEND job token=" TOKEN_A " ttl=20000");
    says(w, "%s +EXTENDED job valid=1 until=21000", tag(w));
    expect_told(w, "extend job ok");
    ck_assert_uint_eq(w->event.request, extend);
    ck_assert_int_eq(deadline(lock), 21000);
    ask(w, lock, ASK_CHECK);
    expect_line(w, "#* CHECK job token=" TOKEN_A);
    says(w, "%s +HELD job valid=1 until=20500", tag(w));
    expect_told(w, "check job ok");
    ck_assert_int_eq(deadline(lock), 20500);
    uint64_t unlock = ask(w, lock, ASK_UNLOCK);
    ck_assert_int_eq(deadline(lock), 0); /* at once: the program gave it up */
    ck_assert_uint_eq(ask(w, lock, ASK_UNLOCK), 0);
    ck_assert_uint_eq(ask(w, lock, ASK_CHECK), 0);
    expect_line(w, "#* UNLOCK job token=" TOKEN_A);
    says(w, "%s +UNLOCKED job confirmed=2/3", tag(w));
    expect_told(w, "unlock job ok");
    ck_assert_uint_eq(w->event.request, unlock);
    expect_nothing(w);
    ck_assert_uint_eq(w->core->locks_count, 0);
    ck_assert_uint_eq(w->core->slots_used, 0);
}

/* 300 requests: no more are on their way than redlockd takes, and all are answered. */
T(a_window_of_requests)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *lock = has_lock(w, "job", TOKEN_A);
    unsigned most = 0, answered = 0;

    for (int i = 0; i < 300; i++)
        ck_assert_uint_gt(ask(w, lock, ASK_CHECK), 0);
    while (answered < 300) {
        const char *tags[CORE_WINDOW + 1];
        char kept[CORE_WINDOW + 1][TAG_BYTES + 2];
        unsigned sent = 0;
        while (*line_of(w)) {
            ck_assert_uint_le(sent, CORE_WINDOW);
            tags[sent] = strcpy(kept[sent], tag(w));
            sent++;
        }
        ck_assert_uint_gt(sent, 0);
        most = sent > most ? sent : most;
        for (unsigned i = sent; i > 0; i--, answered++) {
            says(w, "%s +HELD job valid=1 until=9000", tags[i - 1]);
            expect_told(w, "check job ok");
        }
    }
    ck_assert_uint_eq(most, CORE_WINDOW);
    ask_lock(w, "a", 0);
    expect_line(w, "#* LOCK a *");
}

T(a_wait_takes_nobodys_place)
{
    struct world *w = world_new();

    comes_up(w);
    for (int i = 0; i < 2 * CORE_WINDOW; i++)
        ask_lock(w, "job", 5000);
    for (int i = 0; i < 2 * CORE_WINDOW; i++)
        expect_line(w, "#* LOCK job ttl=9000 wait=5000");
    ask_lock(w, "other", 0);
    expect_line(w, "#* LOCK other ttl=9000");
}

T(cancel)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *lock = ask_lock(w, "job", 5000);
    char want[64];

    expect_line(w, "#* LOCK job *");
    char mine[20];
    (void)snprintf(mine, sizeof mine, "%s", tag(w));
    core_cancel(w->core, w->now_ms, lock);
    core_cancel(w->core, w->now_ms, lock);
    (void)snprintf(want, sizeof want, "#c%s CANCEL %s", mine + 1, mine + 1);
    expect_line(w, want);
    expect_silence(w);
    says(w, "%s -CANCELLED job", mine);
    says(w, "%s +OK", tag(w));
    expect_told(w, "lock job cancelled : -CANCELLED job");
    expect_nothing(w);
    ck_assert_uint_eq(w->core->locks_count, 0);
}

T(cancel_before_it_was_asked_and_too_late)
{
    struct world *w = world_new();
    struct redlock_lock *early = ask_lock(w, "early", 5000);

    core_cancel(w->core, w->now_ms, early);
    expect_told(w, "lock early cancelled : *");
    comes_up(w);
    struct redlock_lock *late = ask_lock(w, "late", 5000);
    expect_line(w, "#* LOCK late *");
    char mine[20];
    (void)snprintf(mine, sizeof mine, "%s", tag(w));
    core_cancel(w->core, w->now_ms, late);
    expect_line(w, "#c* CANCEL *");
    says(w, "%s +LOCKED late token=" TOKEN_A " fence=1 valid=1 until=9000", mine);
    says(w, "%s -BADTAG : nothing waits there", tag(w));
    expect_told(w, "lock late ok");
    expect_nothing(w);
    core_cancel(w->core, w->now_ms, late);
    expect_silence(w);
}

/* The program was told that there is no answer; a grant after that is given back. */
T(a_late_grant_is_given_back)
{
    struct world *w = world_new();

    comes_up(w);
    ask_lock(w, "job", 3000);
    expect_line(w, "#* LOCK job *");
    char mine[20];
    (void)snprintf(mine, sizeof mine, "%s", tag(w));
    passes(w, 12999);
    expect_nothing(w);
    w->core->heard_ms = w->now_ms; /* redlockd has said other things meanwhile */
    w->core->pinged_ms = 0;
    passes(w, 1);
    expect_told(w, "lock job noanswer : *");
    expect_nothing(w);
    while (fnmatch("#c* CANCEL *", line_of(w), 0) != 0)
        ck_assert_str_eq(w->line, "#p PING");
    says(w, "%s +LOCKED job token=" TOKEN_B " fence=1 valid=1 until=99000", mine);
    expect_nothing(w);
    expect_line(w, "#* UNLOCK job token=" TOKEN_B);
    says(w, "%s +UNLOCKED job confirmed=2/3", tag(w));
    expect_nothing(w);
    ck_assert_uint_eq(w->core->locks_count, 0);
    ck_assert_uint_eq(w->core->slots_used, 0);
}

T(other_requests_give_up_too)
{
    struct world *w = world_new();
    enum redlock_error error;
    comes_up(w);
    struct redlock_lock *lease = ask_lease(w, "lease");
    expect_line(w, "#* LOCK lease ttl=9000 hold=lease");
    says(w, "%s +LOCKED lease token=" TOKEN_A " fence=1 valid=1 until=60000", tag(w));
    expect_told(w, "lock lease ok");

    core_show(w->core, w->now_ms, "NODES", &error);
    ask(w, lease, ASK_CHECK);
    ask(w, lease, ASK_UNLOCK);
    expect_line(w, "#* SHOW NODES");
    char show[20];
    (void)snprintf(show, sizeof show, "%s", tag(w));
    expect_line(w, "#* CHECK lease *");
    expect_line(w, "#* UNLOCK lease *");
    w->core->heard_ms = w->now_ms + 9000;
    passes(w, 10000);
    expect_told(w, "show noanswer : *");
    expect_told(w, "check lease noanswer : *");
    expect_told(w, "unlock lease noanswer : *");
    expect_nothing(w);
    says(w, "%s * node=a", show);
    expect_nothing(w);
    ck_assert_uint_eq(w->core->slots_used, 0);
}

/* EXTEND and CHECK of a lock that goes away have their result all the same, one each. */
T(requests_of_a_lock_that_is_let_go)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *lease = core_attach(w->core, "lease", TOKEN_A, &(enum redlock_error){0});

    uint64_t check = ask(w, lease, ASK_CHECK);
    expect_line(w, "#* CHECK lease *");
    char mine[20];
    (void)snprintf(mine, sizeof mine, "%s", tag(w));
    core_forget(w->core, w->now_ms, lease);
    expect_told(w, "check cancelled : *");
    ck_assert_uint_eq(w->event.request, check);
    ck_assert_ptr_null(w->event.lock);
    says(w, "%s +HELD lease valid=1 until=9000", mine);
    expect_nothing(w);
    expect_silence(w);
    ck_assert_uint_eq(w->core->locks_count, 0);
}
