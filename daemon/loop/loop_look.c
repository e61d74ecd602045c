#include "daemon/loop/loop_look.h"

#include <string.h>
#include <time.h>

#include "daemon/log.h"

enum { LOOK_S = 10 };

bool loop_look_files(struct loop_look *look, const struct conf *conf, const struct places *places)
{
    look->conf = conf;
    look->places = places;
    return loop_tls_open(&look->tls, conf, places) != TLS_FAILED;
}

void loop_look_opened(struct loop_look *look, unsigned place)
{
    node_secure(look->nodes[place], look->tls.nodes[place]);
    if (look->subscribers[place])
        node_secure(look->subscribers[place], look->tls.nodes[place]);
}

static void nodes_secure(struct loop_look *look)
{
    for (unsigned i, left = look->places->used; place_next(&left, &i);)
        loop_look_opened(look, i);
}

static void tls_look(struct loop_look *look)
{
    enum tls_news news = loop_tls_open(&look->tls, look->conf, look->places);

    if (news == TLS_SAME)
        return;
    if (news == TLS_FRESH) {
        log_info("tls_files", "why=\"certificates or keys have changed, and were read\"");
        look->tls.warned_s = 0; /* the new one may end soon as well */
    }
    nodes_secure(look);
    conns_judge(look->conns);
}

static void password_look(struct loop_look *look)
{
    static char password[CONF_PASSWORD_BYTES];
    const char *wrong = NULL;

    if (!look->conf->node_password_file[0])
        return;
    wrong = conf_password_read(look->conf, password);
    if (wrong && !look->password_told)
        log_error("node_password_file",
                  "why=\"%s\" hint=\"the last password is used until the file is right\"", wrong);
    look->password_told = wrong != NULL;
    for (unsigned i, left = wrong ? 0 : look->places->used; place_next(&left, &i);)
        node_reauthenticate(look->nodes[i], password);
    explicit_bzero(password, sizeof password);
}

static void look_on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct loop_look *look = arg;
    int64_t now_s = (int64_t)time(NULL);
    (void)fd;
    (void)what;

    tls_look(look);
    loop_tls_warn(&look->tls, look->conf, now_s);
    conns_look_at_ends(look->conns, now_s);
    password_look(look);
}

bool loop_look_start(struct loop_look *look, struct event_base *base, struct conns *conns,
                     struct node **nodes, struct node **subscribers)
{
    static const struct timeval every = {.tv_sec = LOOK_S};

    look->conns = conns;
    look->nodes = nodes;
    look->subscribers = subscribers;
    nodes_secure(look);
    loop_tls_warn(&look->tls, look->conf, (int64_t)time(NULL));
    look->timer = event_new(base, -1, EV_PERSIST, look_on_timer, look);
    return look->timer && event_add(look->timer, &every) == 0;
}

void loop_look_again(struct loop_look *look)
{
    tls_look(look);
    password_look(look);
}

void loop_look_stop(struct loop_look *look)
{
    if (look->timer)
        event_free(look->timer);
    look->timer = NULL;
    loop_tls_close(&look->tls);
}
