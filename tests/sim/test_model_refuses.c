/* Tests that a server which refuses commands refuses the same commands as the simulated master. */
#include <check.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/sim/model.h"
#include "tests/unit/suite.h"

/* Lists: with the token 1, free, and neither. */
enum {
    LONG_MS = 100000,
    KEYS = 2000,
    OURS = SIM_LIST | 0x18,
    FREE = SIM_LIST | 0x24,
    MIXED = SIM_LIST | 0x0c
};

static void setup(void)
{
    server_folder(&model.server);
    server_run(&model.server, 0, NULL, NULL);
}

static void dump_path(char *path, size_t size)
{
    snprintf(path, size, "%s/dump.rdb", model.server.folder);
}

static void teardown(void)
{
    char path[128];
    dump_path(path, sizeof(path));
    remove(path);
    server_remove(&model.server);
}

static int busy = -1;

static void make_oom(void)
{
    ask_text("CONFIG SET maxmemory 1");
}

static void make_readonly(void)
{
    ask_text("REPLICAOF 127.0.0.1 1");
}

static void make_noreplicas(void)
{
    ask_text("CONFIG SET min-replicas-to-write 1");
}

/* The server cannot save: a folder lies where the file should be. */
static void make_misconf(void)
{
    char path[128];
    dump_path(path, sizeof(path));
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ask_text("CONFIG SET save \"3600 1\"");
    ask_text("BGSAVE");
    for (int64_t end_ms = now_ms() + SERVER_WAIT_MS; ask_text("DEL nothing")->type != RESP_ERROR; nap())
        ck_assert_msg(now_ms() < end_ms, "the server writes on though it cannot save");
}

static void make_busy(void)
{
    static const char endless[] = "EVAL \"while true do end\" 0\r\n";
    ask_text("CONFIG SET lua-time-limit 1");
    busy = server_connect(&model.server);
    server_write(busy, endless, sizeof(endless) - 1);
    for (int64_t end_ms = now_ms() + SERVER_WAIT_MS; ask_text("PING")->type != RESP_ERROR; nap())
        ck_assert_msg(now_ms() < end_ms, "the server answers though a script runs without end");
}

/* The server starts again and loads slowly: 10 s in all, and it answers after each key. */
static void make_loading(void)
{
    static const char *const slowly[4] = {"--key-load-delay", "5000",
                                          "--loading-process-events-interval-bytes", "1024"};
    ask_text("CONFIG SET rdbcompression no");
    for (unsigned i = 0; i < KEYS; i++)
        ask_text("SETRANGE filling%u 1100 x", i);
    ask_text("SAVE");
    model_disconnect();
    server_kill(&model.server);
    server_run_with(&model.server, 0, slowly);
    model_connect();
}

static const struct {
    enum vote_error error;
    void (*make)(void);
} refusals[] = {
    {ERROR_OOM, make_oom},         {ERROR_READONLY, make_readonly}, {ERROR_NOREPLICAS, make_noreplicas},
    {ERROR_MISCONF, make_misconf}, {ERROR_BUSY, make_busy},         {ERROR_LOADING, make_loading},
};

static int64_t slowest_ms;

/* Returns the time of the answer, at which the model runs the command: at most slowest_ms later than the
 * server did. */
static int64_t ask_slowly(struct resp_format *format, const struct store_command *command, struct vote *real)
{
    int64_t begin_ms = now_ms();
    ask(format, command, real);
    int64_t end_ms = now_ms();
    slowest_ms = end_ms - begin_ms > slowest_ms ? end_ms - begin_ms : slowest_ms;
    return end_ms;
}

static void compare_refusal(struct resp_format *format, struct store *store,
                            const struct store_command *command, enum vote_error error)
{
    char where[32];
    struct vote real, modelled = {.kind = VOTE_ERROR, .error = error};
    int64_t at_ms = ask_slowly(format, command, &real);
    if (!store_refuses(store, at_ms, command, error))
        store_run(store, at_ms, command, NULL, NULL, &modelled);
    if (command->verb == COMMAND_TIME) /* while it loads, a server tells an old time */
        modelled.number = real.number;
    snprintf(where, sizeof(where), "refusal %d", error);
    must_be_same(command, &real, &modelled, NEAR_MS + slowest_ms, where);
}

/* n0 is held by token 1, and a daemon waits for it; n1 by token 2; n2 is free. */
static void prepare(struct resp_format *format, struct store *store)
{
    const struct store_command list[] = {
        {.verb = COMMAND_SET, .name = 0, .tok = 1, .number = LONG_MS},
        {.verb = COMMAND_SET, .name = 1, .tok = 2, .number = LONG_MS},
        {.verb = COMMAND_ENQUEUE, .name = 0, .to = 3, .number = LONG_MS},
        {.verb = COMMAND_ENQUEUE, .name = 2, .to = 1, .number = LONG_MS},
        {.verb = COMMAND_ZADD, .bucket = 1, .number = 100},
        {.verb = COMMAND_SET, .name = OURS, .tok = 1, .number = LONG_MS},
        {.verb = COMMAND_GROUP_NEW,
         .number = LONG_MS,
         .group = {.masters = 3, .max_ttl_ms = 2000, .from_ms = 1}},
    };
    for (unsigned i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        struct store_command command = list[i];
        struct vote real, modelled;
        memset(command.group.run_id, 'a', RUN_ID_HEX);
        model_ids(&command);
        int64_t at_ms = ask_slowly(format, &command, &real);
        store_run(store, at_ms, &command, NULL, NULL, &modelled);
        must_be_same(&command, &real, &modelled, NEAR_MS + slowest_ms, "preparing");
    }
}

SETUP(setup, teardown);
SETUP(model_connect, model_disconnect);

T_EACH(a_server_that_refuses_is_modelled, sizeof(refusals) / sizeof(refusals[0]))
{
    enum vote_error error = refusals[_i].error;
    struct resp_format *format = resp_format_new("model:");
    struct store store;
    store_clear(&store);
    scripts_load();
    prepare(format, &store);
    bool knows[NATIVES];
    for (unsigned i = 0; i < NATIVES; i++)
        knows[i] = model_knows(format, i);
    refusals[_i].make();
    static const unsigned names[] = {0, 1, 2, OURS, FREE, MIXED};
    for (int verb = COMMAND_TIME; verb <= COMMAND_DOWN; verb++) {
        if (verb > COMMAND_SETTLE && verb < COMMAND_DOWN)
            continue;
        bool lists = command_for_all((enum command_verb)verb) != (enum command_verb)verb;
        for (unsigned i = 0; i < (lists ? 4 : 2) * NAMES; i++) {
            struct store_command command = {
                .verb = (enum command_verb)verb, .name = names[i / 2], .bucket = 1};
            model_buckets(&command);
            command.tok = 1; /* after a short EXTEND, which changes nothing, a long one */
            command.to = 2;
            model_ids(&command);
            command.number = i % 2 ? 2 * LONG_MS : LONG_MS / 2;
            memset(command.group.run_id, 'b', RUN_ID_HEX);
            command.group.masters = 5;
            command.group.max_ttl_ms = command.group.from_ms = 1000;
            if (verb == COMMAND_HEAL)
                command.number += (uint64_t)now_ms();
            compare_refusal(format, &store, &command, error);
        }
    }
    for (unsigned i = 0; i < 4 * NATIVES; i++) {
        const struct model_native *native = &model_natives[i % NATIVES];
        bool list = native->native == COMMAND_SET_MSETEX;
        struct store_command command = {.verb = native->verb,
                                        .native = native->native,
                                        .number = LONG_MS,
                                        .name = names[i / NATIVES % 2 + (list ? NAMES : 0)]};
        command.tok = 1;
        command.to = 2;
        model_ids(&command);
        if (i / NATIVES >= 2)
            command = (struct store_command){.verb = native->question};
        if (knows[i % NATIVES])
            compare_refusal(format, &store, &command, error);
    }
    resp_format_free(format);
    if (busy >= 0)
        close(busy);
    busy = -1;
}
