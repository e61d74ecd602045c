#!/bin/bash
# tests/compat/compat.sh DIR [MORE...]: copies these sources into DIR, the root folder of a Debian system (as debootstrap
# makes it), builds them there with -Werror and runs all tests, once with each server that it has: redis-server,
# valkey-server. Then the integration tests run once more with fleets of all these servers, and of those of the trees
# MORE, which lend only these: each master is of one kind, by chance. The copy is removed at the end.
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
    if path=$(inside sh -c "command -v $server"); then
        servers+=("$path")
    else
        echo "compat: left out: there is no $server in $root"
    fi
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

# A server of another tree runs by that tree's loader, with its libraries beside it.
lend() { # tree, server
    local to=$copy/lent/$((${#fleet[@]} + 1)) file
    file=$(chroot "$1" sh -c "command -v $2") || {
        echo "compat: left out: there is no $2 in $1"
        return 0
    }
    mkdir -p "$to"
    cp -L "$1$file" "$to/server"
    chroot "$1" ldd "$file" | grep -o '/[^ ]*' | while read -r library; do cp -L "$1$library" "$to/"; done
    printf '#!/bin/sh\nexec %s --library-path %s %s "$@"\n' "${to#"$root"}/$(cd "$to" && ls -d ld-linux*)" \
        "${to#"$root"}" "${to#"$root"}/server" >"$to/run"
    chmod 755 "$to/run"
    fleet+=("${to#"$root"}/run")
}
fleet=("${servers[@]}")
for tree in "${@:2}"; do
    tree_needed "$tree"
    for server in redis-server valkey-server; do lend "${tree%/}" "$server"; done
done
if [ ${#fleet[@]} -lt 2 ]; then
    echo 'compat: left out: a fleet of several servers, as there is only one'
    exit $bad
fi
echo "compat: a fleet of: $(for path in "${fleet[@]}"; do inside "$path" --version | cut -d ' ' -f 1,3 | tr '\n' ' '; done)"
# A master stays of its kind when it starts again: its socket, or its port, decides.
{
    # shellcheck disable=SC2016
    printf '#!/bin/sh\nwhich=none was=\nfor word; do\n    %s\n    was=$word\ndone\n' \
        'case $was in --unixsocket | --port) [ -z "$word" ] || [ "$word" = 0 ] || which=$word ;; esac'
    # shellcheck disable=SC2016
    printf 'case $(($(printf %%s "$which" | cksum | cut -d " " -f 1) %% %d)) in\n' ${#fleet[@]}
    for i in "${!fleet[@]}"; do printf '%d) exec %s "$@" ;;\n' "$i" "${fleet[$i]}"; done
    echo 'esac'
} >"$copy/server/fleet"
chmod 755 "$copy/server/fleet"
ln -sfn "$here/server/fleet" "$copy/server/redis-server"
# shellcheck disable=SC2016
inside sh -c 'cd "$1" && TEST_JOBS=${JOBS:-4} tests/run.sh $(ls tests/integ/test_*.c | sed "s|.*/\(.*\)\.c|build/tests/integ/integ:\1|")' \
    sh "$here" || bad=1
exit $bad
