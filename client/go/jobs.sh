#!/bin/bash
# client/go/jobs.sh [JOB...]: the examples in Go. Without arguments the jobs that are short enough for make check.
[ $# -gt 0 ] || set -- order cache writer consumer # stock and nightly take longer
exec "$(dirname "$0")/../../tests/stubs/jobs.sh" go "$@"
