#include "tests/chaos/verdict.h"

static void violation_explain(FILE *out, const struct violation *v, const struct history *history,
                              int64_t start_us)
{
    enum { BEFORE_US = 2500000, AFTER_US = 100000 };
    uint32_t count = history_length(history), who[2] = {0};
    int64_t from_us = v->at_us - BEFORE_US;
    for (uint32_t i = 0; i < count; i++)
        for (unsigned k = 0; k < 2; k++) {
            const struct record *record = &history->record[i];
            if (record->ask == 0 || record->ask != v->ask[k])
                continue;
            from_us = record->at_us < from_us ? record->at_us : from_us;
            who[k] = record->who;
        }
    fprintf(out, "\nVIOLATION at %.6f: %s\n", (double)(v->at_us - start_us) / 1e6, v->text);
    for (uint32_t i = 0; i < count; i++) {
        const struct record *record = &history->record[i];
        bool theirs = record->ask != 0 && (record->ask == v->ask[0] || record->ask == v->ask[1]);
        bool near = record->at_us >= from_us && record->at_us <= v->at_us + AFTER_US;
        bool fault = record->kind == RECORD_FAULT || record->kind == RECORD_WRONG ||
                     (record->kind == RECORD_KILL && (record->who == who[0] || record->who == who[1]));
        if (theirs || (near && fault))
            record_print(out, record, start_us);
    }
}

void verdict_explain(FILE *out, const struct verdict *verdict, const struct history *history,
                     int64_t start_us)
{
    for (unsigned i = 0; i < verdict->kept; i++)
        violation_explain(out, &verdict->violation[i], history, start_us);
}
