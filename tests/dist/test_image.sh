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

why=$(no_chroot)
if [ -n "$why" ]; then
    skip "the image runs" "$why"
else
    check "its command runs in its root" like '^CPU ' in_root "$work/root" FARE_METADATA=off "$entry" check
    # What podman does: the image's environment, a folder of the host as /data.
    serves() {
        printf 'a-token-of-enough-letters\n' >"$work/root/data/token"
        chmod 600 "$work/root/data/token"
        in_root "$work/root" FARE_METADATA=off XDG_DATA_HOME=/data PATH=/fare \
            "$entry" serve --listen 127.0.0.1:0 --token-file /data/token >"$work/serving" 2>&1 &
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
        grep -q from-elsewhere "$work/page" && [ -s "$work/root/data/fare/ledger.db" ] && return 0
        cat "$work/serving" "$work/page"
        return 1
    }
    check "fare serve works in it, and its ledger is in /data" serves
fi
finish
