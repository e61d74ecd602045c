#include "proto/line_names.h"

#include <string.h>

#include "proto/names.h"

enum { PLACE_BITS = 4 };

static int names_compare(struct piece a, struct piece b)
{
    int order = memcmp(a.text, b.text, a.len < b.len ? a.len : b.len);

    if (order != 0)
        return order;
    return a.len < b.len ? -1 : a.len > b.len;
}

/* Sorts the written names by insertion: sorted[i] is the place in which the i-th sorted name was written. Returns
 * false if a name stands twice. */
static bool names_sort(const struct piece *written, unsigned count, uint8_t *sorted)
{
    for (unsigned i = 0; i < count; i++) {
        unsigned at = i;
        for (; at > 0; at--) {
            int order = names_compare(written[sorted[at - 1]], written[i]);
            if (order == 0)
                return false;
            if (order < 0)
                break;
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = (uint8_t)i;
    }
    return true;
}

static enum names_fault names_split(struct piece piece, struct piece *written, unsigned *count)
{
    const char *end = piece.text + piece.len;

    for (const char *at = piece.text;; at++) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        struct piece name = {at, (size_t)((comma ? comma : end) - at)};
        if (!piece_is_word(name, NAME_BYTES))
            return NAMES_BAD;
        if (*count == LIST_NAMES)
            return NAMES_MANY;
        written[(*count)++] = name;
        at += name.len;
        if (!comma)
            return *count > 1 ? NAMES_GOOD : NAMES_BAD;
    }
}

enum names_fault names_read(struct piece piece, struct name *list, uint64_t *order)
{
    struct piece written[LIST_NAMES];
    uint8_t sorted[LIST_NAMES];
    unsigned count = 0;
    size_t len = 0;

    enum names_fault fault = names_split(piece, written, &count);
    if (fault != NAMES_GOOD)
        return fault;
    if (piece.len > LIST_BYTES)
        return NAMES_LONG;
    if (!names_sort(written, count, sorted))
        return NAMES_TWICE;
    *order = 0;
    for (unsigned i = 0; i < count; i++) {
        if (i > 0)
            list->text[len++] = ',';
        memcpy(list->text + len, written[sorted[i]].text, written[sorted[i]].len);
        len += written[sorted[i]].len;
        *order |= (uint64_t)i << (PLACE_BITS * sorted[i]);
    }
    list->len = len & 0x7ff;
    list->slot = 0;
    list->more = (count - 1) & 0xf;
    return NAMES_GOOD;
}

size_t names_write(char *out, const struct name *list, uint64_t order)
{
    struct piece sorted[LIST_NAMES];
    size_t len = 0, at = 0;

    if (order == 0) {
        memcpy(out, list->text, list->len);
        return list->len;
    }
    for (unsigned i = 0; i <= list->more; i++)
        sorted[i].len = names_next(list, &at, &sorted[i].text);
    for (unsigned i = 0; i <= list->more; i++) {
        struct piece name = sorted[order >> (PLACE_BITS * i) & 0xf];
        if (i > 0)
            out[len++] = ',';
        memcpy(out + len, name.text, name.len);
        len += name.len;
    }
    return len;
}
