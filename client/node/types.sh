#!/bin/bash
# client/node/types.sh: the types as programs see them: the package as npm packs it, installed into an empty folder beside
# each of the TypeScript compilers that npm has, checks types/program.ts. Prints what a Check program does.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/report.sh
. tests/report.sh

npm --version >/dev/null 2>&1 || left_out "the types of the client library for Node.js (there is no npm that runs)"
program=$PWD/client/node/types/program.ts
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
quietly=(--no-audit --no-fund --silent)

compile() { # module, moduleResolution
    local options=(--strict --noEmit --noUncheckedIndexedAccess --target es2022 --lib 'es2022,esnext.disposable'
        --types node --module "$1" --moduleResolution "$2")
    node_modules/.bin/tsc "${options[@]}" program.mts && node_modules/.bin/tsc "${options[@]}" program.cts
}

npm pack --silent --pack-destination "$folder" ./client/node >/dev/null || exit 1
for version in 5 7; do
    mkdir "$folder/$version" && cd "$folder/$version" || exit 1
    cp "$program" program.mts
    cp "$program" program.cts
    echo '{"private": true}' >package.json
    if ! npm install "${quietly[@]}" "$folder"/*.tgz "typescript@$version" @types/node@20 >/dev/null 2>&1; then
        echo "left out: TypeScript $version (npm does not get it here)"
        continue
    fi
    check "TypeScript $version, as a program of Node.js" compile node16 node16
    check "TypeScript $version, as a bundler reads it" compile esnext bundler
done
[ $checks -gt 0 ] || left_out "the types of the client library for Node.js"
total $checks $failures
