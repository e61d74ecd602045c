/* redlock in a terminal: job control of run, and the tables of show. A real bash is in charge of the
 * jobs, in a pseudo-terminal. */
#include "tests/integ/command.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

static struct cluster masters;
static struct daemon redlockd;
static struct client a;
static struct pty pty;
static char path[PATH], waited[PATH + 2];

static void begin_with(const char *settings)
{
    cluster_start(&masters, 3, UNIX);
    daemon_serves(&redlockd, &masters, settings, &a);
    command_use(&redlockd);
    snprintf(path, sizeof path, "%s/word", folder_new("words"));
    setenv("F", path, 1);
    snprintf(waited, sizeof waited, "%s.p", path);
    ck_assert_int_eq(mkfifo(waited, 0600), 0);
    setenv("P", waited, 1);
}

static void begin(void)
{
    begin_with(PATIENT);
}

/* Reading $P waits without starting a process: a shell that is stopped inside vfork(2) is not seen to
 * stop, by any shell. */
static void let_go(void)
{
    int fd = -1;
    eventually((fd = open(waited, O_WRONLY | O_NONBLOCK)) >= 0); /* the shell reads */
    ck_assert_int_eq(write(fd, "\n", 1), 1);
    close(fd);
}

/* The prompt is two variables, so that typed text does not look like it. */
static void begin_shell_with(const char *settings)
{
    begin_with(settings);
    setenv("X", "rea", 1);
    setenv("PS1", "${X}dy> ", 1);
    unsetenv("PROMPT_COMMAND");
    setenv("LC_ALL", "C", 1); /* "Stopped" */
    setenv("TERM", "dumb", 1);
    setenv("INPUTRC", "/dev/null", 1);
    setenv("HISTFILE", "/dev/null", 1);
    pty_start(&pty, (const char *const[]){"bash", "--norc", "--noprofile", "-i", NULL}, 200, 50);
    pty_await(&pty, "ready> ");
}

static void begin_shell(void)
{
    begin_shell_with(PATIENT);
}

static void type_line(const char *line)
{
    pty_type(&pty, line);
    pty_type(&pty, "\n");
    pty_await(&pty, "\n"); /* the echo of the typed line */
}

/* Waits for the prompt, and checks the exit code of the shell's last command. */
static void await_code(const char *code)
{
    char line[64];
    snprintf(line, sizeof line, "code=%s=", code);
    pty_await(&pty, "ready> ");
    type_line("echo code=$?=");
    pty_await(&pty, line);
    pty_await(&pty, "ready> ");
}

static bool is_held(const char *name)
{
    char word[64];
    snprintf(word, sizeof word, "name=%s ", name);
    return row_with(show(&a, "LOCKS"), word) != NULL;
}

/* ---- run ---- */

T(the_command_has_the_terminal)
{
    begin_shell();
    type_line("$R run job -- sh -c 'echo ask${X}; read word; echo \"<$word>\"; exit 6'");
    pty_await(&pty, "askrea");
    ck_assert(is_held("job"));
    type_line("hello");
    pty_await(&pty, "<hello>");
    await_code("6");
    /* The command has the terminal without asking for it: programs look which group is in the foreground. */
    type_line("$R run job -- sh -c 'read -r p c s pp group se tt front x </proc/$$/stat; [ $group = $front ] "
              "&& echo front${X}'");
    pty_await(&pty, "frontrea");
    pty_await(&pty, "ready> ");
    /* The shell has the terminal again: a reader is not stopped. */
    type_line("read word; echo \"[$word]\"");
    type_line("again");
    pty_await(&pty, "[again]");
    pty_await(&pty, "ready> ");
    type_line(
        "sh -c '$R run job -- true; read word; echo \"($word)\"'"); /* a script has to get it back too */
    type_line("once more");
    pty_await(&pty, "(once more)");
}

T(interrupted_by_the_terminal)
{
    begin_shell();
    type_line("$R run job -- sh -c 'echo ask${X}; exec sleep 60'");
    pty_await(&pty, "askrea");
    pty_type(&pty, "\003");
    await_code("130");
    eventually(!is_held("job"));
    /* A trapped signal is the command's affair. */
    type_line("$R run job -- sh -c 'trap \"exit 8\" INT; echo ask${X}; read word <$P'");
    pty_await(&pty, "askrea");
    pty_type(&pty, "\003");
    await_code("8");
}

/* The shell would have got the ^C too, had redlock not taken the terminal from it. */
T(interrupt_ends_the_script_around_it)
{
    begin_shell();
    type_line("sh -c '$R run job -- sh -c \"echo ask${X}; exec sleep 60\"; echo went on$?'");
    pty_await(&pty, "askrea");
    pty_type(&pty, "\003");
    pty_await(&pty, "ready> ");
    ck_assert_ptr_null(strstr(pty.text, "went on130"));
    eventually(!is_held("job"));
}

T(interrupted_while_it_waits)
{
    begin_shell();
    lock(&a, "job ttl=30s");
    type_line("$R run job -- echo never");
    eventually(row_with(show(&a, "WAITERS"), "name=job") != NULL);
    pty_type(&pty, "\003");
    await_code("130");
    eventually(row_with(show(&a, "WAITERS"), "name=job") == NULL);
}

T(stopped_and_continued)
{
    begin_shell_with("");
    type_line("$R run -t 3500ms --grace 300ms job -- sh -c 'echo $$ >$F; echo ask${X}; read word; echo "
              "\"<$word>\"; exit 6'");
    pty_await(&pty, "askrea");
    pid_t pid = (pid_t)number_in(path);
    pty_type(&pty, "\032");
    pty_await(&pty, "Stopped");
    pty_await(&pty, "ready> ");
    ck_assert_int_eq(process_state(pid), 'T');
    /* The connection lives while redlock is stopped, so it keeps the lock for longer than a TTL. */
    int64_t start_ms = now_ms();
    eventually(now_ms() - start_ms > 3700);
    ck_assert(is_held("job"));
    ck_assert_int_eq(process_state(pid), 'T');
    type_line("fg");
    type_line("hello");
    pty_await(&pty, "<hello>");
    await_code("6");
}

/* While the command was stopped, the lock was lost: the command must not take one more step. */
T(lost_while_it_was_stopped)
{
    begin_shell();
    type_line(
        "$R run -t 20s job -- sh -c 'echo $REDLOCK_TOKEN >$F; echo ask${X}; while echo >>$F; do :; done'");
    pty_await(&pty, "askrea");
    char *token = keep(file_read(path));
    pty_type(&pty, "\032");
    pty_await(&pty, "Stopped");
    pty_await(&pty, "ready> ");
    ask(&a, "+UNLOCKED job*", "UNLOCK job token=%.40s", token);
    size_t steps = strlen(keep(file_read(path)));
    type_line("fg");
    pty_await(&pty, "lost (released)");
    await_code("124");
    ck_assert_uint_eq(strlen(keep(file_read(path))), steps);
}

static bool jobs_say(const char *word)
{
    size_t from = pty.seen;
    type_line("jobs");
    pty_await(&pty, "ready> ");
    return memmem(pty.text + from, pty.seen - from, word, strlen(word)) != NULL;
}

T(in_the_background)
{
    begin_shell();
    type_line("$R run job -- sh -c 'echo $$ >$F; read word; echo \"<$word>\"; exit 6' &");
    pty_await(&pty, "ready> ");
    pid_t pid = (pid_t)number_in(path);
    eventually(jobs_say("Stopped")); /* the command wants to read */
    ck_assert_int_eq(process_state(pid), 'T');
    type_line("bg");
    pty_await(&pty, "ready> ");
    eventually(jobs_say("Stopped")); /* and still may not */
    type_line("fg");
    type_line("hello");
    pty_await(&pty, "<hello>");
    await_code("6");
}

T(background_goes_on_after_bg)
{
    begin_shell();
    type_line("$R run job -- sh -c 'echo $$ >$F; echo ask${X}; read word <$P; exit 6'");
    pty_await(&pty, "askrea");
    pid_t pid = (pid_t)number_in(path);
    pty_type(&pty, "\032");
    pty_await(&pty, "Stopped");
    pty_await(&pty, "ready> ");
    type_line("bg");
    pty_await(&pty, "ready> ");
    eventually(process_state(pid) != 'T');
    let_go();
    type_line("wait %1; echo over=$?=");
    pty_await(&pty, "over=6=");
}

/* Another process of the pipeline reads the terminal: the command, which does not read, must not take it
 * away. */
T(in_a_pipeline)
{
    begin_shell();
    type_line("$R run job -- echo from${X} | (read x; echo \"$x\"; read word </dev/tty; echo \"<$word>\")");
    pty_await(&pty, "fromrea");
    type_line("hello");
    pty_await(&pty, "<hello>");
    await_code("0");
    /* ^C reaches all of the pipeline. */
    type_line("$R run job -- sh -c 'echo ask${X} >&2; exec sleep 60' | cat");
    pty_await(&pty, "askrea");
    pty_type(&pty, "\003");
    pty_await(&pty, "ready> ");
    eventually(!is_held("job"));
}

T(a_shell_under_a_lock)
{
    begin_shell();
    setenv("PS1", "", 1);
    type_line("$R run job -- bash --norc --noprofile -i");
    pty_await(&pty, "ready> ");
    type_line("echo in${X} $REDLOCK_NAME");
    pty_await(&pty, "inrea job");
    type_line("sh -c 'echo $$ >$F; exec sleep 60'");
    pid_t pid = (pid_t)number_in(path);
    pty_type(&pty, "\032"); /* the inner shell's Ctrl-Z: the outer shell must not see it */
    pty_await(&pty, "Stopped");
    pty_await(&pty, "ready> ");
    type_line("fg");
    eventually(process_state(pid) != 'T');
    pty_type(&pty, "\003");
    pty_await(&pty, "ready> ");
    type_line("echo in${X} again");
    pty_await(&pty, "inrea again");
    type_line("exit 3");
    await_code("3");
    eventually(!is_held("job"));
}

/* ---- show ---- */

T(tables_on_a_terminal)
{
    begin();
    lock(&a, "first ttl=50s note=why");
    lock(&a, "a-longer-name ttl=50s");
    pty_start(&pty, (const char *const[]){redlock_binary(), "show", "locks", NULL}, 200, 50);
    ck_assert_int_eq(pty_code(&pty), 0);
    const char *heads = strstr(pty.text, "NAME"), *one = strstr(pty.text, "\nfirst "),
               *two = strstr(pty.text, "\na-longer-name ");
    ck_assert_msg(heads && one && two, "%s", pty.text);
    /* The second column begins in the same place. */
    ck_assert_int_eq(strstr(heads, "MODE") - heads, strlen("a-longer-name  "));
    ck_assert_int_eq(strstr(one, "exclusive") - one - 1, strlen("a-longer-name  "));
    ck_assert_int_eq(strstr(two, "exclusive") - two - 1, strlen("a-longer-name  "));
    ck_assert_int_eq(fnmatch("* [1-4][0-9].[0-9]s *", pty.text, 0), 0); /* the rest of a TTL */
    pty_start(&pty, (const char *const[]){redlock_binary(), "show", "nodes", NULL}, 200, 50);
    ck_assert_int_eq(pty_code(&pty), 0);
    ck_assert_ptr_nonnull(strstr(pty.text, "NODE "));
    pty_start(&pty, (const char *const[]){redlock_binary(), "show", "daemons", NULL}, 200, 50);
    ck_assert_int_eq(pty_code(&pty), 0);
    ck_assert_msg(fnmatch("*SEEN *[0-9]?(m)s *", pty.text, FNM_EXTMATCH) == 0, "%s", pty.text);
    pty_start(&pty, (const char *const[]){redlock_binary(), "show", "waiters", NULL}, 200, 50);
    ck_assert_int_eq(pty_code(&pty), 0);
    ck_assert_str_eq(pty.text, "no waiters here: each redlockd shows only its own\r\n");
}

/* ---- top ---- */

T(top_stops_and_goes_on)
{
    begin_shell();
    lock(&a, "watched ttl=20s");
    type_line("$R top -d 200ms");
    pty_await(&pty, "watched");
    pty_type(&pty, "\032");
    pty_await(&pty, "\033[?1049l");
    pty_await(&pty, "Stopped");
    pty_await(&pty, "ready> ");
    type_line("fg");
    pty_await(&pty, "\033[?1049h");
    pty_await(&pty, "watched");
    pty_type(&pty, "q");
    pty_await(&pty, "\033[?1049l");
    await_code("0");
}
