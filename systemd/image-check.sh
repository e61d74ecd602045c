#!/bin/bash
# systemd/image-check.sh BUILD VERSION: makes the image twice, which must be the same bytes, unpacks it, and runs it by runc
# or crun, whichever works here, and in a chroot: with a read-only root, no capabilities, a user id that it has never heard
# of, and masters over TLS. Asks the probes, takes locks by the image's own redlock over TLS and the socket, and ends the
# daemon by SIGTERM while a lock is held. Names what it left out. Needs root; the last line says how all went.
set -euo pipefail
cd "$(dirname "$0")/.."

build=$1 version=$2
uid=12345
archive=$build/redlockd-$version.image.tar
work=$(mktemp -d)
root=$work/bundle/rootfs
declare -A servers=() # their process ids
passed=0 failed=0 skipped=0

die() { echo "image-check: $*" >&2; exit 1; }
end() {
    trap - EXIT
    [ -z "${daemon-}" ] || kill -KILL "$daemon" 2>/dev/null || true
    [ -z "${runtime-}" ] || [ "$runtime" = chroot ] || "$runtime" --root "$work/state" delete -f redlockd 2>/dev/null || true
    kill "${servers[@]}" 2>/dev/null || true
    wait
    rm -rf "$work"
}
trap end EXIT
trap 'exit 130' INT TERM

left_out() { echo "left out: $*"; skipped=$((skipped + 1)); }
check() { # title, then a command that succeeds when all is well
    local title=$1
    shift
    if "$@" >"$work/said" 2>&1; then
        passed=$((passed + 1))
        return
    fi
    failed=$((failed + 1))
    echo "FAIL  $title"
    tail -q -n 4 "$work/said" "$work/log" | cut -c 1-200 | sed 's/^/      /'
}
await() { # command; polls it for 20 s
    local tries
    for ((tries = 0; tries < 200; tries++)); do
        if "$@" >/dev/null 2>&1; then return; fi
        sleep 0.1
    done
    "$@"
}

# ---- the image ----

same_bytes() {
    local first second
    first=$(systemd/image.sh "$build" "$version" | tail -n 1)
    sleep 1.1 # a time that crept in would differ
    second=$(umask 077 && systemd/image.sh "$build" "$version" | tail -n 1)
    echo "$first, then $second"
    [ "$first" = "$second" ]
}

# As a runtime reads the archive: the manifest names the configuration and the layers, by which these are checked.
unpack() {
    mkdir -p "$work/archive" "$root"
    tar -C "$work/archive" -xf "$archive"
    python3 - "$work/archive" <<'PYTHON'
import hashlib, json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
(image,) = json.loads((folder / "manifest.json").read_text())
text = (folder / image["Config"]).read_bytes()
assert image["Config"] == hashlib.sha256(text).hexdigest() + ".json", "the configuration has another name"
config = json.loads(text)
layers = ["sha256:" + hashlib.sha256((folder / layer).read_bytes()).hexdigest() for layer in image["Layers"]]
assert layers == config["rootfs"]["diff_ids"], "the layers are not those of the configuration"
assert config["config"]["Entrypoint"] == ["/usr/sbin/redlockd"], "another entry point"
assert config["config"]["Healthcheck"]["Test"] == ["CMD", "/usr/bin/redlock", "ping"], "no health check"
assert int(config["config"]["User"].split(":")[0]) > 0, "its user is root"
PYTHON
    tar -C "$root" -xf "$work/archive/layer.tar"
}

# Where buildah is installed, it reads the archive as podman does.
buildah_reads() {
    buildah --root "$work/store" --runroot "$work/run" --storage-driver vfs pull --quiet "docker-archive:$PWD/$archive"
}

# ---- what stands around the daemon ----

masters() {
    local i ports=() tls=$work/tls
    mkdir "$tls"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=image-check \
        -addext subjectAltName=IP:127.0.0.1,DNS:localhost -keyout "$tls/key.pem" -out "$tls/cert.pem" 2>/dev/null
    chmod 644 "$tls/cert.pem"
    chmod 640 "$tls/key.pem" # for the group 0, which the daemon gets
    chmod 755 "$work" "$tls"
    mapfile -t ports < <(python3 -c '
import socket
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(6)]
print(*(each.getsockname()[1] for each in held), sep="\n")')
    for i in 0 1 2; do
        redis-server --port 0 --tls-port "${ports[i]}" --bind 127.0.0.1 --tls-cert-file "$tls/cert.pem" \
            --tls-key-file "$tls/key.pem" --tls-ca-cert-file "$tls/cert.pem" --tls-auth-clients no --save '' \
            --dir "$work" --logfile "$work/redis-$i.log" --daemonize no &
        servers[$i]=$!
    done
    tls_port=${ports[3]} http_port=${ports[4]}
    mkdir "$work/etc"
    cat >"$work/etc/redlockd.yaml" <<YAML
# 127.0.0.1 has another name on each host, and in each container.
nodes:
  - {url: "rediss://127.0.0.1:${ports[0]}", name: "a:6379/0"}
  - {url: "rediss://127.0.0.1:${ports[1]}", name: "b:6379/0"}
  - {url: "rediss://127.0.0.1:${ports[2]}", name: "c:6379/0"}
node_tls: {ca: /etc/redlockd/cert.pem}
max_ttl: 2s
default_ttl: 2s
unix_mode: "0666"
listen:
  - unix:/run/redlockd/redlockd.sock
  - address: 127.0.0.1:$tls_port
    tls: {cert: /etc/redlockd/cert.pem, key: /etc/redlockd/key.pem}
http: [{address: "127.0.0.1:$http_port", serve: [probes]}]
YAML
    cp -p "$tls"/* "$work/etc"
    chmod 755 "$work/etc"
}

# ---- ways to run it; each sets $daemon, and $starter, whose exit code is the daemon's ----

# A runtime makes the folders anew: the root cannot be written, /run/redlockd alone can.
bundle() {
    python3 - "$work/bundle/config.json" "$uid" "$work/etc" "$work/run-redlockd" <<'PYTHON'
import json, sys
path, uid, etc, run = sys.argv[1:]
mount = lambda target, source, *options: {"destination": target, "type": "bind", "source": source,
                                          "options": ["bind", "nosuid", "nodev", *options]}
with open(path, "w") as file:
    json.dump({
        "ociVersion": "1.0.0", "hostname": "redlockd", "root": {"path": "rootfs", "readonly": True},
        "process": {"terminal": False, "cwd": "/", "user": {"uid": int(uid), "gid": 0}, "noNewPrivileges": True,
                    "args": ["/usr/sbin/redlockd"], "capabilities": {},
                    "env": ["SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"],
                    "rlimits": [{"type": "RLIMIT_NOFILE", "hard": 1024, "soft": 1024}]},
        "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
                   mount("/etc/redlockd", etc, "ro"), mount("/run/redlockd", run, "rw")],
        # The network is the machine's, since the masters are there.
        "linux": {"namespaces": [{"type": each} for each in ("pid", "ipc", "uts", "mount")]},
    }, file)
PYTHON
}
start_runtime() {
    bundle
    "$runtime" --root "$work/state" run --bundle "$work/bundle" --pid-file "$work/pid" redlockd >"$work/log" 2>&1 &
    starter=$!
    await test -s "$work/pid"
    daemon=$(<"$work/pid")
}
inside_runtime() {
    "$runtime" --root "$work/state" exec --user "$uid:0" "${variables[@]/#/--env=}" redlockd "$@"
}

start_chroot() {
    # shellcheck disable=SC2016
    unshare --mount sh -ec 'mount --bind "$1" "$1"
        mount --bind "$2" "$1/etc/redlockd"; mount --bind "$3" "$1/run/redlockd"
        mount -o remount,bind,ro "$1"; mount -o remount,bind,ro "$1/etc/redlockd"
        exec setpriv --no-new-privs chroot --userspec='$uid':0 "$1" /usr/sbin/redlockd' \
        sh "$root" "$work/etc" "$work/run-redlockd" >"$work/log" 2>&1 &
    starter=$! daemon=$!
}
inside_chroot() {
    nsenter --mount --target "$daemon" env -i PATH="$PATH" "${variables[@]}" \
        setpriv --no-new-privs chroot --userspec="$uid:0" "$root" "$@"
}
variables=(SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt)
start() { if [ "$runtime" = chroot ]; then start_chroot; else start_runtime; fi; }
inside() { if [ "$runtime" = chroot ]; then inside_chroot "$@"; else inside_runtime "$@"; fi; }


# ---- what has to be true of it ----

probe() { [ "$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$http_port$1")" = "$2" ]; } # path, status
has_no_rights() {
    cat "/proc/$daemon/status"
    [ "$(awk '/^Cap(Inh|Prm|Eff|Amb)/ { sum = sum $2 } END { gsub("0", "", sum); print sum }' "/proc/$daemon/status")" = '' ] &&
        grep -qx "Uid:	$uid	$uid	$uid	$uid" "/proc/$daemon/status" &&
        grep -qx 'NoNewPrivs:	1' "/proc/$daemon/status"
}
root_is_read_only() { # the last mount there counts
    awk -v root="$root" '$5 == "/" || $5 == root { options = $6 } END { print options; exit options !~ /^ro(,|$)/ }' \
        "/proc/$daemon/mountinfo"
}
locks() { # address
    inside /usr/bin/redlock -a "$1" run -w 30s job -- /usr/bin/redlock --version
}
tls_refuses_another_ca() {
    if inside /usr/bin/redlock -a "tls://127.0.0.1:$tls_port" ping >"$work/refused" 2>&1; then return 1; fi
    cat "$work/refused"
    grep -qi certificate "$work/refused"
}
holds() { "$build/redlock" show locks | grep -q drained; }
drains() {
    local holder status=0
    export REDLOCK_ADDRESS=unix:$work/run-redlockd/redlockd.sock
    timeout -k 5 20 "$build/redlock" run -w 5s drained -- sleep 2 &
    holder=$!
    await holds
    kill -TERM "$daemon"
    kill -0 "$holder" || { echo 'the holder ended first'; return 1; }
    await test ! -e "/proc/$daemon"
    wait "$starter" || status=$?
    wait "$holder" || { echo "the holder ended with $?"; return 1; }
    unset REDLOCK_ADDRESS
    echo "the daemon ended with $status"
    [ $status -eq 0 ] && grep -q drain "$work/log"
}

try() {
    rm -rf "$work/run-redlockd" "$work/pid"
    mkdir "$work/run-redlockd"
    chown "$uid:0" "$work/run-redlockd"
    : >"$work/log"
    start
    check "$runtime: /livez is 200" await probe /livez 200
    kill -0 "$daemon" 2>/dev/null || { daemon=; return; }
    check "$runtime: /readyz becomes 200" await probe /readyz 200
    check "$runtime: no capabilities, and the user $uid" has_no_rights
    check "$runtime: the root is read-only" root_is_read_only
    check "$runtime: redlock ping, which is the health check" inside /usr/bin/redlock ping
    check "$runtime: a lock by the socket" locks unix:/run/redlockd/redlockd.sock
    variables+=(REDLOCK_CA=/etc/redlockd/cert.pem)
    check "$runtime: a lock by redlock over TLS" locks "tls://127.0.0.1:$tls_port"
    unset 'variables[1]'
    check "$runtime: TLS refuses who is signed by nobody it knows" tls_refuses_another_ca
    check "$runtime: SIGTERM drains" drains
    daemon=
}
works() { # runtime: does it run a container here at all?
    runtime=$1
    command -v "$1" >/dev/null || { left_out "$1, which is not installed"; return 1; }
    mkdir -p "$work/state"
    bundle
    python3 - "$work/bundle/config.json" <<'PYTHON'
import json, sys
with open(sys.argv[1]) as file:
    config = json.load(file)
config["process"]["args"].append("--version")
with open(sys.argv[1], "w") as file:
    json.dump(config, file)
PYTHON
    mkdir -p "$work/run-redlockd"
    "$1" --root "$work/state" run --bundle "$work/bundle" tried >"$work/said" 2>&1 </dev/null ||
        { left_out "$1, which runs no container here: $(tail -n 1 "$work/said")"; return 1; }
}

[ "$(id -u)" = 0 ] || die 'needs root'
for program in python3 redis-server openssl curl unshare setpriv; do
    command -v $program >/dev/null || die "needs $program"
done
: >"$work/log"
check 'the same bytes twice' same_bytes
check 'it unpacks' unpack
[ $failed -eq 0 ] || die 'without an image nothing can be tried'
if command -v buildah >/dev/null; then
    check 'buildah reads it' buildah_reads
else
    left_out 'reading it by buildah, which is not installed'
fi
masters
for each in runc crun; do
    if works $each; then try; fi
done
runtime=chroot
try
echo "image-check: $passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
