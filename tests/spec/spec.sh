#!/bin/bash
# tests/spec/spec.sh OUT: the worlds of redlock.pml that SPIN exhausts, and the planted mistakes that it must find. OUT
# is a folder for what is built; ONLY='NAME ...' chooses some. Fails if a world violates a property, was cut off or has
# next to no states, and if a mistake is not found.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

if ! command -v spin >/dev/null; then
    echo "spin is missing, the model checker (spinroot.com): apt-get install spin, or .ci/deps ci" >&2
    exit 1
fi
out=$1 top=$PWD
mkdir -p "$out" || exit 1
# Nothing but assertions is looked for. Memory in MB. The model has one process, so there is no order to reduce.
limits=(-DSAFETY -DNOFAIR -DNOREDUCE -DNOBOUNDCHECK -DMEMLIM=7000)
time="-DDRIFT=1 -DTICK=1"
fences="-DFENCES -DTTL=2 -DDRIFT=0 -DTICK=3 -DLEAD=1"
failed=0 ran=no

fail() {
    printf '    FAILED: %s\n' "$*"
    failed=1
}

wanted() { { [ -z "${ONLY:-}" ] || [[ " $ONLY " == *" $1 "* ]]; } && ran=yes; }

# Makes the verifier of a world in a folder of its own; its flags for SPIN, then for the compiler.
build() { # folder, flags for SPIN, flags for the compiler
    rm -rf "${out:?}/${1:?}"
    mkdir -p "$out/$1"
    # shellcheck disable=SC2086
    (cd "$out/$1" && spin -a $2 "$top/tests/spec/redlock.pml" >spin.out 2>&1 &&
        cc -O3 -w -I"$top" "${limits[@]}" $3 -o pan pan.c) && return
    cat "$out/$1/spin.out"
    fail "$1 does not compile"
    return 1
}

# How many states pan counted; nothing if the search was cut off.
states() { # what pan said
    grep -qE 'max search depth too small|Search not completed|MEMLIM|interrupted' "$1" ||
        sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' "$1"
}

in_thousands() { sed -E ':a; s/([0-9])([0-9]{3})($|,)/\1,\2\3/; ta' <<<"$1"; }

world() { # name, exhausted or bitstate, flags, what it is
    wanted "$1" || return 0
    local name=$1 how=$2 flags=$3 what=$4 said=$out/$1/pan.out compiler='' searches=(-m2000000 -w24)
    [ "$how" = exhausted ] || compiler=-DBITSTATE searches=(-m4000000 -w22 -k3)
    printf '\n%s: %s\n' "$name" "$what"
    build "$name" "-DSORT -DPLANT=NOTHING $flags" "$compiler" || return
    local start count
    start=$(date +%s)
    (cd "$out/$name" && ./pan "${searches[@]}") >"$said" 2>&1
    count=$(states "$said")
    if ! grep -q 'errors: 0' "$said"; then
        fail "$name violates a property"
        grep -E 'violat|error' "$said"
    elif [ -z "$count" ] || [ "$count" -lt 1000 ]; then
        fail "the search of $name was cut off, or found next to nothing"
        tail -n 5 "$said"
    else
        printf '    %s: %s states, %d s\n' "$how" "$(in_thousands "$count")" $(($(date +%s) - start))
    fi
}

# A step with what the masters and clients have after it, from what a guided run prints.
table() {
    awk -v daemons=2 '
        function flush(i) {
            if (step == "") return
            printf "    %2d  %-62s", ++number, step
            for (i = 1; i <= m; i++) printf " %-5s", master[i]
            for (i = 1; i <= d; i++) printf " %-5s", told[i]
            print ""
            step = ""; m = d = 0
        }
        function key(owner, ttl, quiet) {
            return (owner ? sprintf("%c %d", 64 + owner, ttl) : "-") (quiet ? " q" quiet : "")
        }
        BEGIN { printf "        %-62s %-5s %-5s %-5s %-5s %-5s\n", "", "m1", "m2", "m3", "A", "B" }
        /step: / { flush(); sub(/.*step: /, ""); step = $0; next }
        /master: / { sub(/.*master: /, ""); master[++m] = key($1, $2, $3); next }
        /daemon: / { sub(/.*daemon: /, ""); told[++d] = $1 ? "yes " $1 : "-"; next }
        /violated: / { flush(); sub(/.*violated: /, ""); print "        VIOLATED: " $0 }
        END { flush() }'
}

mistake() { # what is planted, flags, the property that must be violated, what it is
    wanted "$1" || return 0
    local name=$1 flags=$2 property=$3 what=$4
    printf '\n%s: %s\n' "$name" "$what"
    build "$name" "-DSTORY -DPLANT=$name $flags" -DBFS || return
    # shellcheck disable=SC2086
    (cd "$out/$name" && ./pan -w22 >pan.out 2>&1 && [ -e redlock.pml.trail ] &&
        spin -T -k redlock.pml.trail -DSTORY -DPLANT="$name" $flags "$top/tests/spec/redlock.pml" >story.out 2>&1)
    if ! grep -qs "violated: $property" "$out/$name/story.out"; then
        fail "$name was not found, or not as \"$property\""
        return
    fi
    table <"$out/$name/story.out"
}

exclusive='at most one client'
echo "Worlds: three masters, two daemons"
world time exhausted "-DTTL=4 $time -DEXTENDS -DFORGETS" 'attempts, extensions, restarts of masters, each without bound'
world breaks exhausted "-DTTL=3 $time -DBREAKS" 'attempts and broken connections, without bound'
world restarts exhausted "-DTTL=3 $time -DRESTARTS -DFORGETS" 'attempts, restarts of daemons and of masters, without bound'
world fences exhausted "$fences -DATTEMPTS=2" 'two attempts with fences'
world all bitstate "-DTTL=3 $time -DEXTENDS -DFORGETS -DBREAKS -DRESTARTS" 'all of the first three together'
world fences-forgotten bitstate "$fences -DATTEMPTS=3 -DFORGETS" 'three attempts with fences, restarts of masters'

echo
echo "Planted mistakes: the keys on the masters with the ticks that they live (q: ticks in quarantine), and for how"
echo "many ticks the clients of A and B believe that they hold the lock"
mistake NO_GUARD "-DTTL=3 $time -DFORGETS" "$exclusive" 'a master that restarted votes at once'
mistake NO_MARKER "-DTTL=3 $time -DRESTARTS -DFORGETS" "$exclusive" 'each daemon remembers by itself which master restarted'
mistake NO_DRIFT "-DTTL=3 $time" "$exclusive" 'no allowance for the drift of clocks'
mistake RELEASE_BY_NAME "-DTTL=3 $time" "a release deletes nobody else" 'a release that does not compare the token'
mistake UNDO_WHERE_GRANTED "-DTTL=3 $time" 'a key that was given up' 'an attempt is undone only where a grant was heard'
mistake LATE_SET_STAYS "-DTTL=3 $time -DBREAKS" 'a key that was given up' 'no undo list for masters that are away'
mistake EXTEND_FROM_ANSWER "-DTTL=3 $time -DEXTENDS" "$exclusive" 'the validity of an extension counts from its answers'
mistake LAPSED_REVIVED "-DTTL=3 $time -DEXTENDS" 'a lapsed lease' 'an extension that is answered after the deadline counts'
mistake FENCE_BELOW_QUORUM "$fences -DATTEMPTS=2" 'fences grow' 'a fence counts that fewer than a quorum stored'

[ $ran = yes ] || fail "there is no ${ONLY:-}"
[ $failed -eq 0 ] && printf '\nall of these worlds hold, and all of these mistakes were found\n'
exit $failed
