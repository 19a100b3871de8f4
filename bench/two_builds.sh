#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Is the bundle reproducible? `bench/two_builds.sh` builds that of the last commit twice, one after the other, in two folders with different
# masks and without ccache, and compares the files. It takes some ten minutes of CPU time. Result: docs/reliability.md.
set -eu
cd "$(dirname "$0")/.."
top=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CCACHE_DISABLE=1
for folder in one two/deeper; do
    git clone -q "$top" "$work/$folder"
    cd "$work/$folder"
    make -s dist image
    umask 077
done
cd "$work"
sha256sum one/dist/fare-* two/deeper/dist/fare-*
cmp one/dist/SHA256SUMS two/deeper/dist/SHA256SUMS && echo "the bundles are equal, and so are the images"
