#!/bin/bash
# tests/deps.sh: what `make` says where a compiler or a library is missing, and what `make deps` says to a user who
# may install nothing. Prints what a Check program does, for tests/run.sh.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/report.sh
. tests/report.sh

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL
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
total $checks $failures
