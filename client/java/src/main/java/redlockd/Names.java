package redlockd;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Names that are built from what users have typed. */
public final class Names {
    private Names() {}

    /**
     * A name of several parts, whatever is in them: {@code of("order", 17)} is "order:17", and {@code of("file", "a b:c")} is
     * "file:a%20b%3Ac". Different parts have different names. The other libraries for redlockd encode alike.
     *
     * @throws IllegalArgumentException the name would be longer than 200 bytes, or its first part is empty
     */
    public static String of(Object... parts) {
        StringBuilder name = new StringBuilder();
        for (int i = 0; i < parts.length; i++) {
            name.append(i > 0 ? ":" : "");
            for (byte one : String.valueOf(parts[i]).getBytes(StandardCharsets.UTF_8)) {
                if (one > ' ' && one < 0x7f && "%:#,\"=".indexOf(one) < 0) {
                    name.append((char) one);
                } else {
                    name.append(String.format("%%%02X", one));
                }
            }
        }
        return Words.name(name.toString());
    }

    /** The parts of a name by {@link #of}, for people to read. */
    public static List<String> partsOf(String name) {
        List<String> parts = new ArrayList<>();
        for (String part : name.split(":", -1)) {
            byte[] bytes = new byte[part.length()];
            int length = 0;
            for (int i = 0; i < part.length(); i++) {
                boolean encoded = part.startsWith("%", i) && i + 2 < part.length()
                        && part.substring(i + 1, i + 3).matches("[0-9A-F]{2}");
                bytes[length++] = encoded ? (byte) Integer.parseInt(part.substring(i + 1, i + 3), 16)
                        : (byte) part.charAt(i);
                i += encoded ? 2 : 0;
            }
            parts.add(new String(bytes, 0, length, StandardCharsets.UTF_8));
        }
        return parts;
    }
}
