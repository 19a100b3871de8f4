#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The container image: by the OCI specification, the same bytes each time, and it runs.
. "$ROOT/tests/dist/lib.sh"

export GZIP_LEVEL=1 # to save time
made() {
    "$ROOT/scripts/dist" "$BUILD" "$work/dist" && "$ROOT/scripts/image" "$BUILD" "$work/dist" >"$work/said"
}
check "make image writes it" made
archive=$(echo "$work"/dist/fare-*-oci.tar)
image=$work/image
mkdir -p "$image" "$work/root"
tar -C "$image" -xf "$archive" || finish

# Follows every descriptor from index.json down, as a registry's client does, and prints the
# command's first word. Names and media types: the OCI image specification, 1.0.
cat >"$work/walk.py" <<'EOF'
import gzip, hashlib, json, os, sys
os.chdir(sys.argv[1])
seen = set()
def blob(descriptor, media_type):
    assert descriptor["mediaType"] == media_type, descriptor
    name = descriptor["digest"].removeprefix("sha256:")
    data = open(f"blobs/sha256/{name}", "rb").read()
    assert len(data) == descriptor["size"], descriptor
    assert hashlib.sha256(data).hexdigest() == name, descriptor
    seen.add(name)
    return data
vendor = "application/vnd.oci.image."
assert json.load(open("oci-layout")) == {"imageLayoutVersion": "1.0.0"}
index = json.load(open("index.json"))
assert index["schemaVersion"] == 2 and len(index["manifests"]) == 1
manifest = json.loads(blob(index["manifests"][0], vendor + "manifest.v1+json"))
assert manifest["schemaVersion"] == 2 and len(manifest["layers"]) == 1
config = json.loads(blob(manifest["config"], vendor + "config.v1+json"))
layer = gzip.decompress(blob(manifest["layers"][0], vendor + "layer.v1.tar+gzip"))
assert config["rootfs"] == {"type": "layers",
    "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]}, config["rootfs"]
assert (config["os"], config["architecture"]) == ("linux", "amd64")
assert set(os.listdir("blobs/sha256")) == seen, "blobs that nothing leads to"
docker, = json.load(open("manifest.json"))
assert docker["Config"].endswith(manifest["config"]["digest"][7:])
assert docker["Layers"][0].endswith(manifest["layers"][0]["digest"][7:])
open(sys.argv[2], "wb").write(layer)
print(config["config"]["Entrypoint"][0])
EOF
check "every digest and size is right" /usr/bin/python3 "$work/walk.py" "$image" "$work/layer.tar"
entry=$(/usr/bin/python3 "$work/walk.py" "$image" "$work/layer.tar")

sums() { # as the README says, and a changed file is found
    cd "$work/dist" || return 1
    [ "$(sha256sum -c SHA256SUMS | sort | tr '\n' ' ')" = "$(echo fare-*-x86_64.tar.gz): OK ${archive##*/}: OK " ] || return 1
    mkdir "$work/changed" && cp SHA256SUMS "$work/changed" && cd "$work/changed" && echo other >"${archive##*/}"
    ! sha256sum -c --ignore-missing SHA256SUMS
}
check "SHA256SUMS has the bundle and the image" sums

cp "$archive" "$work/first.tar"
again() {
    "$ROOT/scripts/image" "$BUILD" "$work/dist" && cmp "$archive" "$work/first.tar"
}
check "the same bytes when made again" again

tar -C "$work/root" -xf "$work/layer.tar"
just_the_folder() {
    [ "$(ls -A "$work/root" | tr '\n' ' ')" = "data fare tmp " ] && [ -z "$(ls -A "$work/root/data" "$work/root/tmp" | grep -v :)" ] &&
        diff -r <(tar -xzOf "$work"/dist/fare-*-x86_64.tar.gz | sha256sum) \
            <(tar -xOf "$work/layer.tar" | sha256sum)
}
check "holds the bundle, two empty folders and nothing else" just_the_folder
open_to_all() {
    [ "$(stat -c %a "$work/root/tmp")" = 1777 ] && [ "$(stat -c %a "$work/root/data")" = 1777 ]
}
check "any user may write to /tmp and /data" open_to_all

# The line that it prints, as typed, into a store of containers/storage that lies in the test's folder.
if ! command -v skopeo >/dev/null; then
    skip "the printed line for skopeo" "skopeo is not installed"
else
    as_printed() {
        local line stored
        line=$(sed -n 's/^  \(skopeo copy .*\)/\1/p' "$work/said")
        printf '[storage]\ndriver = "vfs"\ngraphroot = "%s"\nrunroot = "%s"\n' "$work/store" "$work/run" >"$work/storage.conf"
        export CONTAINERS_STORAGE_CONF=$work/storage.conf
        $line || return 1
        stored=$(skopeo inspect --config "${line##* }") && [[ $stored == *"$entry"* && ${line##* } == containers-storage:localhost/fare:* ]]
    }
    if [ "$(id -u)" = 0 ]; then
        check "the printed line for skopeo stores the image" as_printed
    else
        skip "the printed line for skopeo" "a store of containers needs root or user namespaces"
    fi
fi

config() { # NAME: the value in the image's config, one line per item
    /usr/bin/python3 - "$image" "$1" <<'EOF'
import json, sys
def read(path):
    return json.load(open(f"{sys.argv[1]}/{path}"))
def blob(descriptor):
    return read("blobs/" + descriptor["digest"].replace(":", "/"))
value = blob(blob(read("index.json")["manifests"][0])["config"])["config"].get(sys.argv[2], "0:0")
print(*value if isinstance(value, list) else [value], sep="\n")
EOF
}
no_root() {
    [[ $(config User) =~ ^[1-9][0-9]*:[1-9][0-9]*$ ]] # by number: Kubernetes' runAsNonRoot needs no /etc/passwd then
}
check "its user is not root" no_root

why=$(no_chroot)
[ -n "$why" ] || [ "$(id -u)" = 0 ] || why="only root can be another user"
if [ -n "$why" ]; then
    skip "the image runs" "$why"
    finish
fi

# What podman does with the image's config: its user and no other group, its environment, its folder, devices of its own, folders of
# the host in it, and no way to more rights. $user is as with --user, $group as with --group-add, $volumes as with -v; $device is the
# mode of what stands in for a GPU's device and belongs to group 44.
cat >"$work/enter.py" <<'EOF'
import ctypes, os, sys
libc = ctypes.CDLL(None)
root, user, group, folder, *words = sys.argv[1:]
os.chroot(root)
os.chdir(folder)
os.setgroups([int(group)] if group else [])
uid, gid = map(int, user.split(":"))
os.setresgid(gid, gid, gid)
os.setresuid(uid, uid, uid)
libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
count = next(i for i, word in enumerate(words) if word.startswith("/"))
os.execve(words[count], words[count:], dict(word.split("=", 1) for word in words[:count]))
EOF
image_user=$(config User) folder=$(config WorkingDir)
mapfile -t image_env < <(config Env)
user=$image_user group='' device='' volumes=''
contain() { # [VARIABLE=VALUE]... COMMAND...
    # shellcheck disable=SC2016
    unshare --mount --pid --ipc --uts --fork sh -c '
        root=$1 device=$2 volumes=$3
        mkdir -p "$root/proc" "$root/dev" && mount -t proc proc "$root/proc" && mount -t tmpfs -o mode=755 dev "$root/dev" &&
            mknod -m 666 "$root/dev/null" c 1 3 && mknod -m 666 "$root/dev/urandom" c 1 9 || exit 125
        [ -z "$device" ] || { mknod -m "$device" "$root/dev/nvidia0" c 1 3 && chgrp 44 "$root/dev/nvidia0"; } || exit 125
        for volume in $volumes; do
            mkdir -p "$root${volume#*:}" && mount --bind "${volume%:*}" "$root${volume#*:}" || exit 125
        done
        shift 3
        exec /usr/bin/python3 "$@"' sh "$work/root" "$device" "$volumes" "$work/enter.py" "$work/root" "$user" "$group" "$folder" \
        "${image_env[@]}" FARE_METADATA=off "$@"
}
mine() { # NAME [UID:GID]: a folder of the host for that user alone
    mkdir -p "$work/host/$1"
    chmod 700 "$work/host/$1"
    chown "${2:-$image_user}" "$work/host/$1"
    echo "$work/host/$1"
}
owned() { # FOLDER UID:GID: has files, all of them that user's, and for nobody else
    find "$1" -type f | grep . && ! find "$1" ! \( -user "${2%:*}" -group "${2#*:}" \) | grep . &&
        ! find "$1" -mindepth 1 -perm /077 | grep .
}
check "its command runs in its root" like '^CPU ' contain "$entry" check
keeps() {
    volumes=$(mine ledger):/data
    contain "$entry" run mlp --steps 2 --no-cloud && owned "$work/host/ledger" "$image_user" && like ' mlp ' contain "$entry" runs
}
check "a mounted ledger is written as its user" keeps
keeps_as() {
    user=1234:4321 volumes=$(mine other 1234:4321):/data
    echo '{"id":"given","name":"of-another"}' >"$work/host/other/run.jsonl"
    contain "$entry" runs import /data/run.jsonl && rm "$work/host/other/run.jsonl" &&
        owned "$work/host/other" 1234:4321 && like of-another contain "$entry" runs
}
check "or as that of --user, which is in no list of users" keeps_as
refused() { # ARGUMENT...: what belongs to user 1234 is refused to the image's, and how to get it is said
    like "belongs to user 1234, and this is user ${image_user%:*}: .*--user 1234:4321" contain "$entry" "$@"
}
theirs() {
    volumes="$(mine other 1234:4321):/data"
    refused runs && refused serve --token-file /data/token && refused run mlp --steps 2 --no-cloud && refused prices
}
check "a folder of another is refused with the option that opens it" theirs
saves() {
    volumes="$(mine ledger):/data $(mine store):/store"
    contain "$entry" run mlp --full --epochs 1 --batch 1024 --save /store --no-cloud && owned "$work/host/store" "$image_user" &&
        ls "$work"/host/store/saves/*/complete
}
check "a mounted store is written as its user" saves
their_store() {
    volumes="$(mine ledger):/data $(mine closed 1234:4321):/store $(mine used 1234:4321):/used"
    install -d -m 700 -o 1234 -g 4321 "$work/host/used/lease"
    chmod 755 "$work/host/used"
    refused run mlp --full --save /store --no-cloud && refused run mlp --full --save /store/mlp --no-cloud &&
        refused run mlp --full --save /used --no-cloud
}
check "so is a store of another" their_store

mkdir -p "$work/root/usr/lib64" # where the toolkit for containers mounts the driver's libraries
gcc -O1 -fPIC -shared -nostdlib -DNAME=device -DDEVICE -o "$work/root/usr/lib64/libnvidia-ml.so.1" "$here/nvml.c"
gpu() {
    device=$1 group=${2:-}
    [ "$(contain "$entry" check --no-cloud --json | json gpus 0 name)" = device ]
}
check "it opens a GPU's device, whose mode is 666 with NVIDIA's driver" gpu 666
check "one of a group is opened with --group-add" gpu 660 44
no_gpu() {
    local card=$work/root/sys/bus/pci/devices/0000:03:00.0
    mkdir -p "$card"
    echo 0x030200 >"$card/class"
    echo 0x10de >"$card/vendor"
    echo 0x2330 >"$card/device"
    device=660
    like 'may not open /dev/nvidia' contain "$entry" check --no-cloud
}
check "without it, that is said" no_gpu

serves() {
    volumes=$(mine served):/data
    printf 'a-token-of-enough-letters\n' >"$work/host/served/token"
    chmod 600 "$work/host/served/token"
    chown "$user" "$work/host/served/token"
    contain "$entry" serve --listen 127.0.0.1:0 --token-file /data/token >"$work/serving" 2>&1 &
    local server=$! url i
    for i in $(seq 100); do
        url=$(sed -n 's/.*\(http:[^ ]*\).*/\1/p' "$work/serving")
        [ -z "$url" ] || break
        sleep 0.1
    done
    printf '{"id":"pushed","name":"from-elsewhere"}\n' |
        curl -s --fail -H 'Authorization: Bearer a-token-of-enough-letters' --data-binary @- "${url}runs" >"$work/page"
    curl -s "$url" >>"$work/page"
    local last=$server next
    while next=$(pgrep -P "$last"); do
        last=$next
    done
    kill -TERM "$last" # as `podman stop` does to the first process
    wait "$server"
    grep -q from-elsewhere "$work/page" && [ -s "$work/host/served/fare/ledger.db" ] && return 0
    cat "$work/serving" "$work/page"
    return 1
}
check "fare serve works in it, and its ledger is in /data" serves
finish
