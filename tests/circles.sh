#!/bin/bash
# tests/circles.sh OBJECT...: files that call each other in a circle can only be read together, so a circle has a bound.
# An object that needs a symbol which another one defines calls it. The longest circle of each group is printed. A circle
# that has more files than its group's bound is refused, with the names of its files.
set -euo pipefail

objects=("$@")
bad=0

# stdin: nm's lines with the object in front. Prints the largest circle: how many files, then their names.
longest() {
    awk '
        { sub(/:/, " ") }
        !($1 in file) { file[$1] = 1; list[++files] = $1 }
        NF == 4 { home[$4] = $1; next }
        NF == 3 && $2 == "U" { needs[$1, $3] = 1 }
        END {
            for (key in needs) {
                split(key, part, SUBSEP)
                if (part[2] in home && home[part[2]] != part[1])
                    reach[part[1], home[part[2]]] = 1
            }
            for (via in file) for (from in file) if ((from, via) in reach)
                for (to in file) if ((via, to) in reach)
                    reach[from, to] = 1
            for (one in file) {
                names = ""; count = 0
                for (i = 1; i <= files; i++) {
                    other = list[i]
                    if (other == one || ((one, other) in reach && (other, one) in reach)) {
                        count++
                        name = other
                        sub(/.*\//, "", name)
                        sub(/\.o$/, ".c", name)
                        names = names " " name
                    }
                }
                if (count > most) { most = count; longest = names }
            }
            print most longest
        }'
}

circle() { # bound, group, the names of its objects (extended regular expression, from the first folder on)
    local bound=$1 group=$2 object count names of_group=()
    for object in "${objects[@]}"; do
        if [[ $object =~ /$3\.o$ ]]; then of_group+=("$object"); fi
    done
    [ ${#of_group[@]} -gt 0 ] || {
        echo "circles: none of the objects is of $group; tests/circles.sh says which ones are" >&2
        exit 1
    }
    read -r count names < <(nm -A -g -- "${of_group[@]}" | longest)
    if [ "$count" -gt "$bound" ]; then
        echo "circles: $count files of $group call each other in a circle, its bound is $bound: $names" >&2
        bad=1
    else
        echo "circles: $group $count, of $bound at most"
    fi
}

# The rooms of the coordinator, each of which calls only rooms that stand behind it. mode/ has no place in the order yet: all
# rooms call it, and it calls them.
rooms='session wait ask keep watch round name master,data base'

# Prints how many arrows between the coordinator's files run up in the order of rooms, and which; more than the bound are
# refused.
upward() { # bound
    local object core=() count arrows
    for object in "${objects[@]}"; do
        if [[ $object =~ /daemon/coordinator/[a-z]+/[a-z_]+\.o$ ]]; then core+=("$object"); fi
    done
    read -r count arrows < <(nm -A -g -- "${core[@]}" | awk -v rooms="$rooms" '
        BEGIN {
            count = split(rooms, order, " ")
            for (i = 1; i <= count; i++) {
                together = split(order[i], room, ",")
                for (j = 1; j <= together; j++) level[room[j]] = i
            }
        }
        { sub(/:/, " "); sub(/.*\/coordinator\//, ""); sub(/\.o /, " ") }
        NF == 4 { home[$4] = $1; next }
        NF == 3 && $2 == "U" { needs[$1, $3] = 1 }
        function height(file) { sub(/\/.*/, "", file); return level[file] }
        END {
            for (key in needs) {
                split(key, part, SUBSEP)
                from = height(part[1]); to = height(home[part[2]])
                if (from && to && to < from) arrow[part[1] "->" home[part[2]]] = 1
            }
            for (one in arrow) { found++; names = names " " one }
            print found + 0 names
        }')
    if [ "$count" -gt "$1" ]; then
        echo "circles: $count files call a room in front of their own, of $1 at most: $arrows" >&2
        bad=1
    else
        echo "circles: daemon/coordinator calls up $count, of $1 at most"
    fi
}

upward 13
circle 6 daemon/coordinator 'daemon/coordinator/([a-z_]+/)?[a-z_]+'
circle 3 daemon/conn 'daemon/(conn/[a-z_]+|conn[a-z_]*)'
circle 3 daemon/node 'daemon/(node/[a-z_]+|node[a-z_]*)'
circle 1 daemon/loop 'daemon/loop/[a-z_]+'
circle 3 daemon/http 'daemon/http/[a-z_]+'
circle 3 daemon/wire 'daemon/wire/[a-z_]+'
circle 1 daemon/conf 'daemon/(conf/[a-z_]+|conf[a-z_]*)'
circle 3 client/lib/core 'client/lib/core[a-z_]*'
exit $bad
