#!/bin/bash
# tests/install.sh: make install into a folder of its own, then a program outside the tree that finds the
# library by pkg-config alone: with C11 and C++, shared and static; then make uninstall. Prints what a
# Check program does, for tests/run.sh. REDLOCKD names the daemon, and so the build.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/report.sh
. tests/report.sh

root=$(mktemp -d) || exit 1
trap 'rm -rf "$root"' EXIT
prefix=/opt/redlock
lib=$root$prefix/lib
unit=$root/opt/units/redlockd.service
flags=() make_flags=("BUILD=$build" "DESTDIR=$root" "PREFIX=$prefix" SYSCONFDIR=/opt/etc UNITDIR=/opt/units)
case $build in
*asan*)
    flags=('-fsanitize=address,undefined')
    make_flags+=(ASAN=1)
    ;;
esac
# A make above may be one of several jobs; this is another make.
unset MAKEFLAGS MFLAGS MAKELEVEL
export PKG_CONFIG_PATH=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
export PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1

installs() { make --no-print-directory "${make_flags[@]}" install; }

laid_out() {
    local file
    for file in include/redlock.h lib/libredlock.a lib/libredlock.so lib/libredlock.so.0 \
        lib/pkgconfig/libredlock.pc share/man/man3/libredlock.3 share/man/man8/redlockd.8 sbin/redlockd \
        bin/redlock share/man/man1/redlock.1 share/bash-completion/completions/redlock \
        share/zsh/site-functions/_redlock share/fish/vendor_completions.d/redlock.fish \
        share/doc/redlockd/{README.md,LICENSE,protocol.txt} \
        share/doc/redlockd/examples/{stock.c,resource.h,loop_poll.c,nightly.sh}; do
        [ -e "$root$prefix/$file" ] || { echo "no $file"; return 1; }
    done
}

# Checks that the files below PREFIX/share which the manual pages name are there, and the protocol.txt to which
# README.md links.
names_what_is_there() {
    local file said=0
    while read -r file; do
        said=1
        [ -e "$root$file" ] || { echo "no $file"; return 1; }
    done < <(grep -ho '/opt/redlock/share/[A-Za-z0-9/._-]*[a-z]' "$root$prefix"/share/man/*/*)
    [ $said -eq 1 ] && ! grep -l '/usr/local/share' "$root$prefix"/share/man/*/* || return 1
    [ -e "$root$prefix/share/doc/redlockd/$(grep -o '](protocol.txt)' "$root$prefix/share/doc/redlockd/README.md" |
        head -1 | tr -d ']()')" ]
}

exports_only_ours() {
    ! nm -D --defined-only "$lib/libredlock.so" | awk '$3 !~ /^(redlock_[a-z_]*@@REDLOCK_|REDLOCK_)/' | grep . &&
        ! nm -g --defined-only "$lib/libredlock.a" | awk 'NF == 3 && $3 !~ /^redlock_/' | grep . &&
        readelf -d "$lib/libredlock.so" | grep -q 'SONAME.*\[libredlock\.so\.0\]'
}

needs_little() {
    ! readelf -d "$lib/libredlock.so" | grep NEEDED | grep -E 'event|hiredis|yaml'
}

builds() { # compiler, output, what to link it with
    local compiler=$1 output=$2 cflags
    shift 2
    cflags=$(pkg-config --cflags libredlock) || return 1
    # shellcheck disable=SC2086
    $compiler -pedantic -Wall -Wextra -Werror $cflags "${flags[@]}" -o "$root/$output" "$root/program.c" "$@"
}

says_its_version() {
    [ "$("$@")" = "$(pkg-config --modversion libredlock): connect" ]
}

# A daemon that fails five times in ten seconds (a full disk, a port that is still taken) is started again all the same.
is_always_started_again() {
    grep -A20 '^\[Unit\]' "$unit" | grep -qx 'StartLimitIntervalSec=0'
}

# As installed, but where the program really lies.
systemd_accepts_the_units() {
    local at
    for at in '' @; do
        sed "s|^ExecStart=|&$root|" "${unit%.service}$at.service" >"$root/redlockd$at.service"
        cp "${unit%.service}$at.socket" "$root"
    done
    ! systemd-analyze verify --man=no "$root"/redlockd{,@jobs}.{service,socket} 2>&1 | grep .
}

# Two sets of masters have nothing in common on a host but the user and the folder.
has_a_unit_for_each_set() {
    local at=${unit%.service}@
    grep -qx 'ExecStart=/opt/redlock/sbin/redlockd -c /opt/etc/redlockd/%i.yaml' "$at.service" &&
        grep -qx 'LoadCredential=redis.secret:/opt/etc/redlockd/%i.secret' "$at.service" &&
        grep -qx 'ListenStream=/run/redlockd/%i.sock' "$at.socket" && ! grep -h 'redlockd\.yaml\b' "$at".* | grep -v 'man:' &&
        ! grep '^ListenStream=.*:' "$at.socket"
}

# The threshold is ten times the exposure level that `systemd-analyze security` shows.
is_hardly_exposed() {
    systemd-analyze security --offline=yes --threshold=12 "$root/redlockd.service"
}

# A service's RuntimeDirectory= would take the path of the socket unit away with the service.
folder_is_made_apart() {
    grep -qx 'd /run/redlockd 0755 redlockd redlockd' "$root$prefix/lib/tmpfiles.d/redlockd.conf" &&
        ! grep -q '^RuntimeDirectory=' "$unit"
}

# What it holds is for root and the daemon: systemd-tmpfiles gives it the daemon's group.
only_the_daemon_reads_the_configuration() {
    [ "$(stat -c %a "$root/opt/etc/redlockd/redlockd.yaml")" = 640 ] &&
        grep -qx "z /opt/etc/redlockd/\*.yaml 0640 root redlockd" "$root$prefix/lib/tmpfiles.d/redlockd.conf"
}

leaves_no_core() {
    grep -qx 'LimitCORE=0' "$unit"
}

makes_the_user() {
    mkdir -p "$root/system/etc"
    systemd-sysusers --root="$root/system" "$root$prefix/lib/sysusers.d/redlockd.conf" || return 1
    grep '^redlockd:.*/nologin$' "$root/system/etc/passwd"
}

uninstalls() {
    local left
    make --no-print-directory "${make_flags[@]}" uninstall || return 1
    left=$(find "$root$prefix" ! -type d)
    [ -z "$left" ] || { echo "left: $left"; return 1; }
}

cat >"$root/program.c" <<'C'
#include <redlock.h>
#include <stdio.h>

int main(void)
{
    struct redlock *redlock = redlock_open("unix:/nowhere", NULL);
    struct redlock_lock *lock = redlock_lock(redlock, "job", NULL);
    while (redlock_safe_ms(lock) > 0)
        printf("%d\n", (int)redlock_fence(lock));
    printf("%s: %s\n", redlock_version(), redlock_error_name(redlock_error(redlock)));
    redlock_close(redlock);
    return 0;
}
C

check 'make install' installs
check 'everything lies where it belongs' laid_out
check 'the manual pages name what is there' names_what_is_there
check 'only redlock_ leaves the library' exports_only_ours
check 'the library needs libc and OpenSSL only' needs_little
check 'systemd never gives the daemon up' is_always_started_again
check 'redlockd@NAME has files of its own' has_a_unit_for_each_set
check 'no unit takes /run/redlockd away' folder_is_made_apart
check 'only the daemon reads the configuration' only_the_daemon_reads_the_configuration
check 'no core is left' leaves_no_core
if command -v systemd-analyze >/dev/null; then
    check 'systemd-analyze verify is silent' systemd_accepts_the_units
    check 'systemd-analyze security finds little' is_hardly_exposed
    check 'systemd-sysusers makes the user' makes_the_user
else
    echo 'left out: the units, since systemd-analyze is not installed'
fi
read -r -a libs <<<"$(pkg-config --libs libredlock)"
check 'a C program' builds 'cc -std=c11' shared "${libs[@]}"
check 'runs' says_its_version env "LD_LIBRARY_PATH=$lib" "$root/shared"
read -r -a private <<<"$(pkg-config --static --libs-only-l libredlock | sed 's/-lredlock//')"
check 'a static one' builds 'cc -std=c11' static "$lib/libredlock.a" "${private[@]}"
check 'runs' says_its_version "$root/static"
if command -v c++ >/dev/null; then
    check 'a C++ program' builds 'c++ -std=c++11 -x c++' plus "${libs[@]}"
    check 'runs' says_its_version env "LD_LIBRARY_PATH=$lib" "$root/plus"
fi
check 'make uninstall' uninstalls
total $checks $failures
