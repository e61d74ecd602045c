/* Text under construction: appended piece by piece, in a buffer that grows. Whatever comes from clients or
 * masters goes through one of the functions that escape it. After a lack of memory nothing is appended any
 * more, and `failed` says so. */
#ifndef REDLOCKD_HTTP_BODY_H
#define REDLOCKD_HTTP_BODY_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/buffer.h"

struct body {
    struct buffer buffer;
    bool failed;
};

void body_put(struct body *b, const char *string);
void body_putf(struct body *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* For HTML, also inside attributes. Bytes outside 0x20-0x7e become '?'. */
void body_html(struct body *b, const char *bytes, size_t len);
/* A JSON string with its quotes; '<', '>' and '&' are escaped too. */
void body_json(struct body *b, const char *bytes, size_t len);
/* The value of a label of Prometheus, without its quotes. */
void body_label(struct body *b, const char *string);
void body_free(struct body *b);

#endif
