package redlockd;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/**
 * Bytes to and from redlockd. One thread reads and another writes; both are this library's own, since an interrupt would
 * close the channel of whoever writes. {@link #close} may be called by any thread, and ends both.
 */
interface Transport extends AutoCloseable {
    int CONNECT_MS = 5000;

    /** At most so many bytes; -1: the other end has closed. */
    int read(byte[] bytes) throws IOException;

    void write(byte[] bytes) throws IOException;

    @Override
    void close();

    /** Makes a connection. UsageException: it would show the secret to others. */
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

    /** A Unix socket. */
    final class Local implements Transport {
        private final SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);

        Local(Address address) throws IOException {
            try {
                channel.connect(UnixDomainSocketAddress.of(address.path()));
            } catch (IOException | RuntimeException e) {
                channel.close();
                throw e;
            }
        }

        @Override
        public int read(byte[] bytes) throws IOException {
            return channel.read(ByteBuffer.wrap(bytes));
        }

        @Override
        public void write(byte[] bytes) throws IOException {
            ByteBuffer buffer = ByteBuffer.wrap(bytes);
            while (buffer.hasRemaining()) {
                channel.write(buffer);
            }
        }

        @Override
        public void close() {
            try {
                channel.close();
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
        public void write(byte[] bytes) throws IOException {
            socket.getOutputStream().write(bytes);
        }

        @Override
        public void close() {
            try {
                // A FIN first: bytes that nobody has read would make a reset of it, which gives no lock back.
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
