/* Logging to stderr: one line for each event, as key=value words.
 *
 *     level=info event=node_up node=127.0.0.1:6379 run_id=1a2b3c4d
 *
 * Unless stderr is a terminal, each line begins with the level as journald understands it (<3> error to
 * <7> debug, see sd-daemon(3)). Never log a whole token or a secret, and pass bytes from outside through
 * log_escape(). */
#ifndef REDLOCKD_LOG_H
#define REDLOCKD_LOG_H

#include <stddef.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

void log_set_level(enum log_level level);
enum log_level log_level(void);

/* event is one word; fmt makes the key=value words that follow it. */
void log_error(const char *event, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void log_warn(const char *event, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void log_info(const char *event, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void log_debug(const char *event, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Writes bytes between double quotes. An unprintable byte becomes \xNN, and a quote or backslash gets a
 * backslash before it. A value that does not fit into size (at least 8) is cut and ends with three dots.
 * Returns out. */
const char *log_escape(char *out, size_t size, const char *bytes, size_t len);

#endif
