/* Readers beside each other: the command and libredlock. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/integ/library.h"
#include "tests/integ/modes.h"

T(readers_of_the_command)
{
    modes_begin();
    modes_script("$R run --shared ledger -c '$R run -n --shared ledger true; "
                 "$R run -nq ledger true || echo writer $?'\n"
                 "$R run ledger -c '$R run -nq --shared ledger true || echo reader $?'\n"
                 "$R run -n ledger true\n");
    ck_assert_str_eq(output(&modes.command), "writer 120\nreader 120\n");
}

/* A reader's lock is resumed as every lock is. */
T(readers_of_the_library)
{
    modes_begin();
    struct client writer;
    struct redlock *one = open_unix(&modes.daemon, NULL), *other = open_unix(&modes.daemon, NULL);
    const struct redlock_lock_options shared = {.mode = REDLOCK_SHARED};
    struct redlock_lock *first = redlock_lock(one, "ledger", &shared),
                        *second = redlock_lock(other, "ledger", &shared);
    ck_error(one, REDLOCK_OK);
    ck_error(other, REDLOCK_OK);
    ck_assert_ptr_null(redlock_lock(other, "ledger", NULL));
    ck_error(other, REDLOCK_BUSY);
    ck_assert_int_eq(redlock_check(first), REDLOCK_OK);
    ck_assert_int_eq(redlock_unlock(first), REDLOCK_OK);
    uint64_t fence = redlock_fence(second);
    modes_restart();
    eventually(redlock_safe_ms(second) > 0 && redlock_fence(second) > fence);
    client_open(&writer, &modes.daemon);
    ask(&writer, "-BUSY ledger*", "LOCK ledger");
    ck_assert_int_eq(redlock_unlock(second), REDLOCK_OK);
    ask(&writer, "+LOCKED ledger *", "LOCK ledger wait=10s");
    redlock_close(one);
    redlock_close(other);
}
