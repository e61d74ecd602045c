/* The planted bug that changes the scripts of a simulated master. */
#ifndef SIM_STORE_MUTANT_H
#define SIM_STORE_MUTANT_H

#ifndef MUTANTS
#define MUTANTS /* the store always has the planted bugs */
#endif
#include "daemon/coordinator/mutant.h"

extern enum mutant store_mutant;

#endif
