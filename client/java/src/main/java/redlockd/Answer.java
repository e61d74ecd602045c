package redlockd;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A line of redlockd, taken apart. {@code kind} is its first character: + done, - refused, * a row, ! an event.
 * {@code tag} and {@code name} are "" where there are none; {@code text} is the line without its tag, and {@code words} ends
 * before the text for people.
 */
record Answer(String tag, char kind, String code, String name, String words, String text) {
    /** Null: no line of the protocol. */
    static Answer parse(String line) {
        boolean tagged = line.startsWith("#");
        int start = tagged ? line.indexOf(' ') + 1 : 0;
        if (tagged && start < 3 || start >= line.length() || "+-*!".indexOf(line.charAt(start)) < 0
                || !Words.isPrintable(line, "")) {
            return null;
        }
        String text = line.substring(start);
        int colon = text.indexOf(" : ");
        String words = colon < 0 ? text : text.substring(0, colon);
        char kind = text.charAt(0);
        String code = kind == '*' ? "" : plainWord(words, 1);
        String name = kind == '*' ? "" : plainWord(words, code.length() + 2);
        return code.isEmpty() && kind != '*' ? null
                : new Answer(tagged ? line.substring(1, start - 1) : "", kind, code, name, words, text);
    }

    /** "": the word that begins there is a key=value, or there is none. */
    private static String plainWord(String words, int at) {
        String word = at < words.length() ? words.substring(at, endOf(words, at)) : "";
        return word.indexOf('=') > 0 ? "" : word;
    }

    private static int endOf(String words, int at) {
        int end = words.indexOf(' ', at);
        return end < 0 ? words.length() : end;
    }

    boolean is(char wantedKind, String wantedCode) {
        return kind == wantedKind && code.equals(wantedCode);
    }

    /** "": the key is not there. */
    String value(String key) {
        for (int at = words.indexOf(key); at >= 0; at = words.indexOf(key, at + 1)) {
            int equals = at + key.length();
            if (at > 0 && words.charAt(at - 1) == ' ' && equals < words.length() && words.charAt(equals) == '=') {
                return words.substring(equals + 1, endOf(words, equals));
            }
        }
        return "";
    }

    /** {@code missing} where the key is not there or is no whole number of at most 18 digits. */
    long number(String key, long missing) {
        String value = value(key);
        if (value.isEmpty() || value.length() > 18) {
            return missing;
        }
        for (int i = 0; i < value.length(); i++) {
            if (value.charAt(i) < '0' || value.charAt(i) > '9') {
                return missing;
            }
        }
        return Long.parseLong(value);
    }

    /** Whether this is a grant of that name, with a token, a fence and a time. */
    boolean isGrantOf(String wantedName) {
        return is('+', "LOCKED") && name.equals(wantedName) && Words.isToken(value("token")) && number("fence", 0) > 0
                && number("until", -1) >= 0;
    }

    Map<String, String> toMap() {
        Map<String, String> map = new LinkedHashMap<>();
        for (String word : words.substring(1).split(" +")) {
            int equals = word.indexOf('=');
            if (equals > 0) {
                map.merge(word.substring(0, equals), word.substring(equals + 1), (a, b) -> a + " " + b);
            }
        }
        return map;
    }
}
