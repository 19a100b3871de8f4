#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Template of what removes a task from AWS. fare puts name and region above it, in the place of these
# lines.

# Deletes the schedules, the role, and the machine with its disk and the logs on it.
set -eu
role=fare-$name
export AWS_PAGER=''
[ -z "$region" ] || export AWS_DEFAULT_REGION="$region" AWS_REGION="$region"

for schedule in "$name" "$name-2"; do
    if [ "$(aws scheduler get-schedule --name "$schedule" --query Description --output text 2>/dev/null)" = "fare cron" ]; then
        aws scheduler delete-schedule --name "$schedule"
    fi
done
if [ -n "$(aws iam list-role-tags --role-name "$role" --query "Tags[?Key=='fare-task'].Value" --output text 2>/dev/null)" ]; then
    aws iam delete-role-policy --role-name "$role" --policy-name start 2>/dev/null || true
    aws iam delete-role --role-name "$role"
fi
ids=$(aws ec2 describe-instances --filters "Name=tag:fare-task,Values=$name" \
    Name=instance-state-name,Values=pending,running,stopping,stopped \
    --query 'Reservations[].Instances[].InstanceId' --output text)
for id in $ids; do
    aws ec2 terminate-instances --instance-ids "$id" --query 'TerminatingInstances[].InstanceId' --output text
done
printf '%s\n' "$name is removed"
