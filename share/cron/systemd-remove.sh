#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Template of what removes a task of systemd. fare puts the name above it, in the place of these
# lines.

# Stops the timer and deletes both units. A run that has begun goes on to its end.
set -eu
ctl() { systemctl --user "$@"; }
units=${XDG_CONFIG_HOME:-$HOME/.config}/systemd/user
if [ "$(id -u)" -eq 0 ]; then
    ctl() { systemctl "$@"; }
    units=/etc/systemd/system
fi
if [ -e "$units/$name.timer" ] || [ -e "$units/$name.service" ]; then
    ctl disable --now "$name.timer" || true
    rm -f "$units/$name.timer" "$units/$name.service"
    ctl daemon-reload
fi
printf '%s\n' "$name is removed"
