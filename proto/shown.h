/* How a token is told to those who must not have it: logs and SHOW. */
#ifndef REDLOCKD_SHOWN_H
#define REDLOCKD_SHOWN_H

#include "proto/message.h"

/* Writes the first digits of the SHA-1 of the token's 40 hex digits, and a NUL: who has the token recognizes it
 * (printf %s $TOKEN | sha1sum), and nobody else learns a bit of it. */
void shown_token(const char hex[TOKEN_HEX], char out[TOKEN_SHOWN + 1]);

#endif
