#include "tests/unit/fake_master.h"

#include <fcntl.h>

struct server fake;
static int fake_listener = -1;
int fake_fd = -1;
char fake_got[65536];
size_t fake_got_len;

void fake_listen(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    server_folder(&fake);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", fake.path);
    fake_listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fake_listener, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(fake_listener, 16), 0);
}

void fake_close(void)
{
    if (fake_fd >= 0)
        close(fake_fd);
    fake_fd = -1;
}

void fake_remove(void)
{
    fake_close();
    close(fake_listener);
    server_remove(&fake);
}

void fake_accept(void)
{
    fake_close();
    UNTIL((fake_fd = accept(fake_listener, NULL, NULL)) >= 0);
    ck_assert_int_eq(fcntl(fake_fd, F_SETFL, O_NONBLOCK), 0);
    fake_got_len = 0;
}

bool fake_has(const char *text)
{
    ssize_t n = recv(fake_fd, fake_got + fake_got_len, sizeof fake_got - fake_got_len, 0);
    if (n > 0)
        fake_got_len += (size_t)n;
    return memmem(fake_got, fake_got_len, text, strlen(text)) != NULL;
}

void fake_say(const char *text)
{
    server_write(fake_fd, text, strlen(text));
}

void fake_say_scripts(void)
{
    UNTIL(fake_has(resp_script_text(RESP_SCRIPTS - 1)));
    for (unsigned i = 0; i < RESP_SCRIPTS; i++) {
        char reply[64];
        snprintf(reply, sizeof reply, "$40\r\n%s\r\n", resp_script_sha1(i));
        fake_say(reply);
    }
}

void fake_login(void)
{
    fake_accept();
    UNTIL(fake_has("EVALSHA"));
    fake_say("-NOSCRIPT No matching script. Please use EVAL.\r\n");
    fake_say_scripts();
}

void fake_connected(void)
{
    dial_unix(fake.path);
    fake_login();
    UNTIL(told.connected);
    fake_got_len = 0;
}

void is_lost_and_redialled(const char *why)
{
    unsigned votes = told.votes;
    UNTIL(told.lost == 1);
    ck_assert_str_eq(row_why(), why);
    fake_login();
    UNTIL(told.connected == 2);
    ck_assert_uint_eq(told.votes, votes);
    ck_assert_uint_eq(told.lost, 1);
    ck_assert_uint_eq(log_count("event=node_lost"), 1);
    ck_assert_uint_eq(told.failed, 0);
}

unsigned fake_count(const char *text)
{
    unsigned count = 0;
    for (const char *at = fake_got, *end = fake_got + fake_got_len;
         (at = memmem(at, (size_t)(end - at), text, strlen(text))); at++)
        count++;
    return count;
}
