/* Names and notes that are kept for long: in pools of their length, since most are short and a
 * hundred thousand of them count. */
#ifndef REDLOCKD_KEEP_H
#define REDLOCKD_KEEP_H

#include "daemon/coordinator/pool.h"
#include "proto/message.h"

enum { KEEP_SHORT_BYTES = 31 }; /* longest name of the small pool */

struct keep {
    struct pool short_names, long_names, notes;
};

bool keep_init(struct keep *keep, uint32_t names, uint32_t notes); /* false: no memory */
void keep_free(struct keep *keep);

/* A copy, of which only len and its bytes may be read: name_copy() it, never assign it. There is room for as many
 * as keep_init() was told. */
const struct name *keep_name(struct keep *keep, const struct name *name);
void keep_name_back(struct keep *keep, const struct name *name);

/* NULL for a note that was not given. */
const struct word *keep_note(struct keep *keep, const struct word *note);
void keep_note_back(struct keep *keep, const struct word *note); /* NULL is no harm */

#endif
