/* Fifty items, and up to two hundred workers. Whatever happens, each order takes one item. */
#include "tests/examples/job.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static struct stage stage;

static void start_shop(void)
{
    stage_begin(&stage, "node_timeout: 1s\nmin_ttl: 2s\n");
    ck_assert_int_eq(stage_count(&stage, "HSET stock:lamp left 50"), 1);
}

static int64_t orders(void)
{
    return stage_count(&stage, "LLEN orders:lamp");
}

static void all_are_sold(void)
{
    ck_assert_str_eq(redis(&stage.own.server[0], "HGET stock:lamp left"), "0");
    ck_assert_int_eq(orders(), 50);
}

/* A worker reads, and then stands still for longer than it may hold the lock. */
T(one_master_dies_and_one_worker_is_paused)
{
    struct program late, shop;

    start_shop();
    program_begin(&late, "stock", (const char *const[]){"-a", stage.redis, "lamp", "1", NULL});
    eventually(program_said(&late, "50 left; Enter buys"));
    program_begin(&shop, "stock", (const char *const[]){stage.redis, "lamp", "199", NULL});
    eventually_within(orders() >= 10, JOB_MS);
    server_kill(&stage.masters.server[0]);
    ck_assert_int_eq(program_end(&shop), 0);
    ck_assert(program_said(&shop, "50 sold, 149 came too late"));

    program_type(&late, "\n");
    ck_assert_int_eq(program_end(&late), 0);
    ck_assert(program_said(&late, "refused, a later lock was here"));
    ck_assert(program_said(&late, "0 sold, 1 came too late"));
    all_are_sold();
}

/* The late worker writes after the next worker has read and before the next worker has written. */
T(a_late_write_between_the_next_ones_two_steps)
{
    struct program late, next;

    start_shop();
    program_begin(&late, "stock", (const char *const[]){"-a", stage.redis, "lamp", "1", NULL});
    eventually(program_said(&late, "50 left; Enter buys"));
    program_begin(&next, "stock", (const char *const[]){"-a", stage.redis, "lamp", "1", NULL});
    eventually(program_said(&next, "50 left; Enter buys"));
    program_type(&late, "\n");
    eventually(program_said(&late, "refused, a later lock was here"));
    ck_assert_int_eq(orders(), 0);
    /* The user presses Enter once, and again for each worker that a slow machine makes late once
     * more. */
    program_type(&next, "\n\n\n\n\n\n\n\n");
    program_type(&late, "\n\n\n\n\n\n\n\n");
    ck_assert_int_eq(program_end(&next), 0);
    ck_assert_int_eq(program_end(&late), 0);
    ck_assert_int_eq(orders(), 2);
    ck_assert_str_eq(redis(&stage.own.server[0], "HGET stock:lamp left"), "48");
}

static bool all_wait(struct client *client)
{
    return rows_with(show(client, "WAITERS"), "name=stock:lamp ") == 200;
}

T(the_daemon_dies_in_the_middle)
{
    struct program shop;
    struct client door, clerk;

    start_shop();
    client_open(&door, &stage.daemon);
    client_open(&clerk, &stage.daemon);
    lock(&clerk, "stock:lamp ttl=60s wait=10s");
    program_begin(&shop, "stock", (const char *const[]){stage.redis, "lamp", "200", NULL});
    /* A worker that never reached redlockd would give up if its first attempt to connect failed. */
    eventually(all_wait(&door));
    client_close(&clerk);
    eventually_within(orders() >= 10, JOB_MS);
    daemon_restart(&stage.daemon);
    ck_assert_int_eq(program_end(&shop), 0);
    ck_assert(program_said(&shop, "50 sold, 150 came too late"));
    all_are_sold();
}
