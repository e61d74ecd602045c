#include "daemon/coordinator/keep.h"

#include <assert.h>
#include <string.h>

/* What a pool holds: its id, then the text. */
struct short_name {
    uint64_t id;
    struct {
        uint8_t len;
        char text[KEEP_SHORT_BYTES];
    } name;
};
struct long_name {
    uint64_t id;
    struct name name;
};
struct note {
    uint64_t id;
    struct word word;
};

static_assert(offsetof(struct short_name, name) == offsetof(struct long_name, name) &&
                  offsetof(struct note, word) == offsetof(struct long_name, name),
              "an object is found from its text");

static void *object_of(const void *text)
{
    return (char *)(uintptr_t)text - offsetof(struct long_name, name);
}

bool keep_init(struct keep *keep, uint32_t names, uint32_t notes)
{
    return pool_init(&keep->short_names, sizeof(struct short_name), names) &&
           pool_init(&keep->long_names, sizeof(struct long_name), names) &&
           pool_init(&keep->notes, sizeof(struct note), notes);
}

void keep_free(struct keep *keep)
{
    pool_free(&keep->short_names);
    pool_free(&keep->long_names);
    pool_free(&keep->notes);
}

static struct pool *pool_of(struct keep *keep, const struct name *name)
{
    return name->len <= KEEP_SHORT_BYTES ? &keep->short_names : &keep->long_names;
}

const struct name *keep_name(struct keep *keep, const struct name *name)
{
    char *object = pool_take(pool_of(keep, name));
    assert(object != NULL);
    char *text = object + offsetof(struct long_name, name);
    text[0] = (char)name->len;
    memcpy(text + offsetof(struct name, text), name->text, name->len);
    return (const struct name *)text;
}

void keep_name_back(struct keep *keep, const struct name *name)
{
    pool_give(pool_of(keep, name), object_of(name));
}

const struct word *keep_note(struct keep *keep, const struct word *note)
{
    if (note->len == 0)
        return NULL;
    struct note *object = pool_take(&keep->notes);
    assert(object != NULL);
    object->word = *note;
    return &object->word;
}

void keep_note_back(struct keep *keep, const struct word *note)
{
    if (note != NULL)
        pool_give(&keep->notes, object_of(note));
}
