#!/bin/bash
# client/node/jobs.sh [JOB...]: tests the examples in Node.js; by default only the jobs that are short enough for make check.
[ $# -gt 0 ] || set -- consumer
exec "$(dirname "$0")/../../tests/stubs/jobs.sh" node "$@"
