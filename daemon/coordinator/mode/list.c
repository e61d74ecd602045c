/* A list of names (names.h), as the head's attempt sees it. */
#include "daemon/coordinator/mode/writer.h"
#include "daemon/coordinator/wait/resource.h"

const struct mode mode_list = {
    .token = TOKEN_NAMES,
    .once = true,
    .begin = writer_begin,
    .forget = writer_forget,
    .ask = writer_ask,
    .granted = writer_granted,
    .refused = resource_refused,
};
