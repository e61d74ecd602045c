#include "daemon/conf/conf_serves.h"

#include "daemon/conf/pattern.h"
#include "proto/names.h"

static bool serves_one(const struct conf *conf, const char *name, size_t len)
{
    bool serves = conf->serves_count == 0;
    for (unsigned i = 0; i < conf->serves_count; i++) {
        const char *item = conf->serves[i];
        if (item[0] == '!' && pattern_fits(item + 1, name, len))
            return false;
        serves = serves || (item[0] != '!' && pattern_fits(item, name, len));
    }
    return serves;
}

bool conf_serves_name(const struct conf *conf, const struct name *name)
{
    const char *one;
    size_t at = 0, len;
    while (conf->serves_count > 0 && (len = names_next(name, &at, &one)) != 0)
        if (!serves_one(conf, one, len))
            return false;
    return true;
}

/* A name may begin with !, but a pattern of these would be read as an exception. */
const char *conf_serves_wrong(const char *item)
{
    return pattern_wrong(item[0] == '!' ? item + 1 : item);
}

bool conf_serves_some(const struct conf *conf)
{
    for (unsigned i = 0; i < conf->serves_count; i++)
        if (conf->serves[i][0] != '!')
            return true;
    return conf->serves_count == 0;
}
