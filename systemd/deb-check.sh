#!/bin/bash
# systemd/deb-check.sh BUILT TREE [BARE]: builds the packages whose sources lie in the folder BUILT inside TREE, the
# root folder of a Debian system (as debootstrap makes it, or /) with the packages of Build-Depends. Installs them in
# BARE, or in TREE, with apt, runs their own tests there with three real Redis servers, boots it where systemd-nspawn
# can do that here, and purges the packages again. Needs root, for chroot(8). What apt installs beside them stays.
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=tests/compat/tree.sh
. tests/compat/tree.sh
# shellcheck source=tests/why.sh
. tests/why.sh

built=${1-} tree=${2-} bare=${3:-${2-}}
[ -n "$tree" ] || die "whose tree? make deb-check ROOT=DIR [BARE=DIR], each one that debootstrap made"
for root in "$tree" "$bare"; do tree_needed "$root"; done

packages=(redlockd redlock libredlock-dev libredlock0)
copies=()
end() {
    rm -rf "${copies[@]}"
    [ ${#mounted[@]} -eq 0 ] || umount "${mounted[@]}"
}
trap end EXIT
trap 'exit 130' INT TERM

inside() { # root, command
    chroot "$1" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS-}" "${@:2}"
}
has() { inside "$1" sh -c "command -v $2" >/dev/null; } # root, program

enter() { # root: sets copy, a folder in it
    local root=$1
    tree_mount "$root"
    copy=$(mktemp -d "${root%/}/tmp/redlockd-deb.XXXXXX")
    copies+=("$copy")
    chmod 755 "$copy"
    here=${copy#"${root%/}"} # as seen from inside
}

step() { # what is wrong if it fails, then a command; if it fails, why
    local wrong=$1
    shift
    "$@" >"$copy/log" 2>&1 || {
        why "$copy/log" 60
        die "$wrong"
    }
}
say() { echo "deb-check: $bare: $*"; }

build() {
    tar -C "$built" -c . | tar -C "$copy" -x --no-same-owner
    # shellcheck disable=SC2016
    step "the packages cannot be built in $tree" \
        inside "$tree" sh -ec 'cd "$1"/redlockd-*/ && dpkg-buildpackage -us -uc' sh "$here"
    if ! has "$tree" lintian; then
        echo "deb-check: $tree: built; left out: lintian, which is not installed there"
        return
    fi
    local said
    # shellcheck disable=SC2016
    said=$(inside "$tree" sh -ec 'cd "$1" && lintian --allow-root *.changes' sh "$here" 2>&1) || true
    # No bug in Debian asks for this package.
    ! grep -vE 'initial-upload-closes-no-bugs|^running with root privileges' <<<"$said" || die "lintian complains"
    echo "deb-check: $tree: built, and lintian is silent"
}

install_packages() {
    # Else apt would keep earlier ones of the same version.
    inside "$bare" dpkg --purge "${packages[@]}" >"$copy/log" 2>&1 || true
    # shellcheck disable=SC2016
    step "the packages cannot be installed in $bare" \
        inside "$bare" sh -ec 'apt-get install -y --no-install-recommends "$1"/*.deb' sh "$here"
    inside "$bare" getent passwd redlockd >/dev/null || die "there is no user redlockd"
    [ "$(inside "$bare" stat -c %U:%a /run/redlockd)" = redlockd:755 ] || die "/run/redlockd is not redlockd's"
}

own_tests() {
    local name
    for name in run compile; do
        if [ $name = compile ] && ! has "$bare" pkg-config; then
            say 'left out: debian/tests/compile, which needs a compiler and pkg-config'
            continue
        fi
        step "debian/tests/$name fails in $bare" \
            timeout -k 5 180 chroot "$bare" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$here/tests/$name"
        say "debian/tests/$name passes"
    done
}

# A boot with systemd as the first process; a unit runs booted.sh and switches off.
boot() {
    local units=$bare/etc/systemd/system name=redlockd-booted
    if [ "$bare" -ef / ] || [ ! -e "$bare/lib/systemd/systemd" ] || ! command -v systemd-nspawn >/dev/null; then
        say 'left out: a boot, which systemd-nspawn could do here'
        return
    fi
    mkdir -p "$units/multi-user.target.wants"
    copies+=("$units/$name.service" "$units/multi-user.target.wants/$name.service" "$bare/root/$name")
    rm -rf "$bare/root/$name"
    mkdir "$bare/root/$name"
    cp systemd/booted.sh "$bare/root/$name"
    ln -sf "/etc/systemd/system/$name.service" "$units/multi-user.target.wants"
    cat >"$units/$name.service" <<UNIT
[Service]
Type=oneshot
ExecStart=/root/$name/booted.sh
ExecStopPost=systemctl --no-block poweroff
StandardOutput=append:/root/$name/log
StandardError=append:/root/$name/log
UNIT
    # All of it is gone when unshare is, also a system that does not switch off.
    timeout -k 5 180 unshare --pid --fork --kill-child --mount-proc \
        systemd-nspawn --quiet --register=no --keep-unit --private-network -D "$bare" --boot \
        </dev/null >"$copy/log" 2>&1 || true
    if [ ! -s "$bare/root/$name/log" ]; then
        tail -n 5 "$copy/log"
        say 'left out: a boot, which this machine does not allow'
        return
    fi
    # shellcheck disable=SC2016
    step "systemd in $bare does not run the units as it should" sh -c \
        'cat "$1"; grep -qx "booted: all is well" "$1"' sh "$bare/root/$name/log"
    while read -r line; do say "$line"; done <"$copy/log"
}

purge() {
    local left
    step "the packages cannot be purged from $bare" inside "$bare" apt-get purge -y "${packages[@]}"
    left=$(find "$bare"/{etc,usr,lib,var/lib/dpkg,var/lib/systemd} -xdev -name '*redlock*' \
        -not -path "*/redlockd-booted*" 2>/dev/null || true)
    [ -z "$left" ] || die "purging leaves $left"
    say 'purged, and nothing is left'
}

enter "$tree"
build
from=$copy
[ "$bare" = "$tree" ] || enter "$bare"
[ "$copy" = "$from" ] || cp "$from"/*.deb "$copy"
rm -f "$copy"/*-dbgsym_*.deb
cp -r systemd/debian/tests "$copy"
install_packages
own_tests
boot
purge
