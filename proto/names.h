/* Lists of names, "a,b,c": several locks that are taken and given back as one. What is here is for all parts of the
 * daemon; proto/line_names.h reads and writes lists.
 *
 * Inside the daemon a list is a struct name whose text is sorted, so that the same names are the same list
 * however a client writes them. */
#ifndef REDLOCKD_PROTO_NAMES_H
#define REDLOCKD_PROTO_NAMES_H

#include <stddef.h>
#include <string.h>

#include "proto/message.h"

/* Finds the name that begins at *at, moves *at on to the next one, and returns the length; 0: there is none. *at
 * begins as 0. A single name is a list of itself. */
static inline size_t names_next(const struct name *list, size_t *at, const char **name)
{
    if (*at >= list->len)
        return 0;
    *name = list->text + *at;
    const char *comma = list->more != 0 ? (const char *)memchr(*name, ',', list->len - *at) : NULL;
    size_t len = comma != NULL ? (size_t)(comma - *name) : list->len - *at;
    *at += len + 1;
    return len;
}

/* A request without a name, and with the values that mean "not given". */
static inline void request_clear(struct request *what, enum verb verb)
{
    memset(what, 0, offsetof(struct request, name.text));
    what->verb = verb;
    what->ttl_ms = what->max_ms = -1;
    what->data.len = 0;
}

static inline void data_copy(struct data *to, const struct data *from)
{
    to->len = from->len;
    memcpy(to->text, from->text, from->len);
}

/* Most names are short, and a list may be long. */
static inline void request_copy(struct request *to, const struct request *from)
{
    memcpy(to, from, offsetof(struct request, name.text) + from->name.len);
    to->data.len = 0;
    if (from->data.len != 0)
        data_copy(&to->data, &from->data);
}

/* FNV-1a-32 of the text, which stands behind the token in each key of a list. */
static inline uint32_t names_hash(const struct name *list)
{
    uint32_t hash = UINT32_C(2166136261);
    for (size_t i = 0; i < list->len; i++)
        hash = (hash ^ (uint8_t)list->text[i]) * UINT32_C(16777619);
    return hash;
}

#endif
