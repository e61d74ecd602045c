/* Numbers as decimal digits, two at a time, since the divisions cost the most. */
#ifndef REDLOCKD_PROTO_DECIMAL_H
#define REDLOCKD_PROTO_DECIMAL_H

#include <stdint.h>

enum { DECIMAL_BYTES = 20 }; /* digits of UINT64_MAX */

/* Writes the digits so that they end at out + DECIMAL_BYTES, and returns where they begin. The digits of a pair
 * are stored one by one, since _FORTIFY_SOURCE turns a memcpy() of two bytes to a moving place into a call. */
static inline char *decimal_digits(uint64_t number, char out[DECIMAL_BYTES])
{
    static const char pairs[201] = "0001020304050607080910111213141516171819"
                                   "2021222324252627282930313233343536373839"
                                   "4041424344454647484950515253545556575859"
                                   "6061626364656667686970717273747576777879"
                                   "8081828384858687888990919293949596979899";
    char *at = out + DECIMAL_BYTES;
    for (; number >= 100; number /= 100) {
        const char *pair = pairs + 2 * (number % 100);
        *--at = pair[1];
        *--at = pair[0];
    }
    *--at = pairs[2 * number + 1];
    if (number >= 10)
        *--at = pairs[2 * number];
    return at;
}

#endif
