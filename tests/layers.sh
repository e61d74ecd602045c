#!/bin/bash
# tests/layers.sh [FOLDER]: which part may include which. The rules that keep the parts apart are checked
# here, since a single convenient #include is enough to break them.
set -euo pipefail
shopt -s nullglob lastpipe # the last of a pipe runs in this shell: refuse() sets bad
cd "${1:-.}"

bad=0
# Each include of the files as "<x>" or "x", with its place.
includes() { grep -nHE '^[[:space:]]*#[[:space:]]*include' -- "$@" /dev/null || true; }
refuse() { # reason; lines on stdin
    local lines
    lines=$(cat)
    [ -z "$lines" ] && return
    printf '%s\n' "$lines" | sed "s|\$|    <- $1|"
    bad=1
}
# Lines of stdin whose header is none of the given (extended regular expression, whole name).
except() { grep -vE "include[[:space:]]*[<\"]($1)[>\"]" || true; }
only() { grep -E "include[[:space:]]*[<\"]($1)[>\"]" || true; }
# Files of proto and daemon that are none of the given.
others() {
    local file
    for file in proto/*.[ch] daemon/*.[ch] daemon/*/*.[ch] daemon/*/*/*.[ch]; do
        [[ $file =~ ^($1)$ ]] || printf '%s\n' "$file"
    done
}

includes proto/*.[ch] daemon/*.[ch] daemon/*/*.[ch] daemon/*/*/*.[ch] | { grep '"' || true; } | except '(proto|daemon)/.*' |
    refuse 'headers of ours are included by their path from the top'

pure='assert|inttypes|limits|stdalign|stdbool|stddef|stdint|stdlib|stdnoreturn|string|strings'
includes daemon/coordinator/*.[ch] daemon/coordinator/*/*.[ch] |
    except "daemon/coordinator/([a-z_]+/)?[a-z_]+\.h|daemon/(figures|histogram)\.h|proto/(message|command|names|slot)\.h|($pure)\.h" |
    refuse 'the coordinator has no I/O, no clock and knows only message.h, command.h, names.h, slot.h, histogram.h and figures.h'
includes daemon/coordinator/base/*.[ch] | only 'daemon/coordinator/.*' |
    except 'daemon/coordinator/base/[a-z_]+\.h' |
    refuse 'the base knows nothing of what stands on it'

includes proto/line*.[ch] | only '(daemon|client|event2|hiredis)/.*|proto/.*|yaml\.h|sys/.*|unistd\.h|time\.h' |
    except 'proto/((line[a-z_]*|message|names|decimal)\.h|stubs\.def)' |
    refuse 'line is shared with the client: libc, message.h, names.h, decimal.h and stubs.def only'

includes proto/*.[ch] | only 'daemon/.*' | refuse 'proto lies below daemon'

includes daemon/node/*.[ch] | only 'daemon/(conn|loop|coordinator)/[^"]*' |
    refuse 'a node knows neither clients nor the coordinator'
includes daemon/conn/*.[ch] | only 'daemon/(node|loop|coordinator)/[^"]*' |
    refuse 'a connection knows neither masters nor the coordinator'
includes daemon/conf/*.[ch] | only 'daemon/(conn|node|loop|coordinator)/[^"]*' |
    except 'daemon/coordinator/base/quorum\.h' |
    refuse 'the configuration knows nothing of what is made by it, but the arithmetic of quorums'

includes daemon/http/*.[ch] | only 'daemon/(conn|node|loop|coordinator)/[^"]*' |
    refuse 'http shows values, and knows nothing of what they come from'

mapfile -t files < <(others 'daemon/(loop|coordinator|node|conn)/.*')
includes "${files[@]}" | only 'daemon/(coordinator|node|conn)/[^"]*' |
    { grep -v '^daemon/conf/' || true; } |
    refuse 'only loop knows the coordinator, nodes and connections'

includes proto/*.[ch] daemon/*.[ch] daemon/*/*.[ch] daemon/*/*/*.[ch] tests/bench/*.[ch] | only 'daemon/[^"]*_private\.h' |
    { grep -vE '^daemon/([a-z]+)/.*"daemon/\1/' || true; } | refuse 'a private header stays in its folder'

mapfile -t files < <(others 'proto/resp[a-z_]*\.[ch]|daemon/version\.c')
includes "${files[@]}" | only 'hiredis/.*|hiredis\.h' | refuse 'only proto/resp, and version.c for its version, include hiredis'

mapfile -t files < <(others 'daemon/(conf/.*|version\.c)')
includes "${files[@]}" | only 'yaml\.h' | refuse 'only conf, and version.c for its version, include libyaml'

mapfile -t files < <(others 'daemon/(wire/.*|version\.c)|proto/secret\.c')
includes "${files[@]}" | only 'openssl/.*' | refuse 'only wire, proto/secret for SHA-256, and version.c for its version, include OpenSSL'
includes daemon/wire/*.[ch] | only 'daemon/[^"]*' | except 'daemon/(wire/[a-z_]+|buffer|clock)\.h' |
    refuse 'a wire knows only bytes and time'

includes client/lib/*.[ch] | { grep '"' || true; } |
    except 'client/(redlock|lib/[a-z_]+)\.h|proto/(line_piece|message)\.h' |
    refuse 'the library takes from elsewhere only words and values of the protocol'
includes client/lib/*.[ch] | only '(event2|hiredis)/.*|(event|yaml)\.h' | refuse 'the library needs nothing but libc and OpenSSL'
mapfile -t files < <(printf '%s\n' client/*.[ch] client/lib/*.[ch] | grep -v '^client/lib/tls\.c$')
includes "${files[@]}" | only 'openssl/.*' | refuse 'only client/lib/tls.c includes OpenSSL'
includes client/lib/{core,answer,sample,address,words}*.[ch] |
    except "client/(redlock|lib/(core|core_private|answer|sample|address))\.h|proto/.*|($pure|stdio|stdarg|stdatomic|sys/queue)\.h" |
    refuse "the library's core has no I/O and no clock"

if [ $bad -ne 0 ]; then
    echo "layers: broken" >&2
    exit 1
fi
echo "layers: as they should be"
