#include "daemon/coordinator/keep.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A slot in use. In a free one is the number of the next free slot. */
struct kept {
    uint16_t shared; /* by so many beside the first */
    uint8_t len;     /* a name or a note begins here */
    char text[];
};

static_assert(offsetof(struct name, text) == 1 && offsetof(struct word, text) == 1 &&
                  WORD_BYTES <= NAME_BYTES,
              "a name and a note are both a length and its bytes");

enum { EIGHTH = 8 };
static const uint32_t slot_bytes[KEEP_SHELVES] = {16, 24, 32, 48, 64, 208};
/* By how many eighths of bytes a slot must have beside the first; more: the last shelf. */
static const uint8_t shelf_by_eighths[] = {0, 0, 1, 2, 3, 3, 4, 4};

static_assert(offsetof(struct kept, text) + NAME_BYTES <= 208, "the longest fits");

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

size_t keep_bytes(const struct keep *keep)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < KEEP_SHELVES; i++)
        bytes += (size_t)keep->shelf[i].fresh * slot_bytes[i];
    return bytes;
}

static unsigned shelf_of(size_t len)
{
    size_t eighths = (offsetof(struct kept, text) + len - 1) / EIGHTH;
    return eighths < sizeof shelf_by_eighths ? shelf_by_eighths[eighths] : KEEP_SHELVES - 1;
}

static struct kept *kept_of(const void *len)
{
    return (struct kept *)(void *)((uintptr_t)len - offsetof(struct kept, len));
}

static const void *put(struct keep *keep, const char *text, uint8_t len)
{
    unsigned i = shelf_of(len);
    struct shelf *shelf = &keep->shelf[i];
    uint32_t slot = shelf->free != 0 ? shelf->free - 1 : shelf->fresh++;
    assert(slot < keep->capacity);
    struct kept *kept = (struct kept *)(void *)(shelf->slots + (size_t)slot * slot_bytes[i]);
    if (shelf->free != 0)
        memcpy(&shelf->free, kept, sizeof shelf->free);
    kept->shared = 0;
    kept->len = len;
    memcpy(kept->text, text, len);
    keep->used++;
    return &kept->len;
}

static void put_back(struct keep *keep, struct kept *kept)
{
    keep->used--;
    if (kept->shared > 0) {
        kept->shared--;
        return;
    }
    unsigned i = shelf_of(kept->len);
    struct shelf *shelf = &keep->shelf[i];
    size_t at = (size_t)((const char *)kept - shelf->slots);
    assert(at % slot_bytes[i] == 0 && at / slot_bytes[i] < shelf->fresh);
    memcpy(shelf->slots + at, &shelf->free, sizeof shelf->free);
    shelf->free = (uint32_t)(at / slot_bytes[i]) + 1;
}

const struct name *keep_name(struct keep *keep, const struct name *name)
{
    return put(keep, name->text, name->len);
}

const struct name *keep_name_again(struct keep *keep, const struct name *name)
{
    struct kept *kept = kept_of(name);
    if (kept->shared == UINT16_MAX)
        return keep_name(keep, name);
    kept->shared++;
    keep->used++;
    return name;
}

void keep_name_back(struct keep *keep, const struct name *name)
{
    put_back(keep, kept_of(name));
}

const struct word *keep_note(struct keep *keep, const struct word *note)
{
    return note->len != 0 ? put(keep, note->text, note->len) : NULL;
}

void keep_note_back(struct keep *keep, const struct word *note)
{
    if (note != NULL)
        put_back(keep, kept_of(note));
}
