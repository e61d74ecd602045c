/* A file -> its text. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/conf/conf_private.h"

int conf_parse(struct conf *conf, const char *name, const char *text, size_t len, FILE *errors)
{
    struct conf_reader r = {.conf = conf, .name = name, .errors = errors};
    return conf_text_read(&r, text, len);
}

/* Returns the number of bytes, or -1 with errno, which is 0 if only a regular file is allowed and this is
 * none. text has room for one byte more than CONF_FILE_BYTES. */
static ssize_t file_read(const char *path, bool regular, char *text, mode_t *mode)
{
    struct stat stat = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | (regular ? O_NONBLOCK : 0));
    if (fd < 0)
        return -1;
    ssize_t n = fstat(fd, &stat);
    size_t len = 0;
    if (n == 0 && regular && !S_ISREG(stat.st_mode)) {
        errno = 0;
        n = -1;
    }
    while (n == 0 || (n > 0 && len <= CONF_FILE_BYTES)) {
        n = read(fd, text + len, CONF_FILE_BYTES + 1 - len);
        if (n <= 0)
            break;
        len += (size_t)n;
    }
    int saved = errno;
    close(fd);
    errno = saved;
    *mode = stat.st_mode;
    return n < 0 ? -1 : (ssize_t)len;
}

static int path_parse(struct conf *conf, const char *path, bool regular, const char *hint, FILE *errors)
{
    struct conf_reader r = {.conf = conf, .name = path, .errors = errors};
    char *text = malloc(CONF_FILE_BYTES + 1);
    ssize_t len = text ? file_read(path, regular, text, &r.mode) : -1;
    if (len >= 0) {
        conf_text_read(&r, text, (size_t)len);
    } else {
        conf_defaults(conf);
        fprintf(errors, "%s: cannot be read: %s%s\n", path,
                errno != 0 ? strerror(errno) : "it is no regular file", hint);
        r.faults = 1;
    }
    free(text);
    return r.faults;
}

int conf_read(struct conf *conf, const char *path, FILE *errors)
{
    return path_parse(conf, path, false, "; name another file with -c, or try redlockd --dev without any",
                      errors);
}

int conf_read_again(struct conf *conf, const char *path, FILE *errors)
{
    return path_parse(conf, path, true, "", errors);
}
