#!/bin/bash
# tests/purity.sh OBJECT...: the coordinator's objects ask for nothing but memory, strings and assert:
# no I/O, no clock, no random numbers. So the simulator drives exactly what the daemon runs.
set -euo pipefail

[ $# -gt 0 ] || {
    echo "purity: there are no objects of the coordinator" >&2
    exit 1
}
# Behind assert is what compilers put in: checked copies (_FORTIFY_SOURCE), the stack's guard, counting bits
# where the processor may not (libgcc), the linker's table.
allowed='mem[a-z]+|bcmp|str[a-z]+|malloc|calloc|free|__assert_fail|__(mem|str)[a-z]+_chk|__chk_fail|__stack_chk_fail|__popcount[sd]i2|_GLOBAL_OFFSET_TABLE_'
defined=$(nm --defined-only --extern-only -- "$@" | awk 'NF == 3 { print $3 }')
foreign=$(nm -u -A -- "$@" | awk '{ sub(/:$/, "", $1); print $NF, $1 }' | sort -u |
    awk -v allowed="^($allowed)$" -v defined="$defined" '
        BEGIN { n = split(defined, d, "\n"); for (i = 1; i <= n; i++) known[d[i]] = 1 }
        !($1 in known) && $1 !~ allowed { print "  " $1 "  in " $2 }')
if [ -n "$foreign" ]; then
    printf 'purity: the coordinator asks for what it must not have:\n%s\n' "$foreign" >&2
    exit 1
fi
echo "purity: $# objects ask only for memory, strings and assert"
