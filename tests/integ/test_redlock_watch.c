/* redlock watch: a line says who has a name, and another one each change. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/integ/command.h"

static struct cluster masters;
static struct daemon redlockd;
static struct client a;
static struct command one;

static void begin(const char *settings)
{
    redlockd = (struct daemon){.pid = 0};
    cluster_start(&masters, 3, UNIX);
    daemon_serves(&redlockd, &masters, settings, &a);
    command_use(&redlockd);
}

#define says(text) eventually(strstr(output(&one), text) != NULL)

static unsigned lines(void)
{
    unsigned count = 0;

    for (const char *at = output(&one); (at = strchr(at, '\n')); at++)
        count++;
    return count;
}

T(each_change_is_a_line)
{
    char line[160];
    begin(PATIENT);
    START(&one, redlock_binary(), "watch", "leader");
    says("name=leader state=free\n");
    struct grant grant = lock(&a, "leader data=10.0.0.5:8080");
    snprintf(line, sizeof line, "name=leader state=held fence=%llu host=", (unsigned long long)grant.fence);
    says(line);
    says(" data=10.0.0.5:8080\n");
    ask(&a, "+DATA leader *", "DATA leader data=\\there");
    says(" data=\\there\n");
    ask(&a, "+UNLOCKED leader *", "UNLOCK leader");
    eventually(lines() == 4);
    lock(&a, "leader mode=shared");
    says("name=leader state=held mode=shared\n");
    ck_assert(!command_is_over(&one));
    kill(one.pid, SIGTERM);
    ck_assert_int_eq(command_code(&one), -SIGTERM);
    ck_assert_str_eq(errors(&one), "");
}

T(json_is_an_object_a_line)
{
    begin(PATIENT);
    START(&one, redlock_binary(), "watch", "--json", "leader");
    says("{\"name\":\"leader\",\"state\":\"free\"}\n");
    lock(&a, "leader data=\\'</script>");
    says(",\"data\":\"\\\\'</script>\"}\n");
    ask(&a, "+UNLOCKED leader *", "UNLOCK leader");
    eventually(lines() == 3);
    lock(&a, "leader mode=shared");
    says("{\"name\":\"leader\",\"state\":\"held\",\"mode\":\"shared\"}\n");
    kill(one.pid, SIGINT);
    ck_assert_int_eq(command_code(&one), -SIGINT);
}

/* redlockd goes away, and comes back: only what has changed meanwhile is a line. */
T(it_goes_on_when_redlockd_is_back)
{
    begin(PATIENT);
    START(&one, redlock_binary(), "watch", "leader");
    says("state=free\n");
    for (unsigned again = 1; again <= 2; again++) {
        client_close(&a);
        daemon_signal(&redlockd, SIGKILL);
        ck_assert_int_eq(daemon_exit(&redlockd), -SIGKILL);
        eventually(strstr(errors(&one), "watching goes on when redlockd is back\n") != NULL);
        daemon_run(&redlockd, (const char *const[]){"-c", redlockd.config, NULL});
        daemon_listens(&redlockd);
        client_open(&a, &redlockd);
        eventually(strcmp(kv(row_with(show(&a, "STATS"), "watches="), "watches"), "1") == 0);
    }
    ck_assert_uint_eq(lines(), 1);
    lock(&a, "leader");
    says("state=held");
    ck_assert_uint_eq(lines(), 2);
    kill(one.pid, SIGTERM);
    ck_assert_int_eq(command_code(&one), -SIGTERM);
}

T(it_ends_when_nobody_reads)
{
    begin(PATIENT);
    ck_assert_int_eq(RUN(&one, "sh", "-c", "$R watch leader | head -n 1"), 0);
    ck_assert_str_eq(output(&one), "name=leader state=free\n");
    ck_assert_int_eq(RUN(&one, "sh", "-c", "$R watch leader >/dev/full"), 125);
    ck_assert_ptr_nonnull(strstr(errors(&one), "cannot write the result: No space left on device"));
}

/* The reader of its lines stands still, and the pipe is full. */
T(a_signal_ends_it_where_nobody_reads_on)
{
    char fifo[PATH];
    int held = 0;
    begin(PATIENT);
    snprintf(fifo, sizeof fifo, "%s/lines", folder_new("fifo"));
    setenv("F", fifo, 1);
    ck_assert_int_eq(mkfifo(fifo, 0600), 0);
    int reader = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ck_assert_int_gt(fcntl(reader, F_SETPIPE_SZ, 4096), 0);
    START(&one, "sh", "-c", "exec $R watch leader >$F");
    lock(&a, "leader data=0");
    for (unsigned i = 0; held < 3900; i++) {
        ck_assert_uint_lt(i, 1000);
        ask(&a, "+DATA leader *", "DATA leader data=%0200u", i);
        nap();
        ck_assert_int_eq(ioctl(reader, FIONREAD, &held), 0);
    }
    for (unsigned i = 0; i < 20; i++) {
        ask(&a, "+DATA leader *", "DATA leader data=more-%0200u", i);
        nap();
    }
    kill(one.pid, SIGTERM);
    ck_assert_int_eq(command_code(&one), -SIGTERM);
    close(reader);
}

static void refused(int code, const char *text, const char *option, const char *name)
{
    ck_assert_int_eq(RUN(&one, redlock_binary(), "watch", option, name), code);
    ck_assert_msg(strstr(errors(&one), text) != NULL, "%s", errors(&one));
    ck_assert_str_eq(output(&one), "");
}

T(refusals)
{
    begin(PATIENT "max_watches: 4\n");
    refused(125, "one NAME is needed", "--json", NULL);
    refused(125, "one NAME is needed", "one", "two");
    refused(125, "not an option", "--table", "one");
    refused(125, "a name has 1 to 200", "--json", "one,two");
    refused(123, "is redlockd running there?", "-a/nowhere/redlockd.sock", "one");
    ask(&a, "+WATCHING leader state=free", "WATCH leader");
    refused(125, "a limit is reached", "--json", "other"); /* a quarter is one peer's */
}

T(without_the_right)
{
    char settings[200];
    snprintf(settings, sizeof settings,
             PATIENT "users: [{name: me, uid: [%u], lock: ['mine/*'], show: ['mine/*']}]\n",
             (unsigned)getuid());
    begin(settings);
    refused(125, "not allowed", "--json", "theirs");
}
