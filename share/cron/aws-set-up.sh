#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Template of what sets a task up on AWS. fare puts the values above it, in the place of these lines.

# Makes the machine, a role and the schedule, or corrects what differs; what is right stays
# untouched. Needs aws, logged in, and a default VPC. EventBridge Scheduler starts the machine;
# user-data.yaml runs the command and powers it off. AWS has no limit of its own for the time that a
# machine is up: those within the machine count.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
data=$here/user-data.yaml
role=fare-$name
changed=0

say() { printf '%s\n' "$*"; }
fail() { printf '%s\n' "$*" >&2; exit 1; }
change() { changed=1; say "$*"; }

[ -f "$data" ] || fail "$data is missing"
export AWS_PAGER=''
[ -z "$region" ] || export AWS_DEFAULT_REGION="$region" AWS_REGION="$region"
account=$(aws sts get-caller-identity --query Account --output text)

# ---- the machine
look() {
    aws ec2 describe-instances --filters "Name=tag:fare-task,Values=$name" \
        Name=instance-state-name,Values=pending,running,stopping,stopped \
        --query 'Reservations[].Instances[].[InstanceId,State.Name,InstanceType]' --output text
}
found=$(look)
if [ -z "$found" ]; then
    case $image in
    /*) image=$(aws ssm get-parameter --name "$image" --query Parameter.Value --output text) ;;
    esac
    root=$(aws ec2 describe-images --image-ids "$image" --query 'Images[0].RootDeviceName' --output text)
    change "creating the machine $name: $machine from $image"
    id=$(aws ec2 run-instances --image-id "$image" --instance-type "$machine" --count 1 \
        --instance-initiated-shutdown-behavior stop --user-data "file://$data" \
        --block-device-mappings "DeviceName=$root,Ebs={VolumeSize=$disk_gb,VolumeType=gp3,DeleteOnTermination=true}" \
        --metadata-options HttpTokens=required \
        --tag-specifications "ResourceType=instance,Tags=[{Key=Name,Value=$name},{Key=fare-task,Value=$name}]" \
        --query 'Instances[0].InstanceId' --output text)
    # Its first boot only shows that it powers itself off.
    if ! aws ec2 wait instance-stopped --instance-ids "$id"; then
        aws ec2 stop-instances --instance-ids "$id" --output text >/dev/null
        fail "the machine $id did not power itself off within 10 minutes, and was stopped: is there cloud-init in $image?"
    fi
else
    [ "$(printf '%s\n' "$found" | wc -l)" -eq 1 ] || fail "several machines have the tag fare-task=$name: remove all but one"
    id=$(printf '%s\n' "$found" | cut -f1)
    off() {
        [ "$(printf '%s\n' "$found" | cut -f2)" = stopped ] || fail "the machine $id is up: run this again when it is off"
    }
    if [ "$(printf '%s\n' "$found" | cut -f3)" != "$machine" ]; then
        off
        change "changing the machine type of $id to $machine"
        aws ec2 modify-instance-attribute --instance-id "$id" --instance-type "Value=$machine"
    fi
    if [ "$(aws ec2 describe-instance-attribute --instance-id "$id" --attribute userData \
        --query UserData.Value --output text)" != "$(base64 -w0 "$data")" ]; then
        off
        change "replacing the user data of $id"
        aws ec2 modify-instance-attribute --instance-id "$id" --attribute userData \
            --value "$(base64 -w0 "$data")"
    fi
fi

# ---- the role with which the schedule starts it, and nothing else
trust='{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"scheduler.amazonaws.com"},"Action":"sts:AssumeRole","Condition":{"StringEquals":{"aws:SourceAccount":"'$account'"}}}]}'
may='{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"ec2:StartInstances","Resource":"arn:aws:ec2:*:'$account':instance/'$id'"}]}'
arn=arn:aws:iam::$account:role/$role
if ! aws iam get-role --role-name "$role" --query Role.Arn --output text >/dev/null 2>&1; then
    change "creating the role $role"
    aws iam create-role --role-name "$role" --assume-role-policy-document "$trust" \
        --tags "Key=fare-task,Value=$name" --query Role.Arn --output text
    aws iam wait role-exists --role-name "$role"
    fresh=1
fi
if [ "$(aws iam get-role-policy --role-name "$role" --policy-name start \
    --query 'PolicyDocument.Statement[0].Resource' --output text 2>/dev/null)" != "arn:aws:ec2:*:$account:instance/$id" ]; then
    change "allowing $role to start $id"
    aws iam put-role-policy --role-name "$role" --policy-name start --policy-document "$may"
fi
[ -z "${fresh:-}" ] || sleep 10 # until the scheduler knows the role

# ---- the schedules: one, or two if cron means "on these days of the month or of the week"
target='{"Arn":"arn:aws:scheduler:::aws-sdk:ec2:startInstances","RoleArn":"'$arn'","Input":"{\"InstanceIds\":[\"'$id'\"]}","RetryPolicy":{"MaximumEventAgeInSeconds":300,"MaximumRetryAttempts":3}}'
schedule() { # NAME EXPRESSION
    there=$(aws scheduler get-schedule --name "$1" --output text \
        --query '[ScheduleExpression,ScheduleExpressionTimezone,State,Target.RoleArn,Target.Input]' 2>/dev/null || true)
    [ "$there" != "$(printf '%s\t%s\tENABLED\t%s\t{"InstanceIds":["%s"]}' "$2" "$time_zone" "$arn" "$id")" ] || return 0
    verb=create-schedule
    [ -z "$there" ] || verb=update-schedule
    change "$verb $1: $2 ($time_zone)"
    aws scheduler "$verb" --name "$1" --schedule-expression "$2" \
        --schedule-expression-timezone "$time_zone" --flexible-time-window Mode=OFF \
        --state ENABLED --description "fare cron" --target "$target" --query ScheduleArn --output text
}
schedule "$name" "$expression"
if [ -n "$expression_2" ]; then
    schedule "$name-2" "$expression_2"
elif aws scheduler get-schedule --name "$name-2" --output text --query Name >/dev/null 2>&1; then
    change "deleting the schedule $name-2"
    aws scheduler delete-schedule --name "$name-2"
fi
if [ "$changed" -eq 0 ]; then
    say "$name is as it should be: nothing was changed"
else
    say "$name is set up: $id keeps its logs in /var/lib/fare/$name/log"
fi
