#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The container image: by the OCI specification, the same bytes each time, and it runs.
. "$ROOT/tests/dist/lib.sh"

export GZIP_LEVEL=1 # to save time
made() {
    "$ROOT/scripts/dist" "$BUILD" "$work/dist" && "$ROOT/scripts/image" "$BUILD" "$work/dist"
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
    [ "$(ls -A "$work/root")" = fare ] &&
        diff -r <(tar -xzOf "$work"/dist/fare-*-x86_64.tar.gz | sha256sum) \
            <(tar -xOf "$work/layer.tar" | sha256sum)
}
check "holds the bundle and nothing else" just_the_folder

why=$(no_chroot)
if [ -n "$why" ]; then
    skip "the image runs" "$why"
else
    check "its command runs in its root" like '^CPU ' in_root "$work/root" FARE_METADATA=off "$entry" check
fi
finish
