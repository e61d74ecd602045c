/* The TLS handshake with a master. */
#include <errno.h>

#include "daemon/node/node_private.h"

void node_tls_step(struct node *n)
{
    switch (wire_handshake(&n->wire)) {
    case WIRE_OPEN: node_login(n); break;
    case WIRE_WANTS_READ: break; /* the readable event is persistent */
    case WIRE_WANTS_WRITE: event_add(n->writable, NULL); break;
    case WIRE_FAILED: node_broken(n, EPROTO); break;
    }
}

void node_tls(struct node *n)
{
    node_move(n, NODE_TLS);
    n->shaking = true;
    if (!n->context || wire_begin(&n->wire, n->context, n->address->address.host) < 0 ||
        event_add(n->readable, NULL) < 0) {
        node_down(n, FAILURE_MEMORY, "");
        return;
    }
    node_timer(n, STEP_TIMEOUT_MS);
    node_tls_step(n);
}
