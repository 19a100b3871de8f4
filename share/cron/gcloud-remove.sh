#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Template of what removes a task from Google Cloud. fare puts the name above it, in the place of
# these lines.

# Deletes the machine with its disk and the logs on it, then the schedule. The service agent keeps
# its role, which other schedules may need.
set -eu
fail() { printf '%s\n' "$*" >&2; exit 1; }

found=$(gcloud compute instances list --filter="name=$name" \
    --format='csv[no-heading,separator="|"](zone.basename(),labels.fare-task)')
if [ -n "$found" ]; then
    [ "${found#*|}" = "$name" ] || fail "fare did not make the machine $name: left alone"
    gcloud compute instances delete "$name" --zone="${found%%|*}" --quiet
fi
gcloud compute resource-policies list --filter="name=$name AND description='fare cron'" \
    --format='value(region.basename())' | while read -r region; do
    gcloud compute resource-policies delete "$name" --region="$region" --quiet
done
printf '%s\n' "$name is removed"
