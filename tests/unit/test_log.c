/* Logging: the form of a line, and a reader that is slow or does not read, which must not stop the
 * daemon. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/log.h"
#include "tests/unit/suite.h"

static int ends[2]; /* a pipe in place of stderr */
static int old_stderr;
static char text[256 * 1024];

static void setup(void)
{
    ck_assert_int_eq(pipe(ends), 0);
    old_stderr = dup(2);
    ck_assert_int_eq(dup2(ends[1], 2), 2);
    ck_assert_int_eq(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
}

static void teardown(void)
{
    dup2(old_stderr, 2);
    close(old_stderr);
    close(ends[0]);
    close(ends[1]);
}

static const char *logged(void)
{
    size_t len = 0;
    ssize_t n;
    while ((n = read(ends[0], text + len, sizeof text - 1 - len)) > 0)
        len += (size_t)n;
    text[len] = '\0';
    return text;
}

SETUP(setup, teardown);

T(a_line_has_its_level)
{
    log_set_level(LOG_LEVEL_INFO);
    log_debug("hidden", "a=1");
    log_info("shown", "a=%d", 1);
    log_error("bad", "%s", "");
    ck_assert_str_eq(logged(), "<6>level=info event=shown a=1\n<3>level=error event=bad\n");
}

/* Nobody else adds the time to a file, and nobody there reads the priority. */
T(a_file_has_the_time)
{
    char path[] = "/tmp/test_log.XXXXXX";
    int file = mkstemp(path);
    unlink(path);
    ck_assert_int_eq(dup2(file, 2), 2);
    log_set_level(LOG_LEVEL_INFO);
    log_info("shown", "a=1");
    ssize_t len = pread(file, text, sizeof text - 1, 0);
    ck_assert_int_gt(len, 0);
    text[len] = '\0';
    ck_assert_msg(
        fnmatch("20[0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9].[0-9][0-9][0-9]Z "
                "level=info event=shown a=1\n",
                text, 0) == 0,
        "%s", text);
    close(file);
}

T(a_long_line_is_cut)
{
    char words[3000];
    memset(words, 'x', sizeof words - 1);
    words[sizeof words - 1] = '\0';
    log_info("long", "%s", words);
    const char *line = logged();
    ck_assert_uint_le(strlen(line), 2048);
    ck_assert_ptr_eq(strchr(line, '\n'), line + strlen(line) - 1);
}

/* If the log waited for its reader, this test would not end. */
T(a_full_pipe_loses_lines_and_says_so)
{
    char want[128];
    unsigned whole = 0, written = 0;
    for (; written < 5000; written++)
        log_info("line", "n=%04u padding=\"........................................\"", written);
    for (const char *at = logged(); (at = strstr(at, "event=line")); at++)
        whole++;
    ck_assert_uint_gt(whole, 100);
    ck_assert_uint_lt(whole, written);
    errno = ENOENT;
    log_info("after", "a=1");
    ck_assert_int_eq(errno, ENOENT);
    snprintf(want, sizeof want,
             "<4>level=warn event=log_lost lines=%u why=\"stderr was full\"\n<6>level=info event=after a=1\n",
             written - whole);
    ck_assert_str_eq(logged(), want);
}

T(a_closed_pipe_is_no_matter)
{
    signal(SIGPIPE, SIG_IGN);
    close(ends[0]);
    log_info("line", "n=1");
    log_info("line", "n=2");
    ends[0] = dup(old_stderr);
}

T(bytes_from_outside_are_escaped)
{
    char out[24];
    ck_assert_str_eq(log_escape(out, sizeof out, "a\"b\\\n\xff", 6), "\"a\\\"b\\\\\\x0a\\xff\"");
    ck_assert_str_eq(log_escape(out, 10, "abcde", 5), "\"abcde\"");
    ck_assert_str_eq(log_escape(out, 8, "abcdefgh", 8), "\"ab...\"");
    ck_assert_str_eq(log_escape(out, 8, "", 0), "\"\"");
}
