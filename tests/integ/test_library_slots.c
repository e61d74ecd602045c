/* Slots: the command and libredlock. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/integ/library.h"
#include "tests/integ/modes.h"

T(slots_of_the_command)
{
    modes_begin();
    modes_script(
        "$R run --slots 2 pool -c '$R run --slots 2 pool -c \"echo $REDLOCK_SLOT \\$REDLOCK_SLOT; "
        "$R run -nq --slots 2 pool true || echo \\$?; $R run -n --slots 3 pool true 2>/dev/null || echo "
        "\\$?\"'\n"
        "$R run one -c 'echo \"none<$REDLOCK_SLOT>\"'\n"
        "code 125 $R run --slots 2 --shared pool true\n");
    const char *said = output(&modes.command) + strlen("0 1\n");
    ck_assert_str_eq(said, "120\n125\nnone<>\n");
    ck_assert(strncmp(output(&modes.command), "0 1\n", 4) == 0 ||
              strncmp(output(&modes.command), "1 0\n", 4) == 0);
}

T(a_lease_of_a_slot)
{
    modes_begin();
    modes_script("eval \"$($R lock --lease --slots 3 -t 20s pool)\"\n"
                 "echo $REDLOCK_SLOT; env | grep -c ^REDLOCK_SLOT=\n"
                 "$R check -q; $R extend -q -t 30s; token=$REDLOCK_TOKEN\n"
                 "eval \"$($R lock --lease -n --slots 4 -t 20s pool 2>/dev/null)\" || echo \"code $? "
                 "<$REDLOCK_SLOT>\"\n"
                 "$R unlock pool $token; code 124 $R check -q pool $token\n");
    int slot = atoi(output(&modes.command));
    char expected[64];
    snprintf(expected, sizeof expected, "%d\n1\ncode 125 <>\n", slot);
    ck_assert(slot >= 0 && slot < 3);
    ck_assert_str_eq(output(&modes.command), expected);
}

T(slots_of_the_library)
{
    modes_begin();
    struct redlock *redlock = open_unix(&modes.daemon, NULL);
    struct redlock_lock *lock[3];
    bool used[3] = {false};
    const struct redlock_lock_options options = {.slots = 3};
    for (unsigned i = 0; i < 3; i++) {
        lock[i] = redlock_lock(redlock, "pool", &options);
        ck_error(redlock, REDLOCK_OK);
        int slot = redlock_slot(lock[i]);
        ck_assert(slot >= 0 && slot < 3 && !used[slot]);
        used[slot] = true;
        ck_assert_int_eq(redlock_check(lock[i]), REDLOCK_OK);
        ck_assert_int_eq(redlock_extend(lock[i], 40000), REDLOCK_OK);
    }
    ck_assert_ptr_null(redlock_lock(redlock, "pool", &options));
    ck_error(redlock, REDLOCK_BUSY);
    ck_assert_ptr_null(redlock_lock(redlock, "pool", &(struct redlock_lock_options){.slots = 4}));
    ck_error(redlock, REDLOCK_MODE);
    int slot = redlock_slot(lock[1]);
    ck_assert_int_eq(redlock_unlock(lock[1]), REDLOCK_OK);
    lock[1] = redlock_lock(redlock, "pool", &(struct redlock_lock_options){.slots = 3, .wait_ms = 10000});
    ck_assert_int_eq(redlock_slot(lock[1]), slot);
    uint64_t fence = redlock_fence(lock[1]);
    modes_restart();
    eventually(redlock_safe_ms(lock[1]) > 0 && redlock_fence(lock[1]) > fence);
    ck_assert_int_eq(redlock_slot(lock[1]), slot);
    for (unsigned i = 0; i < 3; i++)
        ck_assert_int_eq(redlock_check(lock[i]), REDLOCK_OK);
    redlock_close(redlock);
}
