/* Time and chance: the daemon gets both only here. */
#ifndef REDLOCKD_CLOCK_H
#define REDLOCKD_CLOCK_H

#include <stdint.h>

int64_t clock_boot_ms(void); /* CLOCK_BOOTTIME, which goes on while the host sleeps */
int64_t clock_boot_us(void);
int64_t clock_wall_us(void);      /* CLOCK_REALTIME */
int64_t clock_monotonic_us(void); /* CLOCK_MONOTONIC, for the service manager only */
/* 32 bytes of getrandom(2), from a pool that takes 4 KiB at once. */
void clock_random(uint8_t out[32]);
uint32_t clock_random_below(uint32_t n); /* uniform in 0..n-1, for jitter; n >= 1 */

#endif
