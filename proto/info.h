/* The text of a master's reply to INFO. */
#ifndef REDLOCKD_PROTO_INFO_H
#define REDLOCKD_PROTO_INFO_H

#include <stddef.h>

#include "proto/command.h"

/* false: a field of struct master_info is missing or makes no sense. */
bool info_parse(const char *text, size_t len, struct master_info *info);

#endif
