#!/bin/bash
# client/python/jobs.sh [JOB...]: tests the examples in Python; by default only the jobs that are short enough for make
# check.
[ $# -gt 0 ] || set -- order consumer
exec "$(dirname "$0")/../../tests/stubs/jobs.sh" python "$@"
