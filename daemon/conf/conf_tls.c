/* Keys of `tls` and `node_tls`: certificates, keys, and whom to trust. */
#include <string.h>

#include "daemon/conf/conf_private.h"

static const char *const verify_words[] = {[WIRE_VERIFY_UNSET] = "",
                                           [WIRE_VERIFY_FULL] = "full",
                                           [WIRE_VERIFY_CA] = "ca",
                                           [WIRE_VERIFY_OFF] = "off"};

static const char *const ask_words[] = {
    [WIRE_ASK_UNSET] = "", [WIRE_ASK_REQUIRED] = "required", [WIRE_ASK_OPTIONAL] = "optional"};

struct tls_key {
    const char *key;
    enum wire_side side; /* the side whose key it is, unless both */
    bool both;
    size_t offset; /* of a path */
};

enum { TLS_PATHS = 4 };

static const struct tls_key paths[TLS_PATHS] = {
    {"ca", WIRE_CLIENT, false, offsetof(struct wire_settings, ca)},
    {"client_ca", WIRE_SERVER, false, offsetof(struct wire_settings, ca)},
    {"cert", WIRE_CLIENT, true, offsetof(struct wire_settings, cert)},
    {"key", WIRE_CLIENT, true, offsetof(struct wire_settings, key)},
};

static bool tls_refuse(char why[CONF_WHY_BYTES], const char *key, const char *allowed)
{
    snprintf(why, CONF_WHY_BYTES, "%s: %s", key, allowed);
    return false;
}

static bool tls_set_text(char *out, size_t size, const char *key, const char *text, bool path,
                         char why[CONF_WHY_BYTES])
{
    size_t len = strlen(text);
    bool good = len > 0 && len < size && (!path || text[0] == '/');

    for (const char *p = text; *p; p++)
        good = good && *p > 0x20 && *p < 0x7f && *p != '"' && *p != '\\' && *p != ',';
    if (!good)
        return tls_refuse(why, key,
                          path
                              ? "it takes the absolute path of a file: at most 255 visible ASCII characters, "
                                "no space, quote, backslash or comma"
                              : "it takes the name in the certificate: at most 255 visible ASCII characters");
    memcpy(out, text, len + 1);
    return true;
}

static bool tls_set_verify(struct wire_settings *tls, const char *text, char why[CONF_WHY_BYTES])
{
    for (unsigned i = WIRE_VERIFY_FULL; i <= WIRE_VERIFY_OFF; i++) {
        if (strcmp(text, verify_words[i]) == 0) {
            tls->verify = (enum wire_verify)i;
            return true;
        }
    }
    return tls_refuse(why, "verify", "full (the CA and the name), ca (not the name) or off");
}

static bool tls_set_client_cert(struct wire_settings *tls, const char *text, char why[CONF_WHY_BYTES])
{
    bool optional = strcmp(text, "optional") == 0;

    tls->ask = optional ? WIRE_ASK_OPTIONAL : WIRE_ASK_REQUIRED;
    return optional || strcmp(text, "required") == 0 ||
           tls_refuse(why, "client_cert", "required or optional");
}

bool conf_tls_set(struct wire_settings *tls, enum wire_side side, const char *key, const char *text,
                  char why[CONF_WHY_BYTES])
{
    for (unsigned i = 0; i < TLS_PATHS; i++)
        if (strcmp(key, paths[i].key) == 0 && (paths[i].both || paths[i].side == side))
            return tls_set_text((char *)tls + paths[i].offset, WIRE_PATH_BYTES, key, text, true, why);
    if (side == WIRE_CLIENT && strcmp(key, "server_name") == 0)
        return tls_set_text(tls->server_name, sizeof tls->server_name, key, text, false, why);
    if (side == WIRE_CLIENT && strcmp(key, "verify") == 0)
        return tls_set_verify(tls, text, why);
    if (side == WIRE_SERVER && strcmp(key, "client_cert") == 0)
        return tls_set_client_cert(tls, text, why);
    char shown[80];
    snprintf(why, CONF_WHY_BYTES, "%s is no key of TLS here; its keys are %s",
             conf_shown(shown, sizeof shown, key),
             side == WIRE_SERVER ? "cert, key, client_ca and client_cert"
                                 : "ca, cert, key, server_name and verify");
    return false;
}

static void tls_show(char *out, size_t size, bool yaml, const char *key, const char *value)
{
    size_t used = strlen(out);

    if (!value[0] || used >= size)
        return;
    snprintf(out + used, size - used, yaml ? "%s%s: \"%s\"" : "%s%s=%s",
             !used  ? ""
             : yaml ? ", "
                    : ",",
             key, value);
}

void conf_tls_show(const struct wire_settings *tls, enum wire_side side, bool yaml, char *out, size_t size)
{
    out[0] = 0;
    if (!tls->on)
        return;
    tls_show(out, size, yaml, "cert", tls->cert);
    tls_show(out, size, yaml, "key", tls->key);
    tls_show(out, size, yaml, side == WIRE_SERVER ? "client_ca" : "ca", tls->ca);
    if (side == WIRE_SERVER) {
        tls_show(out, size, yaml, "client_cert", ask_words[tls->ask]);
        return;
    }
    tls_show(out, size, yaml, "server_name", tls->server_name);
    tls_show(out, size, yaml, "verify", verify_words[tls->verify]);
}
