#!/bin/bash
# tests/measure.sh [build]: how heavy the project is, in figures that a change of structure is to make smaller. With
# "build" it also builds everything anew in build/measured, which takes a minute or two.
set -euo pipefail
cd "$(dirname "$0")/.."

core=daemon/coordinator
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
say() { printf '%-58s %s\n' "$1" "$2"; }
lines_of() { git ls-files -z "$@" | xargs -0 cat | wc -l; }

# ---- the files of the coordinator that a feature touched when it came ----

feature() { # name, commit
    git cat-file -e "$2^{commit}" 2>/dev/null || return 0 # a copy without its history
    say "coordinator files that $1 touched" "$(git show --name-only --format= "$2" -- $core | wc -l)"
}
while read -r commit name; do feature "$name" "$commit"; done <<'TEXT'
97304c0 slots
940046e crowds
b284dd9 hand-on
7d3b987 lists
8585054 readers
947681c wakes
f8efd49 downgrade
TEXT

# ---- conditions, fields, words, planted bugs ----

modes='queue->slots|slots *(!=|==) *NULL|(->|\.)shared\b|name->more|\bKEY_[A-Z]+|mode->(shares|wakes|hands_on|tells|fans_out|splits|once|one_stops|proposes|turns)\b'
say 'lines that ask for a mode outside its room' \
    "$(git ls-files "$core/*.[ch]" | grep -vE "^$core/(mode|base)/" | xargs grep -hE "$modes" | grep -vcE '^ *(/\*|\*)')"

# The fields of a struct in the coordinator's headers, those of the structs inside it counted one by one.
fields() {
    cat $core/*.h $core/*/*.h | sed 's|/\*.*\*/||' | awk -v head="struct $1 {" '
        $0 == head { inside = 1; next }
        inside && /^};/ { print count; inside = 0 }
        inside && !/^ *(\/?\*|union \{|struct [a-z_]* ?\{|\};?$)/ && /;/ {
            count++
            gsub(/\{[^}]*\}/, "")
            count += gsub(/,/, ",")
        }'
}
for object in lease hold queue resource round release; do
    number=$(fields $object)
    [ -z "$number" ] || say "fields of struct $object" "$number"
done
say 'words in the glossary' "$(sed -n '/^## Glossary/,$p' daemon/README.md | grep -c '^- \*\*')"
say 'lines with a planted bug in daemon/' "$(git ls-files 'daemon/*.[ch]' | xargs grep -hiE 'mutant' | wc -l)"

# ---- calls in one step ----

program=$out/calls
mapfile -t traced < <(git ls-files "$core/*.c")
# shellcheck disable=SC2046
${CC:-cc} -std=c11 -D_GNU_SOURCE -DREDLOCKD_VERSION='"measured"' -I. -O0 -g -no-pie -finstrument-functions \
    -finstrument-functions-exclude-file-list=/base/,proto/,tests/,/usr/ -o "$program" \
    "${traced[@]}" tests/measure/calls.c tests/unit/trace_*.c tests/unit/suite.c tests/unit/main.c \
    $(git ls-files 'proto/*.c' | grep -vE 'proto/(resp|script|secret|info|group|daemons|who)') \
    -lcheck -lsubunit -lm -lrt -lpthread
CK_FORK=no "$program" >"$out/called"
while read -r what _ calls _ depth; do
    changes=$(awk -v what="$what" '$1 == what && $2 != "calls" { print $2 }' "$out/called" | addr2line -e "$program" |
        sed 's/:.*//' | uniq | wc -l)
    say "$what: calls, depth, changes of file in one step" "$calls $depth $changes"
done < <(grep ' calls ' "$out/called")

# ---- size ----

say 'files in git' "$(git ls-files | wc -l)"
say 'lines of proto and daemon, C' "$(lines_of 'proto/*.[ch]' 'daemon/*.[ch]')"
say 'of these: the coordinator' "$(lines_of "$core/*.[ch]")"
say 'lines of client, C' "$(lines_of 'client/*.[ch]')"
say 'lines of tests' "$(lines_of 'tests/*.[ch]' 'tests/*.sh' 'tests/*.mk' 'tests/*.py' 'tests/*.js')"

if [ "${1:-}" = build ]; then
    rm -rf build/measured
    start=$(date +%s%N)
    make --no-print-directory NODEPS=1 -j2 BUILD=build/measured all objects >"$out/log"
    say 'seconds of a clean build of everything, two jobs' "$((($(date +%s%N) - start) / 1000000000))"
    say 'programs that it links for tests' "$(find build/measured -path '*/tests/*' -type f -perm -u+x ! -name '*.so*' | wc -l)"
    say 'MB that it leaves' "$(du -sm build/measured | cut -f1)"
fi
