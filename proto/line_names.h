/* Lists of names, as clients write and read them.
 *
 * The order of a list tells how it was written: four bits for each place, the first place lowest, with the number
 * of the sorted name that stands there. A single name has the order 0. */
#ifndef REDLOCKD_PROTO_LINE_NAMES_H
#define REDLOCKD_PROTO_LINE_NAMES_H

#include "proto/line_piece.h"

enum names_fault { NAMES_GOOD, NAMES_BAD, NAMES_MANY, NAMES_LONG, NAMES_TWICE };

/* Reads a list of at least two names. Unless it is NAMES_GOOD, *list and *order are left undefined. */
enum names_fault names_read(struct piece piece, struct name *list, uint64_t *order);

/* Writes the names in that order, or sorted where it is 0, and returns their length, which is the list's. */
size_t names_write(char *out, const struct name *list, uint64_t order);

#endif
