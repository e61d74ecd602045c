#include "tests/chaos/change.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/chaos/world.h"

/* A generation takes two steps of max_ttl and some seconds each, and up to 10 s until daemons have heard of each other.
 * Faults hold it up; one that is not steady by then never will be. */
enum { LAG_US = 3000000, REST_US = 1500000, LATE_US = 180000000, WALK = 9, ASK_MS = 200 };
/* A daemon that has just started may not have heard all masters. */
enum { LOST_US = 10000000, SPARE_US = 1000000 };
static const uint32_t NO_MARKER = UINT32_MAX, ON_ITS_WAY = UINT32_MAX - 1;

enum move { MOVE_TAKE, MOVE_ADD, MOVE_REPLACE };

/* ---- the walk ---- */

static bool has_server(const struct servers *servers, unsigned server)
{
    for (unsigned i = 0; i < servers->count; i++)
        if (servers->list[i] == server)
            return true;
    return false;
}

static void server_empty(struct world *world, unsigned server, int64_t at_us)
{
    if (world->master[server].pid > 0)
        process_kill(&world->master[server], at_us);
    else
        world_start_master(world, server);
}

/* The place gets a server that neither the list has, nor this generation, nor the one before. */
static void server_add(struct world *world, struct servers *list, unsigned place, int64_t at_us)
{
    const struct change *change = &world->change;
    uint8_t server = 0;
    while (has_server(list, server) || has_server(&change->now, server) ||
           has_server(&change->before, server))
        server++;
    list->list[place] = server;
    server_empty(world, server, at_us);
}

/* take, take, add, add, and each of the five is replaced. */
static void servers_next(struct world *world, struct servers *next, int64_t at_us)
{
    struct change *change = &world->change;
    unsigned turn = (change->generation - 1) % WALK;
    *next = change->now;
    if (turn < 2) {
        next->count--;
    } else if (turn < 4) {
        unsigned more = change->direct && turn == 2 ? 2 : next->count < MASTERS;
        for (; more > 0; more--, next->count++)
            server_add(world, next, next->count, at_us);
    } else {
        server_add(world, next, turn - 4, at_us);
    }
}

unsigned change_server(const struct change *change, unsigned number)
{
    return change->now.list[number % change->now.count];
}

/* ---- files ---- */

static void servers_write(const struct world *world, const char *key, const struct servers *servers,
                          unsigned daemon, FILE *file)
{
    fprintf(file, "%s:\n", key);
    for (unsigned i = 0; i < servers->count; i++)
        fprintf(file, "  - {url: \"redis://127.0.0.1:%u\", name: master%u}\n",
                world->link_port[daemon * SERVERS + servers->list[i]], servers->list[i]);
}

void change_write(const struct world *world, unsigned daemon, FILE *file)
{
    const struct change *change = &world->change;
    fprintf(file, "max_ttl: %dms\n", (int)change->max_ttl_ms);
    servers_write(world, "nodes", &change->now, daemon, file);
    if (change->generation == 0)
        return;
    fprintf(file, "generation: %u\nmax_ttl_before: %dms\n", change->generation,
            (int)change->max_ttl_before_ms);
    servers_write(world, "nodes_before", &change->before, daemon, file);
}

/* ---- what daemons say ---- */

/* Reads what a daemon says to SHOW GROUP: 1 + its generation if it is steady there; NO_MARKER where it has not begun, since
 * no master knows a step; 0: it does not answer. */
static uint32_t group_ask(struct client *c, unsigned daemon)
{
    struct timeval bound = {.tv_usec = ASK_MS * 1000};
    char text[2048] = "";
    size_t len = 0;
    struct link link;
    if (!link_open(c, &link, daemon, false))
        return 0;
    setsockopt(link.fd, SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof bound);
    if (write(link.fd, "SHOW GROUP\n", 11) == 11)
        for (ssize_t got; len < sizeof text - 1 && strstr(text, "+") == NULL &&
                          (got = read(link.fd, text + len, sizeof text - 1 - len)) > 0;)
            text[len += (size_t)got] = '\0';
    close(link.fd);
    const char *generation = strstr(text, " generation=");
    if (strstr(text, " step=0 ") != NULL && strstr(text, " why=no_marker") != NULL)
        return NO_MARKER;
    if (generation != NULL && strstr(text, " state=steady") != NULL)
        return 1 + (uint32_t)strtoul(generation + strlen(" generation="), NULL, 10);
    return generation != NULL ? ON_ITS_WAY : 0;
}

/* A process of its own, because a daemon that is stopped does not answer. */
static _Noreturn void group_watch(struct shared *shared)
{
    struct client client = {.shared = shared};
    for (;; poll(NULL, 0, ASK_MS))
        for (unsigned i = 0; i < DAEMONS; i++)
            atomic_store(&shared->steady[i], group_ask(&client, i));
}

static bool all_steady(const struct world *world)
{
    for (unsigned i = 0; i < DAEMONS; i++)
        if (atomic_load(&world->shared->steady[i]) != 1 + world->change.generation)
            return false;
    return true;
}

/* For long each daemon that has answered knew no step, and each has answered. */
static bool is_lost(struct world *world, int64_t at_us)
{
    struct change *change = &world->change;
    for (unsigned i = 0; i < DAEMONS; i++) {
        uint32_t says = atomic_load(&world->shared->steady[i]);
        if (says == NO_MARKER)
            change->lost |= 1u << i;
        else if (says != 0)
            change->lost = 0;
    }
    if (change->lost != (1u << DAEMONS) - 1)
        change->lost_us = at_us;
    return at_us >= change->lost_us + LOST_US;
}

/* ---- the walk in time ---- */

void change_begin(struct world *world, bool on, bool direct)
{
    struct change *change = &world->change;
    *change = (struct change){.on = on, .direct = direct, .max_ttl_ms = 2000, .now = {.count = MASTERS}};
    for (unsigned i = 0; i < MASTERS; i++)
        change->now.list[i] = (uint8_t)i;
}

static void change_record(struct world *world, int64_t at_us, const char *what)
{
    struct record record = {.at_us = at_us};
    snprintf(record.text, RECORD_TEXT, CHANGE "%u %s", world->change.generation, what);
    history_add(&world->shared->history, &record, RECORD_FAULT);
}

static void generation_begin(struct world *world, int64_t at_us)
{
    struct change *change = &world->change;
    struct servers next;
    change->generation++;
    servers_next(world, &next, at_us);
    change->before = change->now;
    change->now = next;
    change->max_ttl_before_ms = change->max_ttl_ms;
    change->max_ttl_ms = change->generation % 3 == 1 ? 3000 : 2000;
    change->told = true;
    change->begun_us = at_us;
    for (unsigned i = 0; i < DAEMONS; i++)
        change->file_us[i] = at_us + (int64_t)(draw(world->shared->seed, change->generation, i, 78) % LAG_US);
    change_record(world, at_us, "begins");
}

/* All masters forgot, and all daemons were restarted: all are stopped, until no lock lives, and one begins by the operator's
 * word. */
static void generation_save(struct world *world, int64_t at_us)
{
    struct change *change = &world->change;
    int64_t longest_ms =
        change->max_ttl_ms > change->max_ttl_before_ms ? change->max_ttl_ms : change->max_ttl_before_ms;
    if (!is_lost(world, at_us))
        return;
    change->lost = 0; /* until they have answered again */
    change->word = true;
    for (unsigned i = 0; i < DAEMONS; i++) {
        atomic_store(&world->shared->steady[i], 0);
        process_kill(&world->daemon[i], at_us + longest_ms * 1000 + SPARE_US);
    }
    change_record(world, at_us, "by word");
}

bool change_says_begin(const struct change *change, unsigned daemon)
{
    return change->word && daemon == 0;
}

static bool generation_tick(struct world *world, int64_t at_us)
{
    struct change *change = &world->change;
    bool all_told = true;
    for (unsigned i = 0; i < DAEMONS; i++) {
        if (change->file_us[i] != 0 && change->file_us[i] <= at_us) {
            change->file_us[i] = 0;
            if (!world_configure(world, i))
                return false;
            if (world->daemon[i].pid > 0)
                kill(world->daemon[i].pid, SIGHUP);
        }
        all_told = all_told && change->file_us[i] == 0;
    }
    if (all_told && all_steady(world)) {
        change->told = false;
        change->due_us = at_us + REST_US;
        if (at_us - change->begun_us > change->longest_us)
            change->longest_us = at_us - change->begun_us;
        change_record(world, at_us, "is steady");
    } else if (at_us - change->begun_us > LATE_US && !change->late) {
        change->late = true;
        fprintf(stderr, "chaos: generation %u is not steady after %d s\n", change->generation,
                LATE_US / 1000000);
        return false;
    }
    return true;
}

bool change_tick(struct world *world, int64_t at_us)
{
    struct change *change = &world->change;
    if (!change->on)
        return true;
    if (world->watch.pid == 0) {
        world->watch.pid = process_fork(NULL, 0);
        if (world->watch.pid == 0)
            group_watch(world->shared);
        change->due_us = at_us + REST_US;
    }
    if (change->generation != 0)
        generation_save(world, at_us);
    if (all_steady(world))
        change->word = false;
    if (change->told)
        return generation_tick(world, at_us);
    if (change->due_us != 0 && change->due_us <= at_us && all_steady(world))
        generation_begin(world, at_us);
    return true;
}

void change_calm(struct world *world)
{
    if (!world->change.told)
        world->change.due_us = 0;
}
