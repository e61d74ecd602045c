#include "daemon/coordinator/keep.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A slot's bytes: the text's length and the text, or the number of the next free slot. */
static const uint32_t slot_bytes[KEEP_SHELVES] = {16, 32, 64, 1 + NAME_BYTES};

static_assert(offsetof(struct name, text) == 1 && offsetof(struct word, text) == 1 &&
                  WORD_BYTES <= NAME_BYTES,
              "a name and a note are both a length and its bytes");

bool keep_init(struct keep *keep, uint32_t names, uint32_t notes)
{
    bool all = true;
    memset(keep, 0, sizeof *keep);
    keep->capacity = names + notes;
    for (unsigned i = 0; i < KEEP_SHELVES; i++) {
        keep->shelf[i].slots = calloc(keep->capacity ? keep->capacity : 1, slot_bytes[i]);
        all &= keep->shelf[i].slots != NULL;
    }
    return all;
}

void keep_free(struct keep *keep)
{
    for (unsigned i = 0; i < KEEP_SHELVES; i++)
        free(keep->shelf[i].slots);
}

static unsigned shelf_of(size_t len)
{
    unsigned i = 0;
    while (slot_bytes[i] < 1 + len)
        i++;
    return i;
}

static const char *put(struct keep *keep, const char *text, uint8_t len)
{
    unsigned i = shelf_of(len);
    struct shelf *shelf = &keep->shelf[i];
    uint32_t slot = shelf->free != 0 ? shelf->free - 1 : shelf->fresh++;
    assert(slot < keep->capacity);
    char *kept = shelf->slots + (size_t)slot * slot_bytes[i];
    if (shelf->free != 0)
        memcpy(&shelf->free, kept, sizeof shelf->free);
    kept[0] = (char)len;
    memcpy(kept + 1, text, len);
    keep->used++;
    return kept;
}

static void put_back(struct keep *keep, const void *kept, uint8_t len)
{
    unsigned i = shelf_of(len);
    struct shelf *shelf = &keep->shelf[i];
    size_t at = (size_t)((const char *)kept - shelf->slots);
    assert(at % slot_bytes[i] == 0 && at / slot_bytes[i] < shelf->fresh);
    memcpy(shelf->slots + at, &shelf->free, sizeof shelf->free);
    shelf->free = (uint32_t)(at / slot_bytes[i]) + 1;
    keep->used--;
}

const struct name *keep_name(struct keep *keep, const struct name *name)
{
    return (const struct name *)put(keep, name->text, name->len);
}

void keep_name_back(struct keep *keep, const struct name *name)
{
    put_back(keep, name, name->len);
}

const struct word *keep_note(struct keep *keep, const struct word *note)
{
    return note->len != 0 ? (const struct word *)put(keep, note->text, note->len) : NULL;
}

void keep_note_back(struct keep *keep, const struct word *note)
{
    if (note != NULL)
        put_back(keep, note, note->len);
}
