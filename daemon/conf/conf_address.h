/* Addresses as they are written in the configuration.
 *
 *     to listen on   host:port, [v6]:port, unix:/path
 *     of a master    redis://[user[:password]@]host:port[/db], rediss:// with TLS, unix:/path[?db=n]
 *
 * The two parsers return NULL, or a text that says what is wrong and how to write it. The text is static
 * and never repeats the input, since a password may be anywhere in a mistyped URL. */
#ifndef REDLOCKD_CONF_ADDRESS_H
#define REDLOCKD_CONF_ADDRESS_H

#include "daemon/conf/conf.h"

const char *conf_address_listen(struct conf_address *address, const char *text);
const char *conf_address_node(struct conf_node *node, const char *url);

bool conf_address_equal(const struct conf_address *a, const struct conf_address *b);
bool conf_address_loopback(const struct conf_address *address); /* true for a Unix socket, too */

/* Writes a master as a URL; with_user adds "user:***@" if a master behind TCP has a user or password. */
void conf_address_url(const struct conf_node *node, bool with_user, char *out, size_t size);

#endif
