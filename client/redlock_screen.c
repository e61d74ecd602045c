#include "client/redlock_screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define SCREEN_BEGIN "\033[?1049h\033[?25l\033[2J"
#define SCREEN_END   "\033[?25h\033[?1049l"

static bool screen_put(const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t wrote = write(STDOUT_FILENO, bytes, len);
        if (wrote < 0 && errno == EAGAIN)
            (void)poll(&(struct pollfd){.fd = STDOUT_FILENO, .events = POLLOUT}, 1, 100);
        else if (wrote < 0 && errno != EINTR)
            return false;
        if (wrote > 0) {
            bytes += wrote;
            len -= (size_t)wrote;
        }
    }
    return true;
}

void screen_measure(struct screen *screen)
{
    struct winsize size = {0};

    (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    screen->width = size.ws_col ? size.ws_col : 80;
    screen->height = size.ws_row ? size.ws_row : 24;
}

/* In the background, where timeout(1) puts its command, this stops the process (SIGTTOU). Signals that are to end it
 * are let in meanwhile, since nobody would read them from the descriptor. */
static void set_from_background(const struct termios *termios)
{
    sigset_t ends, before;

    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGTERM);
    (void)sigaddset(&ends, SIGINT);
    (void)sigaddset(&ends, SIGHUP);
    (void)sigaddset(&ends, SIGQUIT);
    (void)sigprocmask(SIG_UNBLOCK, &ends, &before);
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, termios);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
}

/* Does not stop the process, which is about to end. */
static void set_at_the_end(const struct termios *termios)
{
    sigset_t stop, before;

    (void)sigemptyset(&stop);
    (void)sigaddset(&stop, SIGTTOU);
    (void)sigprocmask(SIG_BLOCK, &stop, &before);
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, termios);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
}

void screen_open(struct screen *screen)
{
    struct termios raw;

    if (screen->open)
        return;
    screen->keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &screen->before) == 0;
    if (screen->keys) {
        raw = screen->before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO); /* not ISIG: ^C and ^Z stay signals */
        raw.c_cc[VMIN] = 1;
        raw.c_cc[VTIME] = 0;
        set_from_background(&raw);
    }
    screen->open = true;
    (void)screen_put(SCREEN_BEGIN, sizeof SCREEN_BEGIN - 1);
    screen_measure(screen);
}

void screen_close(struct screen *screen)
{
    if (!screen->open)
        return;
    screen->open = false;
    (void)screen_put(SCREEN_END, sizeof SCREEN_END - 1);
    if (screen->keys)
        set_at_the_end(&screen->before);
}

/* No LF follows the last line, since it would scroll the first one away. */
static void put_lines(const struct screen *screen, const char *text, FILE *out)
{
    (void)fputs("\033[H", out);
    for (size_t i = 0; i < screen->height && *text; i++) {
        size_t len = strcspn(text, "\n");
        const char *next = text + len + (text[len] == '\n');
        bool bold = *text == '\a';
        text += bold;
        len -= bold;
        size_t shown = len < screen->width ? len : screen->width;
        (void)fprintf(out, "%s%s%.*s%s\033[K", i ? "\r\n" : "", bold ? "\033[1m" : "", (int)shown, text,
                      bold ? "\033[0m" : "");
        text = next;
    }
    (void)fputs("\033[J", out);
}

bool screen_draw(const struct screen *screen, const char *text)
{
    char *bytes = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&bytes, &len);

    if (!out)
        return false;
    put_lines(screen, text, out);
    bool fine = fclose(out) == 0 && screen_put(bytes, len);
    free(bytes);
    return fine;
}
