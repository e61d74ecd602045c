#!/bin/bash
# tests/compat/compat.sh DIR: copies these sources into DIR, the root folder of a Debian system (as debootstrap
# makes it), builds them there with -Werror and runs all tests, once with each server that it has: redis-server,
# valkey-server. The copy is removed at the end.
#
# Needs root, for chroot(8), and the packages of .ci/deps in DIR. DIR/proc and DIR/dev/pts are mounted meanwhile
# if they are not.
# Loopback is this machine's.
set -euo pipefail
cd "$(dirname "$0")/../.."

# shellcheck source=tests/compat/tree.sh
. tests/compat/tree.sh

root=${1-} root=${root%/}
[ -n "$root" ] || die "whose tree? make compat ROOT=DIR, one that debootstrap made"
tree_needed "$root"
{ : >"$root/dev/null" && : <"$root/dev/urandom"; } 2>/dev/null ||
    die "$root/dev/null or urandom cannot be used: mount --bind /dev/null $root/dev/null, and so on"

copy=$(mktemp -d "$root/tmp/redlockd-compat.XXXXXX")
trap 'rm -rf "$copy"; [ ${#mounted[@]} -eq 0 ] || umount "${mounted[@]}"' EXIT
trap 'exit 130' INT TERM
tree_mount "$root"

here=${copy#"$root"} # as seen from inside
inside() {
    chroot "$root" /usr/bin/env -i PATH="$here/server:/usr/sbin:/usr/bin:/sbin:/bin" HOME=/root LC_ALL=C.UTF-8 \
        ${JOBS:+JOBS="$JOBS"} ${TEST_LIMIT_S:+TEST_LIMIT_S="$TEST_LIMIT_S"} "$@"
}
tar -c --exclude=./build --exclude=./.git . | tar -x -C "$copy"
mkdir "$copy/server"

servers=()
for server in redis-server valkey-server; do
    if path=$(inside sh -c "command -v $server"); then servers+=("$path"); fi
done
[ ${#servers[@]} -gt 0 ] || die "no redis-server and no valkey-server in $root"

# shellcheck disable=SC2016
what=$(inside sh -c '. /etc/os-release; echo "$PRETTY_NAME, gcc $(gcc -dumpfullversion), hiredis $(pkg-config --modversion hiredis)"')
echo "compat: build: $what"
inside make --no-print-directory -C "$here" -j2 WERROR=1 all objects >"$copy/build.log" 2>&1 || {
    grep -vE '^((cc|gcc|ar|@?printf) |  [A-Z]+ +[^ ]*$)' "$copy/build.log" | tail -n 60
    die "it does not build there"
}
bad=0
for path in "${servers[@]}"; do
    # Everything that starts redis-server, also the daemon with --dev, gets this server.
    ln -sfn "$path" "$copy/server/redis-server"
    echo "compat: $(inside "$path" --version)"
    inside make --no-print-directory -C "$here" WERROR=1 NODEPS=1 check || bad=1
done
exit $bad
