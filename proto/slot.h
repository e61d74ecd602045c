/* Slot i of a name is a lock of its own, and its own name is "<name>,<i>". Clients cannot ask for such a name,
 * because their names have no commas. */
#ifndef REDLOCKD_PROTO_SLOT_H
#define REDLOCKD_PROTO_SLOT_H

#include <assert.h>
#include <string.h>

#include "proto/message.h"

/* Writes the own name of a slot below SLOTS_MAX. */
static inline void slot_name(struct name *own, const struct name *name, unsigned slot)
{
    unsigned unit = slot >= 1000 ? 1000 : slot >= 100 ? 100 : slot >= 10 ? 10 : 1;
    assert(slot < SLOTS_MAX && name->len <= NAME_BYTES);
    unsigned len = name->len;
    memcpy(own->text, name->text, len);
    own->text[len++] = ',';
    for (; unit > 0; unit /= 10)
        own->text[len++] = (char)('0' + slot / unit % 10);
    own->len = len & 0x7ff;
    own->slot = 1;
    own->more = 0;
}

/* The number of the slot whose own name this is; -1: it is no slot's, or a list of names. *len gets the length of the
 * name before the comma, or of the whole name. */
static inline int slot_of_name(const struct name *name, unsigned *len)
{
    unsigned at = name->len, slot = 0, unit = 1;
    *len = name->len;
    if (!name->slot)
        return -1;
    for (; at > 0 && name->text[at - 1] >= '0' && name->text[at - 1] <= '9' && unit < 10000; at--) {
        slot += (unsigned)(name->text[at - 1] - '0') * unit;
        unit *= 10;
    }
    if (unit == 1 || at < 2 || name->text[at - 1] != ',')
        return -1;
    *len = at - 1;
    return (int)slot;
}

/* Writes the name as clients know it, without the number of the slot, which is returned; -1: it is no slot's. */
static inline int slot_base(struct name *base, const struct name *own)
{
    unsigned len;
    int slot = slot_of_name(own, &len);
    base->len = len & 0x7ff;
    base->slot = 0;
    base->more = own->more;
    memcpy(base->text, own->text, len);
    return slot;
}

#endif
