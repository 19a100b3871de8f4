#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Machine code of the GPU kernels: what is made of which text, and what without a compiler for it. ptxas
# is a stand-in that writes down what it is asked.
. "$ROOT/tests/dist/lib.sh"

ptx=$work/build/generated/ptx
mkdir -p "$ptx"
echo first >"$ptx/sm_80_bf16.ptx"
echo second >"$ptx/sm_90a_hopper.ptx"
echo third >"$ptx/sm_60_f32.ptx"
cat >"$work/ptxas" <<END
#!/bin/sh
[ "\$1" != --version ] || { echo "Cuda compilation tools, release \$(cat "$work/version"), V1"; exit; }
echo "\$@" >>"$work/asked"
[ ! -e "$work/broken" ] || exit 1
while [ "\$1" != -o ]; do shift; done
echo code >"\$2"
END
chmod +x "$work/ptxas"
echo 12.9 >"$work/version"
pack() {
    rm -f "$work/asked"
    env PTXAS="$work/ptxas" ARCHS="80 90" "$ROOT/scripts/pack-kernels" "$work/build"
}
is() { # WORDS: the files that are there
    local found
    found=$(cd "$work/build/kernels" && echo *.cubin)
    echo "$found"
    [ "$found" = "$*" ]
}
hash_of() {
    sha256sum "$ptx/$1.ptx" | cut -c1-16
}

check "machine code is made" pack
check "of texts for 8.0 for every architecture, of sm_90a's for that, of older ones none" \
    is "sm_80_bf16-$(hash_of sm_80_bf16).sm_80.cubin sm_80_bf16-$(hash_of sm_80_bf16).sm_90.cubin" \
    "sm_90a_hopper-$(hash_of sm_90a_hopper).sm_90a.cubin"
check "each is compiled for its architecture" like "-arch=sm_90a .*/sm_90a_hopper.ptx -o " cat "$work/asked"
again() {
    pack && [ ! -e "$work/asked" ]
}
check "nothing is made twice" again
changed() {
    echo other >"$ptx/sm_90a_hopper.ptx"
    pack && [ "$(wc -l <"$work/asked")" = 1 ] &&
        is "sm_80_bf16-$(hash_of sm_80_bf16).sm_80.cubin sm_80_bf16-$(hash_of sm_80_bf16).sm_90.cubin" \
            "sm_90a_hopper-$(hash_of sm_90a_hopper).sm_90a.cubin"
}
check "that of a text that changed is made again, and the old one goes" changed
other_version() {
    echo 13.0 >"$work/version"
    pack && [ "$(wc -l <"$work/asked")" = 3 ]
}
check "with another ptxas all of it" other_version
fails() {
    echo more >>"$ptx/sm_80_bf16.ptx"
    touch "$work/broken"
    ! pack && ! ls "$work/build/kernels" | grep "sm_80_bf16-$(hash_of sm_80_bf16)"
}
check "a ptxas that fails is a failure, and leaves no file" fails
mkdir "$work/few"
for tool in bash sh env dirname realpath rm cat; do
    ln -s "$(command -v $tool)" "$work/few/"
done
mkdir -p "$work/tree/scripts"
cp "$ROOT/scripts/pack-kernels" "$work/tree/scripts/" # where none was fetched
check "without ptxas it says what that means" like 'no ptxas: GPU drivers will compile' \
    env -u PTXAS PATH="$work/few" "$work/tree/scripts/pack-kernels" "$work/build"
check "and leaves none of another version" test ! -e "$work/build/kernels"
finish
