/* Included by redlock.pml with -DSORT: of the states that differ only in the order of the masters or daemons, only one is
 * kept. A name has no meaning of its own but in the keys, which have the daemon's number + 1. */
enum { MASTERS = sizeof now.master / sizeof now.master[0], DAEMONS = sizeof now.daemon / sizeof now.daemon[0] };

static void sort_masters(void)
{
    for (int a = 1; a < MASTERS; a++)
        for (int b = a; b > 0 && memcmp(&now.master[b - 1], &now.master[b], sizeof(struct Master)) > 0; b--) {
            struct Master other = now.master[b];
            now.master[b] = now.master[b - 1];
            now.master[b - 1] = other;
        }
}

static void swap_daemons(int a, int b)
{
    struct Daemon daemon = now.daemon[a];
    now.daemon[a] = now.daemon[b];
    now.daemon[b] = daemon;
    for (int m = 0; m < MASTERS; m++) {
        struct Master *master = &now.master[m];
        struct Link link = master->link[a];
        master->link[a] = master->link[b];
        master->link[b] = link;
        if (master->key == a + 1 || master->key == b + 1)
            master->key = a + b + 2 - master->key;
    }
}

static void sort_all(void)
{
    struct Master master[MASTERS];
    struct Daemon daemon[DAEMONS];
    sort_masters();
    memcpy(master, now.master, sizeof master);
    memcpy(daemon, now.daemon, sizeof daemon);
    swap_daemons(0, DAEMONS - 1); /* with three daemons only two of them are sorted */
    sort_masters();
    int order = memcmp(daemon, now.daemon, sizeof daemon);
    if (order < 0 || (order == 0 && memcmp(master, now.master, sizeof master) < 0)) {
        memcpy(now.master, master, sizeof master);
        memcpy(now.daemon, daemon, sizeof daemon);
    }
}
