/* The page has words for whatever keeps a master away. */
#include <check.h>

#include "daemon/http/http_private.h"
#include "daemon/loop/loop_show.h"
#include "daemon/node/node_private.h"
#include "tests/unit/suite.h"

T_EACH(failures_have_words, FAILURES)
{
    const char *why = node_failure_word((enum node_failure)_i);
    ck_assert_msg(troubles_advice(why) != NULL, "why=%s has no words", why);
}

T(states_have_words)
{
    /* WHY_TIMEOUT is the last. The masters of WHY_FENCE vote, and the page has a sentence of its own for them. */
    for (unsigned i = WHY_NONE + 1; i <= WHY_TIMEOUT; i++) {
        enum master_why why = (enum master_why)i;
        ck_assert_msg(why == WHY_FENCE || troubles_advice(loop_why_name(why)) != NULL, "why=%s has no words",
                      loop_why_name(why));
    }
}

T(unknown_words_have_none)
{
    ck_assert_ptr_null(troubles_advice("martians"));
}
