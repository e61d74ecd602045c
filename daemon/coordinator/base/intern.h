/* Storage for lock names and notes, each in a slot of about its length: most names are short, and there may
 * be a hundred thousand of them. Objects that need the same name share one copy, which counts its users.
 *
 * Interned names and notes belong to the storage. Every user gives its reference back once. */
#ifndef REDLOCKD_INTERN_H
#define REDLOCKD_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/message.h"

enum { INTERN_SHELVES = 7 };

/* Slots of one size, allocated at the start; the kernel backs no page that was never touched. */
struct shelf {
    char *slots;
    uint32_t capacity;
    uint32_t used;
    uint32_t fresh; /* slots from here on were never used */
    uint32_t free;  /* head of the free list: 1 + the slot that was freed last; 0: none */
};

struct intern {
    uint32_t used; /* references in all shelves; a shared name counts once for each user */
    struct shelf shelf[INTERN_SHELVES];
};

/* Makes room for so many names, lists of names and notes. Returns false when there is no memory; intern_free() is
 * allowed even then. */
bool intern_init(struct intern *intern, uint32_t names, uint32_t lists, uint32_t notes);
void intern_free(struct intern *intern);
/* The size of all slots that were ever used, in bytes. */
size_t intern_bytes(const struct intern *intern);

/* Returns a copy of the name. The copy is cut to its length, so only len, more and len bytes of text may be read:
 * use name_copy(), never assignment. The caller must not exceed the number that intern_init() was given. */
const struct name *intern_name(struct intern *intern, const struct name *name);
/* Whether so many more lists have room. */
bool intern_has_room(const struct intern *intern, uint32_t lists);
/* Returns one more reference to an interned name. */
const struct name *intern_name_again(struct intern *intern, const struct name *kept);
/* Gives one reference back. */
void intern_name_back(struct intern *intern, const struct name *name);

/* Returns a copy of the note, cut to its length like a name; NULL for an empty note. */
const struct word *intern_note(struct intern *intern, const struct word *note);
/* Gives the note back; NULL is allowed. */
void intern_note_back(struct intern *intern, const struct word *note);

#endif
