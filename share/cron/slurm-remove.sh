#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Template of what removes a task from Slurm's scrontab. fare puts the name above it, in the place of
# these lines.

# Takes the entry out of your scrontab, and deletes the script. The logs stay.
set -eu
keep=${FARE_CRON:-$HOME/.local/share/fare/cron}/$name
new=$(mktemp)
old=$(mktemp)
trap 'rm -f "$new" "$old"' EXIT
# Without a table, it says so and fails. Any other failure must not replace what is there.
if ! scrontab -l >"$old"; then
    grep -q '^no crontab for ' "$old" || exit 1
    : >"$old"
fi
sed "/^# fare cron begin $name\$/,/^# fare cron end $name\$/d" "$old" >"$new"
if ! cmp -s "$old" "$new"; then
    if grep -q '[^[:space:]]' "$new"; then scrontab "$new"; else scrontab -r; fi
fi
rm -f "$keep/task.sh"
printf '%s\n' "$name is removed; its logs stay in $keep/log"
