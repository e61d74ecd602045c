#!/bin/bash
# tests/deps.sh: what `make` says where a compiler or a library is missing, what `make deps` says to a user who may
# install nothing, what `make` says while it compiles, and how `make check` ends. Prints what a Check program does, for tests/run.sh.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/report.sh
. tests/report.sh

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL V # debian/rules exports V=1
fails_and_says() { # text, then a command
    local text=$1 said
    shift
    if said=$("$@" 2>&1); then
        echo "it succeeded: $said"
        return 1
    fi
    [[ $said == *"$text"* ]] || { printf 'no "%s" in:\n%s\n' "$text" "$said"; return 1; }
}

# A host without compiler and libraries, and an ordinary user: PATH has nothing but what the scripts themselves call.
mkdir "$work/bin"
for tool in bash sh mkdir touch env dirname; do ln -s "$(command -v $tool)" "$work/bin/$tool"; done
printf '#!/bin/sh\necho 1000\n' >"$work/bin/id"
printf '#!/bin/sh\nexit 1\n' >"$work/bin/apt-get"
chmod 755 "$work/bin/id" "$work/bin/apt-get"
make=$(command -v make)

# shellcheck disable=SC2016
deps='`make deps` installs'
check 'make without a compiler' fails_and_says "$deps" env PATH="$work/bin" "$make" -j2 BUILD="$work/build"
check 'make run without a compiler' fails_and_says "$deps" env PATH="$work/bin" "$make" BUILD="$work/build" run
check 'make without the libraries' fails_and_says "libhiredis-dev" "$make" BUILD="$work/build" CPPFLAGS="-nostdinc"
check 'make deps by an ordinary user' fails_and_says 'apt-get update && apt-get install -y gcc' env PATH="$work/bin" .ci/deps

compiles_and_says() { # what has to be the only line, or a part of it where it ends in *; then variables for make
    local said
    rm -f "$work/build/daemon/buffer.o"
    said=$("$make" --no-print-directory BUILD="$work/build" LTO= "${@:2}" "$work/build/daemon/buffer.o" 2>&1) ||
        { echo "$said"; return 1; }
    # shellcheck disable=SC2053
    [[ $said == $1 ]] || { printf 'not "%s" but:\n%s\n' "$1" "$said"; return 1; }
}
check 'a compiled file is one short line' compiles_and_says '  CC    daemon/buffer.c'
check 'V=1 shows the command' compiles_and_says '* -c -o *' V=1
check 'make -s is silent' compiles_and_says '' -s
# Else what is compiled below an absolute path depends on absolute paths, and is stale where the tree was moved.
builds_in() { # relative path
    local said
    # shellcheck disable=SC2016
    said=$("$make" --no-print-directory BUILD="$PWD/$1" LTO= --eval='where: ; @echo $(BUILD)' where)
    [ "$said" = "$1" ] || { echo "with BUILD=$PWD/$1 it builds in $said"; return 1; }
}
check 'an absolute BUILD within the tree is made relative' builds_in build/said

# Programs as tests/run.sh runs them.
ends_with() { # the last lines, whether it succeeds, then programs
    local said status=0
    said=$(tests/run.sh "${@:3}" 2>&1) || status=1
    [[ $status:$said == "$2:"*$'\n'"$1" ]] || { printf 'status %d, and not at the end "%s":\n%s\n' $status "$1" "$said"; return 1; }
}
program() { # name, lines
    printf '#!/bin/sh\ncat <<"TEXT"\n%s\nTEXT\n' "$2" >"$work/$1"
    chmod 755 "$work/$1"
}
program good '100%: Checks: 3, Failures: 0, Errors: 0'
program lacking $'left out: a browser (there is none)\nleft out: a parser\n100%: Checks: 2, Failures: 0, Errors: 0'
program bad '50%: Checks: 2, Failures: 1, Errors: 0'
program silent 'nothing'
check 'run.sh names what failed' ends_with $'FAILED: bad silent\n6 passed, 2 failed, 2 left out: see above' 1 \
    "$work/bad" "$work/good" "$work/lacking" "$work/silent"
check 'run.sh, all well' ends_with '3 passed, 0 failed, 0 left out' 0 "$work/good"
total $checks $failures
