/* Lists of names, over two daemons: all of them or none. */
#include "tests/integ/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct cluster masters;
static struct daemon redlockd, other;
static struct client a, b, c;

static void begin(const char *settings)
{
    cluster_start(&masters, 3, UNIX);
    daemon_start(&redlockd, &masters, settings);
    client_open(&a, &redlockd);
    client_open(&b, &redlockd);
    eventually(masters_up(&a, &masters));
    daemon_serves(&other, &masters, PATIENT, &c);
}

static bool are_free(void)
{
    return cluster_is_free(&masters, "x") && cluster_is_free(&masters, "y") && cluster_is_free(&masters, "z");
}

/* Behind the token stands the FNV-1a-32 of "x,y". */
static bool are_set(const char *token)
{
    char value[64];
    snprintf(value, sizeof value, "%s,c2d4b858", token);
    return cluster_answers(&masters, value, "GET redlock:x") == 3 &&
           cluster_answers(&masters, value, "GET redlock:y") == 3;
}

T(a_list_is_all_of_its_names)
{
    begin(PATIENT);
    struct grant grant = grant_of(ask(&a, "+LOCKED y,x token=*", "LOCK y,x ttl=30s"));
    eventually(are_set(grant.token));
    ask(&b, "-BUSY x*", "LOCK x");
    ask(&b, "-BUSY x,y*", "LOCK x,y");
    ask(&c, "-BUSY y*", "LOCK y");
    ask(&c, "-BUSY z,y*", "LOCK z,y");
    ask(&c, "+HELD x,y *", "CHECK x,y token=%s", grant.token);
    ask(&c, "-NOTHELD x*", "CHECK x token=%s", grant.token);
    ask(&c, "-NOTHELD x*", "UNLOCK x token=%s", grant.token);
    ask(&c, "-NOTHELD x,y,z*", "UNLOCK x,y,z token=%s", grant.token);
    ask(&c, "+EXTENDED y,x *", "EXTEND y,x token=%s ttl=30s", grant.token);
    struct grant free = lock(&c, "z");
    ask(&a, "-NOTHELD x*", "UNLOCK x");
    ask(&a, "+UNLOCKED x,y *", "UNLOCK x,y");
    eventually(cluster_is_free(&masters, "x") && cluster_is_free(&masters, "y"));
    ask(&a, "-BUSY x,z*", "LOCK x,z");
    eventually(cluster_is_free(&masters, "x")); /* what the attempt set is taken back */
    ask(&c, "+UNLOCKED z *", "UNLOCK z token=%s", free.token);
    eventually(are_free());
}

T(fences_grow_for_each_name)
{
    begin(PATIENT);
    int64_t last = 0;
    static const char *const lines[] = {"x", "x,y", "y", "z", "z,x,y", "x", "y", "z"};
    for (unsigned i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct client *client = i % 2 ? &c : &a;
        struct grant grant = grant_of(ask(client, "+LOCKED *", "LOCK %s", lines[i]));
        ck_assert_int_gt(grant.fence, last);
        last = grant.fence;
        ask(client, "+UNLOCKED *", "UNLOCK %s", lines[i]);
        eventually(are_free());
    }
}

T(who_waits_gets_them_in_turn)
{
    begin(PATIENT);
    struct grant held = lock(&a, "x");
    client_send(&b, "LOCK x,y wait=60s");
    eventually(strstr(show(&a, "WAITERS"), "name=x,y") != NULL);
    client_send(&c, "LOCK y,z wait=60s");
    expect(&c, "+LOCKED y,z *"); /* nobody holds them, though x,y waits elsewhere */
    ask(&a, "+UNLOCKED x *", "UNLOCK x token=%s", held.token);
    ask(&c, "+UNLOCKED z,y *", "UNLOCK z,y");
    expect(&b, "+LOCKED x,y *");
    client_send(&a, "LOCK x wait=60s");
    ask(&b, "+UNLOCKED y,x *", "UNLOCK y,x");
    expect(&a, "+LOCKED x *");
    ask(&a, "+UNLOCKED x *", "UNLOCK x");
    eventually(are_free());
}

T(a_list_moves_to_another_daemon)
{
    begin(PATIENT);
    struct grant grant = grant_of(ask(&a, "+LOCKED y,x *", "LOCK y,x"));
    ask(&c, "-NOTHELD x*", "RESUME x token=%s", grant.token);
    struct grant moved = grant_of(ask(&c, "+LOCKED x,y *", "RESUME x,y token=%s", grant.token));
    ck_assert_int_gt(moved.fence, grant.fence);
    eventually(are_set(moved.token));
    const char *rows = show(&c, "LOCKS");
    ck_assert_ptr_nonnull(strstr(rows, "name=x,y "));
    client_close(&c); /* a FIN gives it back */
    eventually(are_free());
}

/* One key is gone: so is the list. */
T(a_list_that_lost_a_name_is_lost)
{
    begin("");
    struct grant grant = grant_of(ask(&a, "+LOCKED y,x *", "LOCK y,x ttl=2s"));
    eventually(are_set(grant.token));
    for (unsigned i = 0; i < 2; i++)
        redis(&masters.server[i], "DEL redlock:y");
    await(&a, "!LOST y,x token=* reason=gone");
}
