#include "daemon/conf/pattern.h"

#include <string.h>

#include "proto/line_piece.h"
#include "proto/message.h"

const char *pattern_wrong(const char *pattern)
{
    size_t len = strlen(pattern);
    bool open = len > 0 && pattern[len - 1] == '*';
    struct piece fixed = {pattern, open ? len - 1 : len};

    if (memchr(pattern, ',', len))
        return " has a comma, which no name has; write one pattern an item";
    if (memchr(fixed.text, '*', fixed.len))
        return ": a * stands only at the end of a pattern, for any rest";
    if (fixed.len > 0 ? !piece_is_word(fixed, NAME_BYTES) : !open)
        return " can match no name: a name has 1 to 200 visible characters except , \" = and no # or : first";
    return NULL;
}

bool pattern_fits(const char *pattern, const char *name, size_t len)
{
    size_t fixed = strlen(pattern);

    if (fixed > 0 && pattern[fixed - 1] == '*')
        return len >= fixed - 1 && memcmp(name, pattern, fixed - 1) == 0;
    return len == fixed && memcmp(name, pattern, len) == 0;
}
