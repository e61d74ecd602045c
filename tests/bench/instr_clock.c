/* Replaces daemon/clock.c: a clock that is set, and random numbers that repeat. */
#include "daemon/clock.h"
#include <string.h>

#include "tests/bench/instr.h"

static int64_t now_us = INT64_C(1000000000);
static uint64_t reads, seed = 88172645463325252U;

void instr_clock_pass(int64_t us)
{
    now_us += us;
}

int64_t instr_clock_us(void)
{
    return now_us;
}

uint64_t instr_clock_reads(void)
{
    return reads;
}

int64_t clock_boot_us(void)
{
    reads++;
    return now_us;
}

int64_t clock_boot_ms(void)
{
    return clock_boot_us() / 1000;
}

int64_t clock_wall_us(void)
{
    return clock_boot_us() + INT64_C(1700000000000000);
}

/* xorshift64 */
static uint64_t chance(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

void clock_random(uint8_t out[32])
{
    for (unsigned i = 0; i < 32; i += 8) {
        uint64_t drawn = chance();
        memcpy(out + i, &drawn, 8);
    }
}

uint32_t clock_random_below(uint32_t n)
{
    return (uint32_t)(chance() >> 32) % n;
}
