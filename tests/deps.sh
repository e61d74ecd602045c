#!/bin/bash
# tests/deps.sh: what `make` says where a compiler or a library is missing, and what `make deps` says to a user who
# may install nothing. Prints what a Check program does, for tests/run.sh.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL
checks=0 failures=0
says() { # title, text, then a command that has to fail and to say the text
    local title=$1 text=$2 said
    shift 2
    checks=$((checks + 1))
    if said=$("$@" 2>&1); then
        said="it succeeded: $said"
    else
        [[ $said == *"$text"* ]] && return
    fi
    failures=$((failures + 1))
    printf '%s: %s: no "%s" in:\n%s\n' "$0" "$title" "$text" "$said"
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
says 'make without a compiler' "$deps" env PATH="$work/bin" "$make" -j2 BUILD="$work/build"
says 'make run without a compiler' "$deps" env PATH="$work/bin" "$make" BUILD="$work/build" run
says 'make without the libraries' "libhiredis-dev" "$make" BUILD="$work/build" CPPFLAGS="-nostdinc"
says 'make deps by an ordinary user' 'apt-get update && apt-get install -y gcc' env PATH="$work/bin" .ci/deps
printf '%d%%: Checks: %d, Failures: %d, Errors: 0\n' $((100 * (checks - failures) / checks)) $checks $failures
[ $failures -eq 0 ]
