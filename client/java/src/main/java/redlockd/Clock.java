package redlockd;

import java.io.IOException;
import java.io.RandomAccessFile;

/**
 * A clock in ms that counts the time during which the machine is suspended, unlike {@link System#nanoTime}. On Linux it is
 * CLOCK_BOOTTIME, which /proc/uptime tells in steps of 10 ms. Elsewhere it is nanoTime, and goes forward in addition when
 * the wall clock has gained more than a second on nanoTime between two readings.
 */
abstract class Clock {
    /** By how much {@link #floorMs} may be late: 10 ms, a suspension that is too short to notice, and roundings. */
    static final int STEP_MS = 15;

    private static final Clock SYSTEM = system();

    /** The time, never too late. */
    abstract long floorMs();

    /** The time, never too early: what a deadline is compared with. */
    final long nowMs() {
        return floorMs() + STEP_MS;
    }

    static Clock get() {
        return SYSTEM;
    }

    private static Clock system() {
        try {
            return new Uptime();
        } catch (IOException | RuntimeException e) {
            return new Gaining();
        }
    }

    /**
     * Reads /proc/uptime once a second, and in between counts with nanoTime, for as long as the wall clock goes at the same
     * pace: it gains on nanoTime when the machine was suspended (or when somebody sets it). So most readings ask nobody.
     */
    private static final class Uptime extends Clock {
        private static final long FRESH_NS = 1_000_000_000;
        private static final long PACE_MS = 2;
        private static final long READ_NS = 1_000_000; // a reading that took longer is used once

        private record Reading(long ns, long wallMs, long uptimeMs) {}

        private final RandomAccessFile file = new RandomAccessFile("/proc/uptime", "r");
        private final byte[] bytes = new byte[64];
        private volatile Reading last = read();

        Uptime() throws IOException {}

        @Override
        long floorMs() {
            Reading reading = last;
            long passedNs = System.nanoTime() - reading.ns;
            long passedMs = passedNs / 1_000_000;
            long ahead = System.currentTimeMillis() - reading.wallMs - passedMs;
            if (passedNs < FRESH_NS && ahead >= -PACE_MS && ahead <= PACE_MS) {
                return reading.uptimeMs + passedMs;
            }
            return readAgain();
        }

        private synchronized long readAgain() {
            try {
                last = read();
                return last.uptimeMs;
            } catch (IOException e) {
                throw new IllegalStateException("/proc/uptime cannot be read", e);
            }
        }

        /** The wall clock is read first, so that a suspension meanwhile shows as a gain of it. */
        private Reading read() throws IOException {
            long wallMs = System.currentTimeMillis();
            long startNs = System.nanoTime();
            long uptimeMs = readFile();
            long ns = System.nanoTime();
            return new Reading(ns - startNs <= READ_NS ? ns : ns - FRESH_NS, wallMs, uptimeMs);
        }

        /** "15032.91 11794.09". A RandomAccessFile, unlike a channel, is not closed when its reader is interrupted. */
        private long readFile() throws IOException {
            long number = 0;
            file.seek(0);
            int length = file.read(bytes);
            int point = -1;
            for (int i = 0; i < length && bytes[i] != ' '; i++) {
                if (bytes[i] == '.') {
                    point = i;
                } else {
                    number = number * 10 + (bytes[i] - '0');
                }
                if (point >= 0 && i == point + 2) {
                    return number * 10;
                }
            }
            throw new IOException("/proc/uptime has another form");
        }
    }

    /** Where there is no /proc/uptime. */
    static final class Gaining extends Clock {
        private static final long NOTICED_MS = 1000;

        private long skippedMs;
        private long aheadMs = System.currentTimeMillis() - System.nanoTime() / 1_000_000;

        /** For a test: the wall clock goes forward, or back. */
        synchronized void wallGains(long ms) {
            aheadMs -= ms;
        }

        @Override
        synchronized long floorMs() {
            long monotonicMs = System.nanoTime() / 1_000_000;
            long nowAheadMs = System.currentTimeMillis() - monotonicMs;
            if (nowAheadMs - aheadMs > NOTICED_MS) {
                skippedMs += nowAheadMs - aheadMs;
            }
            aheadMs = nowAheadMs;
            return monotonicMs + skippedMs;
        }
    }
}
