#!/bin/bash
# tests/sim/soak.sh FOLDER HOURS [SEED] [CLASS]: simulates HOURS more hours of this version on both cores, in pieces of five
# minutes over fresh seeds; each piece is a file in FOLDER. Begun again, it goes on behind the last piece of this version. It
# stops at the first piece that found something. At the end it prints the sums of this version, by class, and puts them into
# tests/sim/HOURS. The version is a hash of what the simulator is built from: other commits leave it, and its sums, alone.
# With a CLASS only worlds of that class are drawn (the class "generation" is drawn in no other way), with sums of their own.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$1 wanted=$2 seed=${3:-$(date +%s)} class=${4:-}
mkdir -p "$folder/pieces"

# A simulator for speed: optimised as a whole, by what a first build of it did. Other compilers leave that out.
build() { make --no-print-directory NODEPS=1 -j2 "$folder/tests/sim/sim" BUILD="$folder" HARDEN= LTO= CFLAGS="$1" LDFLAGS="$1"; }
fast='-O3 -flto -fomit-frame-pointer -fno-pie -no-pie -fno-plt -march=native -ffp-contract=off'
{
    find "$folder" \( -name '*.o' -o -name '*.d' -o -name '*.gcda' -o -path '*/tests/sim/sim' \) -delete
    if build "$fast -fprofile-generate"; then
        "$folder/tests/sim/sim" --seed 1 --runs 300 --jobs 1
        find "$folder" \( -name '*.o' -o -path '*/tests/sim/sim' \) -delete
        build "$fast -fprofile-use -fprofile-partial-training -Wno-missing-profile -Wno-coverage-mismatch"
    else
        build -O2
    fi
} >"$folder/log" 2>&1 || {
    tail -n 20 "$folder/log" >&2
    exit 1
}

# The files that the compiler read, as it listed them. Their names are relative to this tree.
sources() { find "$folder" -name '*.d' -exec cat {} + | tr -s ' :\134' '\n' | grep -E '^[a-z].*\.(c|h|def)$' | LC_ALL=C sort -u; }
version=$(sources | xargs sha256sum | sha256sum | cut -c 1-12)${class:+-$class}

of_version() { find "$folder/pieces" -name "$version.*" -print0 | sort -z -t . -k 2 -n | xargs -0 -r cat; }
# The last line of a piece: "N runs, H simulated hours, ...".
hours() { of_version | awk '/ simulated hours, / { sum += $3 } END { printf "%.1f", sum }'; }
next_seed() { # behind the last piece
    local last
    last=$(find "$folder/pieces" -name "$version.*" -printf '%f\n' | sort -t . -k 2 -n | tail -n 1)
    [ -n "$last" ] || { echo "$seed"; return; }
    echo $((${last##*.} + $(awk '/ simulated hours, / { print $1 }' "$folder/pieces/$last")))
}
more() { awk -v now="$(hours)" -v end="$1" 'BEGIN { exit !(now < end) }'; }

# One line for each version and first seed, so that another machine adds its own: date, version, first seed, runs, hours,
# grants of each class, what was found.
note() { # WHAT WAS FOUND
    local list=tests/sim/HOURS first line
    first=$(find "$folder/pieces" -name "$version.*" -printf '%f\n' | sort -t . -k 2 -n | sed -n '1s/.*\.//p')
    line="$(date +%F) $version from seed ${first:-$seed} $(of_version | awk '
        / simulated hours, / { runs += $1; all += $3; next }
        /^class / || /^all / || /^of readers/ || / in one world / { next }
        NF == 4 { if (!($1 in g)) order[++names] = $1
                  g[$1] += $4 }
        END { printf "runs %d hours %.1f grants", runs, all
              for (i = 1; i <= names; i++) printf " %s=%d", order[i], g[order[i]] }') found $1"
    touch "$list"
    { awk -v version="$version" -v first="${first:-$seed}" '$2 != version || $5 != first' "$list" && echo "$line"; } \
        >"$folder/HOURS"
    cp "$folder/HOURS" "$list"
}

end=$(awk -v now="$(hours)" -v wanted="$wanted" 'BEGIN { print now + wanted }')
while more "$end"; do
    first=$(next_seed)
    piece=$folder/pieces/$version.$first
    if ! nice "$folder/tests/sim/sim" ${class:+--class "$class"} --seed "$first" --time "${PIECE:-300}" --jobs 2 >"$folder/now" 2>"$folder/report"; then
        cat "$folder/report" "$folder/now" >"$folder/found.$version.$first"
        tail -n 5 "$folder/found.$version.$first"
        echo "soak: found by the piece from seed $first; its output is $folder/found.$version.$first"
        found=$(sed -n 's/^seed \([0-9]*\): invariant \([0-9]*\) .*/invariant \2 at seed \1/p' "$folder/report" | paste -s -d ,)
        note "${found:-something in the piece from seed $first}"
        exit 1
    fi
    mv "$folder/now" "$piece"
    note nothing
    printf '%s %s hours\n' "$version" "$(hours)"
done
of_version | awk -v version="$version" '
    / simulated hours, / { runs += $1; all += $3; next }
    /^class / || /^all / || /^of readers/ { next }
    NF >= 4 { name = $1; for (i = 2; i <= NF - 3; i++) name = name " " $i
              if (!(name in n)) order[++names] = name
              n[name] += $(NF - 2); h[name] += $(NF - 1); g[name] += $NF }
    END { printf "%s: %d runs, %.1f hours, nothing found\n", version, runs, all
          for (i = 1; i <= names; i++)
              printf "%-24s %9d %9.1f %12d\n", order[i], n[order[i]], h[order[i]], g[order[i]] }'
