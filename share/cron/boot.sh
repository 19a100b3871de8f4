#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Template of the script that a cloud's machine runs at each boot. fare puts name, limit_s, tries and
# the command ("$@") above it, in the place of these lines.

# Runs the command once in this boot (a container that fails, up to $tries times), keeps its log, and
# powers the machine off, however it ends.
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
HOME=${HOME:-/root}
export PATH HOME
keep=/var/lib/fare/$name
once=/run/fare-$name

power_off() {
    shutdown -P now || systemctl poweroff || poweroff -f
}

# Not twice in one boot: /run is empty after each.
if ! mkdir "$once"; then
    [ -d "$once" ] && exit 0
    power_off
    exit 1
fi
trap power_off EXIT
trap 'exit 143' HUP INT TERM
# The last resort, should this script be killed.
shutdown -P "+$((limit_s / 60 + 5))"

mkdir -p "$keep/log" && cd "$keep" || exit 1
# The boot in which the machine was made only shows that it powers itself off.
if [ ! -e ready ]; then
    : >ready || exit 1
    echo "fare: $name is set up"
    exit 0
fi
# The newest 100 logs are kept. Their names are dates.
find log -name '*Z.log' | sort -r | tail -n +100 | xargs -r rm -f
log=log/$(date -u +%Y-%m-%dT%H%M%SZ).log
from=$(date +%s)
try=1
left=$limit_s
while :; do
    timeout -k 60 "$left" "$@" >>"$log" 2>&1 </dev/null
    code=$?
    left=$((from + limit_s - $(date +%s) - 5))
    if [ "$code" -eq 0 ] || [ "$try" -ge "$tries" ] || [ "$left" -le 0 ]; then
        break
    fi
    echo "fare: start $try ended with code $code: starting it again" >>"$log"
    try=$((try + 1))
    sleep 5
done
said="fare: ended with code $code after $(($(date +%s) - from)) s"
[ "$code" -ne 124 ] || said="$said: the time limit of $limit_s s"
echo "$said" >>"$log"
echo "$said, log: $keep/$log"
exit "$code"
