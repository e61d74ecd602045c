#include "tests/integ/network.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/integ/harness.h"

bool network_enter(const char *address)
{
    struct ifreq request = {.ifr_flags = IFF_UP};
    struct sockaddr_in in = {.sin_family = AF_INET};

    if (unshare(CLONE_NEWNET) < 0)
        return false;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    strcpy(request.ifr_name, "lo");
    ck_assert_int_eq(ioctl(fd, SIOCSIFFLAGS, &request), 0);
    strcpy(request.ifr_name, "lo:1");
    inet_pton(AF_INET, address, &in.sin_addr);
    memcpy(&request.ifr_addr, &in, sizeof in);
    ck_assert_int_eq(ioctl(fd, SIOCSIFADDR, &request), 0);
    close(fd);
    return true;
}
