# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
# What the tests of the bundle and the image share: TAP, and folders to chroot into.
# The environment has BUILD (a built tree) and ROOT (the repository).
set -uo pipefail

: "${BUILD:?}" "${ROOT:?}"
PATH=$PATH:/usr/sbin:/sbin
here=$ROOT/tests/dist
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0
bad=0

check() { # NAME COMMAND...: passes when the command does
    local name=$1 said
    shift
    count=$((count + 1))
    if said=$("$@" 2>&1); then
        echo "ok $count - $name"
    else
        echo "not ok $count - $name"
        sed 's/^/#   /' <<<"$said" | head -40
        bad=1
    fi
}

skip() { # NAME WHY
    count=$((count + 1))
    echo "ok $count - $1 # skip $2"
}

finish() {
    echo "1..$count"
    exit $bad
}

# Does the text match the pattern? Says what it was where not.
like() { # PATTERN COMMAND...
    local pattern=$1 said code
    shift
    said=$("$@" 2>&1)
    code=$?
    [ $code -lt 126 ] && grep -qE -- "$pattern" <<<"$said" && return 0 # 126 and more: it crashed
    echo "no '$pattern' in (code $code):"
    echo "$said"
    return 1
}

ends_with() { # CODE COMMAND...
    local expected=$1 code
    shift
    "$@"
    code=$?
    [ "$code" = "$expected" ] || {
        echo "ended with $code, expected $expected"
        return 1
    }
}

# Runs a command in ROOT as its root folder, with /proc, /dev, /sys where ROOT has an empty folder
# for it, and an empty environment but for VARIABLE=VALUE words before the command. Mounts live in
# a namespace of their own and end with it. The folder that $read_only names is mounted so that
# nothing can be written there; with $no_proc set there is no /proc.
read_only=
no_proc=
in_root() { # ROOT [VARIABLE=VALUE]... COMMAND...
    local root=$1 map=() variables=()
    shift
    while [[ ${1:-} == [A-Z]*=* ]]; do
        variables+=("$1")
        shift
    done
    [ "$(id -u)" = 0 ] || map=(--map-root-user)
    mkdir -p "$root/proc" "$root/dev"
    # shellcheck disable=SC2016
    unshare "${map[@]}" --mount --pid --fork sh -c '
        root=$1 read_only=$2 no_proc=$3
        shift 3
        [ -n "$no_proc" ] || mount -t proc proc "$root/proc" || exit 125
        mount --rbind /dev "$root/dev" || exit 125
        [ ! -d "$root/sys" ] || [ -n "$(ls "$root/sys")" ] || mount --rbind /sys "$root/sys" || exit 125
        if [ -n "$read_only" ]; then
            mount --bind "$root$read_only" "$root$read_only" &&
                mount -o remount,bind,ro "$root$read_only" || exit 125
        fi
        exec env -i "$@"' sh "$root" "$read_only" "$no_proc" \
        "${variables[@]}" "$(command -v chroot)" "$root" "$@"
}

# Why there can be no chroot here; nothing when there can.
no_chroot() {
    mkdir -p "$work/try"
    cp "$BUILD/launch" "$work/try/launch"
    local said
    # The launcher alone finds no loader and says so: it ran.
    said=$(in_root "$work/try" /launch 2>&1)
    [[ $said == *"cannot start"* ]] || echo "no chroot possible here: $said"
}

# The value at a path of keys in the JSON on stdin: json cpu cores.
json() {
    /usr/bin/python3 -c '
import json, sys
value = json.load(sys.stdin)
for key in sys.argv[1:]:
    value = value[int(key)] if isinstance(value, list) else value[key]
print(value if not isinstance(value, (list, dict)) else json.dumps(value))' "$@"
}
