/* The last words to redlockd. */
#include <poll.h>
#include <time.h>

#include "client/lib/link.h"

enum { QUIT_MS = 1000 };

static int64_t monotonic_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Whether the line +BYE is among the bytes. *column is how much of it the line so far has; beyond it: another line. */
static bool has_bye(const char *bytes, size_t len, size_t *column)
{
    static const char bye[] = "+BYE";

    for (size_t i = 0; i < len; i++) {
        if (bytes[i] == '\n') {
            *column = 0;
            continue;
        }
        *column = *column < sizeof bye - 1 && bytes[i] == bye[*column] ? *column + 1 : sizeof bye;
        if (*column == sizeof bye - 1)
            return true;
    }
    return false;
}

void link_quit(struct link *link)
{
    char bytes[4096];
    size_t column = 0;

    if (link->state != LINK_OPEN || link_write(link, "QUIT\n", 5) != 5)
        return;
    int64_t end_ms = monotonic_ms() + QUIT_MS, left_ms = QUIT_MS;
    while (left_ms > 0) {
        struct pollfd poll_fd = {.fd = link->fd, .events = POLLIN};
        ssize_t len = link_read(link, bytes, sizeof bytes);
        if (len < 0 || has_bye(bytes, (size_t)len, &column))
            return;
        if (len == 0)
            (void)poll(&poll_fd, 1, (int)left_ms);
        left_ms = end_ms - monotonic_ms();
    }
}
