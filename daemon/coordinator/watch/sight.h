/* A look asks the masters, and this room says what their answers come to. One master's word is no word: what is told of a
 * holder, Q masters have word for word beside its key.
 *
 * A look may find a token that is being moved to another one (RESUME, keep=, a lock that is settled), or a text that is being
 * replaced: then no Q masters agree, though the name is not free. Such a look is unsure, and the next one knows more. */
#ifndef REDLOCKD_SIGHT_H
#define REDLOCKD_SIGHT_H

#include "daemon/coordinator/data/state.h"

enum sight_verdict {
    SIGHT_OPEN,   /* further answers may decide it */
    SIGHT_UNSURE, /* a quorum has answered, and does not agree yet */
    SIGHT_SURE,
};

void sight_begin(struct sight *seen);
void sight_told(struct sight *seen, unsigned master, const struct seen *who);

/* Sets what is told and the holder's token; if the look is not sure, the state is unknown, or a holder is known and nothing
 * that it tells. No answer is expected any more from masters that are neither in answered nor in silent. */
enum sight_verdict sight_judge(const struct coordinator *c, const struct sight *seen, masters_t answered,
                               masters_t silent, struct now *now, struct token *holder);

#endif
