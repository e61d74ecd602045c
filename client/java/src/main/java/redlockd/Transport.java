package redlockd;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.NotYetConnectedException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/**
 * Bytes to and from redlockd. Any thread reads and any thread writes, one at a time each. An interrupt of that thread
 * changes nothing. {@link #close} may be called by any thread, and ends both.
 */
interface Transport extends AutoCloseable {
    int CONNECT_MS = 5000;

    /**
     * Waits, for a limited time if there is a limit (not 0), and reads at most bytes.length bytes. Returns how many, which may
     * be none, and is after an interrupt or {@link #wake}; -1: the other end has closed.
     */
    int read(byte[] bytes, long limitMs) throws IOException;

    /** What there is no room for stays in the buffer. */
    void write(ByteBuffer bytes) throws IOException;

    /** Whether a thread that reads hears an interrupt and {@link #wake}. */
    default boolean canWake() {
        return false;
    }

    /** The thread that reads returns, or the next one does so at once. */
    default void wake() {}

    @Override
    void close();

    /** Makes a connection. UsageException: a secret would go over the network in the clear. */
    static Transport open(Address address, Config config) throws IOException {
        if (address.isLocal()) {
            return new Plain(UnixDomainSocketAddress.of(address.path()));
        }
        InetAddress[] hosts = InetAddress.getAllByName(address.host());
        IOException last = null;
        for (InetAddress host : hosts) {
            if (config.hasSecret() && !address.tls() && !host.isLoopbackAddress()) {
                throw new UsageException("a secret does not go to " + address + " in the clear: use tls://", -1);
            }
            InetSocketAddress to = new InetSocketAddress(host, address.port());
            try {
                return address.tls() ? new OverTls(address, to, config) : new Plain(to);
            } catch (IOException e) {
                last = e;
            }
        }
        throw last;
    }

    /** A Unix socket, or TCP. The channel does not block: an interrupt of a thread that is blocked in it would close it. */
    final class Plain implements Transport {
        private final SocketChannel channel;
        private final Selector selector = Selector.open();
        private final ByteBuffer in = ByteBuffer.allocateDirect(16 * 1024);

        Plain(SocketAddress to) throws IOException {
            boolean local = to instanceof UnixDomainSocketAddress;
            channel = local ? SocketChannel.open(StandardProtocolFamily.UNIX) : SocketChannel.open();
            try {
                if (local) {
                    channel.connect(to);
                } else {
                    channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
                    channel.socket().connect(to, CONNECT_MS);
                }
                channel.configureBlocking(false);
                channel.register(selector, SelectionKey.OP_READ);
            } catch (IOException | RuntimeException e) {
                close();
                throw e;
            }
        }

        @Override
        public int read(byte[] bytes, long limitMs) throws IOException {
            selector.select(key -> { }, limitMs);
            int length = channel.read(in.clear().limit(Math.min(in.capacity(), bytes.length)));
            in.flip().get(bytes, 0, Math.max(0, length));
            return length;
        }

        @Override
        public void write(ByteBuffer bytes) throws IOException {
            channel.write(bytes);
        }

        @Override
        public void wake() {
            selector.wakeup();
        }

        @Override
        public boolean canWake() {
            return true;
        }

        @Override
        public void close() {
            try {
                // A FIN goes out first: with unread bytes, close() sends a reset, after which redlockd keeps the locks.
                channel.shutdownOutput();
            } catch (IOException | NotYetConnectedException e) {
                // The other end was faster.
            }
            try {
                channel.close();
                selector.close(); // until then a channel that is registered stays open
            } catch (IOException e) {
                // There is nothing left that could be done about it.
            }
        }
    }

    /** TLS over TCP. Both reading and writing block, and hear no interrupt. */
    final class OverTls implements Transport {
        private static final int CLOSING_MS = 2000;

        private final Socket plain = new Socket();
        private final Socket socket;

        OverTls(Address address, InetSocketAddress to, Config config) throws IOException {
            try {
                plain.setTcpNoDelay(true);
                plain.connect(to, CONNECT_MS);
                socket = Tls.over(plain, address, config.tls(), CONNECT_MS);
            } catch (IOException | RuntimeException e) {
                plain.close();
                throw e;
            }
        }

        @Override
        public int read(byte[] bytes, long limitMs) throws IOException {
            return socket.getInputStream().read(bytes);
        }

        @Override
        public void write(ByteBuffer bytes) throws IOException {
            socket.getOutputStream().write(bytes.array(), bytes.position(), bytes.remaining());
            bytes.position(bytes.limit());
        }

        /** In other threads: TLS says goodbye, which waits for a thread that writes, and for the other end to read. */
        @Override
        public void close() {
            Executor threads = RedlockClient.Builder.EVENTS;
            threads.execute(() -> close(socket));
            CompletableFuture.delayedExecutor(CLOSING_MS, TimeUnit.MILLISECONDS, threads).execute(() -> close(plain));
        }

        private static void close(Socket socket) {
            try {
                socket.close();
            } catch (IOException e) {
                // There is nothing left that could be done about it.
            }
        }
    }
}
