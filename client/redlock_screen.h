/* The whole terminal, for redlock top. Plain ANSI (ECMA-48), and the alternate screen of xterm, so that what
 * was there before comes back. */
#ifndef REDLOCK_SCREEN_H
#define REDLOCK_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

struct screen {
    bool open;
    bool keys; /* stdin is the terminal: keys come one by one */
    struct termios before;
    size_t width, height;
};

void screen_open(struct screen *screen);
void screen_close(struct screen *screen); /* as it was before; may be called twice */
void screen_measure(struct screen *screen);
/* Lines of text with LF: as many as fit, each cut to the width. A line that begins with '\a' is bold. False:
 * the terminal is gone. */
bool screen_draw(const struct screen *screen, const char *text);

#endif
