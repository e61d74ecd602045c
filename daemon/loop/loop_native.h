/* The native commands of a master (coordinator/master/native.h), for people: what it gets, and what its ACL denies. */
#ifndef REDLOCKD_LOOP_NATIVE_H
#define REDLOCKD_LOOP_NATIVE_H

#include "daemon/acl.h"
#include "daemon/coordinator/coordinator.h"

enum { NATIVE_BYTES = 16 * NATIVES, NATIVE_ACL_BYTES = ACL_USER_BYTES + NATIVE_BYTES + 160 };

/* Writes the words, with commas between them: "DELEX,IFEQ"; "": there is none. */
const char *loop_native_words(uint32_t natives, char out[NATIVE_BYTES]);
/* The same as rights: "+delex,+msetex". */
const char *loop_native_rights(uint32_t natives, char separator, char out[NATIVE_BYTES]);
/* Writes what the log tells of a master that could do more: the line for redis-cli there. "": nothing. */
const char *loop_native_advice(const struct conf *conf, const struct master_row *row,
                               char out[NATIVE_ACL_BYTES]);

#endif
