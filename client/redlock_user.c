/* mkuser: makes a secret for a user, and the line by which redlockd knows it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "client/redlock_cmd.h"
#include "proto/line_piece.h"
#include "proto/secret.h"

static void user_help(void)
{
    (void)puts("usage: redlock mkuser NAME\n\n"
               "Makes a secret for the user NAME. The first line of standard output is the secret, for the\n"
               "file that REDLOCK_SECRET_FILE names. The second line is for the file that the user's\n"
               "secret_file names in redlockd's configuration. Standard error explains both. Nothing is\n"
               "stored, and the secret is not shown again.");
}

static bool user_is_name(const char *text)
{
    return piece_is_word((struct piece){text, strlen(text)}, REDLOCK_WORD_BYTES) && !strchr(text, '*') &&
           strcmp(text, "anyone") != 0;
}

static bool user_make(char secret[SECRET_HEX + 1], char line[SECRET_HEX + 1])
{
    uint8_t bytes[SECRET_HASH_BYTES], hash[SECRET_HASH_BYTES];

    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) {
        say_line("mkuser: no random numbers: %s", strerror(errno));
        return false;
    }
    secret_to_hex(bytes, secret);
    explicit_bzero(bytes, sizeof bytes);
    if (!secret_hash(secret, SECRET_HEX, hash)) {
        say_line("mkuser: %s",
                 secret_is_possible() ? "no memory" : "this redlock was built without OpenSSL (TLS=no)");
        return false;
    }
    secret_to_hex(hash, line);
    return true;
}

int cmd_mkuser(int argc, char **argv)
{
    char secret[SECRET_HEX + 1] = "", line[SECRET_HEX + 1] = "";

    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        user_help();
        return CODE_OK;
    }
    if (argc != 2)
        return usage("mkuser", "it takes the name of a user, and nothing else");
    if (!user_is_name(argv[1]))
        return usage(
            "mkuser",
            "%s: not a name for a user; 1 to 64 visible characters are allowed, except , \" = * and no "
            "# or : first; anyone is taken",
            argv[1]);
    if (!user_make(secret, line))
        return CODE_FAILED;
    (void)fprintf(
        stderr,
        "For the program, with REDLOCK_USER=%s: the secret, in a file that only it can read, which\n"
        "REDLOCK_SECRET_FILE names. It is not shown again:\n",
        argv[1]);
    (void)printf("%s\n", secret);
    (void)fflush(stdout);
    explicit_bzero(secret, sizeof secret);
    (void)fprintf(stderr,
                  "For redlockd: the line of the file that secret_file names. In redlockd.yaml under users:\n"
                  "  - {name: \"%s\", secret_file: /etc/redlockd/%s.sha256, lock: [\"%s/*\"]}\n",
                  argv[1], argv[1], argv[1]);
    (void)printf("%s\n", line);
    return fflush(stdout) == 0 ? CODE_OK : CODE_FAILED;
}
