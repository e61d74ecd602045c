#include "daemon/coordinator/base/intern.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A slot in use. A free slot holds the link of the free list instead. */
struct kept {
    uint16_t shared; /* references beside the first */
    char object[];   /* the struct name or struct word that callers see, cut */
};

static_assert(offsetof(struct kept, object) % _Alignof(struct name) == 0, "a name may stand there");

enum { EIGHTH = 8, LISTS = INTERN_SHELVES - 1 /* the shelf that only lists need */ };
static const uint32_t slot_bytes[INTERN_SHELVES] = {16, 24, 32, 48, 64, 216, 904};
/* The shelf for a slot by its length in units of 8 bytes (0: up to 8 bytes); a longer one goes to the shelf
 * before the last or to the last. */
static const uint8_t shelf_by_eighths[] = {0, 0, 1, 2, 3, 3, 4, 4};

static_assert(offsetof(struct kept, object) + offsetof(struct name, text) + NAME_BYTES + SLOT_BYTES <= 216 &&
                  offsetof(struct kept, object) + offsetof(struct name, text) + LIST_BYTES <= 904,
              "the longest fit");

bool intern_init(struct intern *intern, uint32_t names, uint32_t lists, uint32_t notes)
{
    bool all = true;
    memset(intern, 0, sizeof *intern);
    for (unsigned i = 0; i < INTERN_SHELVES; i++) {
        struct shelf *shelf = &intern->shelf[i];
        shelf->capacity = i == LISTS ? lists : names + lists + notes;
        shelf->slots = calloc(shelf->capacity ? shelf->capacity : 1, slot_bytes[i]);
        all &= shelf->slots != NULL;
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

/* The shelf for an object of so many bytes. */
static unsigned shelf_of(size_t bytes)
{
    size_t slot = offsetof(struct kept, object) + bytes, eighths = (slot - 1) / EIGHTH;
    if (eighths < sizeof shelf_by_eighths)
        return shelf_by_eighths[eighths];
    return slot <= slot_bytes[LISTS - 1] ? LISTS - 1 : LISTS;
}

static size_t name_bytes(const struct name *name)
{
    return offsetof(struct name, text) + name->len;
}

static size_t note_bytes(const struct word *note)
{
    return offsetof(struct word, text) + note->len;
}

static struct kept *kept_of(const void *object)
{
    return (struct kept *)(void *)((uintptr_t)object - offsetof(struct kept, object));
}

static const void *intern_put(struct intern *intern, const void *object, size_t bytes)
{
    unsigned i = shelf_of(bytes);
    struct shelf *shelf = &intern->shelf[i];
    uint32_t slot = shelf->free != 0 ? shelf->free - 1 : shelf->fresh++;
    assert(slot < shelf->capacity);
    struct kept *kept = (struct kept *)(void *)(shelf->slots + (size_t)slot * slot_bytes[i]);
    if (shelf->free != 0)
        memcpy(&shelf->free, kept, sizeof shelf->free);
    kept->shared = 0;
    shelf->used++;
    memcpy(kept->object, object, bytes);
    intern->used++;
    return kept->object;
}

static void intern_put_back(struct intern *intern, struct kept *kept, size_t bytes)
{
    intern->used--;
    if (kept->shared > 0) {
        kept->shared--;
        return;
    }
    unsigned i = shelf_of(bytes);
    struct shelf *shelf = &intern->shelf[i];
    shelf->used--;
    size_t at = (size_t)((const char *)kept - shelf->slots);
    assert(at % slot_bytes[i] == 0 && at / slot_bytes[i] < shelf->fresh);
    memcpy(shelf->slots + at, &shelf->free, sizeof shelf->free);
    shelf->free = (uint32_t)(at / slot_bytes[i]) + 1;
}

bool intern_has_room(const struct intern *intern, uint32_t lists)
{
    const struct shelf *shelf = &intern->shelf[LISTS];
    return shelf->used + lists <= shelf->capacity;
}

const struct name *intern_name(struct intern *intern, const struct name *name)
{
    return intern_put(intern, name, name_bytes(name));
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
    intern_put_back(intern, kept_of(name), name_bytes(name));
}

const struct word *intern_note(struct intern *intern, const struct word *note)
{
    return note->len != 0 ? intern_put(intern, note, note_bytes(note)) : NULL;
}

void intern_note_back(struct intern *intern, const struct word *note)
{
    if (note != NULL)
        intern_put_back(intern, kept_of(note), note_bytes(note));
}
