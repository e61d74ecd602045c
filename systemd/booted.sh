#!/bin/bash
# systemd/booted.sh: run inside a booted system that has the packages and redis-server, by deb-check.sh. Its units are
# stopped, started, restarted, killed and stopped dead, and the path has to connect each time. The last line of what it
# prints says that all was well.
set -Eeuo pipefail
trap 'echo "booted.sh:$LINENO: $BASH_COMMAND"; systemctl status redlockd.service --no-pager -n 30' ERR

state() { systemctl is-active "$1" || true; }
serves() { # title
    redlock run -w 30s job -- true
    echo "$1: the path connects"
}
main_pid() { systemctl show -P MainPID redlockd; }
await() { # command
    local tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 300 ]
        sleep 0.1
    done
}
restarted() { [ "$(systemctl show -P NRestarts redlockd)" -ge "$1" ]; }
says() { systemctl show -P StatusText redlockd | grep -q "$1"; }

[ "$(state redlockd.service) $(state redlockd.socket)" = 'inactive inactive' ]
work=$(mktemp -d)
for port in 6401 6402 6403; do
    redis-server --port $port --save '' --dir "$work" --daemonize yes >/dev/null
done
cat >/etc/redlockd/redlockd.yaml <<'YAML'
listen: ["127.0.0.1:7335", "unix:/run/redlockd/redlockd.sock"]
max_ttl: 2s
default_ttl: 2s
nodes: [redis://127.0.0.1:6401, redis://127.0.0.1:6402, redis://127.0.0.1:6403]
YAML
chown root:redlockd /etc/redlockd/redlockd.yaml
chmod 640 /etc/redlockd/redlockd.yaml
mkdir -p /run/systemd/system/redlockd.service.d
printf '[Service]\nWatchdogSec=2s\n' >/run/systemd/system/redlockd.service.d/short.conf
systemctl daemon-reload
export REDLOCK_ADDRESS=unix:/run/redlockd/redlockd.sock

systemctl start redlockd
serves 'without the socket unit'
systemctl reload redlockd
[ "$(state redlockd)" = active ]
await says '^3/3 masters, '
systemctl stop redlockd
[ -d /run/redlockd ] && [ ! -e /run/redlockd/redlockd.sock ]

systemctl start redlockd.socket
[ "$(state redlockd)" = inactive ]
serves 'started by a client'
systemctl stop redlockd 2>/dev/null
[ -S /run/redlockd/redlockd.sock ]
serves 'stopped and started again'
systemctl restart redlockd
serves 'restarted'
kill -KILL "$(main_pid)"
serves 'killed'
await restarted 1
kill -STOP "$(main_pid)"
await restarted 2
serves 'stopped dead, and ended by the watchdog'
systemctl stop redlockd.socket redlockd.service
echo 'booted: all is well'
