/* The client library's socket: which addresses a secret goes to, and what is told when it goes nowhere. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client/lib/link.h"
#include "tests/unit/suite.h"

static const struct redlock_options options;
static char folder[] = "/tmp/redlock-socket-XXXXXX";
static char path[sizeof folder + 16];
static struct link l;

static void setup(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "unix:%s/s", folder);
}

static void teardown(void)
{
    link_end(&l, true);
    unlink(path + strlen("unix:"));
    rmdir(folder);
}

static int listen_there(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memcpy(address.sun_path, path + strlen("unix:"), strlen(path) - strlen("unix:"));
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(fd, 1), 0);
    return fd;
}

/* Two places, as a name with two addresses has them. */
static void connects_to(const char *first, const char *second)
{
    ck_assert_int_eq(link_init(&l, first, true, &options), 0);
    ck_assert(address_parse(second, &l.where[1]));
    l.places = 2;
    link_connect(&l);
}

SETUP(setup, teardown);

T(a_secret_has_nowhere_to_go)
{
    connects_to("192.0.2.77", "[2001:db8::77]");
    ck_assert_int_eq(l.state, LINK_CLOSED);
    ck_assert(l.refused);
    ck_assert_ptr_nonnull(strstr(l.why, "192.0.2.77:7335: a secret does not go over TCP to another host"));
    ck_assert_ptr_nonnull(strstr(l.why, "[2001:db8::77]:7335: a secret does not go"));
}

/* An address that may have the secret is only down: asking again later helps. */
T_EACH(a_secret_has_somewhere_to_go, 2)
{
    connects_to(_i ? path : "192.0.2.77", _i ? "192.0.2.77" : path);
    ck_assert_int_eq(l.state, LINK_CLOSED);
    ck_assert(!l.refused);
    ck_assert_ptr_nonnull(strstr(l.why, "192.0.2.77:7335: a secret does not go"));
    ck_assert_ptr_nonnull(strstr(l.why, "No such file"));
}

/* The end of a connection is not a refusal, though an address before was passed over. */
T(the_end_of_a_connection)
{
    char bytes[8];
    int listener = listen_there();

    connects_to("192.0.2.77", path);
    ck_assert_int_eq(l.state, LINK_OPEN);
    close(accept(listener, NULL, NULL));
    close(listener);
    ck_assert_int_eq(link_read(&l, bytes, sizeof bytes), -1);
    ck_assert(!l.refused);
}
