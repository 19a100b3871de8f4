#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Template of what sets a task up with Slurm's scrontab. fare puts the values above it, in the place
# of these lines.

# Copies the script to where the nodes see it, and puts its entry into your scrontab, or corrects
# what differs; other entries and what is right stay untouched.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
keep=${FARE_CRON:-$HOME/.local/share/fare/cron}/$name
changed=0
case $keep in
*[!A-Za-z0-9/._-]*)
    printf '%s\n' "$keep: scrontab cannot take this path; set FARE_CRON to a folder without spaces" >&2
    exit 1
    ;;
esac

mkdir -p "$keep/log"
if ! cmp -s "$here/task.sh" "$keep/task.sh"; then
    changed=1
    printf '%s\n' "installing $keep/task.sh"
    cp "$here/task.sh" "$keep/.task.sh.new"
    chmod 755 "$keep/.task.sh.new"
    mv -f "$keep/.task.sh.new" "$keep/task.sh"
fi
new=$(mktemp)
old=$(mktemp)
trap 'rm -f "$new" "$old"' EXIT
# Without a table, it says so and fails. Any other failure must not replace what is there.
if ! scrontab -l >"$old"; then
    grep -q '^no crontab for ' "$old" || exit 1
    : >"$old"
fi
block="/^# fare cron begin $name\$/,/^# fare cron end $name\$/"
sed "s|@KEEP@|$keep|g" "$here/scrontab" >"$new"
if ! sed -n "${block}p" "$old" | cmp -s - "$new"; then
    changed=1
    printf '%s\n' "putting the entry of $name into your scrontab"
    { sed "${block}d" "$old"; sed "s|@KEEP@|$keep|g" "$here/scrontab"; } >"$new"
    scrontab "$new"
fi
if [ "$changed" -eq 0 ]; then
    printf '%s\n' "$name is as it should be: nothing was changed"
else
    printf '%s\n' "$name is set up; its logs: $keep/log"
fi
