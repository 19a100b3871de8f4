#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""rename_version.py IN OUT OLD=NEW...: a copy of a shared library that defines version NEW where
IN defines OLD ("GLIBC_2.23=GLIBC_2.93", of the same length). So a C library of today stands in for
one of the future, or of the past, that no test machine has."""
import struct
import sys

PT_LOAD, PT_DYNAMIC, DT_STRTAB, DT_STRSZ, DT_VERDEF, DT_VERDEFNUM = (
    1, 2, 5, 10, 0x6FFFFFFC, 0x6FFFFFFD)


def elf_hash(name):  # the System V ABI's
    h = 0
    for c in name:
        h = (h << 4) + c
        high = h & 0xF0000000
        h = (h ^ high >> 24) & ~high
    return h


def main(source, target, *renames):
    data = bytearray(open(source, "rb").read())
    start, = struct.unpack_from("<Q", data, 32)
    count, = struct.unpack_from("<H", data, 56)
    segments = [struct.unpack_from("<IIQQQQQQ", data, start + 56 * i) for i in range(count)]

    def offset(address):
        for kind, _, at, virtual, _, size, _, _ in segments:
            if kind == PT_LOAD and virtual <= address < virtual + size:
                return at + address - virtual
        raise ValueError(f"no segment holds {address:#x}")

    at, size = next((s[2], s[5]) for s in segments if s[0] == PT_DYNAMIC)
    dynamic = dict(struct.unpack_from("<QQ", data, at + i) for i in range(0, size, 16))
    strings, end = offset(dynamic[DT_STRTAB]), dynamic[DT_STRSZ]
    for rename in renames:
        old, new = (word.encode() for word in rename.split("="))
        assert len(old) == len(new), rename
        where = data.index(b"\0" + old + b"\0", strings, strings + end) + 1
        data[where:where + len(new)] = new
        found, at = 0, offset(dynamic[DT_VERDEF])
        for _ in range(dynamic[DT_VERDEFNUM]):
            _, _, _, _, _, aux, following = struct.unpack_from("<HHHHIII", data, at)
            if strings + struct.unpack_from("<I", data, at + aux)[0] == where:
                struct.pack_into("<I", data, at + 8, elf_hash(new))
                found += 1
            at += following
        assert found == 1, f"{source} does not define {old.decode()}"
    open(target, "wb").write(data)


main(*sys.argv[1:])
