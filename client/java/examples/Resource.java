import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * A client of the Redis that has the data which a lock guards in the examples. This Redis belongs to the application and
 * is none of redlockd's masters. Your own program uses a real driver.
 */
final class Resource {
    private final SocketChannel channel;
    private final InputStream in;

    /** Connects to "/path", "host" or "host:port". If that fails, the program ends. */
    Resource(String address) {
        try {
            int colon = address.lastIndexOf(':');
            channel = SocketChannel.open(address.startsWith("/") ? UnixDomainSocketAddress.of(address)
                    : new InetSocketAddress(colon < 0 ? address : address.substring(0, colon),
                            colon < 0 ? 6379 : Integer.parseInt(address.substring(colon + 1))));
            in = new BufferedInputStream(Channels.newInputStream(channel));
        } catch (IOException e) {
            throw gone(address + ": " + e.getMessage());
        }
    }

    /**
     * Returns the reply to a command: a Long, a String, a List, or null. Without a reply nobody knows whether the command
     * was done, and an error is not handled here: the program ends, and a session lock with it (a lease runs out).
     */
    synchronized Object ask(Object... words) {
        try {
            return tell(words);
        } catch (IOException e) {
            throw gone("Redis: " + e.getMessage());
        }
    }

    /** The same as {@link #ask}, but throws an exception instead of ending the program. */
    synchronized Object tell(Object... words) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.writeBytes(bytes("*" + words.length + "\r\n"));
        for (Object word : words) {
            byte[] text = bytes(word.toString());
            out.writeBytes(bytes("$" + text.length + "\r\n"));
            out.writeBytes(text);
            out.writeBytes(bytes("\r\n"));
        }
        ByteBuffer buffer = ByteBuffer.wrap(out.toByteArray());
        while (buffer.hasRemaining()) {
            channel.write(buffer);
        }
        return reply();
    }

    long number(Object... words) {
        return ask(words) instanceof Long number ? number : 0;
    }

    private Object reply() throws IOException {
        StringBuilder line = new StringBuilder();
        for (int b; (b = in.read()) != '\n';) {
            if (b < 0) {
                throw new EOFException("it has closed the connection");
            }
            line.append((char) b);
        }
        String text = line.substring(1, line.length() - 1);
        switch (line.charAt(0)) {
            case '+':
                return text;
            case ':':
                return Long.parseLong(text);
            case '-':
                throw new IOException(text);
            case '$':
                int length = Integer.parseInt(text);
                return length < 0 ? null : new String(in.readNBytes(length + 2), 0, length, StandardCharsets.UTF_8);
            default:
                int count = Integer.parseInt(text);
                List<Object> list = new ArrayList<>();
                while (list.size() < count) {
                    list.add(reply());
                }
                return count < 0 ? null : list;
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static Error gone(String why) {
        System.err.println(why);
        System.exit(1);
        return new Error(why);
    }
}
