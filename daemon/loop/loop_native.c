#include "daemon/loop/loop_native.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char *const words[NATIVES] = {
#define NATIVE(name, form, vote, words) #form,
#include "proto/command.def"
};

const char *loop_native_words(uint32_t natives, char out[NATIVE_BYTES])
{
    size_t len = 0;
    out[0] = '\0';
    for (unsigned i = 0; i < NATIVES; i++)
        if (natives >> i & 1)
            len += (size_t)snprintf(out + len, NATIVE_BYTES - len, "%s%s", len ? "," : "", words[i]);
    return out;
}

const char *loop_native_rights(uint32_t natives, char separator, char out[NATIVE_BYTES])
{
    size_t len = 0;
    out[0] = '\0';
    for (unsigned i = 0; i < NATIVES; i++) {
        if (!(natives >> i & 1))
            continue;
        if (len)
            out[len++] = separator;
        out[len++] = '+';
        for (const char *word = words[i]; *word; word++)
            out[len++] = (char)tolower((unsigned char)*word);
        out[len] = '\0';
    }
    return out;
}

const char *loop_native_advice(const struct conf *conf, const struct master_row *row,
                               char out[NATIVE_ACL_BYTES])
{
    char rights[NATIVE_BYTES], user[ACL_USER_BYTES];
    out[0] = '\0';
    if (row->natives_denied != 0)
        snprintf(
            out, NATIVE_ACL_BYTES,
            " hint=\"this line lets the server do without scripts what is done most\" : ACL SETUSER %s %s",
            acl_user(user, conf), loop_native_rights(row->natives_denied, ' ', rights));
    return out;
}
