/* Plans as text: one line for each parameter, client, fault and op. */
#include "tests/sim/plan.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define PLAN_NAME(id, name) name,
static const char *const param_names[] = {PARAM_LIST(PLAN_NAME)};
static const char *const fault_names[] = {FAULT_LIST(PLAN_NAME)};
static const char *const client_names[] = {CLIENT_LIST(PLAN_NAME)};
static const char *const op_names[] = {OP_LIST(PLAN_NAME)};
static const char *const kind_names[] = {
    "reset",      "cut_up",       "cut_down",      "slow_up", "slow_down",    "hang",    "crash_keep",
    "crash_lose", "crash_old",    "flush_scripts", "error",   "zadd_error",   "replica", "pause",
    "sleep",      "crash_daemon", "drain",         "wall",    "pause_client", "flush",   "promote",
    "jump",       "rubbish",      "stall",         "drift",   "ear",          "set",     "lacks",
    "deny",       "reload",       "break",         "scores",  "wrong",        "flood",   "forge",
    "native",     "file",
};
static const char *const class_names[] = {"ordinary", "memory", "clock", "rolling", "disagree",  "turns",
                                          "split",    "modes",  "lists", "slots",   "generation"};

#define MUTANT_NAME(id, name, text) name,
static const char *const mutant_names[] = {"none", MUTANT_LIST(MUTANT_NAME)};
#define MUTANT_TEXT(id, name, text) text,
static const char *const mutant_texts[] = {"no bug", MUTANT_LIST(MUTANT_TEXT)};

const char *mutant_name(enum mutant mutant)
{
    return mutant_names[mutant];
}

const char *mutant_text(enum mutant mutant)
{
    return mutant_texts[mutant];
}

enum mutant mutant_by_name(const char *name)
{
    unsigned i = 0;
    while (i < MUTANT_COUNT && strcmp(mutant_names[i], name) != 0)
        i++;
    return (enum mutant)i;
}

unsigned plan_slots(const struct sim_plan *plan, unsigned name)
{
    const int64_t *p = plan->param;
    if (name >= SIM_SLOTTED || p[P_SLOTS] == 0)
        return 0;
    if (p[P_SLOTTED] == 0)
        return name > 0 || p[P_NAMES] == 1 ? (unsigned)p[P_SLOTS] : 0;
    return p[P_SLOTTED] >> name & 1 ? 1 + (unsigned)(p[P_SLOTS] + name) % SIM_SLOTS : 0;
}

const char *fault_kind_name(int64_t kind)
{
    return kind >= 0 && kind < FAULT_KINDS ? kind_names[kind] : "?";
}

enum fault_target fault_target(enum fault_kind kind)
{
    if (kind <= FAULT_SLOW_DOWN || kind == FAULT_EAR)
        return TARGET_LINK;
    if (kind == FAULT_STALL || kind == FAULT_RELOAD || kind == FAULT_FILE || kind == FAULT_WRONG)
        return TARGET_DAEMON;
    if (kind == FAULT_DENY || kind == FAULT_FLOOD)
        return TARGET_CLIENT;
    if (kind <= FAULT_REPLICA || kind >= FAULT_FLUSH)
        return TARGET_MASTER;
    return kind <= FAULT_WALL ? TARGET_DAEMON : TARGET_CLIENT;
}

const char *class_name(int64_t class)
{
    return class >= 0 && class < CLASSES ? class_names[class] : "?";
}

int class_by_name(const char *name)
{
    int i = 0;
    while (i < CLASSES && strcmp(class_names[i], name) != 0)
        i++;
    return i;
}

/* ---- writing ---- */

static void write_section(FILE *file, const char *section, const struct sim_record *record, unsigned records,
                          const char *const *names, unsigned fields)
{
    for (unsigned i = 0; i < records; i++) {
        fprintf(file, "%s %" PRIu32, section, record[i].id);
        for (unsigned k = 0; k < fields; k++) {
            if (names == fault_names && k == F_KIND)
                fprintf(file, " kind=%s", fault_kind_name(record[i].field[k]));
            else
                fprintf(file, " %s=%" PRId64, names[k], record[i].field[k]);
        }
        fputc('\n', file);
    }
}

void plan_write(const struct sim_plan *plan, FILE *file)
{
    fprintf(file, "seed %" PRIu64 "\nmutant %s\n", plan->seed, mutant_name(plan->mutant));
    for (unsigned i = 0; i < P_COUNT; i++)
        fprintf(file, "param %s %" PRId64 "\n", param_names[i], plan->param[i]);
    write_section(file, "client", plan->client, plan->clients, client_names, C_COUNT);
    write_section(file, "fault", plan->fault, plan->faults, fault_names, F_COUNT);
    write_section(file, "op", plan->op, plan->ops, op_names, O_COUNT);
}

/* ---- reading ---- */

static int find(const char *const *names, unsigned count, const char *name)
{
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0)
            return (int)i;
    }
    return -1;
}

static bool read_fields(struct sim_record *record, const char *const *names, unsigned fields)
{
    char *word = strtok(NULL, " \n");
    if (word == NULL)
        return false;
    record->id = (uint32_t)strtoul(word, NULL, 10);
    while ((word = strtok(NULL, " \n")) != NULL) {
        char *value = strchr(word, '=');
        if (value == NULL)
            return false;
        *value++ = '\0';
        int field = find(names, fields, word);
        if (field < 0)
            return false;
        if (names == fault_names && field == F_KIND)
            record->field[field] = find(kind_names, FAULT_KINDS, value);
        else
            record->field[field] = strtoll(value, NULL, 10);
        if (names == op_names && field == O_BESIDE_NAME && record->field[field] >> 6 == 1)
            record->field[field] ^= 1 << 6 | SIM_LIST; /* as the set of a list was written for six names */
        if (names == fault_names && record->field[F_KIND] < 0)
            return false;
    }
    return true;
}

static bool read_one(struct sim_plan *plan, const char *word)
{
    if (strcmp(word, "seed") == 0 || strcmp(word, "mutant") == 0) {
        const char *value = strtok(NULL, " \n");
        if (value == NULL)
            return false;
        if (word[0] == 's')
            plan->seed = strtoull(value, NULL, 10);
        else
            plan->mutant = mutant_by_name(value);
        return plan->mutant != MUTANT_COUNT;
    }
    if (strcmp(word, "param") == 0) {
        char *name = strtok(NULL, " \n"), *value = strtok(NULL, " \n");
        int param = name == NULL ? -1 : find(param_names, P_COUNT, name);
        if (param < 0 || value == NULL)
            return false;
        plan->param[param] = strtoll(value, NULL, 10);
        return true;
    }
    if (strcmp(word, "client") == 0 && plan->clients < SIM_CLIENTS)
        return read_fields(&plan->client[plan->clients++], client_names, C_COUNT);
    if (strcmp(word, "fault") == 0 && plan->faults < PLAN_FAULTS)
        return read_fields(&plan->fault[plan->faults++], fault_names, F_COUNT);
    if (strcmp(word, "op") == 0 && plan->ops < PLAN_OPS)
        return read_fields(&plan->op[plan->ops++], op_names, O_COUNT);
    return false;
}

/* There is room for far more than most plans have, so only that is cleared; a fault may have been taken back. */
void plan_clear(struct sim_plan *plan)
{
    unsigned faults = plan->faults < PLAN_FAULTS ? plan->faults + 1 : PLAN_FAULTS;
    memset(plan->fault, 0, faults * sizeof(plan->fault[0]));
    memset(plan->op, 0, plan->ops * sizeof(plan->op[0]));
    memset(plan, 0, offsetof(struct sim_plan, fault));
}

bool plan_read(struct sim_plan *plan, FILE *file, const char *path)
{
    char line[1024];
    memset(plan, 0, sizeof(*plan));
    for (unsigned number = 1; fgets(line, sizeof(line), file) != NULL; number++) {
        char *word = strtok(line, " \n");
        if (word == NULL || word[0] == '#')
            continue;
        if (!read_one(plan, word)) {
            fprintf(stderr, "%s:%u: not a line of a plan (see tests/sim/plan.h)\n", path, number);
            return false;
        }
    }
    const int64_t *p = plan->param;
    if (p[P_MASTERS] >= 1 && p[P_MASTERS] <= SIM_MASTERS && p[P_DAEMONS] >= 1 &&
        p[P_DAEMONS] <= SIM_DAEMONS && p[P_NAMES] >= 1 && p[P_NAMES] <= SIM_NAMES)
        return true;
    fprintf(stderr, "%s: masters, daemons or names are missing or out of range\n", path);
    return false;
}
