/* Counts the calls of one step of the coordinator, for tests/measure.sh, which compiles the coordinator with
 * -finstrument-functions: each of its functions reports that it was entered and left. */
#include "tests/unit/trace.h"

enum { CALLS = 4096 };

static bool wanted, inside; /* inside a step that is to be counted */
static unsigned depth, deepest, calls;
static void *called[CALLS];

void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

static bool is_step(const void *function)
{
    return function == (const void *)(uintptr_t)coordinator_step;
}

void __cyg_profile_func_enter(void *function, void *caller)
{
    (void)caller;
    inside = inside || (wanted && is_step(function));
    if (!inside)
        return;
    if (calls < CALLS)
        called[calls] = function;
    calls++;
    if (++depth > deepest)
        deepest = depth;
}

void __cyg_profile_func_exit(void *function, void *caller)
{
    (void)caller;
    if (!inside)
        return;
    depth--;
    inside = !is_step(function);
}

/* Prints the functions in the order of their calls. */
static void count(const char *what, uint64_t session, const char *line)
{
    depth = deepest = calls = 0;
    wanted = true;
    ask(session, line);
    wanted = false;
    printf("%s calls %u depth %u\n", what, calls, deepest);
    for (unsigned i = 0; i < calls && i < CALLS; i++)
        printf("%s %p\n", what, called[i]);
}

T(unlock_hands_on)
{
    start(3);
    grant(1, "LOCK job");
    for (uint64_t session = 2; session <= 4; session++)
        ask(session, "LOCK job wait=1m");
    ask(1, "UNLOCK job");
    vote("0-2", "RELEASE YES");
    vote("0-1", "SET YES, ZADD YES");
    vote("2", "SET YES, ZADD YES");
    vote("0-2", "ZADD YES");
    forget();
    count("hand-on", 2, "UNLOCK job");
    EXPECT("s2 #6 +UNLOCKED job confirmed=0/3 handed=1", "s3 #3 +LOCKED job *");
}

T(reader_joins)
{
    config.join_from = 1;
    start(3);
    for (uint64_t session = 1; session <= 2; session++) {
        ask(session, "LOCK job mode=shared");
        vote("0-2", "SHARE YES, ZADD YES");
    }
    forget();
    count("join", 3, "LOCK job mode=shared");
    EXPECT("s3 #3 +LOCKED job *");
}
