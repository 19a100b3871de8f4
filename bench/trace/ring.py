# SPDX-License-Identifier: Apache-2.0
"""Reads the rings of libfare-trace.so (src/follow/trace/ring.h) without fare: for trying the library, and for its tests."""
import mmap
import struct
from pathlib import Path

RECORDS, NAMES, TEXT = 1 << 17, 4096, 1 << 19
HEADER = struct.Struct("<QIIIIQQQQIIiiQIIQ")
MEMBERS = "magic version pid state cupti head dropped cupti_ns clock_ns names text_used rank size ended_ns wanted unused tail".split()
RECORD = struct.Struct("<QIIIHBBI4x")
STATES = ["waiting", "recording", "enough", "limit", "unread", "no CUPTI", "other profiler", "failed"]
KINDS = ["kernel", "copy in", "copy out", "copy within", "set"]
WANTED_AT, TAIL_AT = HEADER.size - 16, HEADER.size - 8


class Ring:
    def __init__(self, path):
        self.file = open(path, "r+b")
        self.map = mmap.mmap(self.file.fileno(), 0)
        self.read = 0
        self.records = []

    def header(self):
        return dict(zip(MEMBERS, HEADER.unpack_from(self.map, 0)))

    def state(self):
        return STATES[self.header()["state"]]

    def drain(self):
        """Takes what is new; (start, duration, name, size, stream, device, kind, launch)."""
        head = self.header()["head"]
        at = HEADER.size + NAMES * 8 + TEXT
        for i in range(self.read, head):
            self.records.append(RECORD.unpack_from(self.map, at + i % RECORDS * RECORD.size))
        self.read = head
        struct.pack_into("<Q", self.map, TAIL_AT, head)

    def want(self, records=2**32 - 1):
        struct.pack_into("<I", self.map, WANTED_AT, records)

    def name(self, index):
        at, length = struct.unpack_from("<II", self.map, HEADER.size + index * 8)
        start = HEADER.size + NAMES * 8 + at
        return self.map[start:start + length].decode("utf-8", "replace")


def rings(folder):
    return [Ring(p) for p in sorted(Path(folder).glob("*.ring")) if p.stat().st_size]


def busy(records):
    """Share of the span in which something runs."""
    spans = sorted((r[0], r[0] + r[1]) for r in records)
    if not spans:
        return 0.0
    total, (a, b) = 0, spans[0]
    for start, end in spans[1:]:
        if start > b:
            total, a, b = total + b - a, start, end
        b = max(b, end)
    return (total + b - a) / max(1, b - spans[0][0])
