import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.time.Duration;
import redlockd.*;

/**
 * An order that must not be placed twice, though it is sent twice: a customer clicks again, a phone repeats a request that
 * got no answer, two web servers take the same request from a queue.
 *
 * <pre>
 * nc -l localhost 7001                     the supplier: you
 * order localhost:7001 4711 'two lamps'    type OK where nc runs: "placed"
 * order localhost:7001 4711 'two lamps'    "placed already, or being placed"
 * </pre>
 *
 * The lock is named after the order, is a lease, and is not given back when the order was placed: for its TTL every
 * repeat finds it, here or on another host, whether this program still runs or not. It is given back only if the supplier
 * surely has no order.
 *
 * <p>Exit status: 0 placed, 1 surely not placed (try again at any time), 2 wrong usage, 3 a repeat, 4 in doubt, 75 no
 * lock. To refuse repeats for ever, put the order's number under a unique index in your database.
 */
final class Order {
    private static final int SUPPLIER_MS = 10_000;
    private static final int PLACED = 0;
    private static final int NOT_PLACED = 1;
    private static final int REPEATED = 3;
    private static final int IN_DOUBT = 4;
    private static final int NO_LOCK = 75;

    public static void main(String[] args) throws InterruptedException {
        boolean timed = args.length == 5 && args[0].equals("-t");
        if (args.length != (timed ? 5 : 3)) {
            System.err.println("usage: order [-t SECONDS] SUPPLIER NUMBER WHAT");
            System.exit(2);
        }
        int first = timed ? 2 : 0;
        Duration ttl = Duration.ofSeconds(timed ? Long.parseLong(args[1]) : 60);
        int outcome;
        try (RedlockClient client = RedlockClient.create()) {
            outcome = order(client, args[first], args[first + 1], args[first + 2], ttl);
        }
        System.exit(outcome);
    }

    private static int order(RedlockClient client, String supplier, String number, String what, Duration ttl)
            throws InterruptedException {
        LockHandle lock;
        try {
            lock = client.acquire("order:" + number, LockOptions.defaults().ttl(ttl).lease().waiting(Duration.ZERO));
        } catch (BusyException e) {
            System.out.println("order " + number + ": placed already, or being placed");
            return REPEATED;
        } catch (RedlockException e) {
            System.err.println("order " + number + ": not placed, try later: " + e.getMessage());
            return NO_LOCK;
        }
        int outcome = orderLocked(lock, supplier, number, what);
        System.out.println("order " + number + ": "
                + (outcome == PLACED ? "placed" : outcome == NOT_PLACED ? "not placed" : "in doubt"));
        if (outcome == NOT_PLACED) {
            lock.unlock();
        }
        return outcome;
    }

    private static int orderLocked(LockHandle lock, String address, String number, String what) {
        int colon = address.lastIndexOf(':');
        try (Socket supplier = new Socket(address.substring(0, colon), Integer.parseInt(address.substring(colon + 1)))) {
            supplier.setSoTimeout(SUPPLIER_MS);
            // A pause until here may have lasted longer than the lease.
            return lock.valid().toMillis() > SUPPLIER_MS ? place(lock, supplier, number, what) : NOT_PLACED;
        } catch (IOException e) {
            System.err.println("the supplier cannot be reached");
            return NOT_PLACED;
        }
    }

    /** Places the order with a supplier that does not notice repeats. From the first byte on it may have the order. */
    private static int place(LockHandle lock, Socket supplier, String number, String what) {
        try {
            String order = "ORDER " + number + " fence=" + lock.fence() + " " + what + "\n";
            supplier.getOutputStream().write(order.getBytes());
            String answer = new BufferedReader(new InputStreamReader(supplier.getInputStream())).readLine();
            return answer == null ? IN_DOUBT : answer.startsWith("OK") ? PLACED
                    : answer.startsWith("NO") ? NOT_PLACED : IN_DOUBT;
        } catch (IOException e) {
            return IN_DOUBT;
        }
    }
}
