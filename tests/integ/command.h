/* The command `redlock`, and shells, under test: as a child whose output is kept, or in a pseudo-terminal. */
#ifndef REDLOCKD_TESTS_COMMAND_H
#define REDLOCKD_TESTS_COMMAND_H

#include "tests/integ/harness.h"

const char *redlock_binary(void);
/* Programs that start from now on find this daemon by REDLOCK_ADDRESS, and `redlock` by $R. */
void command_use(const struct daemon *daemon);

/* A command under way. Both files lie in a folder of the test's. */
struct command {
    pid_t pid;
    char out[PATH], err[PATH];
};

/* argv ends with NULL. */
void command_start(struct command *command, const char *const argv[]);
/* Waits until the command ends. Returns its exit code, or -signal. */
int command_code(struct command *command);
bool command_is_over(const struct command *command); /* does not take its exit code away */
/* Starts the command and waits for its end. */
int command_run(struct command *command, const char *const argv[]);
#define START(command, ...) command_start(command, (const char *const[]){__VA_ARGS__, NULL})
#define RUN(command, ...)   command_run(command, (const char *const[]){__VA_ARGS__, NULL})

/* The whole text that the command has written; it is kept for the rest of the test. */
const char *output(const struct command *command);
const char *errors(const struct command *command);
/* The number in a file, once the file exists and its line is complete. */
long number_in(const char *path);
/* The process lives, and is no zombie. */
bool is_alive(pid_t pid);
char process_state(pid_t pid); /* as in proc(5); '-': no such process */

/* ---- a pseudo-terminal ---- */

struct pty {
    int fd;
    pid_t pid; /* leads the session */
    size_t len, seen;
    char text[1 << 22]; /* everything that was written to the terminal */
};

/* Opens a new terminal, and fails the test with what to do where the system has none. */
int pty_open(char *name, size_t size);
void pty_start(struct pty *pty, const char *const argv[], unsigned columns, unsigned lines);
void pty_type(struct pty *pty, const char *text);
void pty_resize(struct pty *pty, unsigned columns, unsigned lines);
/* Waits for this text, behind the text that was awaited before. */
void pty_await_at(struct pty *pty, const char *text, const char *file, int line);
#define pty_await(pty, text) pty_await_at(pty, text, __FILE__, __LINE__)
bool pty_has(struct pty *pty,
             const char *text); /* whether the text has come, behind the text that was awaited before */
int pty_code(struct pty *pty);

#endif
