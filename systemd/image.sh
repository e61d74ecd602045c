#!/bin/bash
# systemd/image.sh BUILD VERSION: makes a container image of the programs in the folder BUILD, with the libraries of this
# system that they need and nothing else, as BUILD/redlockd-VERSION.image.tar, for `docker load` or `podman load`.
# Needs buildah, and root or `buildah unshare`. It downloads nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

build=$1 version=$2
user=65532 # a number, so that Kubernetes can see that it is not root
certificates=/etc/ssl/certs/ca-certificates.crt # OpenSSL looks elsewhere, and so the image has SSL_CERT_FILE
command -v buildah >/dev/null || { echo "image: no buildah (Debian: apt-get install buildah)" >&2; exit 2; }
[ -r $certificates ] || { echo "image: no $certificates (Debian: apt-get install ca-certificates)" >&2; exit 2; }

work=$(mktemp -d)
root=$work/root
# A store of its own, so that nothing is left in that of the machine.
images() { buildah --root "$work/store" --runroot "$work/run" --storage-driver vfs "$@"; }
container=
end() {
    [ -z "$container" ] || images rm "$container" >/dev/null
    rm -rf "$work"
}
trap end EXIT

install -D -m 755 "$build/redlockd" "$root/usr/sbin/redlockd"
install -D -m 755 "$build/redlock" "$root/usr/bin/redlock"
# "libyaml-0.so.2 => /lib/x86_64-linux-gnu/libyaml-0.so.2 (0x...)" and "/lib64/ld-linux-x86-64.so.2 (0x...)"
ldd "$root/usr/sbin/redlockd" "$root/usr/bin/redlock" | grep -o '/[^ :]* (' | tr -d '( ' | sort -u |
    while read -r library; do install -D -m 755 "$library" "$root$library"; done
install -D -m 644 $certificates "$root$certificates"
install -D -m 644 LICENSE "$root/usr/share/doc/redlockd/LICENSE"
printf 'root:x:0:0::/:/sbin/nologin\nredlockd:x:%d:%d::/:/sbin/nologin\n' $user $user >"$root/etc/passwd"
printf 'root:x:0:\nredlockd:x:%d:\n' $user >"$root/etc/group"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
install -d -m 755 "$root/etc/redlockd" "$root/tmp"
install -d -m 755 -o $user -g $user "$root/run/redlockd"
[ "$(chroot "$root" /usr/sbin/redlockd --version)" = "redlockd $version" ]
chroot "$root" /usr/bin/redlock --help >/dev/null

container=$(images from --format docker scratch)
cp -a "$root/." "$(images mount "$container")" # `buildah copy` would make everything root's
images config --user $user:$user --entrypoint '["/usr/sbin/redlockd"]' --cmd '' --port 7335/tcp --stop-signal SIGTERM \
    --env SSL_CERT_FILE=$certificates --volume /run/redlockd --workingdir / \
    --healthcheck 'CMD /usr/bin/redlock ping' --healthcheck-interval 10s --healthcheck-timeout 5s \
    --label org.opencontainers.image.title=redlockd \
    --label org.opencontainers.image.description='Lock service over several independent Redis masters' \
    --label org.opencontainers.image.version="$version" \
    --label org.opencontainers.image.licenses=BSD-2-Clause \
    "$container"
# In OCI's own format, what docker calls a health check would be dropped.
images commit --quiet --format docker "$container" "redlockd:$version" >/dev/null
archive=$build/redlockd-$version.image.tar
rm -f "$archive"
images push --quiet "redlockd:$version" "docker-archive:$archive:redlockd:$version"
tar -xOf "$archive" --wildcards '*.json' | tr -d ' ' | grep -q '"Test":\["CMD","/usr/bin/redlock","ping"\]' ||
    { echo "image: this buildah dropped the health check" >&2; exit 1; }
echo "$archive: redlockd:$version"
