#!/bin/bash
# tests/sim/planted.sh lay FOLDER: makes or renews the copy of the coordinator that has the planted bugs: planted.patch is
#   laid over it. A file that is the same as before stays as it is, so that it is not compiled again.
# tests/sim/planted.sh edit FOLDER: opens the sources in FOLDER/a, and with the bugs in FOLDER/b, which is to be edited.
# tests/sim/planted.sh save FOLDER: writes planted.patch anew, from what differs between the two.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/../.."

patch=tests/sim/planted.patch
fail() {
    printf '%s\n' "$@" >&2
    exit 1
}
command -v patch >/dev/null ||
    fail "tests/sim/planted.sh: patch(1) is missing, by which $patch plants bugs for the simulator." \
        "\`make deps\` installs what testing needs; in Debian the package is patch."

copy_to() { # folder
    mkdir -p "$1"
    find daemon/coordinator -name '*.[ch]' -print0 | xargs -0 cp --parents -t "$1"
}

# Plants the bugs in a copy. What does not apply is left in files .rej, and named.
plant() { # folder
    local file rejected status=0 said names
    while IFS= read -r file; do
        [ -e "$1/$file" ] && continue
        mkdir -p "$(dirname "$1/$file")"
        awk -v head="--- a/$file" '/^--- a\// { inside = $0 == head } inside' $patch >"$1/$file.rej"
    done < <(sed -n 's|^--- a/||p' $patch)
    said=$(patch -d "$1" -p1 --fuzz=0 --batch --forward --silent --no-backup-if-mismatch <$patch 2>&1) || status=1
    while IFS= read -r -d '' rejected; do
        file=${rejected#"$1"/}
        file=${file%.rej}
        names=$(grep '^+' "$rejected" | grep -o 'MUTANT_[A-Z0-9_]*' | sort -u | tr '[:upper:]\n' '[:lower:] ') || true
        echo "$patch does not apply to $file$([ -e "$file" ] || echo ', which is not there'), in" \
            "$(grep -c '^@@' "$rejected") place(s). Bugs planted there: ${names//mutant_/}"
        cat "$rejected"
    done < <(find "$1" -name '*.rej' -print0)
    [ $status = 0 ] || [ -n "$(find "$1" -name '*.rej' -print -quit)" ] || echo "$said"
    return $status
}

lay() { # folder
    local new=$1.new file
    rm -rf "$new"
    copy_to "$new"
    plant "$new" >&2 || {
        rm -rf "$new"
        fail "What to do: \`make planted\` opens a copy with all other bugs in it; plant these there again, then" \
            "\`make planted-patch\` writes $patch anew. Or take a bug out of $patch, of tests/sim/mutant.h" \
            "and of tests/sim/aim.c, if the mistake cannot be made any more."
    }
    while IFS= read -r -d '' file; do
        cmp -s "$new/$file" "$1/$file" && continue
        mkdir -p "$(dirname "$1/$file")"
        mv "$new/$file" "$1/$file"
    done < <(cd "$new" && find daemon -type f -print0)
    rm -rf "$new"
}

edit() { # folder
    [ ! -e "$1" ] || fail "$1 is open already. Edit what lies in $1/b, then \`make planted-patch\`; or remove $1, and begin anew."
    copy_to "$1/a"
    copy_to "$1/b"
    plant "$1/b" || echo "Plant by hand what the files .rej have, and remove them."
    echo "Edit $1/b/daemon/coordinator/, where mutant(MUTANT_X) is true while bug X of tests/sim/mutant.h is planted;" \
        "then \`make planted-patch\`."
}

save() { # folder
    local rejected
    [ -e "$1/b" ] || fail "$1 is not open: \`make planted\` opens it."
    rejected=$(find "$1/b" -name '*.rej')
    [ -z "$rejected" ] || fail "Not planted yet: plant by hand what these have, and remove them." "$rejected"
    {
        cat <<'TEXT'
The planted bugs, for a copy of the coordinator which only the simulator's build compiles: see tests/sim/planted.sh.
mutant(MUTANT_X) is true while bug X of tests/sim/mutant.h is planted. This is not edited by hand: `make planted` opens
a copy with the bugs, and `make planted-patch` writes this anew from it.

TEXT
        { diff -rU3 -x '*.orig' -x '*~' "$1/a" "$1/b" || [ $? = 1 ]; } |
            sed -E "/^diff /d; s#^(---|\+\+\+) $1/([^\t]+)\t.*#\1 \2#"
    } >"$1/patch"
    ! grep '^Only in' "$1/patch" >&2 || fail "A planted bug adds no file, and takes none away."
    mv "$1/patch" $patch
    rm -rf "$1"
    echo "$patch is written anew; \`make mutants\` shows whether each bug is found."
}

case ${1:-} in
lay | edit | save) "$1" "${2%/}" ;;
*) fail "usage: tests/sim/planted.sh lay|edit|save FOLDER" ;;
esac
