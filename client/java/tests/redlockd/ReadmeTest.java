package redlockd;

import static redlockd.Checks.equal;
import static redlockd.Checks.that;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Runs the programs of client/java/README.md as they stand. */
final class ReadmeTest {
    private static final Pattern PROGRAM = Pattern.compile("```java\n(.*?class (\\w+) .*?)```", Pattern.DOTALL);

    private ReadmeTest() {}

    static void all(Checks checks, World world, Path folder) throws Exception {
        String readme = Files.readString(Path.of(System.getProperty("readme")));
        Matcher programs = PROGRAM.matcher(readme);
        int count = 0;
        while (programs.find()) {
            String name = programs.group(2);
            String text = programs.group(1);
            checks.check("README.md: " + name, () -> run(world, folder, name, text));
            count++;
        }
        that(count > 0, "README.md has programs");
    }

    private static void run(World world, Path folder, String name, String text) throws Exception {
        Path file = Files.writeString(folder.resolve(name + ".java"), text);
        ProcessBuilder builder = new ProcessBuilder("java", "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("jar"),
                file.toString()).directory(folder.toFile()).redirectErrorStream(true);
        builder.environment().put("REDLOCK_ADDRESS", world.unix);
        Process process = builder.start();
        String said = new String(process.getInputStream().readAllBytes());
        that(process.waitFor() == 0, said);
        equal(0, world.keys());
    }
}
