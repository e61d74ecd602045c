#!/bin/bash
# client/java/check.sh [CYCLES]: the tests of the client library for Java, with real masters and a real daemon. Prints what
# a Check program does, for tests/run.sh. REDLOCKD names the daemon, and so the build.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/report.sh
. tests/report.sh

export REDLOCKD=$daemon
java=$build/java
if [ ! -e "$java/tests/redlockd/AllTests.class" ] || ! command -v python3 >/dev/null; then
    left_out "the tests of the client library for Java (they need a JDK and python3)"
fi
exec java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$java/redlockd.jar:$java/tests" -Djar="$java/redlockd.jar" \
    -Dworld=tests/stubs/world -Dreadme=client/java/README.md redlockd.AllTests "${1:-1000}"
