/* The version names the commit and the libraries of this build. */
#ifndef DAEMON_VERSION_H
#define DAEMON_VERSION_H

#include <stdio.h>

/* Prints the version, the commit and the libraries, a line each. */
void version_print(FILE *out);

#endif
