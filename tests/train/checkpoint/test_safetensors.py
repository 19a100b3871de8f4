#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Our safetensors files against a second reader and writer, made of struct and json, and against the
real package where this Python has it. The tool is test_safetensors with arguments."""
import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
import tap  # noqa: E402

TOOL = Path(os.environ["BUILD"]) / "tests/train/checkpoint/test_safetensors"
CORPUS = Path(os.environ["ROOT"]) / "tests/fuzz/corpus/safetensors"
sys.path.append(str(Path(os.environ["ROOT"]) / "build" / "python"))  # scripts/setup puts it there
try:
    import safetensors
except ImportError:
    safetensors = None


def report(name, complaint="", skip=""):
    tap.report(name, not complaint, complaint, skip)


def parse(data):
    """The format as its README describes it: name -> (dtype, shape, bytes), and the texts."""
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + length].decode("utf-8"))
    texts, body, tensors = header.pop("__metadata__", {}), data[8 + length:], {}
    for name, t in header.items():
        begin, end = t["data_offsets"]
        tensors[name] = (t["dtype"], t["shape"], body[begin:end])
    assert (8 + length) % 8 == 0, "the data is not aligned"
    assert sum(len(t[2]) for t in tensors.values()) == len(body), "holes, or too much"
    return tensors, texts


def build(tensors, texts=None, order=None):
    """name -> (dtype, shape, bytes), laid out in `order`."""
    header, body = ({"__metadata__": texts} if texts else {}), b""
    for name in order or tensors:
        dtype, shape, data = tensors[name]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    return with_header(json.dumps(header).encode(), body)


def with_header(text, body):
    return struct.pack("<Q", len(text)) + text + body


def ours(data, scratch):
    """What our reader makes of these bytes: None, or the lines and the numbers as bytes of f32."""
    Path(scratch, "in").write_bytes(data)
    p = subprocess.run([TOOL, "dump", f"{scratch}/in", f"{scratch}/out"], capture_output=True, text=True)
    if p.returncode not in (0, 1):
        raise RuntimeError(f"ended with {p.returncode}: {p.stderr}")
    return (p.stdout.splitlines(), Path(scratch, "out").read_bytes()) if p.returncode == 0 else None


def example():
    """What `test_safetensors write` says it writes."""
    f32 = lambda k, n: struct.pack(f"<{n}f", *[k + i / 8 for i in range(n)])
    return ({"z.weight": ("F32", [2, 3, 4], f32(0, 24)), "a.bias": ("F32", [7], f32(1, 7)),
             "scalar": ("F32", [], f32(2, 1)), "empty": ("F32", [3, 0], b""),
             "whole": ("I32", [3], struct.pack("<3i", 5, -6, 7)), "bytes": ("U8", [3], bytes([8, 9, 10]))},
            {"format": "test", "quote": "\"ä\\"})


def written_file(scratch):
    subprocess.run([TOOL, "write", f"{scratch}/ours"], check=True)
    data = Path(scratch, "ours").read_bytes()
    report("what we write is read by struct and json", "" if parse(data) == example() else repr(parse(data)))
    if not safetensors:
        report("what we write is read by the real package", skip="python3 has no safetensors")
        return
    got = {name: (t["dtype"], t["shape"], bytes(t["data"])) for name, t in safetensors.deserialize(data)}
    report("what we write is read by the real package", "" if got == example()[0] else repr(got))


def read_file(scratch):
    halves = struct.pack("<65536H", *range(65536))
    doubles = [0.1, -1e300, 1e-46, 2.0 ** -149, 1 + 2.0 ** -24, 3.5]
    tensors = {"h": ("F16", [256, 256], halves), "b": ("BF16", [65536], halves),
               "d": ("F64", [6], struct.pack("<6d", *doubles)), "i": ("I64", [2], struct.pack("<2q", -7, 2 ** 24 + 3)),
               "f": ("F32", [], struct.pack("<f", -0.0)), "u": ("U8", [3], b"abc")}
    # struct's own conversions are the second opinion; bf16 is the upper half of an f32.
    as_f32 = lambda x: struct.pack("<f", x) if abs(x) < 3.5e38 else struct.pack("<f", float("inf") * (1 if x > 0 else -1))
    expected = b"".join(struct.pack("<I", i << 16) for i in range(65536)) \
        + b"".join(map(as_f32, doubles)) + struct.pack("<f", -0.0) \
        + b"".join(struct.pack("<f", x) for x in struct.unpack("<65536e", halves)) \
        + struct.pack("<2f", -7, 2 ** 24 + 4)
    lines = ["b\tBF16\t65536", "d\tF64\t6", "f\tF32\tone number", "h\tF16\t256×256", "i\tI64\t2", "u\tU8\t3",
             "#größe\t\"x\""]
    got = ours(build(tensors, {"größe": "\"x\""}, order=["u", "f", "i", "d", "b", "h"]), scratch)
    same = got is not None and got[0] == lines and len(got[1]) == len(expected)
    # Every NaN must stay one; its bits are nobody's business.
    nan = lambda w: w & 0x7fffffff > 0x7f800000
    if same:
        a, b = (struct.unpack(f"<{len(x) // 4}I", x) for x in (got[1], expected))
        wrong = [i for i, (x, y) in enumerate(zip(a, b)) if x != y and not (nan(x) and nan(y))]
    report("every type is converted as struct does it", "" if same and not wrong
           else f"{got[0] if got else None} {wrong[:5] if same else ''}")


def package_file(scratch):
    name = "what the real package writes is read by us"
    try:
        import numpy
        from safetensors.numpy import save
    except ImportError:
        report(name, skip="python3 has no safetensors, or no numpy")
        return
    a, b = numpy.arange(6, dtype="<f4").reshape(2, 3), numpy.array([0.5, -3], dtype="<f2")
    got = ours(save({"b": b, "a": a}, metadata={"x": "y"}), scratch)
    expected = (["a\tF32\t2×3", "b\tF16\t2", "#x\ty"], a.tobytes() + b.astype("<f4").tobytes())
    report(name, "" if got == expected else repr(got))


def judgements(scratch):
    """Hostile files: the real package and we agree, but for the three where we are stricter."""
    files = {p.name: p.read_bytes() for p in CORPUS.iterdir()}
    t = lambda a, b, shape=(1,), dtype="F32": {"dtype": dtype, "shape": list(shape), "data_offsets": [a, b]}
    j = lambda header, body=b"": with_header(json.dumps(header).encode(), body)
    files |= {
        "scalar": j({"a": t(0, 4, [])}, b"1234"), "swapped": j({"a": t(4, 8), "b": t(0, 4)}, b"12345678"),
        "empty in between": j({"a": t(0, 4), "z": t(4, 4, [0]), "b": t(4, 8)}, b"12345678"),
        "empty beyond": j({"z": t(8, 8, [0])}), "backwards": j({"a": t(4, 0, [0])}, b"1234"),
        "float shape": with_header(b'{"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}}', b"1234"),
        "three offsets": j({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4, 8]}}, b"1234"),
        "number as text": j({"__metadata__": {"a": 1}}), "no texts": j({"__metadata__": None}),
        "unknown type": j({"a": t(0, 4, dtype="F128")}, b"1234"), "nul at the end": with_header(b"{}\0", b""),
        "newline at the end": with_header(b"{}\n", b""), "mark": with_header(b"\xef\xbb\xbf{}", b""),
        "list": with_header(b"[]", b""), "two": with_header(b"{}{}", b""), "nothing": with_header(b"", b""),
        "space first": with_header(b" {}", b""), "nul in a name": j({"a\0": t(0, 4)}, b"1234"),
        "inner twice": with_header(b'{"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}}', b"1234"),
    }
    stricter = {"space first", "nul in a name", "twice"}
    differ = []
    for name, data in sorted(files.items()):
        mine = ours(data, scratch) is not None
        if safetensors:
            try:
                safetensors.deserialize(data)
                theirs = True
            except Exception:  # the package has one class of its own, in Rust
                theirs = False
            if mine != (theirs and name not in stricter):
                differ.append(f"{name}: {'accepted' if mine else 'refused'}")
    report(f"{len(files)} hostile files are judged as the real package does", "; ".join(differ),
           skip="" if safetensors else "python3 has no safetensors")


with tempfile.TemporaryDirectory() as folder:
    written_file(folder)
    read_file(folder)
    package_file(folder)
    judgements(folder)
tap.done()
