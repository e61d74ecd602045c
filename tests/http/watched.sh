#!/bin/bash
# tests/http/watched.sh: a real daemon as those who watch it see it: promtool, a parser of OpenMetrics, a browser, the
# dashboard and the alerts. Prints what a Check program does, for tests/run.sh; what this machine lacks is left out, and
# named. The browser's picture of the page is then in build/page.png.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/report.sh
. tests/report.sh
# shellcheck source=tests/talk.sh
. tests/talk.sh

lacks() { # program, what is left out without it
    ! command -v "$1" >/dev/null || return 1
    echo "left out: $2 (there is no $1)"
}
get() { # path [header]: the body
    exec 9<>"/dev/tcp/127.0.0.1/$port" || return 1
    printf 'GET %s HTTP/1.1\r\nHost: localhost\r\n%b\r\n' "$1" "${2:-}" >&9
    sed '1,/^\r$/d' <&9
    exec 9>&-
}
lint_metrics() { promtool check metrics <"$work/plain"; }
silent() { # a command that must succeed without a word
    local said
    said=$("$@" 2>&1) && [ -z "$said" ] && return
    printf '%s\n' "$said"
    return 1
}

# ---- Prometheus ----

# 0 if the text has all samples that clients have caused so far; the snapshot may be a second old.
counted() { get /metrics >"$work/plain" && grep -q '^redlockd_waiters 1$' "$work/plain"; }

families() { # of a file, by their names without suffix
    grep -oE '\b(redlockd|process)_[a-z_]+' "$1" | sed -E 's/_(bucket|sum|count)$//' | sort -u
}

# Each metric that a dashboard or an alert asks for is one that the daemon has.
known() { # file
    local unknown
    families "$work/plain" >"$work/known"
    unknown=$(families "$1" | grep -vxF -f "$work/known" | grep -vxE 'redlockd_(clients_)?total')
    [ -z "$unknown" ] || { echo "unknown: $unknown"; return 1; }
}

documented() {
    local missing
    missing=$(sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' "$work/plain" | while read -r name; do
        grep -qE "\`${name}[\`{]" conf/OPERATING.md || echo "$name"
    done)
    [ -z "$missing" ] || { echo "not in conf/OPERATING.md:" "$missing"; return 1; }
}

# Whoever reads why= or a state, in SHOW NODES, in the log or as a label, finds in OPERATING.md what it means and what to do.
words_of() { # file, pattern of the function or table: the words in it
    sed -n "/$2/,/^}/p" "$1" | grep -oE '\] = "[a-zA-Z_]+"' | cut -d'"' -f2
}
# shellcheck disable=SC2016
explained() {
    local word missing='' words
    words=$(words_of daemon/loop/loop_show.c 'loop_why_name(' && words_of daemon/node/node_down.c ' failure_words' &&
        words_of daemon/loop/loop_show.c 'state_name(')
    [ "$(wc -l <<<"$words")" -ge 45 ] || { echo "found only $words"; return 1; }
    sed -n '/^- `up`: it votes/,/^## Who may do what/p' conf/OPERATING.md | grep -oE '^- (`[^`]*`,? ?(beside `up`)?)+:' >"$work/told"
    for word in $words; do grep -qF "\`$word\`" "$work/told" || missing+=" $word"; done
    [ -z "$missing" ] || { echo "not in conf/OPERATING.md, States of a master:$missing"; return 1; }
}
# The same of what a change of the masters waits for.
# shellcheck disable=SC2016
group_explained() {
    local word missing='' words
    words=$(words_of daemon/loop/loop_group.c 'group_why_name(')
    [ "$(wc -w <<<"$words")" -ge 9 ] || { echo "found only $words"; return 1; }
    sed -n '/^### When it is stuck/,/^## /p' conf/OPERATING.md >"$work/told"
    for word in $words; do grep -qF "\`$word\`" "$work/told" || missing+=" $word"; done
    [ -z "$missing" ] || { echo "not in conf/OPERATING.md, When it is stuck:$missing"; return 1; }
}
# shellcheck disable=SC2016
alerts_explained() {
    local missing
    missing=$(sed -n 's/^ *- alert: //p' conf/alerts.yml | while read -r name; do
        grep -qE "^- .*\`$name\`" conf/OPERATING.md || echo "$name"
    done)
    [ -z "$missing" ] || { echo "not in conf/OPERATING.md: $missing"; return 1; }
}

dashboard_rules() {
    local number=0 line
    printf 'groups:\n  - name: dashboard\n    rules:\n'
    # shellcheck disable=SC2016
    sed -n 's/^ *"expr": "\(.*\)",$/\1/p' conf/grafana.json |
        sed 's/\\"/"/g; s/\$__rate_interval/5m/g; s/\$job/.*/g; s/\$instance/.*/g' |
        while IFS= read -r line; do
            number=$((number + 1))
            printf '      - record: dashboard:expr_%d\n        expr: |-\n          %s\n' $number "$line"
        done
}
dashboard() {
    dashboard_rules >"$work/dashboard.yml"
    [ "$(grep -c record: "$work/dashboard.yml")" = "$(grep -c '"expr"' conf/grafana.json)" ] || fail 'lost an expr'
    promtool check rules "$work/dashboard.yml"
}
alerts() { promtool check rules conf/alerts.yml && promtool test rules tests/http/alerts_test.yml; }

# ---- the page ----

browser() {
    timeout -k 5 60 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars \
        --user-data-dir="$work/chromium" "$@" "http://127.0.0.1:$port/" 2>"$work/chromium.log"
}
# shellcheck disable=SC2016
content() {
    local text
    for _ in 1 2 3; do # a busy machine can make a master slow for a moment
        browser --dump-dom >"$work/dom" || { tail -n 5 "$work/chromium.log"; return 1; }
        grep -qF 'All is well' "$work/dom" && break
    done
    for text in '<h1>All is well</h1>' '5 of 5 masters vote' '<td data-l="Lock" class="name">backup</td>' 'nightly-run' \
        '&lt;script&gt;document.title++&lt;/script&gt;' "<td data-l=\"Client\">&lt;img&gt;'&amp;</td>" '<polyline' 'report' 'Daemons on these masters' '<b class="tag">this one</b>' '5 of 5 masters</td>'; do
        grep -qF -- "$text" "$work/dom" || { echo "not on the page: $text"; return 1; }
    done
    ! grep -iE '<(script|img|iframe|link)|token|Refused to' "$work/dom"
}
picture() { # file, size
    browser --screenshot="$1" --window-size="$2" >/dev/null
    [ -s "$1" ] || { tail -n 5 "$work/chromium.log"; return 1; }
}

daemon_start
port=$(sed -n 's|^status page http://127\.0\.0\.1:\([0-9]*\)/$|\1|p' "$work/out")
[ -n "$port" ] || fail 'no address of the status page'
connect alice
connect bob
for line in "HELLO 1 client=<img>'&" 'LOCK backup note=nightly-run' 'LOCK <script>document.title++</script>' \
    'LOCK report hold=lease ttl=60s'; do
    type alice "$line"
    answer alice '^\+(LOCKED|HELLO) '
done
type bob 'LOCK backup wait=10m'
for ((i = 0; i < wait_s * 10; i++)); do
    counted && break
    sleep 0.1
done

get /metrics 'Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n' >"$work/open"
check 'alerts know their metrics' known conf/alerts.yml
check 'the dashboard knows its metrics' known conf/grafana.json
check 'conf/OPERATING.md tells each metric' documented
check 'conf/OPERATING.md tells each why= and state' explained
check 'conf/OPERATING.md tells what a change of the masters waits for' group_explained
check 'conf/OPERATING.md tells each alert' alerts_explained
if ! lacks promtool 'metrics, alerts and dashboard by promtool'; then
    check 'promtool check metrics' silent lint_metrics
    check 'alerts' alerts
    check 'dashboard' dashboard
fi
python=''
for program in python3 /usr/bin/python3; do
    "$program" -c 'import prometheus_client' 2>/dev/null && python=$program && break
done
if [ -n "$python" ]; then
    check 'openmetrics' silent "$python" tests/http/openmetrics.py "$work/open" "$work/plain"
else
    echo 'left out: OpenMetrics by a parser (there is no python3-prometheus-client)'
fi
if ! lacks chromium 'the status page in a browser'; then
    check 'the page in a browser' content
    check 'a picture of the page' picture "$build/page.png" 1000,900
    check 'a picture of the page on a phone' picture "$work/narrow.png" 390,1400
    lacks python3 'the width of the page on a phone' || check 'the width on a phone' silent python3 tests/http/narrow.py "$work/narrow.png"
fi
total $checks $failures
