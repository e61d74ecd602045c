#!/bin/bash
# tests/documents.sh [PAGE...]: the pages (all *.md) say what is so. Every command in them is run against a real daemon
# with real masters, their links and the files that they name exist, no line is wider than 100 characters, and README.md has
# no more than 200 lines. Prints what a Check program does, for tests/run.sh. REDLOCKD names the daemon, and so the build.
#
# The blocks of a page are run in order, in a folder of the page's own, by the word behind their fence:
#     sh        commands; a shell for each block, which ends at the first that fails
#     redlock   clients and their daemon: "alice > LOCK job", "alice < -BUSY job". Numbers and tokens may differ,
#               "..." is the rest of a token, or of the line; what follows two spaces and a # is a comment
#     yaml      a configuration for redlockd --check
#     text      pictures and output: not run, and must not have commands
# A comment in the line before a block changes that:
#     <!-- not run: reason -->
#     <!-- run by FILE -->      each command stands in FILE, which runs it
#     <!-- extracted by FILE -->  FILE, a test, takes all blocks of this language out of the page, and runs them
#     <!-- from PAGE -->        the block is a piece of a program of PAGE, word for word; it may be indented there
#     <!-- file: NAME -->       the block is the file NAME, for the blocks that follow
#     <!-- first: COMMAND -->   COMMAND goes before the block, to prepare what it needs
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

root=$PWD
# shellcheck source=tests/report.sh
. tests/report.sh
# shellcheck source=tests/talk.sh
. tests/talk.sh

make_flags=("BUILD=$build" "DESTDIR=$work/installed" PREFIX=/usr)
begin() {
    daemon_start
    port=$(sed -n 's/^listening on 127\.0\.0\.1://p' "$work/out")
    masters=${socket%/*}
}
check() { # where, then a command that succeeds when all is well
    local where=$1 said
    shift
    checks=$((checks + 1))
    for _ in 1 2 3; do # on a machine that is too busy for the masters' 50 ms
        said=$("$@" 2>&1 </dev/null) && return
        [[ $said == *' silent'* ]] || break
        daemon_end # with its masters: a lease of the first run would be in the way
        begin
    done
    failed "$where" "$said"
}

# ---- the words of a page ----

# Replaces the masters, ports and places of the text by the ones of this daemon.
placed() {
    sed -E "s|10\.0\.0\.([1-5]):6379|$masters/\1.sock|g; s|-h 10\.0\.0\.([1-5])|-s $masters/\1.sock|g
        s|127\.0\.0\.1([ :])7335|127.0.0.1\1$port|g; s|/run/redlockd/redlockd\.sock|$socket|g
        s|/etc/redlockd/redlockd\.yaml|$root/conf/redlockd.yaml|g"
}

fits() { # page
    awk 'length > 100 { print "line " NR " has " length " characters, more than 100"; bad = 1 }
        FILENAME == "README.md" && NR > 200 { long = 1 }
        END { if (long) print NR " lines, more than 200"; exit bad || long }' "$1"
}

# Prints the anchors of a page's headings, as GitHub makes them.
anchors() {
    grep -E '^#+ ' "$1" | sed -E 's/^#+ //' | tr '[:upper:]' '[:lower:]' | tr -cd 'a-z0-9 _\n-' | tr ' ' '-'
}

links_lead_somewhere() { # page
    local target file bad=0
    while IFS= read -r target; do
        case $target in *://*) continue ;; esac
        file=${target%%#*}
        file=${file:+$(dirname "$1")/$file}
        file=${file:-$1}
        [ -e "$file" ] || { echo "no file $target" && bad=1 && continue; }
        [[ $target != *#* ]] || anchors "$file" | grep -qxF -- "${target#*#}" || { echo "no heading $target" && bad=1; }
    done < <(grep -oE '\]\([^) ]+\)' "$1" | sed 's/^](//; s/)$//')
    return $bad
}

# Files and folders in back quotes, from the top of the sources or somewhere in the page's folder.
# shellcheck disable=SC2016
named_files_exist() { # page
    local name bad=0
    while IFS= read -r name; do
        compgen -G "$name" >/dev/null || find "$(dirname "$1")" -path "*/${name%/}" | grep -q . ||
            { echo "no file $name" && bad=1; }
    done < <(grep -oE '`[a-z_./*]+(\.[ch]|\.sh|\.mk|\.txt|\.1|\.3|\.5|\.8|/)`' "$1" | tr -d '`' | grep -v '^/' | sort -u)
    return $bad
}

# shellcheck disable=SC2016
named_targets_exist() { # page
    local target bad=0
    while IFS= read -r target; do
        grep -qE "^([a-z -]* )?$target( [a-z -]*)?:" Makefile client/*.mk client/*/*.mk systemd/*.mk tests/*/*.mk ||
            { echo "no target make $target" && bad=1; }
    done < <(grep -oE '(`|^|&& |sudo )make( -j[0-9]+)? [a-z][a-z-]+' "$1" | sed 's/.* //' | sort -u)
    return $bad
}

# ---- the blocks of a page ----

run_shell() { # file
    local file
    cd "$folder" || return 1
    for file in files/*; do # each time, since another daemon may run by now
        [ ! -e "$file" ] || { placed <"$file" >"${file#files/}" && chmod 755 "${file#files/}"; }
    done
    placed <"$1" >"$work/block"
    REDLOCK_ADDRESS=unix:$socket timeout -k 5 60 sh -e "$work/block"
}

check_configuration() { # file
    "$daemon" --check -c "$1"
}

# The expected answer, as it stands in the text -> a regular expression.
pattern() { # line
    printf '%s\n' "$1" | sed -E 's/[][\\.*+?(){}|^$]/\\&/g; s/token=[0-9a-f]+(\\\.)*/token=[0-9a-f]{40}/
        s/(=|^\\\+END )[0-9]+( |$)/\1[0-9]+\2/g; s/confirmed=[0-9]+/confirmed=[0-9]+/; s/(\\\.){3}$/.*/
        s/(fence|valid|until)=[0-9]+/\1=[0-9]+/g; s/^/^/; s/$/$/'
}

talk() { # file
    local text who arrow what shown
    declare -A tokens=()
    while IFS= read -r text; do
        text=${text%%  #*}
        read -r who arrow what <<<"$text"
        [ -n "$who" ] || continue
        [ -n "${to[$who]:-}" ] || connect "$who"
        if [ "$arrow" = '>' ]; then
            [[ $what =~ token=([0-9a-f]+)\.\.\. ]] && what=${what/"${BASH_REMATCH[1]}..."/"${tokens[${BASH_REMATCH[1]}]}"}
            type "$who" "$what"
        elif [ "$arrow" = '<' ]; then
            answer "$who" "$(pattern "$what")"
            [[ $what =~ token=([0-9a-f]+)\.\.\. ]] && shown=${BASH_REMATCH[1]} &&
                [[ $line =~ token=([0-9a-f]{40}) ]] && tokens[$shown]=${BASH_REMATCH[1]}
        else
            fail "neither > nor <: $text"
        fi
    done <"$1"
    for who in "${!to[@]}"; do disconnect "$who"; done
}

has_no_commands() { # file
    ! grep -nE '^ *(\$ |make |redlockd? |nc |cc |sudo |git |systemctl |\./)' "$1"
}

stands_in() { # file, block
    local command bad=0
    while IFS= read -r command; do
        command=$(sed -E 's/ +#.*//' <<<"$command")
        [ -z "$command" ] || grep -qF -- "$command" "$1" || { echo "$1 does not run: $command" && bad=1; }
    done <"$2"
    return $bad
}

takes_blocks() { # file, language
    grep -qF -- "\`\`\`$2" "$1" || { echo "$1 does not look for blocks of $2" && return 1; }
}

is_piece_of() { # page, block
    awk -v page="$1" 'NR == FNR { block[++wanted] = $0; next } { text[++lines] = $0 }
        function stands_at(first, i, indent) {
            match(text[first], /^[ \t]*/)
            indent = substr(text[first], 1, RLENGTH)
            for (i = 1; i <= wanted; i++)
                if (text[first + i - 1] != (block[i] == "" ? "" : indent block[i])) return 0
            return 1
        }
        END { for (line = 1; line <= lines; line++) if (stands_at(line)) exit 0
              print page " does not have this piece, word for word"; exit 1 }' "$2" "$1"
}

run_block() { # where, language, comment, file
    case $3 in
    'not run: '?*) return ;;
    'run by '*) check "$1" stands_in "${3#run by }" "$4" ;;
    'extracted by '*) check "$1" takes_blocks "${3#extracted by }" "$2" ;;
    'from '*) check "$1" is_piece_of "${3#from }" "$4" ;;
    'first: '*)
        sed -i "1i ${3#first: }" "$4"
        check "$1" run_shell "$4"
        ;;
    'file: '*) cp "$4" "$folder/files/${3#file: }" ;;
    '')
        case $2 in
        sh) check "$1" run_shell "$4" ;;
        redlock) check "$1" talk "$4" ;;
        yaml) check "$1" check_configuration "$4" ;;
        text) check "$1" has_no_commands "$4" ;;
        *) check "$1" fail "what is a block of \"$2\"?" ;;
        esac
        ;;
    *) check "$1" fail "what is the comment \"$3\"?" ;;
    esac
}

run_blocks() { # page
    local page=$1 text comment='' language='' number=0 began=0 indent=''
    folder=$work/${page//\//_}.d
    mkdir -p "$folder/files"
    for text in first-step second-step backup; do
        printf '#!/bin/sh\nexit 0\n' >"$folder/$text"
        chmod 755 "$folder/$text"
    done
    while IFS= read -r text; do
        number=$((number + 1))
        if [ $began -eq 0 ] && [[ $text =~ ^(' '*)'```'(.*)$ ]]; then # in the items of lists, too
            indent=${BASH_REMATCH[1]} language=${BASH_REMATCH[2]} began=$number
            : >"$work/lines"
        elif [ $began -gt 0 ] && [ "$text" = "$indent"'```' ]; then
            run_block "$page:$began" "$language" "$comment" "$work/lines"
            began=0 comment=''
        elif [ $began -gt 0 ]; then
            printf '%s\n' "${text#"$indent"}" >>"$work/lines"
        elif [[ $text =~ ^' '*'<!-- '(.*)' -->'$ ]]; then
            comment=${BASH_REMATCH[1]}
        else
            comment=''
        fi
    done <"$page"
}

# ---- what the commands find ----

# As installed: programs in the PATH, the library by pkg-config, with the sanitizers where the build has them.
install_nothing() {
    local tools=$work/bin
    mkdir "$tools"
    ln -s "$daemon" "$build/redlock" "$tools"
    sed "s|@PREFIX@|/nowhere|; s|@LIBDIR@|$build|; s|@INCLUDEDIR@|$root/client|; s|@VERSION@|0|" \
        client/libredlock.pc.in >"$work/libredlock.pc"
    case $build in
    *asan*)
        make_flags+=(ASAN=1)
        printf '#!/bin/sh\nexec /usr/bin/cc -fsanitize=address,undefined "$@"\n' >"$tools/cc"
        chmod 755 "$tools/cc"
        ;;
    esac
    export PATH=$tools:$PATH PKG_CONFIG_PATH=$work LD_LIBRARY_PATH=$build
}

begin
install_nothing
if [ $# -gt 0 ]; then pages=("$@"); else mapfile -t pages < <(find . -name '*.md' -not -path './build*' | sed 's|^\./||' | sort); fi
for page in "${pages[@]}"; do
    check "$page" fits "$page"
    check "$page" links_lead_somewhere "$page"
    check "$page" named_files_exist "$page"
    check "$page" named_targets_exist "$page"
    run_blocks "$page"
done
if [ $# -eq 0 ]; then
    installed=$work/installed/usr/share/doc/redlockd
    check 'make install' env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL \
        make --no-print-directory "${make_flags[@]}" install
    for page in "$installed"/*.md; do check "installed ${page##*/}" links_lead_somewhere "$page"; done
fi
total $checks $failures
