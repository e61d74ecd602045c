#!/bin/bash
# client/go/jobs.sh [JOB...]: the examples in Go. Without arguments those that are short enough for make check.
[ $# -gt 0 ] || set -- order cache writer consumer # stock and nightly take 9 s each
exec "$(dirname "$0")/../../tests/stubs/jobs.sh" go "$@"
