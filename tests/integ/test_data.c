/* What the holder of a lock tells others: LOCK data=, DATA, and WHO through another daemon. */
#include <stdio.h>

#include "tests/integ/steady.h"

static struct cluster masters;
static struct daemon one, other;
static struct client a, b, c;

static void begin(unsigned count, const char *settings)
{
    one = other = (struct daemon){.pid = 0};
    cluster_start(&masters, count, UNIX);
    daemon_serves(&one, &masters, settings, &a);
    daemon_serves(&other, &masters, settings, &b);
}

static const char *who(struct client *client, const char *name)
{
    client_send(client, "WHO %s", name);
    return client_rows_at(client, __FILE__, __LINE__);
}

/* The holder's row of WHO; "": nobody has it. */
static const char *holder(struct client *client, const char *name)
{
    const char *row = row_with(who(client, name), "votes=");
    return row != NULL ? row : "";
}

T(everybody_is_told_by_who)
{
    char fence[32];
    begin(3, PATIENT);
    struct grant first = lock(&a, "leader data=10.0.0.5:8080");
    const char *row = holder(&b, "leader");
    ck_assert_str_eq(kv(row, "data"), "10.0.0.5:8080");
    ck_assert_int_eq(number(row, "fence"), first.fence);
    ck_assert_int_gt(number(row, "since"), INT64_C(1500000000000));
    ask(&a, "+DATA leader confirmed=[23]/3", "DATA leader data=a=b,c");
    eventually(strcmp(kv(holder(&b, "leader"), "data"), "a=b,c") == 0);
    snprintf(fence, sizeof fence, "%lld", (long long)first.fence);
    ck_assert_str_eq(kv(holder(&b, "leader"), "fence"), fence);
    ck_assert_ptr_nonnull(row_with(show(&a, "LOCKS"), " data=a=b,c"));
    ask(&a, "+UNLOCKED leader *", "UNLOCK leader");
    eventually(cluster_is_free(&masters, "leader"));
    ck_assert_uint_eq(rows_with(who(&b, "leader"), ""), 0);
}

/* What an earlier holder told is on the masters still, and is nobody's. */
T(a_later_holder_tells_nothing_of_an_earlier_one)
{
    begin(3, PATIENT);
    lock(&a, "leader data=first");
    ask(&a, "+UNLOCKED leader *", "UNLOCK leader");
    eventually(cluster_is_free(&masters, "leader"));
    lock(&b, "leader");
    ck_assert_uint_ge(cluster_answers(&masters, "1", "EXISTS redlock:,data:leader"), 2);
    eventually(strcmp(kv(holder(&a, "leader"), "votes"), "3/3") == 0);
    ck_assert(strstr(holder(&a, "leader"), "data=") == NULL &&
              strstr(holder(&a, "leader"), "fence=") == NULL);
    ask(&b, "-MODE leader : it was taken without data=*", "DATA leader data=x");
}

T(it_moves_with_the_lock)
{
    begin(3, PATIENT);
    struct grant first = lock(&a, "leader data=here");
    int64_t since = number(holder(&a, "leader"), "since");
    client_open(&c, &other);
    client_send(&c, "RESUME leader token=%s", first.token);
    struct grant second = grant_of(expect(&c, "+LOCKED leader *"));
    await(&a, "!LOST leader *");
    ck_assert_int_gt(second.fence, first.fence);
    eventually(strcmp(kv(holder(&b, "leader"), "data"), "here") == 0);
    eventually(number(holder(&b, "leader"), "fence") == second.fence);
    ck_assert_int_eq(number(holder(&b, "leader"), "since"), since);
    ask(&c, "+DATA leader confirmed=*", "DATA leader data=there");
    eventually(strcmp(kv(holder(&a, "leader"), "data"), "there") == 0);
    ask(&a, "-NOTHELD leader *", "DATA leader data=x");
}

T(a_reader_tells_nothing)
{
    begin(3, PATIENT);
    struct grant grant = lock(&a, "leader data=here");
    client_send(&a, "LOCK leader mode=shared token=%s", grant.token);
    await(&a, "+LOCKED leader * mode=shared *");
    eventually(strstr(holder(&b, "leader"), "mode=shared") != NULL);
    ck_assert(strstr(who(&b, "leader"), "data=") == NULL);
}

/* Masters that lost it get it again, together with the key. */
T(it_is_healed_with_the_lock)
{
    begin(3, STEADY "max_ttl: 60s\n");
    struct grant grant = lock(&a, "leader data=here ttl=60s");
    renew_often(&a, "leader", grant.token, 4000);
    for (unsigned i = 0; i < 3; i++) {
        server_kill(&masters.server[i]);
        server_start(&masters.server[i]);
        eventually_within(cluster_holds(&masters, "leader", grant.token) == 3, 3 * WAIT_MS);
        eventually(cluster_answers(&masters, "1", "EXISTS redlock:,data:leader") == 3);
    }
    eventually(strcmp(kv(holder(&b, "leader"), "data"), "here") == 0);
}

T(bad_input_changes_nothing)
{
    char line[600], data[300];
    begin(3, PATIENT);
    memset(data, 'x', sizeof data);
    snprintf(line, sizeof line, "LOCK leader data=%.257s", data);
    ask(&a, "-BADARG leader : data= takes 1 to 256 bytes, not 257", "%s", line);
    ask(&a, "-BADARG leader : data= takes 1 to 256 bytes, not 0", "LOCK leader data=");
    ask(&a, "-BADARG leader : data=*is not allowed: write visible characters except \"",
        "LOCK leader data=a\"b");
    ask(&a, "-BADARG leader : data= is for one exclusive lock*", "LOCK leader data=x hold=lease");
    ask(&a, "-BADARG leader : data= is for one exclusive lock*", "LOCK leader data=x mode=shared");
    ask(&a, "-BADARG leader : data= is for one exclusive lock*", "LOCK leader data=x slots=2");
    ask(&a, "-BADARG a,b : data= is for one exclusive lock*", "LOCK a,b data=x");
    ask(&a, "-BADARG leader : DATA needs data=; write DATA leader data=10.0.0.5:8080", "DATA leader");
    ask(&a, "-NOTHELD leader : this connection does not hold it*", "DATA leader data=x");
    snprintf(line, sizeof line, "LOCK leader data=%.256s", data);
    lock(&a, "leader data=y");
    snprintf(line, sizeof line, "DATA leader data=%.256s", data);
    ask(&a, "+DATA leader *", "%s", line);
    snprintf(line, sizeof line, " data=%.256s", data);
    eventually(strstr(holder(&b, "leader"), line) != NULL);
    ask(&b, "-NOTHELD leader *", "DATA leader data=x");
}

/* Masters that refuse writes keep what they were told before. */
T(a_change_that_no_quorum_has_is_not_told)
{
    begin(3, PATIENT);
    lock(&a, "leader data=here");
    for (unsigned i = 0; i < 2; i++)
        server_misconf(&masters.server[i]);
    ask(&a, "-NOQUORUM leader *", "DATA leader data=there");
}
