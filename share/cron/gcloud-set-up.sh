#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Template of what sets a task up on Google Cloud. fare puts the values above it, in the place of
# these lines.

# Makes the machine and its schedule, or corrects what differs; what is right stays untouched.
# Needs gcloud, logged in, with a project. The schedule starts the machine; boot.sh runs the command
# and powers it off; Google stops it if it is still up after the limit.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
key=${metadata%%=*}
file=$here/${metadata#*=}
changed=0

say() { printf '%s\n' "$*"; }
fail() { printf '%s\n' "$*" >&2; exit 1; }
change() { changed=1; say "$*"; }

project=$(gcloud config get-value project 2>/dev/null)
[ -n "$project" ] || fail "no project: gcloud config set project PROJECT"
[ -f "$file" ] || fail "$file is missing"

# What there is: zone, status, machine type, limit, provisioning, schedule, labels.
look() {
    gcloud compute instances list --filter="name=$name" \
        --format='csv[no-heading,separator="|"](zone.basename(),status,machineType.basename(),scheduling.maxRunDuration.seconds,scheduling.provisioningModel,resourcePolicies[0].basename(),labels.fare-task,labels.fare-sum)'
}
field() { printf '%s\n' "$found" | cut -d'|' -f"$1"; }
found=$(look)

# ---- the schedule
there=$(gcloud compute resource-policies list --filter="name=$name AND region~/$region\$" \
    --format='csv[no-heading,separator="|"](instanceSchedulePolicy.vmStartSchedule.schedule,instanceSchedulePolicy.timeZone)')
if [ -z "$there" ]; then
    change "creating the schedule $name: $schedule ($time_zone)"
    gcloud compute resource-policies create instance-schedule "$name" --region="$region" \
        --description="fare cron" --vm-start-schedule="$schedule" --timezone="$time_zone"
elif [ "$there" != "$schedule|$time_zone" ]; then
    change "changing the schedule $name from $there to $schedule|$time_zone"
    gcloud compute resource-policies update instance-schedule "$name" --region="$region" \
        --vm-start-schedule="$schedule" --timezone="$time_zone"
fi

# Schedules start machines as the Compute Engine service agent, which needs leave to do so.
number=$(gcloud projects describe "$project" --format='value(projectNumber)')
agent=serviceAccount:service-$number@compute-system.iam.gserviceaccount.com
role=roles/compute.instanceAdmin.v1
if [ -z "$(gcloud projects get-iam-policy "$project" --flatten='bindings[].members' \
    --filter="bindings.members=$agent AND bindings.role=$role" --format='value(bindings.role)')" ]; then
    change "granting $role to $agent"
    gcloud projects add-iam-policy-binding "$project" --member="$agent" --role="$role" \
        --condition=None --format=none
fi

# ---- the machine
if [ -z "$found" ]; then
    zone=$(gcloud compute machine-types list --filter="name=$machine AND zone~$region-[a-z]\$" \
        --format='value(zone)' --limit=1)
    [ -n "$zone" ] || fail "no zone of $region has $machine"
    case $image in
    *projects/*/global/images/family/*)
        set -- --image-project="${image##*projects/}" --image-family="${image##*/}"
        set -- "${1%%/*}" "$2"
        ;;
    *projects/*/global/images/*) set -- --image="$image" ;; # one image, by its whole path
    */*) set -- --image-project="${image%%/*}" --image-family="${image#*/}" ;;
    *) set -- --image="$image" ;;
    esac
    change "creating the machine $name: $machine in $zone"
    gcloud compute instances create "$name" --zone="$zone" --machine-type="$machine" "$@" \
        --boot-disk-size="${disk_gb}GB" --provisioning-model="$model" \
        --instance-termination-action=STOP --max-run-duration="${most_s}s" \
        --labels=fare-task="$name",fare-sum="$sum" --metadata-from-file="$key=$file" \
        --resource-policies="$name" --no-restart-on-failure --maintenance-policy=TERMINATE
    # Its first boot only shows that it powers itself off.
    for _ in $(seq 60); do
        found=$(look)
        [ "$(field 2)" != TERMINATED ] || break
        sleep 10
    done
    if [ "$(field 2)" != TERMINATED ]; then
        gcloud compute instances stop "$name" --zone="$zone"
        fail "the machine did not power itself off within 10 minutes, and was stopped: see its startup script's output with 'gcloud compute instances get-serial-port-output $name --zone=$zone'"
    fi
else
    zone=$(field 1)
    [ "$(field 7)" = "$name" ] || fail "there is a machine $name that fare did not make: use another --name"
    off() { [ "$(field 2)" = TERMINATED ] || fail "the machine is up: run this again when it is off"; }
    if [ "$(field 3)" != "$machine" ]; then
        off
        change "changing the machine type to $machine"
        gcloud compute instances set-machine-type "$name" --zone="$zone" --machine-type="$machine"
    fi
    if [ "$(field 4)" != "$most_s" ] || [ "$(field 5)" != "$model" ]; then
        off
        change "changing the limit to $most_s s, $model"
        gcloud compute instances set-scheduling "$name" --zone="$zone" --provisioning-model="$model" \
            --instance-termination-action=STOP --max-run-duration="${most_s}s"
    fi
    if [ "$(field 6)" != "$name" ]; then
        change "attaching the schedule"
        gcloud compute instances add-resource-policies "$name" --zone="$zone" \
            --resource-policies="$name"
    fi
    if [ "$(field 8)" != "$sum" ]; then
        change "replacing the $key"
        gcloud compute instances add-metadata "$name" --zone="$zone" \
            --metadata-from-file="$key=$file"
        gcloud compute instances add-labels "$name" --zone="$zone" --labels=fare-sum="$sum"
    fi
fi
if [ "$changed" -eq 0 ]; then
    say "$name is as it should be: nothing was changed"
else
    say "$name is set up; boot.sh keeps its logs on the machine, in /var/lib/fare/$name/log"
fi
