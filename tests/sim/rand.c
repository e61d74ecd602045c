#include "tests/sim/sim.h"

/* splitmix64's finaliser: every input bit reaches every output bit. */
static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

uint64_t chance(uint64_t seed, uint64_t who, uint64_t operation, enum chance what)
{
    static uint64_t last_seed, last_mixed; /* a run has one seed; 0 is mixed each time */
    uint64_t mixed = seed != 0 && seed == last_seed ? last_mixed : mix(seed + UINT64_C(0x9e3779b97f4a7c15));
    last_seed = seed;
    last_mixed = mixed;
    uint64_t x = mix(mixed ^ (who * UINT64_C(0xd1342543de82ef95) + (uint64_t)what));
    return mix(x ^ (operation * UINT64_C(0x9e3779b97f4a7c15) + 1));
}

int64_t chance_below(uint64_t seed, uint64_t who, uint64_t operation, enum chance what, int64_t below)
{
    return below <= 0 ? 0 : (int64_t)(chance(seed, who, operation, what) % (uint64_t)below);
}
