/* Processes of the benchmark: they end with it, however it ends, and are ended by their pid. */
#ifndef REDLOCKD_BENCH_PROCESS_H
#define REDLOCKD_BENCH_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

int64_t now_ns(void); /* CLOCK_MONOTONIC */
void pause_ms(int64_t ms);
/* Prints the reason on stderr and ends this process. */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Runs role(arg) in a child. */
pid_t process_fork(const char *name, void (*role)(void *arg), void *arg);
/* Runs a program; its output goes to the file log (NULL: nowhere). environment: "NAME=value" and a NULL. */
pid_t process_exec(const char *const argv[], const char *log, const char *const environment[]);
void process_end(pid_t pid);  /* SIGKILL, and waits; 0: no process */
int process_wait(pid_t pid);  /* waits for the process to end: its exit status, 255 after a signal */
bool process_runs(pid_t pid); /* false: the process has ended, and was waited for */

/* How many cores this process may use. */
unsigned process_cores(void);
/* Lets the process (its main thread; 0: the caller) run on this one of these cores only, or on all of them. */
void process_pin(pid_t pid, unsigned core);
void process_unpin(pid_t pid);

/* CPU time of all threads of the process, by /proc. */
int64_t process_cpu_ns(pid_t pid);
long process_memory_kb(pid_t pid); /* resident */

/* Memory that children share with their parent, zeroed. */
void *shared_new(size_t bytes);
void shared_free(void *memory, size_t bytes);

#endif
