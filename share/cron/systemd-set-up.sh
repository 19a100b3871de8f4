#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Template of what sets a task up with systemd. fare puts the name above it, in the place of these
# lines.

# Installs the service and its timer, or what of them differs; what is right stays untouched. As root
# they are the system's, otherwise the user's own, which run while the user is logged in or lingers
# (loginctl enable-linger).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
ctl() { systemctl --user "$@"; }
units=${XDG_CONFIG_HOME:-$HOME/.config}/systemd/user
log="journalctl --user -u $name"
if [ "$(id -u)" -eq 0 ]; then
    ctl() { systemctl "$@"; }
    units=/etc/systemd/system
    log="journalctl -u $name"
fi
changed=0
mkdir -p "$units"
for unit in "$name.service" "$name.timer"; do
    if ! cmp -s "$here/$unit" "$units/$unit"; then
        changed=1
        printf '%s\n' "installing $units/$unit"
        cp "$here/$unit" "$units/.$unit.new"
        mv -f "$units/.$unit.new" "$units/$unit"
    fi
done
[ "$changed" -eq 0 ] || ctl daemon-reload
if ! ctl is-enabled --quiet "$name.timer" || ! ctl is-active --quiet "$name.timer"; then
    changed=1
    ctl enable --now "$name.timer"
elif [ "$changed" -eq 1 ]; then
    ctl restart "$name.timer"
fi
if [ "$changed" -eq 0 ]; then
    printf '%s\n' "$name is as it should be: nothing was changed"
else
    printf '%s\n' "$name is set up; its log: $log"
fi
