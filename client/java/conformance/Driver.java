import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import redlockd.*;

/** Drives the Java library for the conformance cases; client/conformance/README.md has the commands and the answers. */
public final class Driver {
    private static final Map<Class<?>, String> CODES = Map.ofEntries(
            Map.entry(BusyException.class, "BUSY"), Map.entry(LockTimeoutException.class, "TIMEOUT"),
            Map.entry(NoQuorumException.class, "NOQUORUM"), Map.entry(NotHeldException.class, "NOTHELD"),
            Map.entry(CancelledException.class, "CANCELLED"), Map.entry(InterruptedException.class, "CANCELLED"),
            Map.entry(ModeException.class, "MODE"), Map.entry(LimitException.class, "LIMIT"),
            Map.entry(DrainingException.class, "DRAINING"), Map.entry(DeniedException.class, "DENIED"),
            Map.entry(AuthException.class, "AUTH"), Map.entry(UnsupportedException.class, "UNSUPPORTED"),
            Map.entry(BadArgumentException.class, "BADARG"), Map.entry(IllegalArgumentException.class, "BADARG"),
            Map.entry(LostException.class, "LOST"), Map.entry(UnreachableException.class, "UNREACHABLE"),
            Map.entry(NoAnswerException.class, "NOANSWER"), Map.entry(ProtocolException.class, "PROTOCOL"),
            Map.entry(ClosedException.class, "CLOSED"), Map.entry(UsageException.class, "USAGE"));

    private final PrintStream out = new PrintStream(System.out, true, StandardCharsets.US_ASCII);
    private final ExecutorService threads = Executors.newCachedThreadPool(work -> {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        return thread;
    });
    private final Map<String, LockHandle> handles = new ConcurrentHashMap<>();
    private final Map<String, Watching> watching = new ConcurrentHashMap<>();
    private final Map<String, Thread> waiting = new ConcurrentHashMap<>();
    private RedlockClient client;

    public static void main(String[] args) throws Exception {
        new Driver().serve();
    }

    /** Makes the JVM load and link the library's classes, so that no case has to wait for that. */
    private static void warmUp() throws InterruptedException {
        try (RedlockClient nobody = RedlockClient.builder().address("unix:/nobody").build()) {
            nobody.acquire("warm-up", LockOptions.defaults().waiting(Duration.ofSeconds(1)));
        } catch (RedlockException e) {
            // Nobody listens there.
        }
    }

    private void serve() throws Exception {
        warmUp();
        say("driver java features=attach,auth,client,close-wakes,closed,data,downgrade,drain,keep,lists,moves,notheld-again,quit,resume,rows,shared,slots,timeout,twice,watch");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null;) {
            obey(new Command(line));
        }
        if (client != null) {
            client.close();
        }
    }

    private void obey(Command command) {
        String handle = command.word(1);
        switch (command.word(0)) {
            case "open" -> open(command);
            case "close" -> threads.execute(() -> {
                client.close();
                say("client closed");
            });
            case "watch" -> {
                Watching thread = new Watching(handle, command.word(2));
                watching.put(handle, thread);
                thread.start();
            }
            case "unwatch" -> unwatch(handle);
            case "cancel" -> waiting.getOrDefault(handle, new Thread()).interrupt();
            case "info" -> info(handle);
            default -> {
                Thread[] self = new Thread[1];
                Runnable work = () -> attempt(handle, command);
                if (command.word(0).equals("lock")) { // a thread that `cancel` finds at once
                    self[0] = new Thread(work);
                    self[0].setDaemon(true);
                    waiting.put(handle, self[0]);
                    self[0].start();
                } else {
                    threads.execute(work);
                }
            }
        }
    }

    private void open(Command command) {
        RedlockClient.Builder builder = RedlockClient.builder();
        if (command.has("timeout")) {
            builder.timeout(command.span("timeout"));
        }
        if (command.has("client")) {
            builder.clientName(command.option("client"));
        }
        client = builder.build();
        say("client open");
    }

    private void attempt(String handle, Command command) {
        try {
            String result = result(handle, command);
            waiting.remove(handle);
            say(handle + " " + result);
        } catch (RedlockException e) {
            String retry = e.retryAfter().map(time -> " retry=" + time.toMillis()).orElse("");
            failed(handle, retry, e);
        } catch (InterruptedException | IllegalArgumentException e) {
            failed(handle, "", e);
        }
    }

    private void failed(String handle, String retry, Exception e) {
        waiting.remove(handle);
        say(handle + " error " + CODES.get(e.getClass()) + retry + " : " + e.getMessage());
    }

    private String result(String handle, Command command) throws InterruptedException {
        LockHandle lock = handles.get(handle);
        switch (command.word(0)) {
            case "lock":
                handles.remove(handle);
                return taken(handle, command.names().size() == 1 ? client.acquire(command.word(2), command.options())
                        : client.acquireAll(command.names(), command.options()));
            case "resume":
                return taken(handle, client.resume(command.word(2), command.option("token"), command.options()));
            case "who":
                return rows(handle, client.who(command.word(2)));
            case "show":
                return rows(handle, client.show(command.word(2)));
            case "attach":
                handles.put(handle, client.attach(command.word(2), command.option("token")));
                return "attached";
            default:
                return lock == null ? "error NOTHELD : there is no lock" : asked(lock, command);
        }
    }

    private String taken(String handle, LockHandle lock) {
        handles.put(handle, lock);
        lock.onExpiring(() -> say(handle + " expiring"));
        lock.onLost(loss -> say(handle + " lost reason=" + loss.reason()));
        return "locked" + numbers(lock) + (lock.slot().isPresent() ? " slot=" + lock.slot().getAsInt() : "");
    }

    private String rows(String handle, List<Map<String, String>> rows) {
        for (Map<String, String> row : rows) {
            say(handle + " row " + row.entrySet().stream().map(Object::toString).collect(Collectors.joining(" ")));
        }
        return "rows " + rows.size();
    }

    /** A thread that says the states of a name. */
    private final class Watching extends Thread {
        private final String handle;
        private final String name;

        Watching(String handle, String name) {
            this.handle = handle;
            this.name = name;
            setDaemon(true);
        }

        @Override
        public void run() {
            try (Watch watch = client.watch(name)) {
                while (watch.hasNext()) {
                    tell(watch.next());
                }
            } catch (InterruptedException | CancelledException e) {
                // `unwatch` has said so.
            } catch (RedlockException | IllegalArgumentException e) {
                watching.remove(handle);
                failed(handle, "", e);
            }
        }

        private void tell(NameState now) {
            if (watching.get(handle) == this) {
                say(handle + " now state=" + now.state().name().toLowerCase() + (now.shared() ? " mode=shared" : "")
                        + (now.fence() > 0 ? " fence=" + now.fence() : "")
                        + (now.host().isEmpty() ? "" : " host=" + now.host())
                        + (now.data().isEmpty() ? "" : " data=" + now.data()));
            }
        }
    }

    private void unwatch(String handle) {
        Watching thread = watching.remove(handle);
        if (thread != null) {
            thread.interrupt();
        }
        say(handle + (thread == null ? " error NOTHELD" : " unwatched"));
    }

    private String asked(LockHandle lock, Command command) {
        switch (command.word(0)) {
            case "unlock" -> {
                if (command.has("keep")) {
                    lock.unlockKeeping(command.span("keep"));
                    return "kept";
                }
                lock.unlock();
                return "unlocked";
            }
            case "extend" -> {
                if (command.has("ttl")) {
                    lock.extend(command.span("ttl"));
                } else {
                    lock.extend();
                }
                return "extended valid=" + lock.valid().toMillis();
            }
            case "data" -> {
                lock.setData(command.word(2));
                return "data";
            }
            case "check" -> {
                lock.check();
                return "checked valid=" + lock.valid().toMillis();
            }
            case "downgrade" -> {
                lock.downgrade();
                return "downgraded" + numbers(lock);
            }
            default -> throw new IllegalArgumentException("no such command");
        }
    }

    private void info(String handle) {
        LockHandle lock = handles.get(handle);
        if (waiting.containsKey(handle)) {
            say(handle + " info state=waiting valid=0 fence=0 token= mode=shared");
        } else if (lock == null || lock.state() == LockHandle.State.RELEASED) {
            say(handle + " info state=none valid=0 fence=0 token= mode=shared");
        } else {
            say(handle + " info state=" + lock.state().name().toLowerCase() + numbers(lock) + " mode="
                    + (lock.isShared() ? "shared" : "exclusive"));
        }
    }

    private static String numbers(LockHandle lock) {
        return " fence=" + lock.fence() + " token=" + lock.token() + " valid=" + lock.valid().toMillis();
    }

    private synchronized void say(String line) {
        out.println(line);
    }

    /** A line, with %XX decoded. */
    private static final class Command {
        private final String[] words;
        private final List<String> names; // of lock, resume, attach: what stands between commas
        private final Map<String, String> options = new HashMap<>();

        Command(String line) {
            words = line.trim().split(" +");
            names = words.length < 3 ? List.of() : Stream.of(words[2].split(",")).map(Command::decoded).toList();
            for (int i = 0; i < words.length; i++) {
                int equals = words[i].indexOf('=');
                if (equals > 0) {
                    options.put(words[i].substring(0, equals), decoded(words[i].substring(equals + 1)));
                }
                words[i] = decoded(words[i]);
            }
        }

        private static String decoded(String word) {
            return URLDecoder.decode(word.replace("+", "%2B"), StandardCharsets.UTF_8);
        }

        List<String> names() {
            return names;
        }

        String word(int number) {
            return number < words.length ? words[number] : "";
        }

        boolean has(String key) {
            return options.containsKey(key);
        }

        String option(String key) {
            return options.get(key);
        }

        Duration span(String key) {
            String text = option(key);
            long number = Long.parseLong(text.replaceAll("[a-z]", ""));
            return text.endsWith("ms") ? Duration.ofMillis(number) : text.endsWith("s") ? Duration.ofSeconds(number)
                    : text.endsWith("m") ? Duration.ofMinutes(number) : Duration.ofMillis(number);
        }

        LockOptions options() {
            LockOptions how = LockOptions.defaults();
            how = has("ttl") ? how.ttl(span("ttl")) : how;
            how = how.waiting(has("wait") ? span("wait") : Duration.ZERO);
            how = has("data") ? how.data(option("data")) : how;
            how = has("max") ? how.max(span("max")) : how;
            how = has("note") ? how.note(option("note")) : how;
            how = "lease".equals(option("hold")) ? how.lease() : how;
            how = "shared".equals(option("mode")) ? how.shared() : how;
            return has("slots") ? how.slots(Integer.parseInt(option("slots"))) : how;
        }
    }
}
