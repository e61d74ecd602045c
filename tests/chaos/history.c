#include "tests/chaos/history.h"

#include <time.h>

int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

void history_add(struct history *history, const struct record *record, enum record_kind kind)
{
    unsigned at = atomic_fetch_add(&history->used, 1);
    if (at >= RECORDS)
        return;
    struct record *to = &history->record[at];
    *to = *record;
    atomic_store_explicit(&to->kind, (uint8_t)kind, memory_order_release);
}

int history_full(const struct history *history)
{
    return atomic_load(&history->used) >= RECORDS;
}

uint32_t history_length(const struct history *history)
{
    uint32_t used = atomic_load(&history->used);
    return used < RECORDS ? used : RECORDS;
}

static const char *kind_word(unsigned kind)
{
    static const char *const words[] = {
        [RECORD_NONE] = "?",           [RECORD_ASK] = "asks",
        [RECORD_GRANT] = "granted",    [RECORD_UNTIL] = "until",
        [RECORD_END] = "gives up",     [RECORD_REFUSED] = "refused",
        [RECORD_LOST] = "lost",        [RECORD_READ] = "reads",
        [RECORD_WRITE] = "writes",     [RECORD_WRITTEN] = "wrote",
        [RECORD_FENCED] = "fenced",    [RECORD_KILL] = "is killed",
        [RECORD_FAULT] = "fault",      [RECORD_CALM] = "calm",
        [RECORD_WRONG] = "WRONG",      [RECORD_BREAK] = "BREAK is sent",
        [RECORD_BROKEN] = "BREAK did",
    };
    return kind < sizeof words / sizeof words[0] ? words[kind] : "?";
}

static void names_print(FILE *out, uint32_t names)
{
    const char *before = "";
    if (names == 0)
        fprintf(out, "a slot");
    for (unsigned name = 0; name < CHAOS_NAMES; name++)
        if (names & 1u << name) {
            fprintf(out, "%sn%u", before, name);
            before = ",";
        }
}

void record_print(FILE *out, const struct record *record, int64_t start_us)
{
    unsigned kind = atomic_load(&record->kind);
    fprintf(out, "  %10.6f ", (double)(record->at_us - start_us) / 1e6);
    if (record->who > 0)
        fprintf(out, "client %-4u ", record->who);
    if (record->ask > 0) {
        names_print(out, record->names);
        fprintf(out, " lock %-7u daemon %u ", record->ask, record->daemon);
    }
    if (kind == RECORD_BREAK || kind == RECORD_BROKEN) {
        names_print(out, record->names);
        fputc(' ', out);
    }
    fprintf(out, "%s", kind_word(kind));
    if (kind == RECORD_GRANT)
        fprintf(out, " %s%s fence=%llu token=", record->shared ? "shared " : "",
                record->lease ? "lease" : "session", (unsigned long long)record->number);
    else if (kind == RECORD_ASK)
        fprintf(out, " %s%s wait=%llu ms", record->shared ? "shared " : "",
                record->lease ? "lease" : "session", (unsigned long long)record->number);
    else if (kind == RECORD_READ || kind == RECORD_WRITE || kind == RECORD_WRITTEN)
        fprintf(out, " %llu", (unsigned long long)record->number);
    if (record->text[0] != '\0')
        fprintf(out, "%s%.*s", kind == RECORD_GRANT ? "" : " ", RECORD_TEXT, record->text);
    if (record->until_us > 0)
        fprintf(out, " until=%.3f", (double)(record->until_us - start_us) / 1e6);
    fputc('\n', out);
}

/* splitmix64's finaliser: every input bit reaches every output bit. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

uint64_t draw(uint64_t seed, uint64_t who, uint64_t count, uint64_t what)
{
    uint64_t x = mix(seed + UINT64_C(0x9e3779b97f4a7c15));
    x = mix(x ^ (who * UINT64_C(0xd1342543de82ef95) + what));
    return mix(x ^ (count * UINT64_C(0x9e3779b97f4a7c15) + 1));
}
