package redlockd;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A line of redlockd, taken apart. {@code kind} is its first character: + done, - refused, * a row, ! an event.
 * {@code tag} and {@code name} are "" where there are none; {@code text} is the line without its tag.
 */
record Answer(String tag, char kind, String code, String name, List<String> pairs, String text) {
    /** Null: no line of the protocol. */
    static Answer parse(String line) {
        int start = 0;
        String tag = "";
        if (line.startsWith("#")) {
            start = line.indexOf(' ') + 1;
            if (start < 3) {
                return null;
            }
            tag = line.substring(1, start - 1);
        }
        if (start >= line.length() || "+-*!".indexOf(line.charAt(start)) < 0 || !isPrintable(line)) {
            return null;
        }
        String text = line.substring(start);
        int colon = text.indexOf(" : ");
        return take(tag, text, colon < 0 ? text : text.substring(0, colon));
    }

    private static Answer take(String tag, String text, String words) {
        char kind = text.charAt(0);
        String code = "";
        String name = "";
        List<String> pairs = new ArrayList<>(6);
        int at = 1;
        for (int end = 0; at <= words.length(); at = end + 1) {
            end = words.indexOf(' ', at);
            end = end < 0 ? words.length() : end;
            if (end == at) {
                continue;
            }
            String word = words.substring(at, end);
            if (word.indexOf('=') > 0) {
                pairs.add(word);
            } else if (at == 1 && kind != '*') {
                code = word;
            } else if (name.isEmpty()) {
                name = word;
            }
        }
        return code.isEmpty() && kind != '*' ? null : new Answer(tag, kind, code, name, pairs, text);
    }

    private static boolean isPrintable(String line) {
        return line.chars().allMatch(c -> c >= ' ' && c <= '~');
    }

    boolean is(char wantedKind, String wantedCode) {
        return kind == wantedKind && code.equals(wantedCode);
    }

    /** "": the key is not there. */
    String value(String key) {
        for (String pair : pairs) {
            if (pair.startsWith(key) && pair.length() > key.length() && pair.charAt(key.length()) == '=') {
                return pair.substring(key.length() + 1);
            }
        }
        return "";
    }

    /** {@code missing} where the key is not there or is no whole number of at most 18 digits. */
    long number(String key, long missing) {
        String value = value(key);
        if (value.isEmpty() || value.length() > 18 || !value.chars().allMatch(c -> c >= '0' && c <= '9')) {
            return missing;
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
        for (String pair : pairs) {
            int equals = pair.indexOf('=');
            map.merge(pair.substring(0, equals), pair.substring(equals + 1), (a, b) -> a + " " + b);
        }
        return map;
    }
}
