/* Transfers in both directions at once. Whatever happens, nothing is lost and nobody waits in a circle. */
#include "tests/examples/job.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { PAIRS = 3 };

static struct stage stage;

static void begin(void)
{
    stage_begin(&stage, "node_timeout: 1s\nmin_ttl: 2s\n");
    ck_assert_int_eq(stage_count(&stage, "HSET account:ann amount 100"), 1);
    ck_assert_int_eq(stage_count(&stage, "HSET account:bob amount 100"), 1);
}

static int64_t transfers(void)
{
    return stage_count(&stage, "GET transfers");
}

static void nothing_is_lost(void)
{
    ck_assert_int_eq(
        stage_count(&stage, "HGET account:ann amount") + stage_count(&stage, "HGET account:bob amount"), 200);
}

static void in_both_orders(struct program programs[], const char *times)
{
    for (unsigned i = 0; i < 2 * PAIRS; i++)
        program_begin(&programs[i], "transfer",
                      (const char *const[]){stage.redis, i % 2 ? "ann" : "bob", i % 2 ? "bob" : "ann", "10",
                                            times, NULL});
}

T(two_orders_and_a_master_dies)
{
    struct program late, programs[2 * PAIRS];

    begin();
    program_begin(&late, "transfer",
                  (const char *const[]){"-a", stage.redis, "bob", "ann", "100", "1", NULL});
    eventually(program_said(&late, "Enter goes on"));
    in_both_orders(programs, "30");
    eventually_within(transfers() >= 10, JOB_MS);
    server_kill(&stage.masters.server[0]);
    for (unsigned i = 0; i < 2 * PAIRS; i++)
        ck_assert_msg(program_end(&programs[i]) == 0, "%s", keep(file_read(programs[i].out)));
    nothing_is_lost();

    program_type(&late, "\n"); /* it has stood still for longer than it may hold its lock */
    eventually(program_said(&late, "refused, a later lock was here"));
    program_type(&late, "\n\n\n\n");
    ck_assert_int_eq(program_end(&late), 0);
    nothing_is_lost();
}

T(the_daemon_dies_in_the_middle)
{
    struct program programs[2 * PAIRS];

    begin();
    in_both_orders(programs, "30");
    eventually_within(transfers() >= 10, JOB_MS);
    daemon_restart(&stage.daemon);
    for (unsigned i = 0; i < 2 * PAIRS; i++)
        ck_assert_msg(program_end(&programs[i]) == 0, "%s", keep(file_read(programs[i].out)));
    nothing_is_lost();
}
