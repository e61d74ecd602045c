/* Reports and bookings at the same time: each report sees what was there at first, whatever happens. */
#include "tests/examples/job.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { READERS = 3 };

static struct stage stage;
static struct program readers[READERS], writer;

static void begin(const char *times)
{
    stage_begin(&stage, PATIENT);
    ck_assert_int_eq(stage_count(&stage, "HSET ledger ann 100 bob 100 cleo 100"), 3);
    program_begin(&writer, "report", (const char *const[]){stage.redis, "book", times, NULL});
    for (unsigned i = 0; i < READERS; i++)
        program_begin(&readers[i], "report", (const char *const[]){stage.redis, "read", times, NULL});
}

static bool all_have_read(unsigned reports)
{
    for (unsigned i = 0; i < READERS; i++)
        if (program_lines(&readers[i], "300") < reports)
            return false;
    return true;
}

static void all_is_well(void)
{
    ck_assert_int_eq(program_end(&writer), 0);
    for (unsigned i = 0; i < READERS; i++) {
        ck_assert_msg(program_end(&readers[i]) == 0, "%s", keep(file_read(readers[i].out)));
        ck_assert(!program_said(&readers[i], "that is not what"));
    }
    int64_t ann = stage_count(&stage, "HGET ledger ann"), bob = stage_count(&stage, "HGET ledger bob");
    ck_assert_int_eq(ann + bob + stage_count(&stage, "HGET ledger cleo"), 300);
}

T(a_master_dies)
{
    begin("60");
    eventually_within(all_have_read(5), JOB_MS);
    ck_assert(program_runs(&writer));
    server_kill(&stage.masters.server[0]);
    all_is_well();
}

/* The booking stands still in the middle, for longer than it holds its lock. */
T(the_writer_is_paused)
{
    begin("60");
    eventually_within(all_have_read(3), JOB_MS);
    ck_assert_int_eq(kill(writer.pid, SIGSTOP), 0);
    /* While it stands still redlockd renews its lock, if it has one: so its connection ends, too. */
    daemon_restart(&stage.daemon);
    masters_vote(&stage.daemon, stage.masters.count);
    ck_assert_int_eq(kill(writer.pid, SIGCONT), 0);
    all_is_well();
}
