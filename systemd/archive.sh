#!/bin/bash
# systemd/archive.sh FOLDER NAME [committed]: lays the sources out as FOLDER/NAME, with their commit in systemd/commit, and
# makes FOLDER/NAME.tar.xz of them. A clone and an unpacked archive make the same bytes, whoever does it, and whenever. A
# clone has the files that git knows, as they are; with the word "committed", as they were at the last commit.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$1 name=$2
command -v xz >/dev/null || { echo "$0: xz is missing (on Debian in the package xz-utils)" >&2; exit 1; }
read -r commit epoch < <(systemd/commit.sh)
copy() { xargs -0 cp --no-dereference --parents -t "$folder/$name"; } # files on stdin

rm -rf "$folder"
mkdir -p "$folder/$name"
if ! git ls-files --error-unmatch systemd/commit.sh >/dev/null 2>&1; then
    find . -path ./build -prune -o -path ./.git -prune -o ! -type d -print0 | copy
elif [ "${3-}" = committed ]; then
    [ "${commit%+}" = "$commit" ] || echo "$name: left out: what was changed since the last commit" >&2
    commit=${commit%+}
    git archive HEAD | tar -x -C "$folder/$name"
else
    git ls-files -z | copy
fi
echo "$commit $epoch" >"$folder/$name/systemd/commit"
tar -C "$folder" --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -c "$name" |
    xz -T1 >"$folder/$name.tar.xz"
