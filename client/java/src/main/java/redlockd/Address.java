package redlockd;

/** An address of redlockd: a Unix socket ({@code path}), or else a host and port. */
record Address(String path, String host, int port, boolean tls) {
    static final int DEFAULT_PORT = 7335;
    private static final int DEFAULT_TLS_PORT = 7336;
    static final Address DEFAULT_SOCKET = parse("unix:/run/redlockd/redlockd.sock");
    static final Address DEFAULT_TCP = parse("127.0.0.1");

    /** "unix:/path", "/path", "host:port", "[::1]:port", "host", or "tls://" before one of the last three. */
    static Address parse(String text) {
        if (text.startsWith("unix:") || text.startsWith("/")) {
            String path = text.startsWith("/") ? text : text.substring("unix:".length());
            if (!path.startsWith("/") || path.length() > 107) {
                throw wrong(text);
            }
            return new Address(path, null, 0, false);
        }
        boolean tls = text.startsWith("tls://");
        return parseHost(text, tls ? text.substring("tls://".length()) : text, tls);
    }

    private static Address parseHost(String whole, String text, boolean tls) {
        int port = tls ? DEFAULT_TLS_PORT : DEFAULT_PORT;
        String host = text;
        String portText = "";
        if (text.startsWith("[")) {
            int end = text.indexOf(']');
            if (end < 0 || (end + 1 < text.length() && text.charAt(end + 1) != ':')) {
                throw wrong(whole);
            }
            host = text.substring(1, end);
            portText = text.substring(end + 1);
        } else if (text.indexOf(':') >= 0 && text.indexOf(':') == text.lastIndexOf(':')) {
            host = text.substring(0, text.indexOf(':'));
            portText = text.substring(text.indexOf(':'));
        }
        if (!portText.isEmpty()) {
            port = parsePort(whole, portText.substring(1));
        }
        if (host.isEmpty() || !host.chars().allMatch(c -> c > ' ' && c <= '~' && "/[]@".indexOf(c) < 0)) {
            throw wrong(whole);
        }
        return new Address(null, host, port, tls);
    }

    private static int parsePort(String whole, String text) {
        if (!text.matches("[0-9]{1,5}") || Integer.parseInt(text) < 1 || Integer.parseInt(text) > 65535) {
            throw wrong(whole);
        }
        return Integer.parseInt(text);
    }

    private static IllegalArgumentException wrong(String text) {
        return new IllegalArgumentException("\"" + text + "\" is no address of redlockd: write unix:/path, host:port,"
                + " [::1]:port or tls://host:port");
    }

    boolean isLocal() {
        return path != null;
    }

    @Override
    public String toString() {
        if (isLocal()) {
            return "unix:" + path;
        }
        return (tls ? "tls://" : "") + (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + port;
    }
}
