#include "daemon/coordinator/base/intern.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A slot in use. A free slot holds the link of the free list instead. */
struct kept {
    uint16_t shared; /* references beside the first */
    uint8_t len;     /* start of the struct name or struct word that callers see */
    char text[];
};

static_assert(offsetof(struct name, text) == 1 && offsetof(struct word, text) == 1 &&
                  WORD_BYTES <= NAME_BYTES,
              "a name and a note are both a length and its bytes");

enum { EIGHTH = 8 };
static const uint32_t slot_bytes[INTERN_SHELVES] = {16, 24, 32, 48, 64, 208};
/* The shelf for a slot by its length in units of 8 bytes (0: up to 8 bytes); anything longer goes to the
 * last shelf. */
static const uint8_t shelf_by_eighths[] = {0, 0, 1, 2, 3, 3, 4, 4};

static_assert(offsetof(struct kept, text) + NAME_BYTES <= 208, "the longest fits");

bool intern_init(struct intern *intern, uint32_t names, uint32_t notes)
{
    bool all = true;
    memset(intern, 0, sizeof *intern);
    intern->capacity = names + notes;
    for (unsigned i = 0; i < INTERN_SHELVES; i++) {
        intern->shelf[i].slots = calloc(intern->capacity ? intern->capacity : 1, slot_bytes[i]);
        all &= intern->shelf[i].slots != NULL;
    }
    return all;
}

void intern_free(struct intern *intern)
{
    for (unsigned i = 0; i < INTERN_SHELVES; i++)
        free(intern->shelf[i].slots);
}

size_t intern_bytes(const struct intern *intern)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < INTERN_SHELVES; i++)
        bytes += (size_t)intern->shelf[i].fresh * slot_bytes[i];
    return bytes;
}

static unsigned shelf_of(size_t len)
{
    size_t eighths = (offsetof(struct kept, text) + len - 1) / EIGHTH;
    return eighths < sizeof shelf_by_eighths ? shelf_by_eighths[eighths] : INTERN_SHELVES - 1;
}

static struct kept *kept_of(const void *len)
{
    return (struct kept *)(void *)((uintptr_t)len - offsetof(struct kept, len));
}

static const void *intern_put(struct intern *intern, const char *text, uint8_t len)
{
    unsigned i = shelf_of(len);
    struct shelf *shelf = &intern->shelf[i];
    uint32_t slot = shelf->free != 0 ? shelf->free - 1 : shelf->fresh++;
    assert(slot < intern->capacity);
    struct kept *kept = (struct kept *)(void *)(shelf->slots + (size_t)slot * slot_bytes[i]);
    if (shelf->free != 0)
        memcpy(&shelf->free, kept, sizeof shelf->free);
    kept->shared = 0;
    kept->len = len;
    memcpy(kept->text, text, len);
    intern->used++;
    return &kept->len;
}

static void intern_put_back(struct intern *intern, struct kept *kept)
{
    intern->used--;
    if (kept->shared > 0) {
        kept->shared--;
        return;
    }
    unsigned i = shelf_of(kept->len);
    struct shelf *shelf = &intern->shelf[i];
    size_t at = (size_t)((const char *)kept - shelf->slots);
    assert(at % slot_bytes[i] == 0 && at / slot_bytes[i] < shelf->fresh);
    memcpy(shelf->slots + at, &shelf->free, sizeof shelf->free);
    shelf->free = (uint32_t)(at / slot_bytes[i]) + 1;
}

const struct name *intern_name(struct intern *intern, const struct name *name)
{
    return intern_put(intern, name->text, name->len);
}

const struct name *intern_name_again(struct intern *intern, const struct name *name)
{
    struct kept *kept = kept_of(name);
    if (kept->shared == UINT16_MAX)
        return intern_name(intern, name);
    kept->shared++;
    intern->used++;
    return name;
}

void intern_name_back(struct intern *intern, const struct name *name)
{
    intern_put_back(intern, kept_of(name));
}

const struct word *intern_note(struct intern *intern, const struct word *note)
{
    return note->len != 0 ? intern_put(intern, note->text, note->len) : NULL;
}

void intern_note_back(struct intern *intern, const struct word *note)
{
    if (note != NULL)
        intern_put_back(intern, kept_of(note));
}
