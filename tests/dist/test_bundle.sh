#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The bundle on hosts of every kind: an empty one, older and newer C libraries, none of glibc's.
. "$ROOT/tests/dist/lib.sh"

debian=/usr/lib/x86_64-linux-gnu
# Machine code of these kernels for a GPU that does not exist, and of others.
hash=$(sha256sum "$BUILD/generated/ptx/sm_80_tf32.ptx" | cut -c1-16)
mkdir -p "$BUILD/kernels"
touch "$BUILD/kernels/sm_80_tf32-$hash.sm_99.cubin" "$BUILD/kernels/sm_80_tf32-0000000000000000.sm_99.cubin"
check "make dist writes the bundle" "$ROOT/scripts/dist" "$BUILD" "$work/dist"
archive=$(echo "$work"/dist/fare-*-linux-x86_64.tar.gz)
tar -C "$work" -xzf "$archive" || { bad=1; finish; }
name=$(tar -tzf "$archive" | sed -n '1s,/.*,,p')
bundle=$work/$name

# What is in it.

small() {
    local size
    size=$(stat -c %s "$archive")
    echo "$size bytes"
    [ "$size" -lt 40000000 ]
}
check "under 40 MB" small

# In another folder and with another mask; less well packed than it is, to save time. gzip's head has no name (0) and no time (0000).
same_again() {
    umask 077
    mkdir "$work/other folder"
    cp -R "$ROOT/scripts" "$ROOT/share" "$ROOT/LICENSE" "$work/other folder"
    SOURCE_DATE_EPOCH=$(git -C "$ROOT" log -1 --format=%ct) GZIP_LEVEL=1 "$work/other folder/scripts/dist" "$BUILD" "$work/again" &&
        cmp <(gzip -dc "$archive") <(gzip -dc "$work"/again/*.tar.gz) &&
        [ "$(head -c 8 "$archive" | od -An -tx1 | tr -d ' ')" = 1f8b080000000000 ]
}
check "the same bytes when made again" same_again
rm -f "$BUILD"/kernels/*.sm_99.cubin
rmdir "$BUILD/kernels" 2>/dev/null || true

own_machine_code() {
    [ -e "$bundle/lib/kernels/sm_80_tf32-$hash.sm_99.cubin" ] && [ ! -e "$bundle/lib/kernels/sm_80_tf32-0000000000000000.sm_99.cubin" ]
}
check "machine code of its own GPU kernels, and no other" own_machine_code

no_folder() { # neither in their texts nor in what debuggers read, of which the linker makes its id
    ! grep -lF "$ROOT/" "$BUILD"/{launch,fare,libfare-trace.so,libfare-exchanges.so}
}
check "no program knows the folder in which it was built" no_folder

static_launcher() {
    ! readelf -l "$bundle/fare" | grep INTERP && ! readelf -d "$bundle/fare" | grep NEEDED
}
check "the launcher needs no loader and no library" static_launcher

hardened() { # at any address, nothing of its tables writable after the start, and calls that know the size of what they fill
    local file bad=0
    for file in fare lib/fare.bin lib/libfare-trace.so lib/libfare-exchanges.so; do
        readelf -hldW "$bundle/$file" >"$work/headers"
        for each in 'Type: *DYN' GNU_RELRO BIND_NOW; do
            grep -q "$each" "$work/headers" || { echo "$file: no $each"; bad=1; }
        done
    done
    for file in launch fare libfare-trace.so libfare-exchanges.so; do
        readelf -sW "$BUILD/$file" | grep ' __snprintf_chk' >/dev/null || { echo "$file: no __snprintf_chk"; bad=1; }
    done
    return $bad
}
check "programs and libraries are hardened" hardened

needed_by() {
    readelf -d "$@" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u
}

# Everything reachable from the program and from the libraries that the sources open, but for the
# host's drivers and its MPI, whose mpirun starts fare.
opened=$(grep -rhoE '"lib[A-Za-z0-9_+-]+\.so\.[0-9]+"' "$ROOT/src" --include='*.c' \
    --exclude-dir=launch | tr -d '"' | sort -u | grep -vE '^lib(cuda|cupti|nvidia|cudnn|cublas|nccl|mpi)')
closed() {
    local all=(fare.bin libfare-trace.so libfare-exchanges.so) next file each missing=0
    for each in $opened; do
        all+=("$each")
    done
    while :; do
        next=$(
            for each in "${all[@]}"; do
                file=$(find "$bundle/lib" -name "$each")
                [ -z "$file" ] || needed_by "$file"
                echo "$each"
            done | sort -u
        )
        [ "$next" != "$(printf '%s\n' "${all[@]}")" ] || break
        mapfile -t all <<<"$next"
    done
    for each in "${all[@]}"; do
        [ -n "$(find "$bundle/lib" -name "$each")" ] || {
            echo "needed, but not carried: $each"
            missing=1
        }
    done
    for file in "$bundle"/lib/* "$bundle"/lib/cxx/*; do
        [ -d "$file" ] || [[ " ${all[*]} " == *" ${file##*/} "* ]] || {
            echo "carried, but not needed: ${file##*/}"
            missing=1
        }
    done
    return $missing
}
check "carries all that is needed ($(echo $opened)) and no more" closed

no_paths() {
    local file bad=0
    while read -r file; do
        ! readelf -d "$file" | grep -E 'RPATH|RUNPATH' || bad=1
        ! readelf -lW "$file" | grep 'GNU_STACK.*RWE' || bad=1 # newer C libraries refuse those
    done < <(find "$bundle/lib" -type f)
    return $bad
}
check "no library leads elsewhere or wants an executable stack" no_paths

licences() {
    local file package bad=0
    while read -r file; do
        package=$(awk -v name="${file##*/}" '$1 == name {print $2}' "$bundle/share/licenses/PACKAGES")
        [ -n "$package" ] && [ -s "$bundle/share/licenses/$package" ] || {
            echo "no licence for $file"
            bad=1
        }
    done < <(find "$bundle/lib" -name '*.so*' ! -name 'libfare-*') # ours
    cmp "$ROOT/LICENSE" "$bundle/LICENSE" && [ -s "$bundle/README" ] && return $bad
}
check "has the licence of each library" licences

modes() {
    ! find "$bundle" -perm /022 | grep . && ! find "$bundle" ! -perm -044 | grep .
}
check "everyone may read it, nobody but its owner may write" modes

# Where it runs.

why=$(no_chroot)
if [ -n "$why" ]; then
    skip "the bundle in roots of its own" "$why"
    finish
fi

new_root() { # NAME: a root with the bundle as /fare and nothing else
    root=$work/$1
    mkdir -p "$root"
    cp -al "$bundle" "$root/fare"
}

# Is the report whole? oneDNN's part of it can only come from the carried library.
facts() { # [VARIABLE=VALUE]... FARE: into $work/facts.json
    in_root "$root" FARE_METADATA=off "$@" check --no-cloud --json >"$work/facts.json" &&
        [ "$(json schema <"$work/facts.json")" = fare.machine/1 ] &&
        [ "$(json cpu cores <"$work/facts.json")" -ge 1 ] &&
        like '"operation": "f32 matmul".*"works": true' json cpu libraries <"$work/facts.json"
}

gpu() { # NAME [VARIABLE=VALUE]...: is that GPU found?
    local name=$1
    shift
    facts "$@" /fare/fare && [ "$(json gpus 0 name <"$work/facts.json")" = "$name" ]
}

no_gpu() { # [VARIABLE=VALUE]...
    facts "$@" /fare/fare && ! json gpus 0 name <"$work/facts.json"
}

new_root empty
check "empty root: --version" like "^fare ${name#fare-}" in_root "$root" /fare/fare --version
check "empty root: check --json" facts /fare/fare
check "empty root: check for people" \
    like '^CPU .*' in_root "$root" FARE_METADATA=off /fare/fare check --no-cloud

# All that is loaded, by the loader's own account; the addresses lead nowhere, but load libcurl and libpq.
loaded() {
    in_root "$root" LD_DEBUG=libs LD_DEBUG_OUTPUT=/loaded FARE_METADATA=http://127.0.0.1:1 \
        /fare/fare check --json >"$work/facts.json" || return 1
    in_root "$root" LD_DEBUG=libs LD_DEBUG_OUTPUT=/loaded XDG_DATA_HOME=/data \
        /fare/fare runs >/dev/null || return 1
    in_root "$root" LD_DEBUG=libs LD_DEBUG_OUTPUT=/loaded XDG_DATA_HOME=/data \
        /fare/fare runs --ledger postgresql://127.0.0.1:1/none 2>/dev/null && return 1 # nobody there
    in_root "$root" LD_DEBUG=libs LD_DEBUG_OUTPUT=/loaded XDG_DATA_HOME=/data \
        /fare/fare serve --public --listen 192.0.2.1:1 2>/dev/null && return 1 # not an address of this machine
    sed -n 's/.*calling init: //p' "$root"/loaded.* | sort -u >"$work/loaded"
    cat "$work/loaded"
    ! grep -v '^/fare/' "$work/loaded" || return 1
    for each in $opened; do
        [ "$each" = libjpeg.so.62 ] || grep "/$each$" "$work/loaded" || return 1 # for images only
    done
}
check "empty root: everything is loaded from the bundle" loaded
mkdir "$root/sys"
caches() {
    facts /fare/fare && [ "$(json cpu caches 0 level <"$work/facts.json")" = 1 ]
}
check "with /sys: caches" caches
check "a wrong use ends with 2" ends_with 2 in_root "$root" /fare/fare --no-such-option

new_root moved
mkdir -p "$root/usr/local/bin" "$root/some where" "$root/work"
mv "$root/fare" "$root/some where/it is"
ln -s "../../../some where/it is/fare" "$root/usr/local/bin/fare"
check "moved to a path with spaces" facts "/some where/it is/fare"
check "called through a link" facts /usr/local/bin/fare
read_only="/some where"
check "in a read-only folder" facts /usr/local/bin/fare
read_only=
no_proc=yes
check "without /proc, by a relative link" \
    like "^fare ${name#fare-}" in_root "$root" /usr/local/bin/../bin/fare --version
no_proc=
mv "$root/some where" "$root/a:b"
check "a path that the loader would split is refused with a remedy" \
    like "^fare: move the folder" in_root "$root" "/a:b/it is/fare" --version

new_root arguments
gcc -O1 -o "$work/echo" "$here/echo.c"
rm "$root/fare/lib/fare.bin"
cp "$work/echo" "$root/fare/lib/fare.bin"
check "arguments, environment and exit code pass through unchanged" \
    like '^\[/fare/fare\]\[--argv0\]\[\]\[a b\]\[--\]\[\*\]\{A=1\}\{LD_LIBRARY_PATH=/x y\}$' \
    in_root "$root" A=1 "LD_LIBRARY_PATH=/x y" /fare/fare --argv0 "" "a b" -- '*'
check "exit code" ends_with 42 in_root "$root" /fare/fare
rm "$root/fare/lib/c/ld-linux-x86-64.so.2"
check "a damaged bundle says so" like "^fare: cannot start" in_root "$root" /fare/fare

# Hosts. Each has a C library that stands in for another version, and a GPU whose driver's library
# needs it, or decoys that end whoever loads them.

host_c() { # FOLDER: Debian's C library as the host's own, found as everywhere by /lib64
    mkdir -p "$root$1" "$root/lib64"
    cp "$debian"/{ld-linux-x86-64.so.2,libc.so.6,libm.so.6,libpthread.so.0,libdl.so.2,librt.so.1,libresolv.so.2} \
        "$root$1"
    [ "$1" = /lib64 ] || ln -s "$1/ld-linux-x86-64.so.2" "$root/lib64/"
}

driver() { # FOLDER NAME FLAGS...: a driver's library
    local folder=$root$1 name=$2
    shift 2
    mkdir -p "$folder"
    gcc -O1 -fPIC -shared -nostdlib -DNAME="$name" -o "$folder/libnvidia-ml.so.1" "$here/nvml.c" "$@"
}

gcc -O1 -fPIC -shared -nostdlib -o "$work/decoy.so" "$here/decoy.c"
decoys() { # FOLDER: one for each library that the bundle carries
    local file
    mkdir -p "$root$1"
    while read -r file; do
        cp -n "$work/decoy.so" "$root$1/${file##*/}"
    done < <(find "$bundle/lib" -name '*.so*' ! -name 'ld-*')
}

# GLIBC_2.93 is newer than any, with a function in it that the bundle's library does not have.
new_root newer
host_c /usr/lib/x86_64-linux-gnu
"$here/rename_version.py" "$debian/libc.so.6" "$root$debian/libc.so.6" GLIBC_2.23=GLIBC_2.93
driver "$debian" newer -DNEEDS=fts64_open "$root$debian/libc.so.6"
check "newer host: the driver's library gets the host's C library" gpu newer
check "newer host: with the bundle's it cannot be opened, and nothing else suffers" \
    no_gpu FARE_LIBC=bundle
# A card on the bus without a driver; its name is in the bundle's share/, and nowhere else.
card=$root/sys/bus/pci/devices/0000:03:00.0
mkdir -p "$card"
echo 0x030200 >"$card/class"
echo 0x1002 >"$card/vendor"
echo 0x74a1 >"$card/device"
named() {
    facts /fare/fare && like MI300X json gpus <"$work/facts.json"
}
check "newer host: the program, started by the host's loader, finds its data" named
decoys /usr/lib/x86_64-linux-gnu
check "newer host: all else comes from the bundle" gpu newer

# The same in Red Hat's folders, where the loader is a file beside the library.
new_root newer64
host_c /lib64
"$here/rename_version.py" "$debian/libc.so.6" "$root/lib64/libc.so.6" GLIBC_2.23=GLIBC_2.93
mkdir "$root/etc"
echo /lib64 >"$root/etc/ld.so.conf" # its loader would know without
ldconfig -r "$root" 2>/dev/null
driver /usr/lib64 newer64 -DNEEDS=fts64_open "$root/lib64/libc.so.6"
check "newer host with /lib64" gpu newer64

# A driver's library that needs a newer libstdc++, on a host whose C library is not newer.
new_root newer_cxx
host_c /usr/lib/x86_64-linux-gnu
cp "$debian/libgcc_s.so.1" "$root$debian"
"$here/rename_version.py" "$debian/libstdc++.so.6" "$root$debian/libstdc++.so.6" \
    GLIBCXX_3.4.28=GLIBCXX_3.4.98
driver "$debian" cxx -DNEEDS=_ZNSt3pmr15memory_resourceD2Ev "$root$debian/libstdc++.so.6"
check "newer libstdc++ on the host: the driver's library gets it" gpu cxx

new_root older
host_c /lib/x86_64-linux-gnu
"$here/rename_version.py" "$debian/libc.so.6" "$root/lib/x86_64-linux-gnu/libc.so.6" \
    GLIBC_2.{32=GLIBC_1.32,33=GLIBC_1.33,34=GLIBC_1.34,35=GLIBC_1.35,36=GLIBC_1.36}
driver /usr/lib/x86_64-linux-gnu older "$root/lib/x86_64-linux-gnu/libc.so.6"
decoys /usr/lib/x86_64-linux-gnu
check "older host: the bundle's C library serves the driver's library too" gpu older

new_root same
host_c /lib/x86_64-linux-gnu
decoys /lib/x86_64-linux-gnu
check "host of the same age: the bundle's own libraries" facts /fare/fare

# musl: no glibc loader, its own libstdc++ under the same name and of a higher version.
new_root musl
mkdir -p "$root/lib" "$root/usr/lib"
gcc -O1 -fPIC -shared -nostdlib -Wl,-soname,libc.musl-x86_64.so.1 \
    -o "$root/lib/libc.musl-x86_64.so.1" "$here/decoy.c"
ln -s libc.musl-x86_64.so.1 "$root/lib/ld-musl-x86_64.so.1"
echo 'GLIBCXX_3.4.99 {};' >"$work/musl.map"
gcc -O1 -fPIC -shared -nostdlib -Wl,--no-as-needed,--version-script="$work/musl.map" \
    -o "$root/usr/lib/libstdc++.so.6" "$here/decoy.c" "$root/lib/libc.musl-x86_64.so.1"
cp "$work/decoy.so" "$root/usr/lib/libgcc_s.so.1"
check "musl host" facts /fare/fare
mkdir "$root/lib64"
ln -s /lib/libc.musl-x86_64.so.1 "$root/lib64/ld-linux-x86-64.so.2" # as its gcompat does
check "musl host with a stand-in for glibc's loader" facts /fare/fare

new_root broken
mkdir -p "$root/lib64" "$root/usr/lib64"
head -c 3000 "$debian/libc.so.6" >"$root/lib64/libc.so.6"
head -c 3000 "$debian/ld-linux-x86-64.so.2" >"$root/lib64/ld-linux-x86-64.so.2"
check "a damaged C library on the host is passed over" facts /fare/fare

# Drivers where containers put them, which open further libraries themselves.
new_root folders
mkdir -p "$root/opt/driver" "$root/usr/local/nvidia/lib64"
echo 'int beside(void) { return 0; }' >"$work/beside.c"
gcc -O1 -fPIC -shared -nostdlib -Wl,-soname,libbeside.so -o "$root/opt/driver/libbeside.so" "$work/beside.c"
driver /opt/driver variable -DBESIDE "$root/opt/driver/libbeside.so"
check "LD_LIBRARY_PATH leads to a driver and what it needs" gpu variable LD_LIBRARY_PATH=/nowhere:/opt/driver
mv "$root"/opt/driver/* "$root/usr/local/nvidia/lib64"
check "/usr/local/nvidia/lib64 leads there too" gpu variable
mkdir -p "$root/usr/lib64"
mv "$root"/usr/local/nvidia/lib64/* "$root/usr/lib64"
check "so does /usr/lib64 without a loader's cache" gpu variable

finish
