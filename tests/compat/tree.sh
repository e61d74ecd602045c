# shellcheck shell=bash
# Sourced by tests/compat/compat.sh and systemd/deb-check.sh: the root folder of a Debian system, in which chroot(8) runs
# commands. The caller unmounts what is in $mounted at its end.

mounted=()
die() {
    echo "$(basename "$0" .sh): $*" >&2
    exit 2
}
tree_needed() { # root: it is one, and this is root
    [ -d "$1/usr/bin" ] || die "$1 is no system's root folder"
    [ "$(id -u)" = 0 ] || die "chroot(8) needs root"
}
tree_mount() { # root: mounts there what its programs need, unless it is mounted
    if [ ! -e "$1/proc/self" ]; then
        mount -t proc proc "$1/proc"
        mounted+=("$1/proc")
    fi
    if [ ! -e "$1/dev/pts/ptmx" ]; then # for the tests of terminals
        mount -t devpts -o ptmxmode=666 devpts "$1/dev/pts"
        mounted+=("$1/dev/pts")
    fi
}
