package redlockd;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;

/**
 * Bytes to and from redlockd. A thread of this library reads, and any thread writes, one at a time. An interrupt of that
 * thread changes nothing. {@link #close} may be called by any thread, and ends both.
 */
interface Transport extends AutoCloseable {
    int CONNECT_MS = 5000;

    /** Reads at most bytes.length bytes, and returns how many; -1: the other end has closed. */
    int read(byte[] bytes) throws IOException;

    /** False: there is no room for the rest, which stays in the buffer. */
    boolean write(ByteBuffer bytes) throws IOException;

    @Override
    void close();

    /** Makes a connection. UsageException: a secret would go over the network in the clear. */
    static Transport open(Address address, Config config) throws IOException {
        if (address.isLocal()) {
            return new Local(address);
        }
        InetAddress[] hosts = InetAddress.getAllByName(address.host());
        IOException last = null;
        for (InetAddress host : hosts) {
            if (config.hasSecret() && !address.tls() && !host.isLoopbackAddress()) {
                throw new UsageException("a secret does not go to " + address + " in the clear: use tls://", -1);
            }
            try {
                return new Stream(address, host, config);
            } catch (IOException e) {
                last = e;
            }
        }
        throw last;
    }

    /** A Unix socket. The channel does not block: an interrupt of a thread that is blocked in a channel would close it. */
    final class Local implements Transport {
        private final SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
        private final Selector selector = Selector.open();

        Local(Address address) throws IOException {
            try {
                channel.connect(UnixDomainSocketAddress.of(address.path()));
                channel.configureBlocking(false);
                channel.register(selector, SelectionKey.OP_READ);
            } catch (IOException | RuntimeException e) {
                close();
                throw e;
            }
        }

        @Override
        public int read(byte[] bytes) throws IOException {
            int length;
            do {
                selector.select(key -> { });
                length = channel.read(ByteBuffer.wrap(bytes));
            } while (length == 0);
            return length;
        }

        @Override
        public boolean write(ByteBuffer bytes) throws IOException {
            channel.write(bytes);
            return !bytes.hasRemaining();
        }

        @Override
        public void close() {
            try {
                channel.close();
                selector.close(); // until then a channel that is registered stays open
            } catch (IOException e) {
                // There is nothing left that could be done about it.
            }
        }
    }

    /** TCP, and TLS over it. */
    final class Stream implements Transport {
        private final Socket socket;

        Stream(Address address, InetAddress host, Config config) throws IOException {
            Socket plain = new Socket();
            try {
                plain.setTcpNoDelay(true);
                plain.connect(new InetSocketAddress(host, address.port()), CONNECT_MS);
                socket = address.tls() ? Tls.over(plain, address, config.tls(), CONNECT_MS) : plain;
            } catch (IOException | RuntimeException e) {
                plain.close();
                throw e;
            }
        }

        @Override
        public int read(byte[] bytes) throws IOException {
            return socket.getInputStream().read(bytes);
        }

        @Override
        public boolean write(ByteBuffer bytes) throws IOException {
            socket.getOutputStream().write(bytes.array(), bytes.position(), bytes.remaining());
            return true;
        }

        @Override
        public void close() {
            try {
                // A FIN goes out first: with unread bytes, close() sends a reset, after which redlockd keeps the locks.
                if (!(socket instanceof javax.net.ssl.SSLSocket)) {
                    socket.shutdownOutput();
                }
            } catch (IOException e) {
                // The other end was faster.
            }
            try {
                socket.close();
            } catch (IOException e) {
                // There is nothing left that could be done about it.
            }
        }
    }
}
