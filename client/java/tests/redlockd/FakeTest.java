package redlockd;

import static redlockd.Checks.equal;
import static redlockd.Checks.that;
import static redlockd.Checks.thrown;
import static redlockd.Checks.until;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.TrustManagerFactory;

/** Tests TLS and AUTH with a fake server. */
final class FakeTest {
    private static final String PASSWORD = "changeit";
    private static final String TOKEN = "0123456789".repeat(4);

    private final Path folder;
    private final List<String> heard = new CopyOnWriteArrayList<>();
    private final CountDownLatch stalled = new CountDownLatch(1);

    private FakeTest(Path folder) {
        this.folder = folder;
    }

    static void all(Checks checks, Path folder) {
        checks.check("TLS: both sides are checked, and AUTH comes first", () -> new FakeTest(folder).tls());
    }

    private void tls() throws Exception {
        Path store = folder.resolve("fake.p12");
        keytool("-genkeypair", "-alias", "k", "-keyalg", "EC", "-dname", "CN=fake", "-ext", "san=dns:localhost",
                "-storetype", "PKCS12", "-keystore", store.toString(), "-storepass", PASSWORD, "-validity", "2");
        KeyStore keys = KeyStore.getInstance(store.toFile(), PASSWORD.toCharArray());
        Path certificate = pem("CERTIFICATE", keys.getCertificate("k").getEncoded());
        Path key = pem("PRIVATE KEY", keys.getKey("k", PASSWORD.toCharArray()).getEncoded());
        Path secret = Files.writeString(folder.resolve("secret"), "open-sesame\n");
        try (SSLServerSocket server = listen(keys)) {
            Session.thread("fake", () -> serve(server));
            RedlockClient.Builder builder = RedlockClient.builder().address("tls://localhost:" + server.getLocalPort())
                    .user("worker", secret).authorities(certificate).certificate(certificate, key);
            try (RedlockClient client = builder.build(); LockHandle lock = client.acquire("job")) {
                that(lock.isHeld(), "held over TLS");
                equal("AUTH worker open-sesame", heard.get(0).replaceFirst("#\\S+ ", ""));
            }
            heard.clear();
            builder.address("tls://127.0.0.1:" + server.getLocalPort()); // not the certificate's name
            try (RedlockClient client = builder.build()) {
                thrown(UnreachableException.class, () -> client.acquire("job"));
            }
            equal(List.of(), heard);
            RedlockClient.Builder stranger = RedlockClient.builder().address("tls://localhost:" + server.getLocalPort())
                    .user("worker", secret).timeout(Duration.ofSeconds(5)); // with the JVM's own authorities
            try (RedlockClient client = stranger.build()) {
                thrown(UnreachableException.class, () -> client.acquire("job"));
            }
            equal(List.of(), heard);
            closes(Config.of(builder.address("tls://localhost:" + server.getLocalPort()), name -> null));
        }
    }

    /** Where redlockd does not read, a thread that writes waits. Whoever closes the connection does not, and ends that. */
    private void closes(Config config) throws Exception {
        Transport transport = Transport.open(config.places().get(0), config);
        AtomicLong written = new AtomicLong();
        transport.write(ByteBuffer.wrap("STALL\n".getBytes()));
        Thread writer = Session.thread("writer", () -> {
            try {
                while (true) {
                    transport.write(ByteBuffer.wrap(new byte[4096]));
                    written.incrementAndGet();
                }
            } catch (IOException e) {
                // The connection was closed.
            }
        });
        until("the thread waits", () -> {
            long before = written.get();
            Thread.sleep(200);
            return before > 0 && before == written.get();
        });
        Thread closing = Session.thread("closing", transport::close);
        closing.join(20_000);
        that(!closing.isAlive(), "close() does not wait");
        writer.join(20_000);
        that(!writer.isAlive(), "the thread that wrote goes on");
        stalled.countDown();
    }

    private void keytool(String... arguments) throws Exception {
        String[] command = new String[arguments.length + 1];
        command[0] = Path.of(System.getProperty("java.home"), "bin", "keytool").toString();
        System.arraycopy(arguments, 0, command, 1, arguments.length);
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes());
        that(process.waitFor() == 0, said);
    }

    private Path pem(String what, byte[] bytes) throws IOException {
        String text = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(bytes);
        return Files.writeString(folder.resolve(what.replace(' ', '-') + ".pem"),
                "-----BEGIN " + what + "-----\n" + text + "\n-----END " + what + "-----\n");
    }

    private SSLServerSocket listen(KeyStore keys) throws Exception {
        KeyManagerFactory own = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        own.init(keys, PASSWORD.toCharArray());
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        trusted.setCertificateEntry("c", keys.getCertificate("k"));
        TrustManagerFactory others = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        others.init(trusted);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(own.getKeyManagers(), others.getTrustManagers(), null);
        SSLServerSocket server = (SSLServerSocket) context.getServerSocketFactory()
                .createServerSocket(0, 8, InetAddress.getLoopbackAddress());
        server.setNeedClientAuth(true);
        return server;
    }

    private void serve(SSLServerSocket server) {
        while (!server.isClosed()) {
            try (Socket socket = server.accept()) {
                BufferedReader in = new BufferedReader(new InputStreamReader(socket.getInputStream()));
                for (String line; (line = in.readLine()) != null;) {
                    heard.add(line);
                    if (line.equals("STALL")) {
                        stalled.await();
                        break;
                    }
                    socket.getOutputStream().write((answer(line) + "\n").getBytes());
                }
            } catch (IOException | InterruptedException e) {
                // The client has refused the server, or the test has ended.
            }
        }
    }

    private static String answer(String line) {
        String[] words = line.split(" ");
        return words[0] + switch (words[1]) {
            case "AUTH" -> " +OK";
            case "HELLO" -> " +HELLO proto=1 server=fake session=1 now=1000 behind=0";
            case "LOCK" -> " +LOCKED job token=" + TOKEN + " fence=1 valid=9000 until=10000";
            case "UNLOCK" -> " +UNLOCKED job confirmed=3/3";
            default -> " +BYE";
        };
    }
}
