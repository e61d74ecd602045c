/* Several names at once: the command and libredlock. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/integ/library.h"
#include "tests/integ/modes.h"

T(names_of_the_command)
{
    modes_begin();
    modes_script(
        "$R run bob,ann -c 'echo $REDLOCK_NAME; for n in ann bob ann,bob bob,cleo; do $R run -nq $n true "
        "|| echo $n "
        "$?; done; $R run -n cleo true; $R check -q'\n"
        "$R run -n ann true; $R run -n bob true\n"
        "code 125 $R run -n ann,ann true; code 125 $R run -n ann, true; code 125 $R run -n --shared a,b "
        "true\n"
        "eval \"$($R lock --lease -t 20s x,y)\"; $R extend -q -t 30s; $R check -q y,x $REDLOCK_TOKEN; $R "
        "unlock\n"
        "$R run -n x true; $R run -n y true\n");
    ck_assert_str_eq(output(&modes.command), "bob,ann\nann 120\nbob 120\nann,bob 120\nbob,cleo 120\n");
}

/* The list is resumed as a single name is. */
T(names_of_the_library)
{
    modes_begin();
    struct redlock *redlock = open_unix(&modes.daemon, NULL);
    struct redlock_lock *lock =
        redlock_lock(redlock, "to,from", &(struct redlock_lock_options){.ttl_ms = 20000});
    ck_error(redlock, REDLOCK_OK);
    ck_assert_str_eq(redlock_name(lock), "to,from");
    uint64_t fence = redlock_fence(lock);
    ask(&modes.client, "-BUSY from*", "LOCK from");
    ck_assert_int_eq(redlock_check(lock), REDLOCK_OK);
    ck_assert_int_eq(redlock_extend(lock, 25000), REDLOCK_OK);
    modes_restart();
    eventually(redlock_safe_ms(lock) > 0 && redlock_fence(lock) > fence);
    ck_assert_int_eq(redlock_unlock(lock), REDLOCK_OK);
    eventually(cluster_is_free(&modes.masters, "to") && cluster_is_free(&modes.masters, "from"));
    redlock_close(redlock);
}
