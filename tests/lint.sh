#!/bin/bash
# tests/lint.sh VERSION FILE...: cppcheck, clang-tidy and clang-format over the C files, shellcheck over the
# scripts among them, each where it is installed. Silent when all is well and installed.
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
    # cppcheck reads no system headers, but needs the macros of this one.
    queue=$(echo '#include <sys/queue.h>' | cc -M -x c - | grep -o '/[^ ]*/sys/queue\.h')
    cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr \
        --suppressions-list=.cppcheck --error-exitcode=1 -j2 -I. -Iclient -D_GNU_SOURCE --include="$queue" \
        "-DREDLOCKD_VERSION=\"$version\"" "${sources[@]}" || bad=1
else
    echo 'lint: no cppcheck here'
fi

if command -v clang-tidy >/dev/null; then
    # The stderr of clang-tidy only counts warnings of headers that it did not show.
    # shellcheck disable=SC2016
    printf '%s\0' "${sources[@]}" | xargs -0 -P 2 -n 4 bash -c \
        'version=$1; shift; clang-tidy --quiet "$@" -- -std=c11 -D_GNU_SOURCE "-DREDLOCKD_VERSION=\"$version\"" -I. -Iclient 2>/dev/null' \
        tidy "$version" || bad=1
else
    echo 'lint: no clang-tidy here'
fi

# Other versions of clang-format lay out the same code differently.
if clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
    for file in "$@"; do
        case $file in
        *.[ch]) clang-format --dry-run --Werror "$file" 2>/dev/null || { echo "lint: $file: make format lays it out"; bad=1; } ;;
        esac
    done
else
    echo 'lint: no clang-format 14 here'
fi

if command -v shellcheck >/dev/null; then
    shellcheck "${scripts[@]}" || bad=1
else
    echo 'lint: no shellcheck here'
fi
exit $bad
