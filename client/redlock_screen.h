/* The whole terminal, for redlock top. It uses plain ANSI sequences (ECMA-48), and the alternate screen of
 * xterm, so that the old content comes back. */
#ifndef REDLOCK_SCREEN_H
#define REDLOCK_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

struct screen {
    bool open;
    bool keys; /* stdin is the terminal, which gives keys one by one */
    struct termios before;
    size_t width, height;
};

void screen_open(struct screen *screen);
void screen_close(struct screen *screen); /* restores the terminal; may be called twice */
void screen_measure(struct screen *screen);
/* Draws lines of text, as many as fit, each cut to the width. A line that begins with '\a' is bold.
 * Returns false if the terminal is gone, or there is no memory. */
bool screen_draw(const struct screen *screen, const char *text);

#endif
