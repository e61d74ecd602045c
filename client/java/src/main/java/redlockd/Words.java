package redlockd;

import java.time.Duration;
import java.util.List;
import java.util.Objects;

/** Checks words before they go into a line: a wrong byte could end the line and begin another request. */
final class Words {
    static final long LONGEST_MS = Duration.ofDays(30).toMillis();
    private static final int NAMES_LONGEST = 800; // so that a line has room for all options

    private Words() {}

    static String name(String name) {
        return word("a lock's name", name, 200);
    }

    /** Several names as one word. */
    static String names(List<String> names) {
        String joined = String.join(",", names);
        names.forEach(Words::name);
        if (names.isEmpty() || joined.length() > NAMES_LONGEST) {
            throw new IllegalArgumentException("several names are at least one, and " + NAMES_LONGEST
                    + " characters at most together");
        }
        return joined;
    }

    /** A name as {@link LockHandle#name} says it: of several, with commas between them. */
    static String known(String name) {
        return names(List.of(Objects.requireNonNull(name, "a lock's name").split(",", -1)));
    }

    static String note(String what, String word) {
        return word(what, word, 64);
    }

    /** A user or a secret: every printable ASCII character is allowed but a space, which would end the word. */
    static String secret(String what, String word) {
        if (word.isEmpty() || word.length() > 256 || !isPrintable(word, " ")) {
            throw new IllegalArgumentException(what + " has 1 to 256 printable ASCII characters, and no space");
        }
        return word;
    }

    static String data(String text) {
        if (Objects.requireNonNull(text, "data").isEmpty() || text.length() > 256 || !isPrintable(text, " \"")) {
            throw new IllegalArgumentException("data has 1 to 256 printable ASCII characters, and no space or \"");
        }
        return text;
    }

    static String token(String token) {
        if (!isToken(token)) {
            throw new IllegalArgumentException("a token is 40 hex digits");
        }
        return token;
    }

    static boolean isToken(String token) {
        boolean hex = Objects.requireNonNull(token, "a token").length() == 40;
        for (int i = 0; i < token.length() && hex; i++) {
            char c = token.charAt(i);
            hex = c >= '0' && c <= '9' || c >= 'a' && c <= 'f';
        }
        return hex;
    }

    /** Whether all of it is printable ASCII, or a space, and nothing of it is forbidden. */
    static boolean isPrintable(String text, String forbidden) {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c < ' ' || c > '~' || forbidden.indexOf(c) >= 0) {
                return false;
            }
        }
        return true;
    }

    /** At least 1 ms, rounded up to whole ms. */
    static long ms(String what, Duration duration) {
        Objects.requireNonNull(duration, what);
        if (duration.isNegative() || duration.isZero() || duration.compareTo(Duration.ofMillis(LONGEST_MS)) > 0) {
            throw new IllegalArgumentException(what + " is more than 0 and at most 30 days, not " + duration);
        }
        return duration.plusNanos(999_999).toMillis();
    }

    /** A duration of redlockd's configuration: "250ms", "10s", "1m", "2h". */
    static long parseMs(String text) {
        String digits = text.replaceAll("[a-z]+$", "");
        long unitMs = switch (text.substring(digits.length())) {
            case "s" -> 1000;
            case "m" -> 60_000;
            case "h" -> 3_600_000;
            default -> 1;
        };
        return Long.parseLong(digits) * unitMs;
    }

    private static String word(String what, String word, int longest) {
        Objects.requireNonNull(word, what);
        boolean allowed = !word.isEmpty() && word.length() <= longest && word.charAt(0) != '#' && word.charAt(0) != ':'
                && isPrintable(word, " ,\"=");
        if (!allowed) {
            throw new IllegalArgumentException(what + " has 1 to " + longest + " printable ASCII characters, none of"
                    + " them a space , \" or =, and does not begin with # or :");
        }
        return word;
    }
}
