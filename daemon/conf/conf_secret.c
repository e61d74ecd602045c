/* Users and passwords for masters: from URLs, and from a file. */
#include <string.h>
#include <sys/stat.h>

#include "daemon/conf/conf_private.h"

static void conf_check_own_secrets(struct conf_reader *r)
{
    for (unsigned l = 0; l < CONF_LISTS; l++) {
        struct conf_list list = conf_list(r, l);
        for (unsigned i = 0; i < list.count; i++) {
            if (!list.nodes[i].password[0] || !(r->mode & S_IROTH))
                continue;
            conf_warn(
                r, &list.places[i], list.key,
                "a password in a file that everybody can read: chmod o-r it, or use node_password_file");
            return;
        }
    }
}

/* A URL keeps its own user and password; one with a user alone takes the password of the file. */
static void conf_give_secrets(struct conf_reader *r, const struct conf_list *list, const char *secret)
{
    const struct conf *conf = r->conf;
    bool file_broken = conf_place(r, "node_password_file")->broken;
    for (unsigned i = 0; i < list->count; i++) {
        struct conf_node *node = &list->nodes[i];
        bool own = node->user[0] || node->password[0];
        if (node->vacant)
            continue;
        if (own && !node->password[0] && !conf->node_password_file[0] && !file_broken)
            conf_fault(
                r, &list->places[i], list->key,
                "a user without a password: write redis://user:password@host:port, or node_password_file");
        if (!own)
            memcpy(node->user, conf->node_user, sizeof node->user);
        node->password_of_file = !node->password[0] && conf->node_password_file[0];
        if (node->password_of_file)
            memcpy(node->password, secret, sizeof node->password);
    }
}

void conf_check_secrets(struct conf_reader *r)
{
    struct conf *conf = r->conf;
    const struct conf_place *user = conf_place(r, "node_user"), *file = conf_place(r, "node_password_file");
    static char secret[CONF_PASSWORD_BYTES];
    secret[0] = '\0';
    conf_check_own_secrets(r);
    if (conf->node_password_file[0]) {
        mode_t mode = 0;
        const char *wrong = conf_secret_read(conf->node_password_file, secret, sizeof secret, &mode);
        if (wrong)
            conf_fault(r, file, "node_password_file", "%s: %s", conf->node_password_file, wrong);
        else if (mode & S_IROTH)
            conf_warn(r, file, "node_password_file", "everybody can read %s: chmod o-r it",
                      conf->node_password_file);
    } else if (conf->node_user[0] && !file->broken) {
        conf_fault(r, user, "node_user", "it needs node_password_file, the file with its password");
    }
    for (unsigned l = 0; l < CONF_LISTS; l++) {
        struct conf_list list = conf_list(r, l);
        conf_give_secrets(r, &list, secret);
    }
    explicit_bzero(secret, sizeof secret);
}
