/* The user that the program is, and its secret. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/lib/handle.h"

int handle_take_credentials(struct redlock *redlock, const struct redlock_options *options)
{
    int error = link_take_text(&redlock->auth_user, options->user, "REDLOCK_USER");

    return error ? error : link_take_text(&redlock->secret_file, options->secret_file, "REDLOCK_SECRET_FILE");
}

/* Reads the first line of the secret's file. NULL, or what is wrong. */
static const char *read_secret(const char *path, char secret[CORE_SECRET_BYTES + 2])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t len = fd < 0 ? -1 : read(fd, secret, CORE_SECRET_BYTES + 1);
    const char *why = len < 0 ? strerror(errno) : NULL;

    if (fd >= 0)
        (void)close(fd);
    secret[len > 0 ? len : 0] = '\0';
    secret[strcspn(secret, "\r\n")] = '\0';
    return why;
}

bool handle_credentials(struct redlock *redlock)
{
    char secret[CORE_SECRET_BYTES + 2], why[LINK_WHY_BYTES] = "";

    if (!redlock->auth_user && !redlock->secret_file)
        return true;
    if (!redlock->auth_user || !redlock->secret_file) {
        (void)snprintf(
            why, sizeof why,
            "a user needs a secret file, and a secret file a user (REDLOCK_USER, REDLOCK_SECRET_FILE)");
    } else {
        const char *wrong = read_secret(redlock->secret_file, secret);
        if (wrong)
            (void)snprintf(why, sizeof why, "cannot read the secret in %s: %s", redlock->secret_file, wrong);
        else if (!core_credentials(redlock->core, redlock->auth_user, secret))
            (void)snprintf(why, sizeof why, "the user, or the first line of %s, is no word",
                           redlock->secret_file);
        explicit_bzero(secret, sizeof secret);
    }
    if (why[0])
        core_disconnected(redlock->core, handle_now_ms(), REDLOCK_MISUSE, why);
    return !why[0];
}
