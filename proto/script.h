/* The Lua scripts as the build made them of proto/lua/ (proto/lua/build.sh). */
#ifndef REDLOCKD_PROTO_SCRIPT_H
#define REDLOCKD_PROTO_SCRIPT_H

#include "proto/resp.h"

struct script {
    const char *text;
    const char *sha1; /* the text's digest, for EVALSHA */
};

extern const struct script resp_scripts[RESP_SCRIPTS];

#endif
