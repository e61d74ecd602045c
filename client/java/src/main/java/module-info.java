/** Locks of redlockd: a lock that all programs on all hosts agree on, as long as they ask the same redlockd masters. */
module redlockd {
    exports redlockd;
}
