/* The commands of a lock and an unlock as bytes, for the servers without a coordinator: ceiling and
 * relay. */
#ifndef REDLOCKD_BENCH_COMMANDS_H
#define REDLOCKD_BENCH_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { COMMANDS_BYTES = 1024 };

/* SET NX PX and, with a fence, ZADD GT CH. The token is made from the name, so that no caller has to
 * remember it. */
size_t commands_lock(char out[COMMANDS_BYTES], const char *name, size_t name_len, bool fence);
/* The daemon's own release script, by EVALSHA. */
size_t commands_unlock(char out[COMMANDS_BYTES], const char *name, size_t name_len);
/* SCRIPT LOAD of the release script, to be freed by the caller; the reply has two lines. */
char *commands_load(size_t *len);
uint64_t commands_fence(void); /* grows with the wall clock */

enum { COMMANDS_TOKEN = 40 };
void commands_token(char out[COMMANDS_TOKEN], const char *name, size_t name_len);

#endif
