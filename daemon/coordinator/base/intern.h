/* Names and notes that are kept for long, each in a slot of about its length: most are short, and
 * a hundred thousand of them count. Whoever needs a kept name too shares it. */
#ifndef REDLOCKD_INTERN_H
#define REDLOCKD_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/message.h"

enum { INTERN_SHELVES = 6 };

/* Slots of one size, in memory taken once; those that were never used cost none. */
struct shelf {
    char *slots;
    uint32_t fresh; /* slots from here on were never used */
    uint32_t free;  /* 1 + the slot that came back last, which holds the one before it; 0: none */
};

struct intern {
    uint32_t capacity; /* of each shelf */
    uint32_t used;     /* of all; of one that is shared, as many as share it */
    struct shelf shelf[INTERN_SHELVES];
};

bool intern_init(struct intern *intern, uint32_t names, uint32_t notes); /* false: no memory */
void intern_free(struct intern *intern);
size_t intern_bytes(const struct intern *intern); /* in slots that were ever used */

/* A copy, of which only len and its bytes may be read: name_copy() it, never assign it. There is room for as many
 * as intern_init() was told. */
const struct name *intern_name(struct intern *intern, const struct name *name);
const struct name *intern_name_again(struct intern *intern,
                                     const struct name *kept); /* to be given back as often */
void intern_name_back(struct intern *intern, const struct name *name);

/* The same of a note; NULL for one that was not given. */
const struct word *intern_note(struct intern *intern, const struct word *note);
void intern_note_back(struct intern *intern, const struct word *note); /* NULL is no harm */

#endif
