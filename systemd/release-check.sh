#!/bin/bash
# systemd/release-check.sh BUILD VERSION: what a release consists of can be made again by others. `make dist` makes the
# same archive twice, and once more in the unpacked archive, where no git is. The Debian packages that are built there are
# the same bytes as those of this folder, which are built, without their tests, unless BUILD/deb has them; the daemon in
# them knows its commit. The last line says how all went.
set -euo pipefail
cd "$(dirname "$0")/.."

build=$1 version=$2
name=redlockd-$version
passed=0 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
unset MAKEFLAGS MFLAGS MAKELEVEL SOURCE_DATE_EPOCH
export DEB_BUILD_OPTIONS="nocheck terse"

check() { # title, then a command that succeeds when all is well
    local title=$1
    shift
    if "$@" >"$work/said" 2>&1; then
        passed=$((passed + 1))
        return
    fi
    failed=$((failed + 1))
    echo "FAIL  $title"
    tail -n 30 "$work/said" | sed 's/^/      /'
}
digest() { sha256sum <"$1" | cut -d' ' -f1; }

dist_is() { # folder, digest; the clock, the umask and the language do not matter
    (cd "$1" && umask 077 && LC_ALL=C TZ=UTC+5 make --no-print-directory dist)
    [ "$(digest "$1/build/dist/$name.tar.xz")" = "$2" ]
}
git_is_unknown() { ! git -C "$there" ls-files --error-unmatch Makefile 2>&1; }
builds() { make -C "$1" deb; } # folder
same() { cmp "$build/deb/$1" "$there/build/deb/$1"; }
knows_its_commit() {
    dpkg-deb -x "$there"/build/deb/redlockd_"$version"-*.deb "$work/root"
    "$work/root/usr/sbin/redlockd" --version
    "$work/root/usr/sbin/redlockd" --version | grep -qx "commit $(cut -d' ' -f1 "$there/systemd/commit")"
}

[ "$build" = build ] || { echo 'release-check: BUILD has to be build' >&2; exit 2; }
make --no-print-directory dist >/dev/null
archive=build/dist/$name.tar.xz
expected=$(digest "$archive")
cp "$archive" "$work"
check 'make dist makes the same bytes again' dist_is . "$expected"
mkdir "$work/elsewhere"
tar -C "$work/elsewhere" -xf "$work/$name.tar.xz"
there=$work/elsewhere/$name
check 'the unpacked archive is no repository' git_is_unknown
check 'make dist makes them there, too' dist_is "$there" "$expected"

if [ "$(systemd/commit.sh)" != "$(cat "$there/systemd/commit")" ]; then
    echo 'left out: the packages, since files were changed after the last commit'
elif ! command -v dpkg-buildpackage >/dev/null; then
    echo 'left out: the packages, since dpkg-dev is not installed'
else
    # Those that a `make deb` of these sources has left will do.
    cmp -s "$archive" "$build/deb/redlockd_$version.orig.tar.xz" || check 'the packages' builds .
    check 'the packages, of the archive' builds "$there"
    mapfile -t files < <(cd "$there/build/deb" && ls ./*.deb ./*.dsc ./*.tar.xz)
    [ ${#files[@]} -ge 9 ] || { echo "FAIL  only ${files[*]}"; failed=$((failed + 1)); }
    for file in "${files[@]}"; do check "$file is the same" same "$file"; done
    check 'redlockd --version names the commit of the archive' knows_its_commit
fi
echo "release-check: $passed passed, $failed failed"
[ $failed -eq 0 ]
