package redlockd;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** The lines that go out on a connection. The session's mutex guards it. */
final class Output {
    private static final int SLOWLY_MS = 5; // between two attempts to write while redlockd does not read

    private final ReentrantLock mutex;
    private final Condition handOver;
    private final StringBuilder out = new StringBuilder();
    private volatile Transport transport; // null: not connected yet
    private boolean ended;
    private boolean writing; // a thread writes, and what is added to out too
    private ByteBuffer rest; // to be written before out; null: nothing
    private volatile Thread writer; // null: there was no use for it yet
    private boolean handedOver; // it has to write

    Output(ReentrantLock mutex) {
        this.mutex = mutex;
        this.handOver = mutex.newCondition();
    }

    void begin(Transport opened) {
        transport = opened;
    }

    void end() {
        ended = true;
        handOver.signal();
    }

    void add(String line) {
        out.append(line).append('\n');
    }

    /**
     * Whether the thread that leaves the mutex has to call {@link #write}. Where many requests are under way, a thread of its
     * own writes instead, so that their lines come together.
     */
    boolean mustWrite(int underWay) {
        if (out.length() == 0 || writing || transport == null) {
            return false;
        }
        writing = true;
        if (underWay <= 1) {
            return true;
        }
        handOver();
        return false;
    }

    private void handOver() {
        if (writer == null) {
            writer = Session.thread("redlockd-writer", this::writeHandedOver);
        }
        handedOver = true;
        handOver.signal();
    }

    private void writeHandedOver() {
        mutex.lock();
        try {
            while (!ended) {
                if (handedOver) {
                    handedOver = false;
                    mutex.unlock();
                    Thread.yield(); // to others that were woken by the same answers, and go on to ask
                    write();
                    mutex.lock();
                } else {
                    handOver.awaitUninterruptibly();
                }
            }
        } finally {
            mutex.unlock();
        }
    }

    /** Writes what there is, until there is no more. Called outside the mutex, after mustWrite(). */
    void write() {
        try {
            for (ByteBuffer lines = taken(); lines != null; lines = taken()) {
                while (!transport.write(lines)) { // redlockd does not read
                    if (Thread.currentThread() != writer) { // which may have to hear an interrupt
                        handOverRest(lines);
                        return;
                    }
                    Thread.sleep(SLOWLY_MS);
                }
            }
        } catch (IOException | InterruptedException e) {
            // The reader finds the connection ended too, after it has read what redlockd still sent. Nobody writes any more.
        }
    }

    private void handOverRest(ByteBuffer lines) {
        mutex.lock();
        rest = lines;
        handOver();
        mutex.unlock();
    }

    /** What is to be written now; null: nothing. */
    private ByteBuffer taken() {
        mutex.lock();
        try {
            ByteBuffer lines = rest;
            rest = null;
            writing = lines != null || out.length() > 0;
            if (lines == null && writing) {
                lines = ByteBuffer.wrap(out.toString().getBytes(StandardCharsets.ISO_8859_1));
                out.setLength(0);
            }
            return lines;
        } finally {
            mutex.unlock();
        }
    }
}
