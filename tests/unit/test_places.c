/* Which server has which place while lists come and go. */
#include "daemon/conf/conf_address.h"
#include "daemon/loop/loop_places.h"
#include "tests/unit/suite.h"

static struct places places;
static struct conf_node list[MASTERS];
static unsigned count;

/* A list of hosts of one letter; '-' is a vacant place. */
static void make(const char *hosts)
{
    char url[32];
    count = (unsigned)strlen(hosts);
    for (unsigned i = 0; i < count; i++) {
        snprintf(url, sizeof url, "redis://%c:1", hosts[i]);
        if (hosts[i] == '-')
            list[i] = (struct conf_node){.vacant = true};
        else
            ck_assert_ptr_null(conf_address_node(&list[i], url));
    }
}

static masters_t take(const char *hosts)
{
    make(hosts);
    return places_take(&places, list, count);
}

/* The servers by their places; '.': nobody has the place. */
static const char *text(void)
{
    static char out[MASTERS + 1];
    for (unsigned i = 0; i < MASTERS; i++)
        out[i] = places.used & masters_bit(i) ? places.node[i].address.host[0] : '.';
    return out;
}

T(a_server_keeps_its_place)
{
    ck_assert_uint_eq(take("abc"), 7);
    ck_assert_str_eq(text(), "abc............");
    ck_assert_uint_eq(take("cdb"), 1 << 2 | 1 << 3 | 1 << 1);
    ck_assert_str_eq(text(), "abcd...........");
    places_free(&places, 0);
    ck_assert_str_eq(text(), ".bcd...........");
    ck_assert_uint_eq(take("-edb"), 1 << 0 | 1 << 3 | 1 << 1);
    ck_assert_str_eq(text(), "ebcd...........");
}

/* What a list says of a server that has a place is taken: its password may have changed. */
T(logins_follow_the_list)
{
    take("ab");
    make("ba");
    snprintf(list[1].password, sizeof list[1].password, "new");
    places_take(&places, list, count);
    ck_assert_str_eq(places.node[0].password, "new");
    ck_assert_str_eq(places.node[1].password, "");
}

T(there_are_places_enough_or_not)
{
    unsigned place_of[MASTERS];
    masters_t of;
    take("abcdefghij");
    make("jklmno");
    ck_assert(places_plan(&places, list, count, place_of, &of));
    ck_assert_uint_eq(of, 0x7e00);
    ck_assert_uint_eq(place_of[0], 9);
    make("jklmnop");
    ck_assert(!places_plan(&places, list, count, place_of, &of));
    ck_assert_str_eq(text(), "abcdefghij.....");
}
