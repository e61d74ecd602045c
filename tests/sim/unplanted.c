/* Linked in place of planted.c where the coordinator is the daemon's own. */
#include "tests/sim/mutant.h"

const bool mutants_linked = false;
