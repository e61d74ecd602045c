#!/bin/bash
# tests/lint.sh VERSION FILE...: cppcheck and clang-tidy over the C files, shellcheck over the scripts
# among them, each where it is installed. Silent when all is well.
set -uo pipefail

version=$1
shift
sources=() scripts=()
for file in "$@"; do
    case $file in
    *.c) sources+=("$file") ;;
    *.h) ;;
    *) scripts+=("$file") ;;
    esac
done
bad=0

if command -v cppcheck >/dev/null; then
    # It reads no system headers, but needs the macros of this one.
    queue=$(echo '#include <sys/queue.h>' | cc -M -x c - | grep -o '/[^ ]*/sys/queue\.h')
    cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr \
        --suppressions-list=.cppcheck --error-exitcode=1 -j2 -I. -Iclient -D_GNU_SOURCE --include="$queue" \
        "-DREDLOCKD_VERSION=\"$version\"" "${sources[@]}" || bad=1
else
    echo 'lint: no cppcheck here'
fi

if command -v clang-tidy >/dev/null; then
    # Its stderr only counts warnings of headers that it did not show.
    # shellcheck disable=SC2016
    printf '%s\0' "${sources[@]}" | xargs -0 -P 2 -n 4 bash -c \
        'version=$1; shift; clang-tidy --quiet "$@" -- -std=c11 -D_GNU_SOURCE "-DREDLOCKD_VERSION=\"$version\"" -I. -Iclient 2>/dev/null' \
        tidy "$version" || bad=1
else
    echo 'lint: no clang-tidy here'
fi

if command -v shellcheck >/dev/null; then
    shellcheck "${scripts[@]}" || bad=1
else
    echo 'lint: no shellcheck here'
fi
exit $bad
