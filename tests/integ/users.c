#include "tests/integ/users.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HASH "a8ae6e6ee929abea3afcfc5258c8ccd6f85273e0d4626d26c7279f3250f77c8e"

const char *users_settings(const char *text)
{
    static char settings[4096];
    char file[PATH + 16], me[16];

    snprintf(file, sizeof file, "%s/ops.sha256", redlockd.folder);
    file_write(file, HASH "\n");
    ck_assert_int_eq(chmod(file, 0600), 0);
    snprintf(me, sizeof me, "%u", (unsigned)getuid());
    snprintf(settings, sizeof settings, PATIENT "unix_mode: \"0666\"\nusers:\n");
    for (size_t len = strlen(settings); *text; len = strlen(settings)) {
        bool is_file = strncmp(text, "FILE", 4) == 0, is_me = strncmp(text, "ME", 2) == 0;
        snprintf(settings + len, sizeof settings - len, "%.*s", is_file || is_me ? PATH + 16 : 1,
                 is_file ? file
                 : is_me ? me
                         : text);
        text += is_file ? 4 : is_me ? 2 : 1;
    }
    return settings;
}

/* Other users may reach the daemon's socket. */
static void users_open_folders(void)
{
    char parent[FOLDER];

    snprintf(parent, sizeof parent, "%s", redlockd.folder);
    *strrchr(parent, '/') = '\0';
    ck_assert_int_eq(chmod(parent, 0755), 0);
    ck_assert_int_eq(chmod(redlockd.folder, 0755), 0);
}

void users_begin(struct client *client, const char *users)
{
    cluster_start(&masters, 3, UNIX);
    redlockd = (struct daemon){0};
    daemon_configure(&redlockd, &masters, "");
    daemon_configure(&redlockd, &masters, users_settings(users));
    users_open_folders();
    daemon_run(&redlockd, (const char *const[]){"-c", redlockd.config, NULL});
    daemon_listens(&redlockd);
    client_open(client, &redlockd);
}

void users_begin_with_ops(struct client *ops, const char *users)
{
    users_begin(ops, users);
    ask(ops, "+OK", AS_OPS);
    eventually(masters_up(ops, &masters));
}

void users_reload(const char *users)
{
    static unsigned reloads;
    daemon_configure(&redlockd, &masters, users_settings(users));
    daemon_signal(&redlockd, SIGHUP);
    reloads++;
    eventually(rows_with(keep(file_read(redlockd.log)), " event=reload ") == reloads);
}
