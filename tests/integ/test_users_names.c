/* Users and lists of names: a list takes the right to each of its names. */
#include <stdio.h>
#include <string.h>

#include "tests/integ/users.h"

static struct client a, b, c;

/* Each of the lists has a name that the user must not lock, wherever it stands. */
T(a_list_takes_the_right_to_each_name)
{
    static const char *const lists[] = {"a1,b1", "b1,a1", "b1,b2", "a8,b1,a9"};
    static const struct {
        const char *verb, *options;
        bool token;
    } lines[] = {{"LOCK", "", false},         {"LOCK", " wait=10s", false},       {"UNLOCK", "", false},
                 {"UNLOCK", " token=", true}, {"EXTEND", " ttl=5s token=", true}, {"CHECK", " token=", true},
                 {"RESUME", " token=", true}};
    users_begin_with_ops(&a, OPS "  - {name: web, uid: ME, lock: ['a*']}\n");
    client_open(&b, &redlockd);
    client_open(&c, &redlockd);
    for (unsigned i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        struct grant grant = lock(&a, "%s", lists[i]);
        for (unsigned k = 0; k < sizeof lines / sizeof lines[0]; k++) {
            char denied[64];
            snprintf(denied, sizeof denied, "-DENIED %s : user web may not lock it", lists[i]);
            ask(&b, denied, "%s %s%s%s", lines[k].verb, lists[i], lines[k].options,
                lines[k].token ? grant.token : "");
        }
        ask(&a, "+HELD *", "CHECK %s token=%s", lists[i], grant.token);
        ask(&a, "+UNLOCKED *", "UNLOCK %s", lists[i]);
        ask(&b, "-DENIED *", "LOCK %s", lists[i]);
        ask(&a, "+LOCKED *", "LOCK %s", lists[i]); /* no name of it was taken */
        ask(&a, "+UNLOCKED *", "UNLOCK %s", lists[i]);
    }
    struct grant grant = lock(&b, "a2,a1");
    ask(&b, "+EXTENDED a1,a2 *", "EXTEND a1,a2 token=%s", grant.token);
    ask(&c, "+HELD a1,a2 *", "CHECK a1,a2 token=%s", grant.token);
    grant = grant_of(ask(&c, "+LOCKED a1,a2 *", "RESUME a1,a2 token=%s", grant.token));
    await(&b, "!LOST a2,a1 token=* reason=moved");
    ask(&c, "+UNLOCKED a2,a1 *", "UNLOCK a2,a1 token=%s", grant.token);
    ck_assert_ptr_nonnull(strstr(show(&a, "STATS"), "* denied=32\n"));
}

T(a_list_is_shown_to_who_may_see_each_name)
{
    users_begin_with_ops(&a, OPS "  - {name: web, uid: ME, lock: ['own*'], show: ['a*']}\n");
    client_open(&b, &redlockd);
    lock(&a, "a1,b1");
    lock(&a, "a2,a3");
    lock(&b, "own1,own2");
    client_send(&a, "#1 LOCK b1,a9 wait=60s\n#2 LOCK a3,a8 wait=60s");
    eventually(rows_with(show(&a, "WAITERS"), "name=") == 2);
    ck_assert_uint_eq(rows_with(show(&a, "LOCKS"), "name="), 3);
    const char *locks = show(&b, "LOCKS");
    ck_assert_uint_eq(rows_with(locks, "name="), 2);
    ck_assert_uint_eq(rows_with(locks, "name=a2,a3 "), 1);
    ck_assert_uint_eq(rows_with(locks, "name=own1,own2 "), 1); /* one's own, without a right to show it */
    const char *waiters = show(&b, "WAITERS");
    ck_assert_uint_eq(rows_with(waiters, "name="), 1);
    ck_assert_uint_eq(rows_with(waiters, "name=a3,a8 "), 1);

    client_send(&b, "WHO a1");
    const char *holder = row_with(client_rows_at(&b, __FILE__, __LINE__), "name=a1 mode=exclusive ");
    ck_assert_msg(holder != NULL && strstr(holder, " list=") != NULL, "%s", holder);
    ask(&b, "-DENIED b1 : user web may not see it*", "WHO b1");
    ask(&b, "-DENIED own1 : user web may not see it*", "WHO own1");
    ask(&b, "-BADARG*", "WHO a2,a3"); /* it asks for one name */
    ask(&b, "-DENIED a1 : user web may not break it*", "BREAK a1");
}

T(a_list_is_lost_with_the_right_to_one_name)
{
    users_begin_with_ops(&a, OPS "  - {name: web, uid: ME, lock: ['a*', job], max_locks: 3, max_waits: 1}\n");
    client_open(&b, &redlockd);
    lock(&a, "a8");
    struct grant lost = lock(&b, "job,a1 ttl=12s");
    struct grant kept = lock(&b, "a2,a3,a4 ttl=12s");
    lock(&b, "a5");
    ask(&b, "-LIMIT a6,a7 limit=max_locks_per_user", "LOCK a6,a7"); /* each list is one lock, and one wait */
    ask(&b, "+UNLOCKED a5 *", "UNLOCK a5");
    client_send(&b, "#1 LOCK a8,job wait=60s");
    eventually(rows_with(show(&a, "WAITERS"), "name=a8,job ") == 1);
    ask(&b, "-LIMIT a8,a9 limit=max_waits_per_user", "LOCK a8,a9 wait=60s");
    users_reload(OPS "  - {name: web, uid: ME, lock: ['a*']}\n");
    bool lost_seen = false, denied_seen = false;
    while (!lost_seen || !denied_seen) {
        const char *line = next_line(&b);
        lost_seen |= strncmp(line, "!LOST job,a1 ", 13) == 0 && strstr(line, " reason=denied");
        denied_seen |= strncmp(line, "#1 -DENIED a8,job : ", 20) == 0;
    }
    ask(&b, "-DENIED job,a1 *", "UNLOCK job,a1 token=%s", lost.token);
    ask(&a, "-BUSY a1*", "LOCK a1"); /* its holder may not have read that yet */
    ask(&b, "+HELD a2,a3,a4 *", "CHECK a2,a3,a4 token=%s", kept.token);
}

/* Who has a name is told to who may show it, and for as long: also what changes after the right is gone. */
T(watching_takes_the_right_to_show)
{
    users_begin_with_ops(&a, OPS "  - {name: web, uid: ME, lock: ['a*'], show: ['a*']}\n");
    client_open(&b, &redlockd);
    ask(&b, "-DENIED b1 : user web may not see it*", "WATCH b1");
    ask(&b, "-NOTHELD b1", "UNWATCH b1"); /* it takes no right */
    ask(&b, "+WATCHING a1 state=free", "WATCH a1");
    ask(&b, "+WATCHING a2 state=free", "WATCH a2");
    lock(&a, "a1 data=x");
    await(&b, "!NOW a1 state=held *data=x");
    users_reload(OPS "  - {name: web, uid: ME, lock: ['a*'], show: ['a2']}\n");
    ask(&a, "+DATA a1 *", "DATA a1 data=secret");
    ask(&a, "+UNLOCKED a1 *", "UNLOCK a1");
    lock(&a, "a2");
    ck_assert_ptr_null(strstr(await(&b, "!NOW *"), "a1")); /* its look came after that of a1 */
    ask(&b, "-DENIED a1 : user web may not see it*", "WATCH a1");
}

/* Nothing more is told, also where a WATCH is still under way, and UNWATCH gives the places back. */
T(a_name_is_watched_by_who_may_see_it)
{
    users_begin_with_ops(&a, OPS "  - {name: web, uid: ME, lock: ['web/*'], show: ['web/*', job]}\n");
    client_open(&b, &redlockd);
    ask(&b, "-DENIED other : user web may not see it*", "WATCH other");
    ask(&b, "+WATCHING job state=free", "WATCH job");
    ask(&b, "+WATCHING web/1 state=free", "WATCH web/1");
    lock(&a, "job");
    await(&b, "!NOW job state=held*");
    server_stop(&masters.server[0]);
    server_stop(&masters.server[1]);
    client_send(&b, "WATCH job");
    eventually(strcmp(kv(row_with(show(&a, "STATS"), "watches="), "watches"), "3") == 0);
    users_reload(OPS "  - {name: web, uid: ME, lock: ['web/*'], show: ['web/*']}\n");
    server_cont(&masters.server[0]);
    server_cont(&masters.server[1]);
    await(&b, "-DENIED job : the right to show it was taken away");
    ask(&b, "-DENIED job *", "WATCH job");
    ask(&b, "+OK", "UNWATCH job");
    ask(&b, "-NOTHELD job", "UNWATCH job");
    ck_assert_str_eq(kv(row_with(show(&a, "STATS"), "watches="), "watches"), "1");
    ask(&a, "+UNLOCKED job *", "UNLOCK job");
    lock(&a, "web/1");
    expect(&b, "!NOW web/1 state=held*");
}
