/* Makes a failing plan small: leaves out faults, ops and clients as long as the same
 * invariant is still broken, big pieces first, then one by one. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/sim.h"

struct shrinking {
    struct sim_world *w;
    struct sim_plan *best, *trial;
    int invariant;
    unsigned runs;
};

enum { SHRINK_RUNS = 3000 };

static bool still_fails(struct shrinking *s)
{
    if (s->runs++ > SHRINK_RUNS || run_plan(s->w, s->trial) != s->invariant)
        return false;
    *s->best = *s->trial;
    return true;
}

/* The next op of the same client thinks for as long as the op that is left out took, so that all later
 * ops keep their time. */
static void keep_time(struct sim_plan *plan, unsigned op)
{
    struct sim_record *left = &plan->op[op];
    if (op + 1 < plan->ops && left[1].field[O_CLIENT] == left->field[O_CLIENT])
        left[1].field[O_THINK] += left->field[O_THINK] + left->field[O_KEEP];
}

/* list and count point into s->trial. */
static bool without(struct shrinking *s, struct sim_record *list, unsigned *count, unsigned from,
                    unsigned length)
{
    for (unsigned i = from; list == s->trial->op && i < from + length; i++)
        keep_time(s->trial, i);
    memmove(list + from, list + from + length, (*count - from - length) * sizeof(*list));
    *count -= length;
    return still_fails(s);
}

static void shrink_list(struct shrinking *s, struct sim_record *list, unsigned *count)
{
    unsigned before = 0;
    while (before != *count) {
        before = *count;
        for (unsigned length = *count; length > 0; length /= 2) {
            for (unsigned from = 0; from + length <= *count;) {
                *s->trial = *s->best;
                if (!without(s, list, count, from, length)) {
                    *s->trial = *s->best;
                    from += length;
                }
            }
        }
    }
}

static void shrink_fields(struct shrinking *s, struct sim_record *list, const unsigned *count, unsigned field,
                          int64_t value)
{
    for (unsigned i = 0; i < *count; i++) {
        *s->trial = *s->best;
        if (list[i].field[field] == value)
            continue;
        list[i].field[field] = value;
        still_fails(s);
    }
    *s->trial = *s->best;
}

static void shrink_param(struct shrinking *s, enum param param, int64_t value)
{
    *s->trial = *s->best;
    if (s->trial->param[param] == value)
        return;
    s->trial->param[param] = value;
    still_fails(s);
    *s->trial = *s->best;
}

void shrink(struct sim_world *w, struct sim_plan *plan)
{
    struct shrinking s = {.w = w, .best = plan};
    s.trial = malloc(sizeof(*s.trial));
    if (s.trial == NULL)
        return;
    *s.trial = *plan;
    s.invariant = run_plan(w, plan);
    if (s.invariant != 0) {
        int64_t end_ms = w->now_us / 1000 + 1;
        if (end_ms < plan->param[P_HEAL])
            shrink_param(&s, P_HEAL, end_ms);
        shrink_list(&s, s.trial->fault, &s.trial->faults);
        shrink_list(&s, s.trial->op, &s.trial->ops);
        shrink_param(&s, P_TAIL_PPM, 0);
        shrink_param(&s, P_STRAY, 0);
        shrink_param(&s, P_PPM, 0);
        shrink_param(&s, P_WALL, 0);
        shrink_fields(&s, s.trial->op, &s.trial->ops, O_GIVE_UP, -1);
        shrink_fields(&s, s.trial->op, &s.trial->ops, O_EXTENDS, 0);
        shrink_fields(&s, s.trial->op, &s.trial->ops, O_CHECKS, 0);
        shrink_fields(&s, s.trial->op, &s.trial->ops, O_REENTER, 0);
        shrink_fields(&s, s.trial->op, &s.trial->ops, O_END, END_UNLOCK);
        shrink_list(&s, s.trial->fault, &s.trial->faults);
        shrink_list(&s, s.trial->op, &s.trial->ops);
        fprintf(stderr, "shrunk in %u runs to %u faults and %u ops\n", s.runs, plan->faults, plan->ops);
    }
    free(s.trial);
}
