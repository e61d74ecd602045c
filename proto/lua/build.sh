#!/bin/sh
# proto/lua/build.sh OUT: writes the scripts as masters get them into the folder OUT/lua, without comments and
# indentation and with the parts that they include, and into OUT/lua.c all of them as C, with their SHA1.
set -eu
src=$(dirname "$0") out=$1
mkdir -p "$out/lua"
rm -f "$out"/lua/*.lua

# A line that is no comment stays, from its first word to its last.
strip() {
    awk -v parts="$src/part" '
    function fail(file, why) {
        print file ": " why ": " line >"/dev/stderr"
        failed = 1
        exit 1
    }
    function strip(file,    line_was, got) {
        while ((got = (getline line <file)) > 0) {
            gsub(/^[ \t]+|[ \t]+$/, "", line)
            if (line ~ /^-- include: /)
                strip(parts "/" substr(line, 13) ".lua")
            else if (line ~ /--|\[\[|\[=/ && line !~ /^--/)
                fail(file, "a comment behind code, or a long string")
            else if (line != "" && line !~ /^--/)
                text = text (text == "" ? "" : "\n") line
        }
        if (got < 0)
            fail(file, "cannot be read")
        close(file)
    }
    BEGIN { strip(ARGV[1]); printf "%s", text }' "$1"
}

{
    printf '/* Made by proto/lua/build.sh from proto/lua/. */\n#include "proto/script.h"\n\n'
    printf 'const struct script resp_scripts[RESP_SCRIPTS] = {\n'
    count=0
    for file in "$src"/*.lua; do
        name=$(basename "$file" .lua)
        strip "$file" >"$out/lua/$name.lua"
        sha1=$(sha1sum <"$out/lua/$name.lua")
        printf '    [RESP_SCRIPT_%s] = {\n' "$(printf %s "$name" | tr '[:lower:]' '[:upper:]')"
        awk '{ gsub(/["\\]/, "\\\\&"); printf "%s        \"%s", (NR > 1 ? "\\n\"\n" : ""), $0 }' "$out/lua/$name.lua"
        printf '",\n        "%s",\n    },\n' "${sha1%% *}"
        count=$((count + 1))
    done
    printf '};\n_Static_assert((int)RESP_SCRIPTS == %d, "each script has a file");\n' "$count"
} >"$out/lua.c.new"
mv "$out/lua.c.new" "$out/lua.c"
