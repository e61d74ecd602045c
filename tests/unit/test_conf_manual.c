/* The manual says of each setting what the code does: when a change takes effect, its range, its
 * default. */
#include "tests/unit/conf_said.h"
#include "tests/unit/suite.h"

static char *manual;

static void read_manual(void)
{
    size_t len = 0;
    FILE *file = fopen("conf/redlockd.yaml.5", "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_gt(getdelim(&manual, &len, 0, file), 0);
    fclose(file);
}

/* The entry of a setting, up to the next one. */
static const char *entry_of(const char *key)
{
    static char entry[4096];
    char head[64];
    snprintf(head, sizeof head, "\n.It Cm %s : Ar ", key);
    const char *begin = strstr(manual, head);
    ck_assert_msg(begin != NULL, "no entry of %s", key);
    ck_assert_msg(strstr(begin + 1, head) == NULL, "two entries of %s", key);
    const char *end = strstr(begin + strlen(head), "\n.It Cm ");
    const char *list_end = strstr(begin, "\n.El");
    if (!end || list_end < end)
        end = list_end;
    snprintf(entry, sizeof entry, "%.*s", (int)(end - begin - 1), begin + 1);
    return entry;
}

static bool in_head(const char *entry, const char *text)
{
    const char *found = strstr(entry, text);
    return found && found < entry + strcspn(entry, "\n");
}

static void show_limit(const struct conf_row *setting, int64_t value, char *out, size_t size)
{
    memcpy((char *)&conf + setting->at, &value, sizeof value);
    conf_show(&conf, setting, 0, out, size);
}

T_EACH(every_setting_has_its_entry, CONF_KEYS)
{
    static const char *const when[] = {"reload", "reload", "reload", "steps", "restart", "generation", "all"};
    const struct conf_row *setting = &conf_settings[_i];
    char marked[32];
    read_manual();
    snprintf(marked, sizeof marked, " Pq %s", when[setting->when]);
    ck_assert_msg(in_head(entry_of(setting->key), marked), "%s: not%s", setting->key, marked);
    if (setting->max == 0)
        return;
    char low[32], high[32], range[128];
    show_limit(setting, setting->min, low, sizeof low);
    show_limit(setting, setting->max, high, sizeof high);
    snprintf(range, sizeof range, "%s, %s to %s", marked, setting->min == 0 ? "0" : low, high);
    ck_assert_msg(in_head(entry_of(setting->key), range), "%s: not%s", setting->key, range);
}

T_EACH(every_default_is_right, CONF_KEYS)
{
    const struct conf_row *setting = &conf_settings[_i];
    char text[128] = "", expected[2048] = "", got[2048] = "", why[CONF_WHY_BYTES];
    read_manual();
    const char *stated = strstr(entry_of(setting->key), "\nDefault: ");
    if (strcmp(setting->key, "nodes") == 0) {
        ck_assert_ptr_null(stated);
        return;
    }
    ck_assert_msg(stated != NULL, "%s: no default", setting->key);
    if (strcmp(setting->key, "nodes_before") == 0) {
        ck_assert_ptr_nonnull(strstr(stated, "Default: none."));
        return;
    }
    if (strcmp(setting->key, "node_tls") == 0) {
        ck_assert_ptr_nonnull(strstr(stated, "Default: none,"));
        return;
    }
    sscanf(stated, "\nDefault: %127[^\n,]", text);
    if (text[strlen(text) - 1] == '.')
        text[strlen(text) - 1] = 0;
    char *value = text[0] == '"' ? strtok(text, "\"") : text;
    conf_defaults(&conf);
    conf_show(&conf, setting, 0, expected, sizeof expected);
    if (strcmp(value, "none") == 0) {
        ck_assert_str_eq(expected, "");
        return;
    }
    ck_assert_msg(conf_set(&conf, setting, value, why), "%s: %s", value, why);
    conf_show(&conf, setting, 0, got, sizeof got);
    ck_assert_msg(strcmp(got, expected) == 0, "%s: %s, but it is %s", setting->key, got, expected);
}
