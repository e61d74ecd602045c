package redlockd;

import java.util.concurrent.Callable;

/** Runs checks one after the other, also after a failure, and prints their numbers in the form that tests/run.sh reads. */
final class Checks {
    interface Check {
        void run() throws Exception;
    }

    private static final int PATIENCE_S = 20;

    private int count;
    private int failures;

    void check(String name, Check check) {
        long startNs = System.nanoTime();
        count++;
        try {
            check.run();
            System.out.printf("ok    %-70s %6d ms%n", name, (System.nanoTime() - startNs) / 1_000_000);
        } catch (Exception | AssertionError e) {
            failures++;
            System.out.println("FAIL  " + name);
            e.printStackTrace(System.out);
        }
    }

    /** Prints the result of all checks, and ends the program. */
    void end() {
        System.out.printf("%d%%: Checks: %d, Failures: %d, Errors: 0%n", 100 * (count - failures) / count, count, failures);
        System.exit(failures == 0 ? 0 : 1);
    }

    static void that(boolean condition, String what) {
        if (!condition) {
            throw new AssertionError(what);
        }
    }

    static void equal(Object expected, Object actual) {
        that(expected.equals(actual), "expected " + expected + ", but it is " + actual);
    }

    static <T extends Throwable> T thrown(Class<T> type, Check check) {
        try {
            check.run();
        } catch (Throwable e) {
            if (type.isInstance(e)) {
                return type.cast(e);
            }
            throw new AssertionError("expected " + type.getSimpleName() + ", but it is " + e, e);
        }
        throw new AssertionError("expected " + type.getSimpleName() + ", but nothing was thrown");
    }

    static void until(String what, Callable<Boolean> condition) throws Exception {
        long endNs = System.nanoTime() + PATIENCE_S * 1_000_000_000L;
        while (!condition.call()) {
            that(System.nanoTime() < endNs, "within " + PATIENCE_S + " s it did not come: " + what);
            Thread.sleep(5);
        }
    }
}
