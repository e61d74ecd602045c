#!/bin/bash
# client/java/jobs.sh [JOB...]: tests the examples in Java; by default only the jobs that are short enough for make check.
[ $# -gt 0 ] || set -- order writer
exec "$(dirname "$0")/../../tests/stubs/jobs.sh" java "$@"
