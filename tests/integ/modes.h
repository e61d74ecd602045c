/* A daemon for the tests of slots, readers and several names, and scripts that use its command. */
#ifndef REDLOCKD_TESTS_MODES_H
#define REDLOCKD_TESTS_MODES_H

#include "tests/integ/command.h"

extern struct modes {
    struct cluster masters;
    struct daemon daemon;
    struct client client;
    struct command command; /* the last script */
} modes;

void modes_begin(void);
void modes_restart(void); /* kills the daemon by SIGKILL and starts it again */
/* The script ends with the first command that fails, and the test with it; `code N COMMAND` fails if the exit code of
 * the command is not N. */
void modes_script(const char *text);

#endif
