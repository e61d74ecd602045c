#!/bin/sh
# systemd/commit.sh: prints the commit of these sources, and its date in seconds since 1970. An archive has both in
# systemd/commit, and needs no git; there they win over a repository that happens to lie around it. Sources that were
# changed since the commit get a "+". Where nobody knows the commit, it is "unknown", of the date of debian/changelog.
# SOURCE_DATE_EPOCH replaces the date.
set -eu
cd "$(dirname "$0")/.."

found=$(cat systemd/commit)
case $found in
*Format:*)
    found=
    if git ls-files --error-unmatch systemd/commit.sh >/dev/null 2>&1; then
        found=$(git log -1 --format='%H %ct')
        git diff --quiet HEAD -- || found="${found% *}+ ${found#* }"
    fi
    ;;
esac
if [ -z "$found" ]; then
    found="unknown $(date -d "$(sed -n 's/^ -- .*>  //p' systemd/debian/changelog | head -n 1)" +%s)"
fi
echo "${found% *} ${SOURCE_DATE_EPOCH:-${found#* }}"
