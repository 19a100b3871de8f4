#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Template of what removes a task from Kubernetes. fare puts the name above it, in the place of these
# lines.

# Deletes the CronJob with its Jobs, Pods and their logs.
set -eu
if [ -n "$(kubectl get cronjob "$name" --ignore-not-found -o name)" ]; then
    [ "$(kubectl get cronjob "$name" \
        -o 'jsonpath={.metadata.labels.app\.kubernetes\.io/managed-by}')" = fare ] || {
        printf '%s\n' "fare did not make the CronJob $name: left alone" >&2
        exit 1
    }
    kubectl delete cronjob "$name"
fi
printf '%s\n' "$name is removed"
