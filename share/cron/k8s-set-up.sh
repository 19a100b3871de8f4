#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Template of what sets a task up on Kubernetes. fare puts the name above it, in the place of these
# lines.

# Makes the CronJob, or corrects what differs. Needs kubectl, logged in; its current namespace counts.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
fail() { printf '%s\n' "$*" >&2; exit 1; }

[ -f "$here/cronjob.yaml" ] || fail "$here/cronjob.yaml is missing"
found=$(kubectl get cronjob "$name" --ignore-not-found -o name)
if [ -n "$found" ] && [ "$(kubectl get cronjob "$name" \
    -o 'jsonpath={.metadata.labels.app\.kubernetes\.io/managed-by}')" != fare ]; then
    fail "there is a CronJob $name that fare did not make: use another --name"
fi
said=$(kubectl apply -f "$here/cronjob.yaml")
case $said in
*' unchanged') printf '%s\n' "$name is as it should be: nothing was changed" ;;
*) printf '%s\n' "$said" "$name is set up; its log: kubectl logs -l fare-task=$name --tail=-1" ;;
esac
