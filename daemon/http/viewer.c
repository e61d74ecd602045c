/* Viewers, and what each may see. Without users everybody who reaches an address sees what it serves. With
 * users a viewer is the user that its name and secret prove (Basic), or its certificate, or its uid or gid on
 * a Unix socket, or anyone; it sees the names that it may show, and what clients call themselves only as an admin. */
#include <netinet/in.h>
#include <string.h>

#include "daemon/clock.h"
#include "daemon/http/http_private.h"
#include "daemon/log.h"
#include "proto/secret.h"

enum { BASIC_BYTES = WORD_BYTES + 1 + SECRET_HEX };

/* ---- Basic ---- */

static int base64_value(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = c ? strchr(digits, c) : NULL;
    return found ? (int)(found - digits) : -1;
}

/* Returns how many bytes the text stands for; 0: it is no base64, or too long for out. */
static size_t base64_decode(const char *text, size_t len, char out[BASIC_BYTES])
{
    size_t bytes = 0;
    unsigned bits = 0, count = 0;
    while (len > 0 && text[len - 1] == '=')
        len--;
    for (size_t i = 0; i < len; i++) {
        int value = base64_value(text[i]);
        if (value < 0 || bytes == BASIC_BYTES)
            return 0;
        bits = (bits << 6 | (unsigned)value) & 0xffff;
        count += 6;
        if (count >= 8) {
            count -= 8;
            out[bytes++] = (char)(bits >> count & 0xff);
        }
    }
    return bytes;
}

/* Unknown users take as long as known ones. */
static const struct user *user_by_secret(const struct users *users, const char *text, size_t len)
{
    static const uint8_t nobody[SECRET_HASH_BYTES];
    uint8_t hash[SECRET_HASH_BYTES] = {0};
    const char *colon = memchr(text, ':', len);
    if (!colon)
        return NULL;
    size_t name_len = (size_t)(colon - text);
    const struct user *user = users_named(users, text, name_len);
    bool known = user && user->secret_file;
    bool hashed =
        secret_is_made(colon + 1, len - name_len - 1) && secret_hash(colon + 1, len - name_len - 1, hash);
    bool equal = secret_equal(hash, known ? user->secret : nobody);
    explicit_bzero(hash, sizeof hash);
    return known && hashed && equal ? user : NULL;
}

static const struct user *user_by_basic(const struct users *users, struct head_piece authorization)
{
    char text[BASIC_BYTES];
    static const char scheme[] = "Basic ";
    size_t begin = sizeof scheme - 1;
    if (authorization.len <= begin || strncasecmp(authorization.text, scheme, begin) != 0)
        return NULL;
    size_t len = base64_decode(authorization.text + begin, authorization.len - begin, text);
    const struct user *user = len > 0 ? user_by_secret(users, text, len) : NULL;
    explicit_bzero(text, sizeof text);
    return user;
}

/* ---- who ---- */

/* A secret must not cross a network in the clear. */
static bool is_private(const struct sockaddr_storage *peer)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)peer;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)peer;
    if (peer->ss_family == AF_INET)
        return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
    return peer->ss_family == AF_UNIX ||
           (peer->ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr));
}

struct viewer viewer_find(struct http_conn *c, const struct head *head)
{
    struct viewer viewer = {.users = c->http->conf->users};
    struct sockaddr_storage peer = {.ss_family = AF_UNSPEC};
    struct ucred cred = {.uid = (uid_t)-1, .gid = (gid_t)-1};
    socklen_t peer_len = sizeof peer, cred_len = sizeof cred;
    if (!viewer.users)
        return viewer;
    if (getpeername(c->wire.fd, (struct sockaddr *)&peer, &peer_len) < 0)
        peer.ss_family = AF_UNSPEC;
    viewer.may_prove = c->listener->tls.on || is_private(&peer);
    if (head->authorization.text) { /* a wrong secret makes nobody anyone */
        viewer.user = viewer.may_prove ? user_by_basic(viewer.users, head->authorization) : NULL;
        c->http->stats.basic_failed += !viewer.user;
        c->guessed = !viewer.user;
        if (!viewer.user)
            http_tell(c, "auth_failed",
                      viewer.may_prove ? "no such user, or another secret"
                                       : "not over plain TCP; this secret has been seen, make a new one");
        return viewer;
    }
    bool local =
        peer.ss_family == AF_UNIX && getsockopt(c->wire.fd, SOL_SOCKET, SO_PEERCRED, &cred, &cred_len) == 0;
    viewer.user = users_find(
        viewer.users, &(struct user_client){
                          .local = local, .uid = cred.uid, .gid = cred.gid, .certificate = c->certificate});
    return viewer;
}

bool viewer_may_see(const struct viewer *viewer, enum conf_serves what)
{
    if (!viewer->users || what == CONF_PROBES)
        return true;
    return viewer->user && (user_shows(viewer->users, viewer->user) || viewer->user->admin);
}

/* ---- what ---- */

static void filter_locks(const struct viewer *viewer, struct snapshot *s)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < s->lock_rows; i++)
        if (user_may_show(viewer->users, viewer->user, &s->oldest_locks[i].name))
            s->oldest_locks[kept++] = s->oldest_locks[i];
    s->lock_rows = kept;
    for (unsigned i = 0; i < kept && !viewer->user->admin; i++)
        s->oldest_locks[i].client.len = 0;
}

static void filter_waits(const struct viewer *viewer, struct snapshot *s)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < s->wait_rows; i++)
        if (user_may_show(viewer->users, viewer->user, &s->oldest_waits[i].name))
            s->oldest_waits[kept++] = s->oldest_waits[i];
    s->wait_rows = kept;
    for (unsigned i = 0; i < kept && !viewer->user->admin; i++)
        s->oldest_waits[i].client.len = s->oldest_waits[i].holder.len = 0;
}

static void filter_leaders(const struct viewer *viewer, struct snapshot *s)
{
    unsigned left = 0;
    for (unsigned i = 0; i < s->leader_rows; i++)
        if (user_may_show(viewer->users, viewer->user, &s->leaders[i].name))
            s->leaders[left++] = s->leaders[i];
    s->leader_rows = left;
    for (unsigned i = 0; i < left && !viewer->user->admin; i++)
        s->leaders[i].client.len = 0;
    left = 0;
    for (unsigned i = 0; i < s->kept_rows; i++)
        if (user_may_show(viewer->users, viewer->user, &s->kept[i].name))
            s->kept[left++] = s->kept[i];
    s->kept_rows = left;
}

/* Events name locks, so only an admin sees them. */
const struct snapshot *viewer_filter(const struct viewer *viewer, const struct snapshot *all,
                                     struct snapshot *filtered)
{
    static const struct events none;
    if (!viewer->users)
        return all;
    *filtered = *all;
    filter_locks(viewer, filtered);
    filter_waits(viewer, filtered);
    filter_leaders(viewer, filtered);
    if (!viewer->user->admin)
        filtered->events = &none;
    return filtered;
}
