#!/bin/bash
# systemd/image.sh BUILD VERSION: makes a container image of the programs in the folder BUILD, with the libraries of this
# system that they need and nothing else, as BUILD/redlockd-VERSION.image.tar, for `docker load`, `podman load` or
# `ctr images import`. The same programs and libraries make the same bytes. It needs tar and sha256sum, no root, and
# downloads nothing. The archive is as `docker save` makes it: a layer, a configuration, and manifest.json.
set -euo pipefail
cd "$(dirname "$0")/.."

build=$1 version=$2
user=65532 # a number, so that Kubernetes can see that it is not root
certificates=/etc/ssl/certs/ca-certificates.crt # OpenSSL looks elsewhere, and so the image has SSL_CERT_FILE
[ -r $certificates ] || { echo "image: no $certificates (Debian: apt-get install ca-certificates)" >&2; exit 2; }
case $(uname -m) in # as Go names them, and so docker
x86_64) machine=amd64 ;;
aarch64) machine=arm64 ;;
i?86) machine=386 ;;
armv7*) machine=arm ;;
*) machine=$(uname -m) ;;
esac
read -r commit epoch < <(systemd/commit.sh)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
umask 022

install -D -s -m 755 "$build/redlockd" "$root/usr/sbin/redlockd"
install -D -s -m 755 "$build/redlock" "$root/usr/bin/redlock"
# "libyaml-0.so.2 => /lib/x86_64-linux-gnu/libyaml-0.so.2 (0x...)" and "/lib64/ld-linux-x86-64.so.2 (0x...)"
ldd "$root/usr/sbin/redlockd" "$root/usr/bin/redlock" | grep -o '/[^ :]* (' | tr -d '( ' | sort -u |
    while read -r library; do install -D -m 755 "$library" "$root$library"; done
install -D -m 644 $certificates "$root$certificates"
install -D -m 644 LICENSE "$root/usr/share/doc/redlockd/LICENSE"
printf 'root:x:0:0::/:/sbin/nologin\nredlockd:x:%d:%d::/:/sbin/nologin\n' $user $user >"$root/etc/passwd"
printf 'root:x:0:\nredlockd:x:%d:\n' $user >"$root/etc/group"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
mkdir -p "$root/etc/redlockd" "$root/tmp" "$root/run/redlockd"

as_ever() { tar --format=gnu --sort=name --mtime="@$epoch" --numeric-owner "$@"; }
# The folder of the Unix socket is the daemon's; all else is root's.
as_ever -C "$root" --owner=0 --group=0 --exclude=./run/redlockd -cf "$work/layer.tar" .
as_ever -C "$root" --owner=$user --group=$user -rf "$work/layer.tar" ./run/redlockd
layer=$(sha256sum <"$work/layer.tar" | cut -d' ' -f1)

cat >"$work/config.json" <<JSON
{
  "architecture": "$machine", "os": "linux", "created": "$(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ)",
  "config": {
    "User": "$user:$user", "WorkingDir": "/", "Entrypoint": ["/usr/sbin/redlockd"], "Cmd": [],
    "Env": ["PATH=/usr/sbin:/usr/bin", "SSL_CERT_FILE=$certificates"],
    "ExposedPorts": {"7335/tcp": {}}, "Volumes": {"/run/redlockd": {}}, "StopSignal": "SIGTERM",
    "Healthcheck": {"Test": ["CMD", "/usr/bin/redlock", "ping"], "Interval": 10000000000, "Timeout": 5000000000},
    "Labels": {
      "org.opencontainers.image.title": "redlockd",
      "org.opencontainers.image.description": "Lock service over several independent Redis masters",
      "org.opencontainers.image.version": "$version",
      "org.opencontainers.image.revision": "$commit",
      "org.opencontainers.image.licenses": "BSD-2-Clause"
    }
  },
  "rootfs": {"type": "layers", "diff_ids": ["sha256:$layer"]},
  "history": [{"created_by": "systemd/image.sh", "created": "$(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ)"}]
}
JSON
config=$(sha256sum <"$work/config.json" | cut -d' ' -f1)
mv "$work/config.json" "$work/$config.json"
printf '[{"Config":"%s.json","RepoTags":["redlockd:%s"],"Layers":["layer.tar"]}]\n' "$config" "$version" \
    >"$work/manifest.json"
archive=$build/redlockd-$version.image.tar
as_ever -C "$work" --owner=0 --group=0 -cf "$archive" "$config.json" layer.tar manifest.json
echo "$archive: redlockd:$version"
sha256sum "$archive"
