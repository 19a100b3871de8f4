#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Template of what sets a task up on Azure. fare puts the values above it, in the place of these
# lines.

# Makes a resource group with the machine and a Logic App, or corrects what differs; what is right
# stays untouched. Needs az, logged in. The Logic App starts the machine; boot.sh runs the command
# and powers it off; the Logic App then deallocates it, at the latest after the limit: a machine that
# is only powered off is still billed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
changed=0

say() { printf '%s\n' "$*"; }
fail() { printf '%s\n' "$*" >&2; exit 1; }
change() { changed=1; say "$*"; }

for file in boot.sh loader.yaml workflow.json; do
    [ -f "$here/$file" ] || fail "$here/$file is missing"
done
subscription=$(az account show --query id --output tsv)
scope=/subscriptions/$subscription/resourceGroups/$name
vm=$scope/providers/Microsoft.Compute/virtualMachines/$name
flow=$scope/providers/Microsoft.Logic/workflows/$name

# ---- the group
if [ "$(az group exists --name "$name")" != true ]; then
    [ -n "$region" ] || fail "no location: use --region"
    change "creating the resource group $name in $region"
    az group create --name "$name" --location "$region" --tags fare-task="$name" --output none
elif [ "$(az group show --name "$name" --query 'tags."fare-task"' --output tsv)" != "$name" ]; then
    fail "there is a resource group $name that fare did not make: use another --name"
fi
region=$(az group show --name "$name" --query location --output tsv)

# ---- the machine
power() { az vm get-instance-view --ids "$vm" --query "instanceView.statuses[?starts_with(code,'PowerState/')].code | [0]" --output tsv; }
found=$(az vm list --resource-group "$name" --query "[?name=='$name'].[hardwareProfile.vmSize,tags.\"fare-sum\"]" --output tsv)
if [ -z "$found" ]; then
    change "creating the machine $name: $machine"
    set --
    [ "$priority" = Regular ] || set -- --eviction-policy Deallocate --max-price -1
    az vm create --resource-group "$name" --name "$name" --size "$machine" --image "$image" \
        --os-disk-size-gb "$disk_gb" --os-disk-delete-option Delete --nic-delete-option Delete \
        --nsg-rule NONE --admin-username fare --generate-ssh-keys --priority "$priority" "$@" \
        --custom-data "$here/loader.yaml" --user-data "$here/boot.sh" \
        --tags fare-task="$name" fare-sum="$sum" --output none
    # Its first boot only shows that it powers itself off.
    for _ in $(seq 60); do
        [ "$(power)" != PowerState/stopped ] || break
        sleep 10
    done
    state=$(power)
    az vm deallocate --ids "$vm"
    [ "$state" = PowerState/stopped ] || fail "the machine did not power itself off within 10 minutes, and was deallocated: is there cloud-init in $image?"
else
    off() { [ "$(power)" = PowerState/deallocated ] || fail "the machine is up: run this again when it is off"; }
    if [ "$(printf '%s\n' "$found" | cut -f1)" != "$machine" ]; then
        off
        change "changing the machine's size to $machine"
        az vm resize --ids "$vm" --size "$machine" --output none
    fi
    if [ "$(printf '%s\n' "$found" | cut -f2)" != "$sum" ]; then
        off
        change "replacing the machine's user data"
        az vm update --ids "$vm" --user-data "$here/boot.sh" --set tags.fare-sum="$sum" --output none
    fi
fi

# ---- the Logic App, with leave to start and deallocate this machine
if [ "$(az resource list --resource-group "$name" --resource-type Microsoft.Logic/workflows \
    --query "[?name=='$name'].tags.\"fare-sum\" | [0]" --output tsv)" != "$flow_sum" ]; then
    change "putting the Logic App $name"
    body=$(mktemp)
    {
        printf '{"location":"%s","identity":{"type":"SystemAssigned"},"tags":{"fare-task":"%s","fare-sum":"%s"},"properties":{"state":"Enabled","parameters":{"vm":{"value":"%s"}},"definition":' \
            "$region" "$name" "$flow_sum" "$vm"
        cat "$here/workflow.json"
        printf '}}\n'
    } >"$body"
    az rest --method put --url "$flow?api-version=2019-05-01" --body "@$body" --output none
    rm -f "$body"
fi
who=$(az resource show --ids "$flow" --query identity.principalId --output tsv)
role='Virtual Machine Contributor'
if [ -z "$(az role assignment list --scope "$vm" --query "[?principalId=='$who' && roleDefinitionName=='$role'].id" --output tsv)" ]; then
    change "allowing the Logic App to start and deallocate the machine"
    # A new identity takes a while until it is known everywhere.
    for try in 1 2 3 4 5 6; do
        if az role assignment create --assignee-object-id "$who" --assignee-principal-type ServicePrincipal \
            --role "$role" --scope "$vm" --output none; then
            break
        fi
        [ "$try" -lt 6 ] || fail "the role could not be assigned: run this again in a minute"
        sleep 10
    done
fi
if [ "$changed" -eq 0 ]; then
    say "$name is as it should be: nothing was changed"
else
    say "$name is set up; boot.sh keeps its logs on the machine, in /var/lib/fare/$name/log"
fi
