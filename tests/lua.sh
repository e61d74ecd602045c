#!/bin/bash
# tests/lua.sh: the scripts of proto/lua/ on a real server, by its own client. Each has the SHA1 there that the daemon
# has built in, and its examples (lines that begin with "-- > ") answer what stands behind their "->", a pattern of the
# shell. Prints what a Check program does, for tests/run.sh.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/report.sh
. tests/report.sh

cli=$(command -v redis-cli valkey-cli | head -n 1)
[ -n "$cli" ] || left_out 'the scripts by redis-cli, which is not here'
folder=$(mktemp -d)
redis-server --port 0 --unixsocket "$folder/socket" --save '' --dir "$folder" >"$folder/log" 2>&1 &
server=$!
trap 'kill $server; wait $server; rm -rf "$folder"' EXIT
ask() { "$cli" -s "$folder/socket" "$@"; }
for ((i = 0; i < 200; i++)); do
    [ "$(ask PING 2>&1)" = PONG ] && break
    sleep 0.05
done

same_sha1() { # name
    local sha1
    sha1=$(ask -x SCRIPT LOAD <"$build/proto/lua/$1.lua")
    [[ $sha1 =~ ^[0-9a-f]{40}$ ]] || { echo "SCRIPT LOAD answers: $sha1"; return 1; }
    LC_ALL=C grep -aqF "$sha1" "$daemon" || { echo "$sha1 is not in $daemon"; return 1; }
}
example() { # name, command, what it answers
    local words said
    eval "words=($2)" # "a word with spaces"
    [ "${words[0]}" != "$1" ] || words=(--eval "$build/proto/lua/$1.lua" "${words[@]:1}")
    said=$(ask "${words[@]}" | tr '\n' ' ')
    # shellcheck disable=SC2053 # a pattern
    [[ ${said% } == $3 ]] || { printf '%s\nanswers %s\nand not %s\n' "$2" "${said% }" "$3"; return 1; }
}
examples() { # name
    local line wanted bad=0 count=0
    ask FLUSHALL >/dev/null
    while read -r line; do
        wanted='*'
        [[ $line != *' -> '* ]] || wanted=${line##* -> } count=$((count + 1))
        example "$1" "${line%% -> *}" "$wanted" || bad=1
    done < <(sed -n 's/^-- > //p' "proto/lua/$1.lua")
    [ $count -gt 0 ] || { echo 'it has no example'; return 1; }
    return $bad
}
included() { grep -qx -- "[[:space:]]*-- include: $1" proto/lua/*.lua proto/lua/part/*.lua || { echo 'no script includes it'; return 1; }; }

for file in proto/lua/*.lua; do
    name=$(basename "$file" .lua)
    check "$file has another SHA1" same_sha1 "$name"
    check "$file does not as its examples say" examples "$name"
done
for file in proto/lua/part/*.lua; do
    check "$file is of no use" included "$(basename "$file" .lua)"
done
total "$checks" "$failures"
