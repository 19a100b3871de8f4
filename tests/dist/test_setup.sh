#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What `make` does first: says what is missing, installs nothing where nothing is, and stops on
# systems it does not know. Nothing is installed here: apt-get and sudo are stand-ins.
. "$ROOT/tests/dist/lib.sh"

mkdir -p "$work/scripts" "$work/bin"
cp "$ROOT/scripts/setup" "$work/scripts/"
# shellcheck disable=SC2016
printf '#!/bin/sh\necho "$@" >>"%s/asked"\nexit "$(cat "%s/code")"\n' "$work" "$work" >"$work/bin/apt-get"
printf '#!/bin/sh\necho 1000\n' >"$work/bin/id"
chmod +x "$work"/bin/*
# shellcheck disable=SC2016
printf '# a comment\nbuild coreutils   # there\nbuild fare-no-such-package # why\ntest fare-nor-this\n' \
    >"$work/scripts/packages.txt"

every_line() {
    ! grep -vE '^(#.*|build [a-z0-9.+-]+|test [a-z0-9.+-]+|(pypi|pack) [A-Za-z0-9_.-]+==[a-z0-9.]+ sha256:[0-9a-f]{64})?( *#.*)?$' "$ROOT/scripts/packages.txt"
}
check "every line of the list is understood" every_line

nothing_missing() { # of Debian's: what the Python index has is fetched into the build, or not to be had
    mkdir "$work/debian"
    cp "$ROOT/scripts/setup" "$work/debian/"
    grep -v '^pypi \|^pack ' "$ROOT/scripts/packages.txt" >"$work/debian/packages.txt"
    [ -z "$("$work/debian/setup" build test 2>&1)" ]
}
check "silent where nothing is missing" nothing_missing

setup() { # CODE WORDS...: with apt-get that ends with CODE
    rm -f "$work/asked"
    echo "$1" >"$work/code"
    shift
    "$@"
}
as_root() {
    printf '#!/bin/sh\necho 0\n' >"$work/bin/id"
    setup 0 env PATH="$work/bin:$PATH" "$work/scripts/setup" build &&
        like '^-qq .* install --yes --no-install-recommends fare-no-such-package$' cat "$work/asked"
}
check "installs what is missing, and only that" as_root
check "a failing apt-get fails the set-up" \
    ends_with 1 setup 100 env PATH="$work/bin:$PATH" "$work/scripts/setup" build test

printf '#!/bin/sh\necho 1000\n' >"$work/bin/id"
mkdir "$work/few" # a PATH without sudo
for tool in sh env dirname sed dpkg-query grep cat mktemp rm; do
    ln -s "$(command -v $tool)" "$work/few/"
done
check "neither root nor sudo: says what to install" \
    like 'apt-get install --no-install-recommends fare-no-such-package' \
    env PATH="$work/bin:$work/few" "$work/scripts/setup" build
check "neither root nor sudo: ends with 1" \
    ends_with 1 env PATH="$work/bin:$work/few" "$work/scripts/setup" build
check "FARE_SKIP_SETUP=1 leaves it to others" \
    ends_with 0 env FARE_SKIP_SETUP=1 "$work/scripts/setup" build

# Python packages: an index that has two, one of them changed since its SHA-256 was written down.
mkdir -p "$work/index" "$work/python/scripts"
cp "$ROOT/scripts/setup" "$ROOT/scripts/hashes" "$work/python/scripts/"
/usr/bin/python3 - "$work/index" <<'EOF'
import sys, zipfile
for name in "first", "second":
    with zipfile.ZipFile(f"{sys.argv[1]}/{name}-1.0-py3-none-any.whl", "w") as z:
        z.writestr(f"{name}.py", "")
        z.writestr(f"{name}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        z.writestr(f"{name}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr(f"{name}-1.0.dist-info/RECORD", "")
EOF
pip_list=$work/python/scripts/packages.txt
printf 'build coreutils\npypi first==1.0      # why\npypi second==1.0\n' >"$pip_list"
with_index() {
    env PIP_NO_INDEX=1 PIP_FIND_LINKS="$work/index" "$@"
}
hashes() {
    with_index "$work/python/scripts/hashes" && diff "$pip_list" - <<EOF
build coreutils
pypi first==1.0 sha256:$(sha256sum "$work"/index/first* | cut -d' ' -f1) # why
pypi second==1.0 sha256:$(sha256sum "$work"/index/second* | cut -d' ' -f1)
EOF
}
check "scripts/hashes writes the sums of Python packages" hashes
fetched() {
    with_index "$work/python/scripts/setup" test && [ -e "$work/python/build/python/first.py" ] && [ -e "$work/python/build/python/second.py" ]
}
check "packages with these sums are installed" fetched
rm -rf "$work/python/build"
sed -i '/second/s/sha256:.*/sha256:0000000000000000000000000000000000000000000000000000000000000000/' "$pip_list"
changed() {
    like 'not the one whose SHA-256' with_index "$work/python/scripts/setup" test && [ ! -e "$work/python/build/python/first.py" ]
}
check "with another sum none is" changed

elsewhere() { # the same machine with another name
    printf 'ID=ubuntu\nVERSION_ID="24.04"\n' >"$work/os-release"
    local map=()
    [ "$(id -u)" = 0 ] || map=(--map-root-user)
    # shellcheck disable=SC2016
    unshare "${map[@]}" --mount sh -c \
        'mount --bind "$1" "$(readlink -f /etc/os-release)" && exec "$2" build' sh \
        "$work/os-release" "$ROOT/scripts/setup"
}
why=$(no_chroot)
if [ -n "$why" ]; then
    skip "another system" "$why"
else
    check "another system: points at the bundle" like 'fare-VERSION-linux-x86_64.tar.gz' elsewhere
    check "another system: ends with 1" ends_with 1 elsewhere
fi
finish
