package redlockd;

import static redlockd.Checks.equal;
import static redlockd.Checks.that;
import static redlockd.Checks.thrown;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** The checks that need neither a daemon nor a socket. */
final class UnitTest {
    private UnitTest() {}

    static void all(Checks checks) {
        checks.check("addresses", UnitTest::addresses);
        checks.check("with a secret or an address there is no fallback", UnitTest::noFallback);
        checks.check("answers are taken apart, and lies are seen", UnitTest::answers);
        checks.check("words that would end a line are refused", UnitTest::words);
        checks.check("options: durations and copies", UnitTest::options);
        checks.check("deadlines by the daemon's clock", UnitTest::deadlines);
        checks.check("a name may be built from anything", UnitTest::names);
        checks.check("the clock counts what the wall clock gains", UnitTest::clock);
        checks.check("the clock is /proc/uptime's", UnitTest::uptime);
    }

    private static void names() {
        Map.of("order:17", List.of("order", "17"), "file:a%20b%3Ac", List.of("file", "a b:c"), "%231:%3D%22%2C%25",
                List.of("#1", "=\",%"), "%C3%A9%0A", List.of("\u00e9\n"), "order:", List.of("order", ""))
                .forEach((name, parts) -> {
                    equal(name, Names.of(parts.toArray()));
                    equal(parts, Names.partsOf(name));
                });
        for (Object[] parts : new Object[][] {{}, {""}, {"", "x"}, {"x".repeat(201)}}) {
            thrown(IllegalArgumentException.class, () -> Names.of(parts));
        }
    }

    private static void addresses() {
        equal("/a/b", Address.parse("unix:/a/b").path());
        equal("/a/b", Address.parse("/a/b").path());
        equal(7335, Address.parse("host").port());
        equal("::1", Address.parse("[::1]:7000").host());
        equal("[::1]:7000", Address.parse("[::1]:7000").toString());
        equal("::1", Address.parse("::1").host());
        equal(7336, Address.parse("tls://host").port());
        that(Address.parse("tls://host:1").tls(), "tls");
        for (String wrong : new String[] {"", "host:", "host:0", "host:65536", "unix:a", "[::1", "a b", "tls://"}) {
            thrown(IllegalArgumentException.class, () -> Address.parse(wrong));
        }
    }

    private static Config config(Map<String, String> environment) {
        return Config.of(RedlockClient.builder(), environment::get);
    }

    private static void noFallback() {
        equal(2, config(Map.of()).places().size());
        equal(1, config(Map.of("REDLOCK_ADDRESS", "127.0.0.1:1")).places().size());
        Config secret = config(Map.of("REDLOCK_USER", "me", "REDLOCK_SECRET_FILE", "/nowhere"));
        equal(Address.DEFAULT_SOCKET, secret.places().get(0));
        equal(1, secret.places().size());
        thrown(UsageException.class, secret::auth);
        thrown(UsageException.class, config(Map.of("REDLOCK_USER", "me"))::auth);
    }

    private static void answers() {
        String token = "0123456789".repeat(4);
        Answer grant = Answer.parse("#r1 +LOCKED job token=" + token + " fence=17 valid=1 until=99 new=x : a=b text");
        that(grant.isGrantOf("job") && !grant.isGrantOf("other"), "a grant of job alone");
        equal("r1", grant.tag());
        equal(17L, grant.number("fence", 0));
        equal("", grant.value("a"));
        that(!Answer.parse("+LOCKED job fence=17 until=99").isGrantOf("job"), "no token");
        that(!Answer.parse("+LOCKED job token=" + token + " fence=0 until=9").isGrantOf("job"), "no fence");
        equal(-1L, Answer.parse("-BUSY job retry=-5").number("retry", -1));
        equal(-1L, Answer.parse("-BUSY job retry=9999999999999999999").number("retry", -1));
        equal("web", Answer.parse("#s * name=job client=web").toMap().get("client"));
        for (String wrong : new String[] {"HTTP/1.1 400", "#", "#r1", "#r1 ", "# +OK", "+", "+OK \u00ff"}) {
            that(Answer.parse(wrong) == null, wrong + " is no answer");
        }
    }

    private static void words() {
        for (String wrong : new String[] {"", "a b", "a\n", "a\r", "\u00e4", "a,b", "a=b", "a\"", "#a", ":a", "x".repeat(201)}) {
            thrown(IllegalArgumentException.class, () -> Words.name(wrong));
        }
        equal("x".repeat(200), Words.name("x".repeat(200)));
        for (List<String> wrong : List.of(List.<String>of(), List.of("a", ""), List.of("a", "b,c"), List.of("x".repeat(200),
                "y".repeat(200), "z".repeat(200), "u".repeat(200)))) {
            thrown(IllegalArgumentException.class, () -> Words.names(wrong));
        }
        equal("a,b", Words.names(List.of("a", "b")));
        equal("a,b", Words.known("a,b"));
        thrown(IllegalArgumentException.class, () -> Words.known("a,"));
        thrown(IllegalArgumentException.class, () -> RedlockClient.builder().clientName("a\nQUIT"));
        thrown(IllegalArgumentException.class, () -> Words.secret("a secret", "a\nLOCK b"));
        thrown(IllegalArgumentException.class, () -> Words.token("abc"));
        equal(60_000L, Words.parseMs("1m"));
        equal(250L, Words.parseMs("250ms"));
    }

    private static void options() {
        thrown(IllegalArgumentException.class, () -> LockOptions.defaults().ttl(Duration.ZERO));
        thrown(IllegalArgumentException.class, () -> LockOptions.defaults().max(Duration.ofDays(31)));
        equal(0L, LockOptions.defaults().waiting(Duration.ofSeconds(-1)).waitMs());
        equal(Words.LONGEST_MS, LockOptions.defaults().waiting(Duration.ofSeconds(Long.MAX_VALUE)).waitMs());
        equal(1L, LockOptions.defaults().ttl(Duration.ofNanos(1)).ttlMs);
        LockOptions.defaults().ttl(Duration.ofSeconds(1)).lease().note("x");
        equal(0L, LockOptions.defaults().ttlMs);
    }

    private static void deadlines() {
        Sample same = Sample.better(null, 1000, 1005, 1010, true);
        that(same.same(), "one clock");
        equal(5000L, same.deadlineMs(5000));
        that(!Sample.better(null, 1000, 1005, 1010, false).same(), "TCP is never one clock");
        Sample other = Sample.better(null, 1000, 70_000, 1010, true);
        equal(1000L + 10_000 - 10 - 1, other.deadlineMs(80_000));
        equal(999L, other.deadlineMs(60_000));
        that(Sample.better(same, 2000, 2500, 3000, true) == same, "a slow answer proves nothing");
        that(Sample.better(other, 2000, 71_005, 2010, false) == other, "both are right");
        that(Sample.better(other, 2000, 75_000, 2010, false) != other, "a clock has stood still");
        that(other.goesOn(2000, 71_005, 2010, 0), "the same daemon");
        that(!other.goesOn(2000, 5, 2010, 0), "another daemon");
    }

    private static void clock() throws InterruptedException {
        long beforeMs = Clock.get().floorMs();
        Thread.sleep(30);
        long passedMs = Clock.get().nowMs() - beforeMs;
        that(passedMs >= 30 && passedMs < 5000, "about 30 ms, not " + passedMs);
        Clock.Gaining gaining = new Clock.Gaining();
        long firstMs = gaining.floorMs();
        gaining.wallGains(90_000);
        that(gaining.floorMs() - firstMs >= 90_000, "a suspended machine");
        gaining.wallGains(-90_000);
        that(gaining.floorMs() - firstMs >= 90_000, "it never goes back");
    }

    /** Most readings of the clock do not read the file. */
    private static void uptime() throws Exception {
        if (!Files.exists(Path.of("/proc/uptime"))) {
            return;
        }
        for (int i = 0; i < 300; i++) {
            long before = fileMs();
            long floor = Clock.get().floorMs();
            long now = Clock.get().nowMs();
            long after = fileMs();
            that(floor <= after + 10, "never too late: " + floor + " " + after);
            that(now >= before, "never too early: " + now + " " + before);
            Thread.sleep(4); // more than a second in all, after which the file is read again
        }
    }

    private static long fileMs() throws Exception {
        return Math.round(Double.parseDouble(Files.readString(Path.of("/proc/uptime")).split(" ")[0]) * 1000);
    }
}
