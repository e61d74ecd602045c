#include "tests/unit/conn_world.h"

struct name world_name(const char *text)
{
    struct name name = {.len = (uint8_t)strlen(text)};
    memcpy(name.text, text, name.len);
    return name;
}

void heard(struct world *w, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(w->heard + w->heard_len, HEARD_BYTES - w->heard_len, fmt, args);
    va_end(args);
    if (n > 0 && (size_t)n < HEARD_BYTES - w->heard_len)
        w->heard_len += (size_t)n;
    else
        w->heard[w->heard_len] = 0; /* full: no further line is kept */
}

static void reply_code(struct world *w, uint64_t session, uint64_t request, enum reply_code code,
                       const struct name *name)
{
    struct reply reply = {.code = code,
                          .name = *name,
                          .retry_ms = -1,
                          .valid_ms = 1000,
                          .until_ms = 5000,
                          .fence = 7,
                          .confirmed = 5,
                          .masters = 5};
    if (code == REPLY_CANCELLED || code == REPLY_BADTAG || code == REPLY_OK)
        reply.name.len = code == REPLY_CANCELLED ? name->len : 0;
    conns_reply(w->conns, session, request, &reply);
}

bool answer(struct world *w, const char *name, enum reply_code code)
{
    for (unsigned i = 0; i < w->pendings; i++) {
        struct pending p = w->pending[i];
        if (p.name.len != strlen(name) || memcmp(p.name.text, name, p.name.len) != 0)
            continue;
        memmove(&w->pending[i], &w->pending[i + 1], (--w->pendings - i) * sizeof p);
        reply_code(w, p.session, p.request, code, &p.name);
        return true;
    }
    return false;
}

static bool is_finishing(const struct world *w, uint64_t session)
{
    for (unsigned i = 0; i < w->finishings; i++)
        if (w->finishing[i] == session)
            return true;
    return false;
}

static void on_cancel(struct world *w, uint64_t session, uint64_t request, uint64_t target)
{
    static const struct name none;
    bool found = false;

    for (unsigned i = 0; i < w->pendings && !found; i++) {
        struct pending p = w->pending[i];
        if (p.request != target)
            continue;
        memmove(&w->pending[i], &w->pending[i + 1], (--w->pendings - i) * sizeof p);
        reply_code(w, p.session, p.request, REPLY_CANCELLED, &p.name);
        found = true;
    }
    reply_code(w, session, request, found ? REPLY_OK : REPLY_BADTAG, &none);
}

void on_request(void *arg, uint64_t session, uint64_t request, uint64_t target, const struct request *what)
{
    static const char *const verbs[] = {
        [VERB_LOCK] = "LOCK",   [VERB_UNLOCK] = "UNLOCK", [VERB_EXTEND] = "EXTEND",
        [VERB_CHECK] = "CHECK", [VERB_RESUME] = "RESUME", [VERB_CANCEL] = "CANCEL"};
    static const enum reply_code codes[] = {[VERB_LOCK] = REPLY_LOCKED,
                                            [VERB_UNLOCK] = REPLY_UNLOCKED,
                                            [VERB_EXTEND] = REPLY_EXTENDED,
                                            [VERB_CHECK] = REPLY_HELD,
                                            [VERB_RESUME] = REPLY_LOCKED};
    struct world *w = arg;

    assert(request && what->verb <= VERB_CANCEL);
    w->requests++;
    heard(w, "%s %.*s\n", verbs[what->verb], what->name.len, what->name.text);
    if (what->verb == VERB_CANCEL) {
        on_cancel(w, session, request, target);
        return;
    }
    bool waits = what->name.len >= 4 && memcmp(what->name.text, "wait", 4) == 0;
    if (waits && is_finishing(w, session)) {
        reply_code(w, session, request, REPLY_CANCELLED, &what->name);
        return;
    }
    if (!waits) {
        reply_code(w, session, request, codes[what->verb], &what->name);
        return;
    }
    assert(w->pendings < PENDING);
    w->pending[w->pendings++] = (struct pending){session, request, what->name};
}

void on_finish(void *arg, uint64_t session)
{
    struct world *w = arg;

    heard(w, "finish\n");
    w->finishing[w->finishings++ % 64] = session;
    for (unsigned i = 0; i < w->pendings;) {
        struct pending p = w->pending[i];
        if (p.session != session) {
            i++;
            continue;
        }
        memmove(&w->pending[i], &w->pending[i + 1], (--w->pendings - i) * sizeof p);
        reply_code(w, p.session, p.request, REPLY_CANCELLED, &p.name);
    }
}

static void on_closed(void *arg, uint64_t session, enum conn_end end)
{
    struct world *w = arg;
    struct notice lost = {.kind = NOTICE_LOST, .reason = LOST_CLOSED, .name = world_name("held")};

    heard(w, end == CONN_RELEASED ? "released\n" : "dropped\n");
    if (w->tell_lost)
        conns_notice(w->conns, session, &lost);
    if (!w->late_end)
        conns_ended(w->conns, session);
}

static void on_undelivered(void *arg, uint64_t session, uint64_t request)
{
    (void)session;
    (void)request;
    heard(arg, "undelivered\n");
}

static size_t on_row(void *arg, uint64_t session, enum show show, const struct tag *tag, uint64_t state[8],
                     char *out)
{
    (void)session;
    struct world *w = arg;
    struct row row;

    w->rows_asked++;
    if (w->rows_later)
        return ROW_LATER;
    if (state[0] == w->rows)
        return 0;
    if (state[0] < w->hidden_rows) {
        state[0]++;
        return ROW_HIDDEN;
    }
    w->rows_made++;
    line_row_begin(&row, out, tag);
    line_row_unsigned(&row, "show", (uint64_t)show);
    line_row_unsigned(&row, "row", state[0]++);
    line_row_string(&row, "padding",
                    "........................................................................");
    return line_row_end(&row);
}

static size_t looked_up(void *arg, unsigned i, const struct tag *tag, char *out)
{
    const struct world *w = arg;
    struct row row;

    if (i > w->rows)
        return 0;
    if (i == w->rows)
        return line_format_end(out, tag, w->rows);
    line_row_begin(&row, out, tag);
    line_row_unsigned(&row, "row", i);
    return line_row_end(&row);
}

/* WHO of a name that begins with "wait" is answered by look_up_answer(). */
static void on_look_up(void *arg, uint64_t session, uint64_t request, const struct request *what)
{
    struct world *w = arg;

    heard(w, "%s %.*s\n",
          what->kept               ? "kept"
          : what->verb == VERB_WHO ? "WHO"
                                   : "BREAK",
          what->name.len, what->name.text);
    w->looking = (struct pending){session, request, what->name};
    if (what->name.len < 4 || memcmp(what->name.text, "wait", 4) != 0)
        look_up_answer(w);
}

void look_up_answer(struct world *w)
{
    conns_lines(w->conns, w->looking.session, w->looking.request, REPLY_OK, looked_up, w);
}

static unsigned pendings_of(const struct world *w, uint64_t session)
{
    uint16_t peer = conns_peer(w->conns, session);
    unsigned count = 0;
    for (unsigned i = 0; i < w->pendings; i++)
        count += conns_peer(w->conns, w->pending[i].session) == peer;
    return count;
}

static enum admission on_admits(void *arg, uint64_t session, enum verb verb)
{
    const struct world *w = arg;
    char address[ADDRESS_TEXT_BYTES];
    (void)verb;
    if (w->places == 0)
        return ADMISSION_NOW;
    if (w->share && strncmp(conns_address(w->conns, session, address), "unix:", 5) == 0 &&
        pendings_of(w, session) > 0)
        return ADMISSION_PEER;
    return w->pendings < w->places ? ADMISSION_NOW : ADMISSION_MASTERS;
}

static bool on_ready(void *arg)
{
    return !((const struct world *)arg)->unready;
}

static void on_counts(void *arg, uint64_t session, uint32_t *locks, uint32_t *waits)
{
    const struct world *w = arg;
    (void)session;
    *locks = w->locks;
    *waits = w->waits;
}

void world_make(struct world *w)
{
    memset(w, 0, sizeof *w);
    log_set_level(LOG_LEVEL_ERROR);
    conf_defaults(&w->conf);
    w->conf.max_clients_per_peer = w->conf.max_clients; /* all clients of a test are one peer */
    w->locks = 3;
    w->waits = 4;
    w->base = event_base_new();
    w->handler = (struct conn_handler){on_request, on_finish, on_closed, on_undelivered, on_row,
                                       on_counts,  on_admits, on_ready,  on_look_up,     w};
}

void world_start(struct world *w)
{
    w->conns = conns_new(w->base, &w->conf, "0.1.0", &w->handler);
    ck_assert_ptr_nonnull(w->conns);
}

void world_free(struct world *w)
{
    conns_free(w->conns);
    event_base_free(w->base);
}

void world_turn(struct world *w)
{
    event_base_loop(w->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    conns_flush(w->conns);
}

int client_unix(struct world *w)
{
    struct sockaddr_un peer = {.sun_family = AF_UNIX};
    int fds[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    ck_assert_int_eq(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
    conns_accept(w->conns, fds[0], &w->listener, (const struct sockaddr *)&peer, sizeof(sa_family_t), NULL);
    return fds[1];
}

int client_tcp(struct world *w)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in peer;
    socklen_t len = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    int client = socket(AF_INET, SOCK_STREAM, 0);

    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &len), 0);
    ck_assert_int_eq(connect(client, (struct sockaddr *)&address, sizeof address), 0);
    len = sizeof peer;
    int fd = accept4(listener, (struct sockaddr *)&peer, &len, SOCK_NONBLOCK);
    ck_assert_int_ge(fd, 0);
    close(listener);
    conns_accept(w->conns, fd, &w->listener, (const struct sockaddr *)&peer, len, NULL);
    return client;
}

void reset_close(int fd)
{
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger), 0);
    close(fd);
}

void say_bytes(int fd, const char *bytes, size_t len)
{
    ck_assert_int_eq(send(fd, bytes, len, MSG_NOSIGNAL), (ssize_t)len);
}

void say(int fd, const char *text)
{
    say_bytes(fd, text, strlen(text));
}

void expect(struct world *w, int fd, const char *text)
{
    size_t want = strlen(text), got = 0;
    char *bytes = calloc(1, want + 1);
    int64_t until_ms = clock_boot_ms() + PATIENCE_MS;

    while (got < want && clock_boot_ms() < until_ms) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        world_turn(w);
        if (poll(&p, 1, 1) <= 0)
            continue;
        ssize_t n = recv(fd, bytes + got, want - got, MSG_DONTWAIT);
        if (n == 0)
            break;
        if (n > 0)
            got += (size_t)n;
    }
    ck_assert_str_eq(bytes, text);
    free(bytes);
}

const char *refused(const char *line)
{
    static char out[SERVER_LINE_BYTES + 1];
    struct request request;
    struct refusal refusal;

    ck_assert_int_eq(line_parse(line, strlen(line), &request, &refusal), LINE_REFUSED);
    out[line_format_refusal(out, &refusal)] = 0;
    return out;
}

void expectf(struct world *w, int fd, const char *fmt, ...)
{
    char text[8192];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    expect(w, fd, text);
}

void expect_end(struct world *w, int fd)
{
    int64_t until_ms = clock_boot_ms() + PATIENCE_MS;
    ssize_t n = -1;

    while (clock_boot_ms() < until_ms) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        char bytes[256] = "";
        world_turn(w);
        if (poll(&p, 1, 1) <= 0)
            continue;
        n = recv(fd, bytes, sizeof bytes - 1, MSG_DONTWAIT);
        if (n <= 0)
            break;
        ck_abort_msg("more than the end: %s", bytes);
    }
    ck_assert_msg(n == 0 || (n < 0 && errno == ECONNRESET), "no end");
}

void expect_heard(struct world *w, const char *text)
{
    int64_t until_ms = clock_boot_ms() + PATIENCE_MS;

    while (strcmp(w->heard, text) != 0 && clock_boot_ms() < until_ms) {
        world_turn(w);
        poll(NULL, 0, 1);
    }
    ck_assert_str_eq(w->heard, text);
}

void expect_last(struct world *w, int fd, const char *text)
{
    static char bytes[1 << 16];
    size_t len = 0, want = strlen(text);
    int64_t until_ms = clock_boot_ms() + PATIENCE_MS;

    while (clock_boot_ms() < until_ms) {
        world_turn(w);
        ssize_t n = recv(fd, bytes + len, sizeof bytes - len, MSG_DONTWAIT);
        if (n <= 0) {
            poll(NULL, 0, 1);
            continue;
        }
        len += (size_t)n;
        if (len >= want && memcmp(bytes + len - want, text, want) == 0)
            return;
        size_t keep = len < want ? len : want;
        memmove(bytes, bytes + len - keep, keep);
        len = keep;
    }
    ck_abort_msg("%s did not come", text);
}

void expect_count(struct world *w, unsigned count)
{
    int64_t until_ms = clock_boot_ms() + PATIENCE_MS;

    while (conns_count(w->conns) != count && clock_boot_ms() < until_ms) {
        world_turn(w);
        poll(NULL, 0, 1);
    }
    ck_assert_uint_eq(conns_count(w->conns), count);
}

void settle(struct world *w)
{
    for (int i = 0; i < 20; i++) {
        world_turn(w);
        poll(NULL, 0, 1);
    }
}

unsigned read_lines(struct world *w, int fd, const char *last)
{
    static char bytes[1 << 20];
    size_t len = 0, seen = 0;
    unsigned lines = 0;
    int64_t until_ms = clock_boot_ms() + PATIENCE_MS;

    while (clock_boot_ms() < until_ms) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        world_turn(w);
        if (poll(&p, 1, 1) > 0) {
            ssize_t n = recv(fd, bytes + len, sizeof bytes - len, MSG_DONTWAIT);
            ck_assert_int_ne(n, 0);
            len += n > 0 ? (size_t)n : 0;
        }
        char *lf;
        while ((lf = memchr(bytes + seen, '\n', len - seen))) {
            char *line = bytes + seen;
            *lf = 0;
            lines++;
            seen = (size_t)(lf - bytes) + 1;
            if (strcmp(line, last) == 0) {
                ck_assert_uint_eq(seen, len);
                return lines;
            }
        }
        memmove(bytes, bytes + seen, len - seen);
        len -= seen;
        seen = 0;
    }
    ck_abort_msg("%s did not come", last);
}
