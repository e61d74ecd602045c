#include "daemon/version.h"

#include <event2/event.h>
#include <hiredis/hiredis.h>
#include <yaml.h>
#ifndef REDLOCKD_NO_TLS
#include <openssl/crypto.h>
#endif

#ifndef REDLOCKD_COMMIT
#define REDLOCKD_COMMIT "unknown" /* the Makefile tells it */
#endif

#ifdef REDLOCKD_NO_TLS
static const char *openssl_version(void)
{
    return "no OpenSSL: built without TLS";
}
#else
static const char *openssl_version(void)
{
    return OpenSSL_version(OPENSSL_VERSION);
}
#endif

/* hiredis cannot say which version runs, so its headers do; the others are those that run. */
void version_print(FILE *out)
{
    fprintf(out, "redlockd " REDLOCKD_VERSION "\ncommit " REDLOCKD_COMMIT "\n");
    fprintf(out, "libraries: libevent %s, hiredis %d.%d.%d, libyaml %s, %s\n", event_get_version(),
            HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH, yaml_get_version_string(), openssl_version());
}
