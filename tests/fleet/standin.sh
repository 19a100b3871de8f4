#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Stands in for ssh and a host behind it: `standin.sh FOLDER SECONDS LOOKS [ssh's options] -- HOST COMMAND` answers as a host
# does whose measurement lasts LOOKS looks of SECONDS each. FOLDER has head and tail, a record around its id; in the tail, DISPATCH-ID stands for that. Only the
# shell's own words, so that thousands are cheap. A host named bad* refuses.
folder=$1 seconds=$2 looks=$3
while [ "$1" != -- ]; do shift; done
case $2 in bad*) echo "ssh: connect to host $2 port 22: Connection refused" >&2; exit 255 ;; esac
verb=clean key=
while read -r line; do
    case $line in
    key=*) key=${line#key=} ;;
    *uname*) verb=check ;;
    'start() {') verb=start ;;
    *'/code" ]'*'fare_alive'*'$i -lt'*) verb=look ;;
    esac
done
if [ $verb = check ]; then echo 'fare-place ready'; exit; fi
if [ $verb = start ]; then printf '%s\n' "fare-reply $key running 0 1" "fare-reply $key end"; exit; fi
if [ $verb = clean ]; then printf '%s\n' "fare-reply $key absent" "fare-reply $key end"; exit; fi
n=0
while [ -f "$folder/$key.$n" ]; do n=$((n + 1)); done
: >"$folder/$key.$n"
if [ $((n + 1)) -lt "$looks" ]; then
    echo "fare-reply $key running 0 $((n * seconds * 100))"
else
    read -r head <"$folder/head"
    read -r tail <"$folder/tail"
    record="$head$key${tail%%DISPATCH-ID*}${key%%-*}${tail#*DISPATCH-ID}"
    printf '%s\n' "fare-reply $key ended 0 0 $((looks * seconds * 100))" "fare-reply $key record ${#record}"
    echo "$record"
fi
echo "fare-reply $key end"
exec sleep "$seconds"
