/* Sixty bills, four consumers, and a queue that delivers each message again as soon as it can. */
#include "tests/examples/job.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { BILLS = 60, CONSUMERS = 4 };

static struct stage stage;
static struct program consumer[CONSUMERS];
static const char *const name[CONSUMERS] = {"c0", "c1", "c2", "c3"};

static void queue_bills(const char *settings)
{
    stage_begin(&stage, settings);
    for (unsigned i = 0; i < BILLS; i++)
        ck_assert_str_ne(redis(&stage.own.server[0], "XADD bills * customer ann amount %u", i + 1), "(down)");
}

/* The consumer ends when all messages are handled. */
static void start(unsigned i, const char *idle_ms, const char *ttl_ms)
{
    program_begin(&consumer[i], "consumer",
                  (const char *const[]){"-x", stage.redis, "bills", name[i], idle_ms, ttl_ms, NULL});
}

/* The consumer ends when it is told to. */
static void start_for_good(unsigned i, const char *idle_ms, const char *ttl_ms)
{
    program_begin(&consumer[i], "consumer",
                  (const char *const[]){stage.redis, "bills", name[i], idle_ms, ttl_ms, NULL});
}

static void start_all(void)
{
    queue_bills(PATIENT);
    for (unsigned i = 0; i < CONSUMERS; i++)
        start(i, "10", "30000");
}

static int64_t handled(void)
{
    return strtol(redis_typed(&stage.own.server[0], "EVAL \"return #redis.call('KEYS', 'bills:done:*')\" 0"),
                  NULL, 10);
}

static unsigned said(const char *text)
{
    unsigned lines = 0;

    for (unsigned i = 0; i < CONSUMERS; i++)
        lines += program_lines(&consumer[i], text);
    return lines;
}

static void each_bill_counts_once(void)
{
    char balance[32];

    snprintf(balance, sizeof balance, "%d", BILLS * (BILLS + 1) / 2);
    ck_assert_str_eq(redis(&stage.own.server[0], "HGET bills:balances ann"), balance);
    ck_assert_int_eq(handled(), BILLS);
}

/* While one consumer works on a message, the queue delivers it to the others, and they leave it
 * alone. */
T(nobody_works_twice_when_a_master_dies)
{
    start_all();
    eventually(handled() >= 5);
    server_kill(&stage.masters.server[0]);
    for (unsigned i = 0; i < CONSUMERS; i++)
        ck_assert_int_eq(program_end(&consumer[i]), 0);
    each_bill_counts_once();
    ck_assert_uint_eq(said("works on"), BILLS);
    ck_assert_uint_eq(said(": handled"), BILLS);
}

/* A queue that was set back, as by its backup, delivers all messages once more. */
T(what_was_handled_has_no_effect_again)
{
    struct program again;

    start_all();
    for (unsigned i = 0; i < CONSUMERS; i++)
        ck_assert_int_eq(program_end(&consumer[i]), 0);
    server_kill(&stage.masters.server[0]);
    ck_assert_str_eq(redis(&stage.own.server[0], "XGROUP SETID bills billing 0"), "OK");
    program_begin(&again, "consumer", (const char *const[]){"-x", stage.redis, "bills", "late", NULL});
    ck_assert_int_eq(program_end(&again), 0);
    ck_assert_uint_eq(program_lines(&again, "was handled before"), BILLS);
    ck_assert_uint_eq(program_lines(&again, "works on"), 0);
    each_bill_counts_once();
}

static void works(unsigned i)
{
    eventually(program_said(&consumer[i], "works on") || handled() == BILLS);
}

/* A consumer stands still in the middle of its work until the others have handled all messages. Another
 * consumer, a master and the daemon are killed; the daemon is started again. */
T(nothing_counts_twice_when_consumers_and_the_daemon_die)
{
    queue_bills("node_timeout: 1s\nmin_ttl: 2s\n");
    start_for_good(0, "300", "2000");
    works(0);
    process_stop(consumer[0].pid);
    start_for_good(1, "300", "2000");
    works(1);
    ck_assert_int_eq(kill(consumer[1].pid, SIGKILL), 0);
    ck_assert_int_eq(program_end(&consumer[1]), -SIGKILL);
    server_kill(&stage.masters.server[0]);
    daemon_restart(&stage.daemon);
    start(2, "300", "2000");
    start(3, "300", "2000");
    ck_assert_int_eq(program_end(&consumer[2]), 0);
    ck_assert_int_eq(program_end(&consumer[3]), 0);
    each_bill_counts_once();
    ck_assert_int_eq(kill(consumer[0].pid, SIGCONT), 0);
    ck_assert_int_eq(kill(consumer[0].pid, SIGTERM), 0);
    ck_assert_int_eq(program_end(&consumer[0]), 0);
    each_bill_counts_once();
}
