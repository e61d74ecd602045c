/* Files -> their text. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/conf/conf_private.h"

ssize_t conf_file_read(const char *path, bool regular, char *text, size_t size, mode_t *mode)
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
    while (n >= 0 && len < size) {
        n = read(fd, text + len, size - len);
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

const char *conf_secret_read(const char *path, char *secret, size_t size, mode_t *mode)
{
    static char text[CONF_PASSWORD_BYTES + 2];
    ssize_t len = conf_file_read(path, true, text, sizeof text, mode);
    const char *wrong = NULL;
    if (len < 0)
        return errno ? strerror(errno) : "not a file";
    if (len > 0 && text[len - 1] == '\n')
        len--;
    if (len > 0 && text[len - 1] == '\r')
        len--;
    if (len == 0)
        wrong = "it is empty; write the password into it";
    else if ((size_t)len >= size)
        wrong = size < CONF_PASSWORD_BYTES ? "it is too long; a secret has at most 255 bytes"
                                           : "it is too long; a password has at most 8192 bytes";
    else if (memchr(text, 0, (size_t)len) || memchr(text, '\n', (size_t)len))
        wrong = "it holds more than one line";
    if (!wrong) {
        memcpy(secret, text, (size_t)len);
        secret[len] = 0;
    }
    explicit_bzero(text, sizeof text);
    return wrong;
}

const char *conf_password_read(const struct conf *conf, char password[CONF_PASSWORD_BYTES])
{
    mode_t mode;

    return conf_secret_read(conf->node_password_file, password, CONF_PASSWORD_BYTES, &mode);
}
