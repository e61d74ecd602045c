/* Time and chance, the only places where the daemon gets either. */
#ifndef REDLOCKD_CLOCK_H
#define REDLOCKD_CLOCK_H

#include <stdint.h>

int64_t clock_boot_ms(void); /* CLOCK_BOOTTIME: counts while the host sleeps */
int64_t clock_boot_us(void);
int64_t clock_wall_us(void); /* CLOCK_REALTIME */
void clock_random(
    uint8_t out[32]); /* 32 bytes of getrandom(2), drawn from a pool that is refilled by the page */
uint32_t clock_random_below(uint32_t n); /* uniform in 0..n-1, for jitter; n >= 1 */

#endif
