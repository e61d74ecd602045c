/* Names with numbered slots, on real servers and through two daemons: proto/protocol.txt, section 4. */
#include "tests/integ/harness.h"

#include <stdio.h>
#include <string.h>

#define STRANGER "00000000000000000000000000000000000000aa"

static struct cluster masters;
static struct daemon redlockd, other;
static struct client a, b, c, d;

static void begin(void)
{
    cluster_start(&masters, 3, UNIX);
    daemon_start(&redlockd, &masters, "");
    daemon_start(&other, &masters, "");
    client_open(&a, &redlockd);
    client_open(&b, &redlockd);
    client_open(&c, &other);
    client_open(&d, &other);
}

/* The number in slot= of a line. */
static unsigned slot_of(const char *line)
{
    const char *at = strstr(line, " slot=");
    unsigned slot = UINT32_MAX;
    ck_assert_msg(at != NULL && sscanf(at, " slot=%u", &slot) == 1, "%s", line);
    return slot;
}

static unsigned take(struct client *client, const char *what)
{
    client_send(client, "LOCK %s", what);
    return slot_of(await(client, "+LOCKED * slot=*"));
}

T(each_slot_has_one_holder)
{
    begin();
    struct client *clients[] = {&a, &c, &b, &d};
    unsigned taken = 0;
    for (unsigned i = 0; i < 4; i++) {
        unsigned slot = take(clients[i], "licence slots=4 wait=10s");
        ck_assert_uint_lt(slot, 4);
        ck_assert_uint_eq(taken >> slot & 1, 0);
        taken |= 1u << slot;
    }
    for (unsigned slot = 0; slot < 4; slot++) {
        char name[32];
        snprintf(name, sizeof name, "licence,%u", slot);
        eventually(!cluster_is_free(&masters, name));
    }
    ask(&a, "-BUSY licence*", "LOCK licence slots=4");
    ask(&c, "-BUSY licence*", "LOCK licence slots=4");
    ask(&a, "-TIMEOUT licence waited=*", "LOCK licence slots=4 wait=50ms");
}

T(the_release_of_any_slot_wakes_who_waits_elsewhere)
{
    begin();
    unsigned first = take(&a, "licence slots=2"), second = take(&b, "licence slots=2");
    client_send(&c, "LOCK licence slots=2 wait=1m");
    eventually(rows_with(show(&d, "WAITERS"), "name=licence slots=2 ") == 1);
    ask(&b, "+UNLOCKED licence confirmed=* slot=*", "UNLOCK licence");
    ck_assert_uint_eq(slot_of(await(&c, "+LOCKED licence *")), second);
    client_send(&d, "LOCK licence slots=2 wait=1m");
    eventually(rows_with(show(&c, "WAITERS"), "name=licence slots=2 ") == 1);
    ask(&a, "+UNLOCKED licence confirmed=* slot=*", "UNLOCK licence");
    ck_assert_uint_eq(slot_of(await(&d, "+LOCKED licence *")), first);
}

T(a_token_finds_its_slot_through_any_daemon)
{
    begin();
    client_send(&a, "LOCK licence slots=3 ttl=30s");
    struct grant grant = grant_of(await(&a, "+LOCKED licence * slot=*"));
    ask(&c, "+HELD licence * slot=*", "CHECK licence token=%s", grant.token);
    ask(&c, "+EXTENDED licence * slot=*", "EXTEND licence token=%s ttl=30s", grant.token);
    client_send(&c, "RESUME licence token=%s", grant.token);
    struct grant moved = grant_of(await(&c, "+LOCKED licence * slot=*"));
    ck_assert_int_gt(moved.fence, grant.fence);
    ask(&d, "-NOTHELD licence*", "CHECK licence token=%s", grant.token);
    ask(&b, "+UNLOCKED licence * slot=*", "UNLOCK licence token=%s", moved.token);
}

T(without_a_token_the_latest_is_given_back)
{
    begin();
    unsigned first = take(&a, "port slots=1024 note=first"), second = take(&a, "port slots=1024");
    ck_assert_uint_ne(first, second);
    char row[32];
    snprintf(row, sizeof row, " slot=%u ", first);
    ck_assert_uint_eq(rows_with(show(&b, "LOCKS"), row), 1);
    client_send(&a, "UNLOCK port");
    ck_assert_uint_eq(slot_of(await(&a, "+UNLOCKED port *")), second);
    client_send(&a, "UNLOCK port");
    ck_assert_uint_eq(slot_of(await(&a, "+UNLOCKED port *")), first);
    ask(&a, "-NOTHELD port*", "UNLOCK port");
}

T(one_name_has_one_number_of_slots)
{
    begin();
    take(&a, "licence slots=2");
    ask(&b, "-MODE licence slots=2", "LOCK licence slots=3");
    ask(&b, "-MODE licence slots=2", "LOCK licence");
    lock(&b, "job");
    ask(&a, "-MODE job : it is in use without slots=*", "LOCK job slots=2");
    take(&b, "licence slots=2");
    ask(&c, "-BUSY licence*", "LOCK licence slots=2"); /* from now on the masters know their number */
    ask(&d, "-MODE licence slots=2", "LOCK licence slots=1 wait=1s");
}

/* The daemon that heard of the list's end forgets its names a moment later. */
static bool slots_are_possible(void)
{
    client_send(&a, "LOCK licence slots=2");
    return strncmp(await(&a, "*licence*"), "+LOCKED", 7) == 0;
}

T(slots_and_lists_do_not_mix)
{
    begin();
    ask(&a, "-BADARG port,licence : slots= is for one name, not for several at once",
        "LOCK port,licence slots=2");
    unsigned slot = take(&a, "licence slots=2");
    ask(&b, "-MODE port,licence slots=2 : one of these names is in use with slots=", "LOCK port,licence");
    ask(&b, "-MODE licence,port slots=2*", "LOCK licence,port wait=1m");
    ask(&b, "-NOTHELD licence,port*", "UNLOCK licence,port token=" STRANGER);
    client_send(&a, "UNLOCK licence");
    ck_assert_uint_eq(slot_of(await(&a, "+UNLOCKED licence *")), slot);
    struct grant grant = grant_of(ask(&b, "+LOCKED port,licence *", "LOCK port,licence ttl=30s"));
    ask(&a, "-MODE licence : it is in use without slots=*", "LOCK licence slots=2");
    ask(&a, "-MODE port : it is in use without slots=*", "LOCK port slots=1 wait=1m");
    ask(&c, "+UNLOCKED licence,port *", "UNLOCK licence,port token=%s", grant.token);
    await(&b, "!LOST port,licence *");
    eventually(slots_are_possible());
}

T(a_slot_that_is_lost_says_which_one)
{
    begin();
    client_send(&a, "LOCK licence slots=2");
    const char *line = await(&a, "+LOCKED licence *");
    unsigned slot = slot_of(line);
    struct grant grant = grant_of(line);
    ask(&b, "+UNLOCKED licence *", "UNLOCK licence token=%s", grant.token);
    ck_assert_uint_eq(slot_of(await(&a, "!LOST licence token=* reason=released slot=*")), slot);
}
