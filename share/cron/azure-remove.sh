#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Template of what removes a task from Azure. fare puts the name above it, in the place of these
# lines.

# Deletes the resource group: the Logic App, and the machine with its disk and the logs on it.
set -eu
fail() { printf '%s\n' "$*" >&2; exit 1; }

if [ "$(az group exists --name "$name")" = true ]; then
    [ "$(az group show --name "$name" --query 'tags."fare-task"' --output tsv)" = "$name" ] ||
        fail "fare did not make the resource group $name: left alone"
    az group delete --name "$name" --yes
fi
printf '%s\n' "$name is removed"
