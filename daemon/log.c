#include "daemon/log.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LOG_LINE_BYTES = 2048, TIME_BYTES = 48 };
_Static_assert(LOG_LINE_BYTES <= PIPE_BUF, "a line is written whole, or not at all");

static enum log_level shown_up_to = LOG_LEVEL_INFO;
static unsigned long lost; /* how many lines were lost because stderr was full, and not yet reported */

void log_set_level(enum log_level level)
{
    shown_up_to = level;
}

enum log_level log_level(void)
{
    return shown_up_to;
}

/* stderr must stay a blocking descriptor: with O_NONBLOCK the other processes on the same pipe or terminal
 * would get EAGAIN. A pipe that polls as writable has room for PIPE_BUF bytes (pipe(7)), which is more
 * than a line. */
static bool stderr_blocks(void)
{
    struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) == 0;
}

/* Writes a line by one write(2), so that lines of several processes on one pipe do not mix. If stderr is
 * full or closed the line is lost, since the log must not stop the daemon. */
static void line_write(const char *line, size_t len)
{
    if (lost && !stderr_blocks()) {
        unsigned long lines = lost;
        lost = 0;
        log_warn("log_lost", "lines=%lu why=\"stderr was full\"", lines);
    }
    if (stderr_blocks())
        lost++;
    else if (write(STDERR_FILENO, line, len) < 0) {
        /* there is no other place to report this */
    }
}

/* The journal adds the time, and takes the priority from the beginning of the line. */
enum reader { READER_TERMINAL, READER_JOURNAL, READER_FILE };

static enum reader stderr_reader(void)
{
    struct stat stat;
    if (fstat(STDERR_FILENO, &stat) == 0 && S_ISREG(stat.st_mode))
        return READER_FILE;
    return isatty(STDERR_FILENO) ? READER_TERMINAL : READER_JOURNAL;
}

static const char *time_text(char out[TIME_BYTES])
{
    struct timespec now = {0};
    struct tm utc = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    size_t len = strftime(out, TIME_BYTES, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(out + len, TIME_BYTES - len, ".%03dZ", (int)(now.tv_nsec / 1000000 % 1000));
    return out;
}

static void __attribute__((format(printf, 3, 0)))
log_line(enum log_level level, const char *event, const char *fmt, va_list args)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    static const int priorities[] = {3, 4, 6, 7}; /* sd-daemon(3) */
    char time[TIME_BYTES];
    if (level > shown_up_to)
        return;
    int saved_errno = errno;
    char line[LOG_LINE_BYTES];
    int len = 0;
    enum reader reader = stderr_reader();
    if (reader == READER_FILE)
        len = snprintf(line, sizeof line, "%s ", time_text(time));
    else if (reader == READER_JOURNAL)
        len = snprintf(line, sizeof line, "<%d>", priorities[level]);
    len += snprintf(line + len, sizeof line - (size_t)len, "level=%s event=%.64s ", names[level], event);
    int more = vsnprintf(line + len, sizeof line - (size_t)len, fmt, args);
    if (more < 0)
        more = 0;
    size_t end = (size_t)len + (size_t)more;
    if (end > sizeof line - 1)
        end = sizeof line - 1;
    while (end > 0 && (line[end - 1] == ' ' || line[end - 1] == '\n'))
        end--;
    line[end++] = '\n';
    line_write(line, end);
    errno = saved_errno;
}

void log_error(const char *event, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    log_line(LOG_LEVEL_ERROR, event, fmt, args);
    va_end(args);
}

void log_warn(const char *event, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    log_line(LOG_LEVEL_WARN, event, fmt, args);
    va_end(args);
}

void log_info(const char *event, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    log_line(LOG_LEVEL_INFO, event, fmt, args);
    va_end(args);
}

void log_debug(const char *event, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    log_line(LOG_LEVEL_DEBUG, event, fmt, args);
    va_end(args);
}

const char *log_escape(char *out, size_t size, const char *bytes, size_t len)
{
    static const char hex[] = "0123456789abcdef";
    assert(size >= 8);
    size_t n = 0;
    out[n++] = '"';
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)bytes[i];
        bool printable = c >= 0x20 && c <= 0x7e;
        bool quoted = c == '"' || c == '\\';
        size_t need = !printable ? 4 : quoted ? 2 : 1;
        /* "...", the closing quote and NUL must still fit; after the last byte only quote and NUL. */
        size_t tail = i + 1 < len ? 5 : 2;
        if (n + need + tail > size) {
            memcpy(out + n, "...", 3);
            n += 3;
            break;
        }
        if (!printable) {
            out[n++] = '\\';
            out[n++] = 'x';
            out[n++] = hex[c >> 4];
            out[n++] = hex[c & 15];
            continue;
        }
        if (quoted)
            out[n++] = '\\';
        out[n++] = (char)c;
    }
    out[n++] = '"';
    out[n] = 0;
    return out;
}
