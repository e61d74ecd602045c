package redlockd;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.HashMap;
import java.util.Map;

/** Three real masters and a real daemon. tests/stubs/world starts them, and ends them when its input ends. */
final class World implements AutoCloseable {
    final String unix;
    final String tcp;
    private final Process process;
    private final BufferedReader out;
    private final PrintStream in;

    World(String... arguments) throws IOException {
        String[] command = new String[arguments.length + 1];
        command[0] = System.getProperty("world");
        System.arraycopy(arguments, 0, command, 1, arguments.length);
        process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        out = new BufferedReader(new InputStreamReader(process.getInputStream()));
        in = new PrintStream(process.getOutputStream(), true);
        Map<String, String> values = new HashMap<>();
        for (String word : read().split(" ")) {
            int equals = word.indexOf('=');
            values.put(word.substring(0, Math.max(equals, 0)), word.substring(equals + 1));
        }
        unix = "unix:" + values.get("unix").replaceFirst("^unix:", "");
        tcp = values.get("tcp");
    }

    private String read() throws IOException {
        String line = out.readLine();
        Checks.that(line != null, "tests/stubs/world has ended");
        return line;
    }

    synchronized String say(String command) throws IOException {
        in.println(command);
        String answer = read();
        Checks.that(!answer.startsWith("error"), answer);
        return answer;
    }

    /** How many keys of locks all masters have together. */
    int keys() throws IOException {
        return Integer.parseInt(say("keys").split(" ")[1]);
    }

    RedlockClient client() {
        return RedlockClient.builder().address(unix).build();
    }

    @Override
    public void close() throws IOException {
        in.println("stop");
        in.close();
        while (out.readLine() != null) {
            // tests/stubs/world answers "stopped" when all has ended, and ends too.
        }
    }
}
