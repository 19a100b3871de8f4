#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Template of what runs a task's container: GPUS IMAGE [WORD...]. boot.sh calls it with its time limit.

gpus=$1 image=$2
shift 2
for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
    ! docker info >/dev/null 2>&1 || break
    sleep 5
done
# Its folder is where the log is; /root cannot be written everywhere.
export HOME="$PWD"
case $image in
*.pkg.dev/* | gcr.io/* | *.gcr.io/*) docker-credential-gcr configure-docker --registries "${image%%/*}" ;;
esac
set -- "$image" "$@"
if [ "$gpus" -gt 0 ] && command -v cos-extensions >/dev/null; then
    # Container-Optimized OS: the driver is installed at each boot, and there is no --gpus.
    cos-extensions install gpu || exit 1
    mount --bind /var/lib/nvidia /var/lib/nvidia && mount -o remount,exec /var/lib/nvidia || exit 1
    set -- --volume /var/lib/nvidia/lib64:/usr/local/nvidia/lib64 --volume /var/lib/nvidia/bin:/usr/local/nvidia/bin "$@"
    for device in /dev/nvidia*; do
        [ ! -c "$device" ] || set -- --device "$device:$device" "$@"
    done
elif [ "$gpus" -gt 0 ]; then
    set -- --gpus all "$@"
fi
docker rm -f fare-task >/dev/null 2>&1
exec docker run --rm --name fare-task "$@"
