/* Which requests fit together: a name is locked alone or shared, has slots or none and always the same number of them,
 * and none of a list's names has slots. What does not fit is refused, and nothing is changed. */
#ifndef REDLOCKD_FIT_H
#define REDLOCKD_FIT_H

#include "daemon/coordinator/data/state.h"

/* Whether the options of a request fit to each other; otherwise the request was refused. */
bool fit_request(struct coordinator *c, const struct coordinator_event *event);
/* The resource of the name that a LOCK asks for, which is made if there is none; NULL: the request was refused. */
struct resource *fit_lock(struct coordinator *c, const struct session *session, uint64_t request,
                          const struct request *what);
/* Whether the token of a RESUME, if it is one, fits to how the name is used; otherwise the request was refused. */
bool fit_resume(struct coordinator *c, const struct coordinator_event *event);
/* The resource whose waiters are to hear of an UNLOCK by this token; NULL: none is here. */
struct resource *fit_unlock(struct coordinator *c, const struct request *what);

#endif
