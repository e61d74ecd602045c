#!/bin/bash
# tests/packages.sh: what systemd/debian/ says fits to the sources: version, files, symbols; and
# conf/kubernetes.yaml is as Kubernetes and the daemon want it. `make deb` builds the packages, which takes too
# long for here. Prints what a Check program does, for tests/run.sh. REDLOCKD names the daemon, and so the build.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/report.sh
. tests/report.sh

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
root=$work/root # of the system that is installed
mkdir "$root"
make_flags=("BUILD=$build" "DESTDIR=$root" PREFIX=/usr LIBDIR=/usr/lib/x UNITDIR=/lib/systemd/system)
cflags=
case $build in *asan*) make_flags+=(ASAN=1) cflags=-fsanitize=address,undefined ;; esac
unset MAKEFLAGS MFLAGS MAKELEVEL

# Makefile has the version; whatever repeats it, since its readers cannot ask there, has the same.
has_the_version() {
    local version bad=0 file pattern found
    version=$(sed -n 's/^VERSION := //p' Makefile)
    while read -r file pattern; do
        found=$(sed -nE "s/$pattern/\\1/p" "$file" | sort -u | tr '\n' ' ')
        [ "$found" = "$version " ] || { echo "Makefile has $version, $file ${found:-none}" && bad=1; }
    done <<'PLACES'
README.md ^\*\*State:\*\* version ([0-9.]+)[,:].*
conf/OPERATING.md .* redlockd:([0-9.]+)$
conf/kubernetes.yaml ^ *image: redlockd:([0-9.]+)$
client/python/pyproject.toml ^version = "(.*)"
client/python/redlockd/__init__.py ^__version__ = "(.*)"
client/node/package.json ^  "version": "(.*)",
client/java/pom.xml ^  <version>(.*)<\/version>
client/java/README.md .*`redlockd:redlockd:([0-9.]+)`.*
PLACES
    # These have all versions, the latest first.
    for file in systemd/debian/changelog daemon/CHANGES.md; do
        found=$(sed -nE 's/^(redlockd \(|## )([0-9.]+).*/\2/p' "$file" | head -n 1)
        [ "$found" = "$version" ] || { echo "Makefile has $version, $file ${found:-none}" && bad=1; }
    done
    return $bad
}

# The paths of all packages, as globs below the root.
# shellcheck disable=SC2016
listed() { sed 's|^${env:UNITDIR}/|lib/systemd/system/|' systemd/debian/*.install; }

lists_every_file() {
    local line path file bad=0 found
    declare -A known=([/usr/share/doc/redlockd/LICENSE]=1)
    while read -r line; do
        mapfile -t found < <(compgen -G "$root/$line")
        if [ ${#found[@]} -eq 0 ]; then
            echo "nothing is installed as $line"
            bad=1
            continue
        fi
        while read -r file; do known[${file#"$root"}]=1; done < <(find "${found[@]}" ! -type d)
    done < <(listed)
    while read -r path; do
        [ -n "${known[$path]:-}" ] || { echo "no package has $path" && bad=1; }
    done < <(find "$root" ! -type d | sed "s|^$root||")
    return $bad
}

lists_every_symbol() {
    diff <(sed -n 's/^ \(redlock_[a-z_]*\)@.*/\1/p' systemd/debian/libredlock0.symbols | sort) \
        <(nm -D --defined-only "$build/libredlock.so" | sed -n 's/.* \(redlock_[a-z_]*\)@@.*/\1/p' | sort)
}

# Its static program shows whether libredlock.pc names all that libredlock.a needs.
own_test() {
    PKG_CONFIG_PATH=$root/usr/lib/x/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 \
        LD_LIBRARY_PATH=$root/usr/lib/x CFLAGS=$cflags systemd/debian/tests/compile
}

# What a kubectl of 1.29 or later, which knows containers that are restarted beside the pod's own, makes of the objects
# with pods. `set` reads them into its own types, and fails for the others.
kubectl_reads() { # output
    local version
    version=$(kubectl version --client 2>/dev/null | sed -n 's/^Client Version: v1\.\([0-9]*\).*/\1/p')
    [ -n "$version" ] && [ "$version" -ge 29 ] || return 1
    kubectl set env --local -f conf/kubernetes.yaml TRIED=yes -o json >"$1" 2>/dev/null || true
}

is_as_kubernetes_wants_it() {
    local output=$work/kubectl.json
    kubectl_reads "$output" || output=
    /usr/bin/python3 tests/kubernetes.py conf/kubernetes.yaml "$daemon" ${output:+"$output"}
}

# An unpacked archive has no .git.
deb_source_of_an_archive() {
    local tree=$work/archive found
    mkdir "$tree"
    tar -c --exclude=./build --exclude=./.git . | tar -x -C "$tree"
    make --no-print-directory -C "$tree" deb-source >/dev/null || return 1
    found=$(cd "$tree"/build/deb/redlockd-*/ && ls -d Makefile .ci/run debian/rules client/redlock.h)
    [ "$(wc -l <<<"$found")" -eq 4 ] || { echo "the source package has of four files only: $found"; return 1; }
}

check 'the version' has_the_version
if command -v xz >/dev/null; then
    check 'make deb from an unpacked archive' deb_source_of_an_archive
else
    echo 'left out: make deb from an unpacked archive, since xz-utils is not installed'
fi
check 'make install' make --no-print-directory "${make_flags[@]}" install
check "the packages' own test of a program" own_test
check 'each installed file is in a package' lists_every_file
check 'each exported symbol is in the list (< the list, > the library)' lists_every_symbol
if /usr/bin/python3 -c 'import yaml' 2>/dev/null; then
    check 'conf/kubernetes.yaml' is_as_kubernetes_wants_it
else
    echo 'left out: conf/kubernetes.yaml, since python3-yaml is not installed'
fi
total $checks $failures
