package redlockd;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.logging.Logger;
import java.util.stream.Stream;

/** Runs every test. The argument is how many times a lock is taken and given back to look for leaks. */
final class AllTests {
    private AllTests() {}

    public static void main(String[] args) throws Exception {
        Checks checks = new Checks();
        Logger.getLogger("redlockd").setUseParentHandlers(false); // the losses that are tested would be printed
        Path folder = Files.createTempDirectory("redlockd-java-");
        try (World world = new World("--set", "max_ttl=10s")) {
            UnitTest.all(checks);
            FakeTest.all(checks, folder);
            WorldTest.all(checks, world, Integer.parseInt(args[0]));
            VerbsTest.all(checks, world);
            ReadmeTest.all(checks, world, folder);
        } finally {
            remove(folder);
        }
        checks.end();
    }

    private static void remove(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}
