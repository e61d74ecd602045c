package redlockd;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.function.Function;

/** The settings that a client was built with. Without a user, user is ""; secretFile and the files in tls may be null. */
record Config(List<Address> places, String client, long timeoutMs, Executor executor, String user, Path secretFile,
        Tls.Files tls) {
    /** Settings that the program has left out are taken from the environment. */
    static Config of(RedlockClient.Builder builder, Function<String, String> environment) {
        String address = or(builder.address, environment.apply("REDLOCK_ADDRESS"));
        String user = or(builder.user, environment.apply("REDLOCK_USER"));
        Path secretFile = path(builder.secretFile, environment.apply("REDLOCK_SECRET_FILE"));
        List<Address> places = List.of(Address.DEFAULT_SOCKET, Address.DEFAULT_TCP);
        if (address != null) {
            places = List.of(Address.parse(address));
        } else if (user != null || secretFile != null) {
            // While redlockd is away, any local user may listen on its port and collect secrets.
            places = List.of(Address.DEFAULT_SOCKET);
        }
        Tls.Files tls = new Tls.Files(path(builder.ca, environment.apply("REDLOCK_CA")),
                path(builder.certificate, environment.apply("REDLOCK_CERT")),
                path(builder.key, environment.apply("REDLOCK_KEY")));
        return new Config(places, builder.clientWord, builder.timeoutMs, builder.executor, user == null ? "" : user,
                secretFile, tls);
    }

    private static String or(String first, String second) {
        return first != null ? first : second == null || second.isEmpty() ? null : second;
    }

    private static Path path(Path first, String second) {
        return first != null ? first : second == null || second.isEmpty() ? null : Path.of(second);
    }

    boolean hasSecret() {
        return !user.isEmpty() || secretFile != null;
    }

    /** The first line of a connection. The file is read each time, so that the secret can be changed. */
    String auth() {
        if (user.isEmpty() || secretFile == null) {
            throw new UsageException("a user needs a secret file, and a secret file a user (REDLOCK_USER,"
                    + " REDLOCK_SECRET_FILE)", -1);
        }
        try {
            String secret = Words.secret("a secret", Files.readString(secretFile).strip());
            return "AUTH " + Words.secret("a user", user) + " " + secret;
        } catch (IOException | IllegalArgumentException e) {
            throw new UsageException("the secret file " + secretFile + " cannot be used: " + e.getMessage(), -1);
        }
    }
}
