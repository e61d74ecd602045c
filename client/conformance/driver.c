/* driver: libredlock behind the conformance cases. Commands come on standard input, one a line, and results go
 * to standard output; README.md has both grammars. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <redlock.h>

enum { HANDLES = 1024, LINE = 2048, WORDS = 16 };

/* A lock that a case calls by a letter or word: a, b ... */
struct handle {
    char name[32];
    struct redlock_lock *lock;   /* NULL: not asked for, refused, or given back */
    struct redlock_watch *watch; /* NULL: none */
    uint64_t rows_of;            /* the request whose rows are read; 0: none */
    unsigned rows;
    bool keeping; /* the name is to be kept */
};

struct driver {
    struct redlock *redlock;
    struct handle handles[HANDLES];
};

struct command {
    char *words[WORDS];
    int count;
};

/* The names that all languages share. */
static const char *error_name(enum redlock_error error)
{
    static const char *const names[] = {
        [REDLOCK_BUSY] = "BUSY",           [REDLOCK_TIMEOUT] = "TIMEOUT",
        [REDLOCK_NOQUORUM] = "NOQUORUM",   [REDLOCK_NOTHELD] = "NOTHELD",
        [REDLOCK_CANCELLED] = "CANCELLED", [REDLOCK_MODE] = "MODE",
        [REDLOCK_LIMIT] = "LIMIT",         [REDLOCK_DRAINING] = "DRAINING",
        [REDLOCK_DENIED] = "DENIED",       [REDLOCK_AUTH] = "AUTH",
        [REDLOCK_BADREQUEST] = "BADARG",   [REDLOCK_UNSUPPORTED] = "UNSUPPORTED",
        [REDLOCK_LOST] = "LOST",           [REDLOCK_CONNECT] = "UNREACHABLE",
        [REDLOCK_NOANSWER] = "NOANSWER",   [REDLOCK_PROTOCOL] = "PROTOCOL",
        [REDLOCK_ARGUMENT] = "BADARG",     [REDLOCK_NOMEM] = "NOMEM",
        [REDLOCK_MISUSE] = "USAGE",        [REDLOCK_CLOSED] = "CLOSED",
    };

    return error < sizeof names / sizeof names[0] && names[error] ? names[error] : "UNKNOWN";
}

static void say_error(const char *handle, enum redlock_error error, const char *text, int64_t retry_ms)
{
    printf("%s error %s", handle, error_name(error));
    if (retry_ms >= 0)
        printf(" retry=%" PRId64, retry_ms);
    printf(" : %s\n", text);
}

/* ---- commands ---- */

static const char *option(const struct command *command, const char *key)
{
    size_t len = strlen(key);

    for (int i = 1; i < command->count; i++)
        if (strncmp(command->words[i], key, len) == 0 && command->words[i][len] == '=')
            return command->words[i] + len + 1;
    return NULL;
}

static int64_t span_ms(const struct command *command, const char *key)
{
    const char *text = option(command, key);
    char *unit;

    if (!text)
        return 0;
    int64_t number = strtoll(text, &unit, 10);
    if (strcmp(unit, "s") == 0)
        return number * 1000;
    return strcmp(unit, "m") == 0 ? number * 60000 : number;
}

/* A word of a command may have any byte but NUL, written as %XX. */
static void unescape(char *text)
{
    char *to = text;

    for (char *from = text; *from; from++) {
        if (*from == '%' && isxdigit((unsigned char)from[1]) && isxdigit((unsigned char)from[2])) {
            char digits[] = {from[1], from[2], '\0'};
            *to++ = (char)strtoul(digits, NULL, 16);
            from += 2;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
}

static struct handle *find_handle(struct driver *driver, const char *name)
{
    struct handle *handle = driver->handles;

    while (handle->name[0] && strcmp(handle->name, name) != 0)
        if (++handle == driver->handles + HANDLES) {
            fprintf(stderr, "driver: too many handles\n");
            exit(2);
        }
    (void)snprintf(handle->name, sizeof handle->name, "%s", name);
    return handle;
}

static struct redlock_lock *begin(struct driver *driver, const struct command *command)
{
    const char *hold = option(command, "hold"), *mode = option(command, "mode");
    const char *slots = option(command, "slots");
    struct redlock_lock_options options = {
        .ttl_ms = span_ms(command, "ttl"),
        .wait_ms = span_ms(command, "wait"),
        .max_ms = span_ms(command, "max"),
        .hold = hold && strcmp(hold, "lease") == 0 ? REDLOCK_LEASE : REDLOCK_SESSION,
        .note = option(command, "note"),
        .mode = mode && strcmp(mode, "shared") == 0 ? REDLOCK_SHARED : REDLOCK_EXCLUSIVE,
        .slots = slots ? (uint32_t)strtoul(slots, NULL, 10) : 0,
        .data = option(command, "data"),
    };
    const char *name = command->words[2];

    if (strcmp(command->words[0], "lock") == 0)
        return redlock_lock_begin(driver->redlock, name, &options);
    if (strcmp(command->words[0], "resume") == 0)
        return redlock_resume_begin(driver->redlock, name, option(command, "token"), &options);
    return redlock_attach(driver->redlock, name, option(command, "token"));
}

static void take(struct driver *driver, struct handle *handle, const struct command *command)
{
    handle->lock = begin(driver, command);
    if (!handle->lock)
        say_error(handle->name, redlock_error(driver->redlock), redlock_error_text(driver->redlock), -1);
    else if (strcmp(command->words[0], "attach") == 0)
        printf("%s attached\n", handle->name);
    if (handle->lock)
        redlock_set_data(handle->lock, handle);
}

static void say_info(const struct handle *handle)
{
    static const char *const states[] = {
        [REDLOCK_STATE_NONE] = "none",     [REDLOCK_STATE_WAITING] = "waiting", [REDLOCK_STATE_HELD] = "held",
        [REDLOCK_STATE_DETACHED] = "held", [REDLOCK_STATE_LOST] = "lost",
    };
    const struct redlock_lock *lock = handle->lock;
    const char *mode = redlock_mode(lock) == REDLOCK_SHARED ? "shared" : "exclusive";

    printf("%s info state=%s valid=%" PRId64 " fence=%" PRIu64 " token=%s mode=%s\n", handle->name,
           states[redlock_state(lock)], redlock_valid_ms(lock), redlock_fence(lock), redlock_token(lock),
           mode);
}

/* The child tries the handle, and says so itself. */
static void in_child(struct driver *driver, const struct handle *handle)
{
    pid_t child = fork();

    if (child == 0) {
        enum redlock_error error = redlock_check(handle->lock);
        printf("%s forked %s\n", handle->name, error ? error_name(error) : "OK");
        (void)fflush(stdout);
        redlock_close(driver->redlock);
        _exit(0);
    }
    (void)waitpid(child, NULL, 0);
}

static void ask(struct driver *driver, struct handle *handle, const struct command *command)
{
    const char *verb = command->words[0];
    uint64_t request = 0;

    handle->keeping = option(command, "keep") != NULL;
    if (strcmp(verb, "unlock") == 0 && handle->keeping)
        request = redlock_unlock_keep_begin(handle->lock, span_ms(command, "keep"));
    else if (strcmp(verb, "unlock") == 0)
        request = redlock_unlock_begin(handle->lock);
    else if (strcmp(verb, "data") == 0)
        request = redlock_tell_begin(handle->lock, command->count > 2 ? command->words[2] : "");
    else if (strcmp(verb, "extend") == 0)
        request = redlock_extend_begin(handle->lock, span_ms(command, "ttl"));
    else if (strcmp(verb, "downgrade") == 0)
        request = redlock_downgrade_begin(handle->lock);
    else
        request = redlock_check_begin(handle->lock);
    if (!request && !handle->lock)
        say_error(handle->name, REDLOCK_NOTHELD, "there is no lock", -1);
    else if (!request)
        say_error(handle->name, redlock_error(driver->redlock), redlock_error_text(driver->redlock), -1);
}

/* ---- rows, and names that are watched ---- */

static void ask_rows(struct driver *driver, struct handle *handle, const struct command *command)
{
    bool who = strcmp(command->words[0], "who") == 0;
    const char *what = command->words[2];

    handle->rows = 0;
    handle->rows_of =
        who ? redlock_who_begin(driver->redlock, what) : redlock_show_begin(driver->redlock, what);
    if (!handle->rows_of)
        say_error(handle->name, redlock_error(driver->redlock), redlock_error_text(driver->redlock), -1);
}

static void say_rows(struct driver *driver, const struct redlock_event *event)
{
    struct handle *handle = driver->handles;

    while (handle < driver->handles + HANDLES && handle->rows_of != event->request)
        handle++;
    if (handle == driver->handles + HANDLES)
        return;
    if (event->kind == REDLOCK_ON_ROW) {
        handle->rows++;
        printf("%s row %s\n", handle->name, event->text);
        return;
    }
    handle->rows_of = 0;
    if (event->error)
        say_error(handle->name, event->error, event->text, event->retry_ms);
    else
        printf("%s rows %u\n", handle->name, handle->rows);
}

static void begin_watch(struct driver *driver, struct handle *handle, const char *name)
{
    handle->watch = redlock_watch_begin(driver->redlock, name);
    if (!handle->watch)
        say_error(handle->name, redlock_error(driver->redlock), redlock_error_text(driver->redlock), -1);
}

static void end_watch(struct handle *handle)
{
    if (handle->watch)
        printf("%s unwatched\n", handle->name);
    else
        say_error(handle->name, REDLOCK_NOTHELD, "the name is not watched", -1);
    redlock_unwatch(handle->watch);
    handle->watch = NULL;
}

static void say_now(struct driver *driver, const struct redlock_event *event)
{
    static const char *const states[] = {[REDLOCK_NOW_UNKNOWN] = "unknown",
                                         [REDLOCK_NOW_FREE] = "free",
                                         [REDLOCK_NOW_HELD] = "held",
                                         [REDLOCK_NOW_KEPT] = "kept"};
    const struct redlock_now *now = redlock_now(event->watch);
    struct handle *handle = driver->handles;

    while (handle < driver->handles + HANDLES && handle->watch != event->watch)
        handle++;
    if (handle == driver->handles + HANDLES)
        return;
    if (event->error) {
        say_error(handle->name, event->error, event->text, event->retry_ms);
        redlock_unwatch(handle->watch);
        handle->watch = NULL;
        return;
    }
    printf("%s now state=%s", handle->name, states[now->state]);
    if (now->mode == REDLOCK_SHARED)
        printf(" mode=shared");
    if (now->fence)
        printf(" fence=%" PRIu64, now->fence);
    if (now->host)
        printf(" host=%s", now->host);
    if (now->data)
        printf(" data=%s", now->data);
    printf("\n");
}

/* ---- what happens ---- */

static void say_taken(const struct handle *handle, const char *how, const struct redlock_lock *lock)
{
    printf("%s %s fence=%" PRIu64 " token=%s valid=%" PRId64, handle->name, how, redlock_fence(lock),
           redlock_token(lock), redlock_valid_ms(lock));
    if (redlock_slot(lock) >= 0)
        printf(" slot=%d", redlock_slot(lock));
    printf("\n");
}

static void say_result(struct handle *handle, const struct redlock_event *event)
{
    const struct redlock_lock *lock = event->lock;

    if (event->kind == REDLOCK_ON_UNLOCK || (event->kind == REDLOCK_ON_LOCK && event->error))
        handle->lock = NULL;
    if (event->error)
        say_error(handle->name, event->error, event->text, event->retry_ms);
    else if (event->kind == REDLOCK_ON_LOCK)
        say_taken(handle, "locked", lock);
    else if (event->kind == REDLOCK_ON_DOWNGRADE)
        say_taken(handle, "downgraded", lock);
    else if (event->kind == REDLOCK_ON_UNLOCK)
        printf("%s %s\n", handle->name, handle->keeping ? "kept" : "unlocked");
    else if (event->kind == REDLOCK_ON_TELL)
        printf("%s data\n", handle->name);
    else
        printf("%s %s valid=%" PRId64 "\n", handle->name,
               event->kind == REDLOCK_ON_EXTEND ? "extended" : "checked", redlock_valid_ms(lock));
}

static void happened(struct redlock *redlock, const struct redlock_event *event, void *user)
{
    (void)redlock;
    if (event->kind == REDLOCK_ON_ROW || event->kind == REDLOCK_ON_SHOW)
        say_rows(user, event);
    if (event->kind == REDLOCK_ON_NOW)
        say_now(user, event);
    struct handle *handle = redlock_data(event->lock);
    if (!handle)
        return;
    switch (event->kind) {
    case REDLOCK_ON_LOCK:
    case REDLOCK_ON_UNLOCK:
    case REDLOCK_ON_EXTEND:
    case REDLOCK_ON_CHECK:
    case REDLOCK_ON_TELL:
    case REDLOCK_ON_DOWNGRADE: say_result(handle, event); break;
    case REDLOCK_ON_EXPIRING: printf("%s expiring\n", handle->name); break;
    case REDLOCK_ON_LOST: printf("%s lost reason=%s\n", handle->name, event->text); break;
    default: break;
    }
}

static void open_client(struct driver *driver, const struct command *command)
{
    struct redlock_options options = {
        .client = option(command, "client"),
        .timeout_ms = span_ms(command, "timeout"),
    };

    driver->redlock = redlock_open(NULL, &options);
    if (!driver->redlock) {
        printf("client error BADARG : %s\n", strerror(errno));
        return;
    }
    redlock_set_callback(driver->redlock, happened, driver);
    printf("client open\n");
}

/* ---- the loop ---- */

static void obey(struct driver *driver, char *line)
{
    struct command command = {.count = 0};

    for (char *word = strtok(line, " "); word && command.count < WORDS; word = strtok(NULL, " "))
        command.words[command.count++] = word;
    for (int i = 0; i < command.count; i++)
        unescape(command.words[i]);
    if (command.count == 0)
        return;
    const char *verb = command.words[0];
    if (strcmp(verb, "open") == 0) {
        open_client(driver, &command);
        return;
    }
    if (strcmp(verb, "close") == 0) {
        (void)redlock_quit(driver->redlock);
        printf("client closed\n");
        return;
    }
    if (command.count < 2) {
        fprintf(stderr, "driver: %s is not a command of this driver, or lacks its handle\n", verb);
        exit(2);
    }
    struct handle *handle = find_handle(driver, command.words[1]);
    bool taking = strcmp(verb, "lock") == 0 || strcmp(verb, "resume") == 0 || strcmp(verb, "attach") == 0;
    if (taking && command.count >= 3)
        take(driver, handle, &command);
    else if (strcmp(verb, "cancel") == 0)
        redlock_cancel(handle->lock);
    else if (strcmp(verb, "info") == 0)
        say_info(handle);
    else if ((strcmp(verb, "who") == 0 || strcmp(verb, "show") == 0) && command.count >= 3)
        ask_rows(driver, handle, &command);
    else if (strcmp(verb, "watch") == 0 && command.count >= 3)
        begin_watch(driver, handle, command.words[2]);
    else if (strcmp(verb, "unwatch") == 0)
        end_watch(handle);
    else if (strcmp(verb, "fork") == 0)
        in_child(driver, handle);
    else
        ask(driver, handle, &command);
}

/* False: the input has ended. */
static bool read_commands(struct driver *driver)
{
    static char input[LINE];
    static size_t used;
    ssize_t len = read(STDIN_FILENO, input + used, sizeof input - used);

    if (len <= 0)
        return false;
    used += (size_t)len;
    char *end;
    while ((end = memchr(input, '\n', used))) {
        *end = '\0';
        size_t line = (size_t)(end - input) + 1;
        obey(driver, input);
        used -= line;
        memmove(input, input + line, used);
    }
    return used < sizeof input;
}

int main(void)
{
    static struct driver driver;

    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("driver c features=attach,auth,client,closed,downgrade,drain,fork,notheld-again,quit,resume,"
           "shared,slots,lists,timeout,twice,keep,data,rows,watch\n");
    for (;;) {
        struct pollfd fds[] = {
            {.fd = STDIN_FILENO, .events = POLLIN},
            {.fd = redlock_fd(driver.redlock), .events = redlock_events(driver.redlock)},
        };
        if (poll(fds, 2, redlock_timeout_ms(driver.redlock)) > 0 && fds[0].revents && !read_commands(&driver))
            break;
        (void)redlock_process(driver.redlock);
    }
    redlock_close(driver.redlock);
    return 0;
}
