/* Runs a plan; a violation or an assertion jumps out of the run. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tests/sim/mutant.h"
#include "tests/sim/sim.h"

static struct sim_world *running; /* for the handler of SIGABRT */

static void aborted(int number)
{
    (void)number;
    running->invariant = INVARIANT_ASSERT;
    snprintf(running->why, sizeof(running->why), "an assertion failed, see above");
    siglongjmp(running->out, 1);
}

int run_plan(struct sim_world *w, const struct sim_plan *plan)
{
    struct sigaction action = {.sa_handler = aborted, .sa_flags = SA_NODEFER}, before;
    mutant_active = plan->mutant;
    running = w;
    sigaction(SIGABRT, &action, &before);
    if (sigsetjmp(w->out, 1) == 0)
        world_run(w, plan);
    sigaction(SIGABRT, &before, NULL);
    return w->invariant;
}
