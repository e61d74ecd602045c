/* The configuration of TLS for one address, or for all masters: plain values without OpenSSL. */
#ifndef REDLOCKD_WIRE_SETTINGS_H
#define REDLOCKD_WIRE_SETTINGS_H

#include <stdbool.h>
#include <string.h>

enum { WIRE_PATH_BYTES = 256, WIRE_NAME_BYTES = 256, WIRE_WHAT_BYTES = 1024 };

enum wire_side {
    WIRE_CLIENT, /* we dial: a master */
    WIRE_SERVER, /* we accept: our clients */
};

enum wire_verify {
    WIRE_VERIFY_UNSET,
    WIRE_VERIFY_FULL, /* the chain of trust and the name */
    WIRE_VERIFY_CA,   /* the chain alone */
    WIRE_VERIFY_OFF,
};

enum wire_ask { WIRE_ASK_UNSET, WIRE_ASK_REQUIRED, WIRE_ASK_OPTIONAL };

struct wire_settings {
    bool on;
    char ca[WIRE_PATH_BYTES]; /* the CAs that are trusted; "": of masters the system's CAs, of clients no
                                 certificate is asked for */
    char cert[WIRE_PATH_BYTES], key[WIRE_PATH_BYTES]; /* our own; "": none */
    char server_name[WIRE_NAME_BYTES]; /* WIRE_CLIENT: instead of the host in the address; "": that host */
    enum wire_verify verify;           /* WIRE_CLIENT */
    enum wire_ask ask; /* WIRE_SERVER with a CA: whether every client needs a certificate; unset: yes */
};

static inline bool wire_settings_equal(const struct wire_settings *a, const struct wire_settings *b)
{
    return a->on == b->on && a->verify == b->verify && a->ask == b->ask && strcmp(a->ca, b->ca) == 0 &&
           strcmp(a->cert, b->cert) == 0 && strcmp(a->key, b->key) == 0 &&
           strcmp(a->server_name, b->server_name) == 0;
}

#endif
