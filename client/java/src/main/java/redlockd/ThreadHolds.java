package redlockd;

import java.util.concurrent.ConcurrentHashMap;

/** The locks that the threads of a process hold, by name: a lock belongs to the thread that took it. */
final class ThreadHolds {
    private record Key(String name, Thread thread) {}

    /** Used by its thread alone. */
    static final class Entry {
        final LockHandle handle;
        int count = 1;

        Entry(LockHandle handle) {
            this.handle = handle;
        }
    }

    private final ConcurrentHashMap<Key, Entry> entries = new ConcurrentHashMap<>();

    /** The entry of the calling thread; null: none. */
    Entry get(String name) {
        return entries.get(new Key(name, Thread.currentThread()));
    }

    void put(String name, LockHandle handle) {
        entries.put(new Key(name, Thread.currentThread()), new Entry(handle));
    }

    void remove(String name) {
        entries.remove(new Key(name, Thread.currentThread()));
    }
}
