#!/bin/bash
# client/java/jobs.sh [JOB...]: the examples in Java. Without arguments those that are short enough for make check.
[ $# -gt 0 ] || set -- order writer
exec "$(dirname "$0")/../../tests/stubs/jobs.sh" java "$@"
