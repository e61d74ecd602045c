/* Clocks that run a little fast or slow. */
#include "tests/sim/sim.h"

int64_t clock_us(const struct sim_clock *clock, int64_t true_us)
{
    return clock->offset_us + true_us + true_us * clock->ppm / 1000000 - clock->stopped_us;
}

int64_t clock_ms(const struct sim_clock *clock, int64_t true_us)
{
    return clock_us(clock, true_us) / 1000;
}

int64_t clock_when(const struct sim_clock *clock, int64_t local_us)
{
    int64_t base = local_us - clock->offset_us + clock->stopped_us;
    /* Close to the wanted time; the loops below find the exact one. */
    int64_t guess = (int64_t)((double)base * 1e6 / (double)(1000000 + clock->ppm));
    while (clock_us(clock, guess) < local_us)
        guess++;
    while (clock_us(clock, guess - 1) >= local_us)
        guess--;
    return guess;
}
