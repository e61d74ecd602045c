/* A daemon that has users, and masters, for the tests of their rights. */
#ifndef REDLOCKD_TESTS_USERS_H
#define REDLOCKD_TESTS_USERS_H

#include "tests/integ/only.h"

#define SECRET "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define AS_OPS "AUTH ops " SECRET
#define OPS    "  - {name: ops, secret_file: FILE, lock: ['*'], show: ['*'], admin: yes}\n"

/* Settings with users; FILE in the text is the secret's file, ME our own uid. */
const char *users_settings(const char *text);
void users_begin(struct client *client, const char *users);
/* The same, with a client that is OPS and may see the masters: it waits until they vote. */
void users_begin_with_ops(struct client *ops, const char *users);
void users_reload(const char *users);

#endif
