#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The library that CUDA loads into a traced program, with stand-ins for the program and for CUPTI (traced.c, fake_cupti.c).
bench/trace/ring.py reads its rings, a second implementation of the layout."""
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
sys.path.insert(0, os.path.join(os.environ["ROOT"], "bench", "trace"))
from ring import RECORDS, rings  # noqa: E402
from tap import done, report  # noqa: E402

BUILD = Path(os.environ["BUILD"])
HERE = Path(os.environ["TMPDIR"])
LIBRARY = BUILD / "libfare-trace.so"
CUPTI = HERE / "cupti"
CUPTI.mkdir()
(CUPTI / "libcupti.so.13").symlink_to(BUILD / "tests/follow/trace/fake_cupti.so")


def run(*what, fake="", drain=True, want=2**32 - 1, stop_after=None, cupti=CUPTI, folder=None):
    """(exit code, output, rings)"""
    # Whether it will be turned on: on a busy machine late.
    on = want and fake not in ("subscribed", "refuses") and cupti == CUPTI and not folder
    folder = folder or tempfile.mkdtemp(dir=HERE)
    env = {**os.environ, "CUDA_INJECTION64_PATH": str(LIBRARY), "FARE_TRACE": str(folder), "FAKE_CUPTI": fake,
           "LD_LIBRARY_PATH": str(cupti)}
    if on:
        env["TRACED_WAIT_S"] = "30"
    p = subprocess.Popen([BUILD / "tests/follow/trace/traced", *map(str, what)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, env=env)
    found, stopped, began = [], False, time.monotonic()
    while p.poll() is None:
        time.sleep(0.01)
        found = found or rings(folder)
        for r in found if not stopped else []:
            if r.state() == "waiting":  # again, should the ring have been found while it was made
                r.want(want)
        for r in found if drain else []:
            r.drain()
            if stop_after is not None and len(r.records) >= stop_after:
                stopped = True
                r.want(0)
        if time.monotonic() - began > 60:
            p.kill()
    found = found or rings(folder)
    if drain:
        for r in found:
            r.drain()
    return p.returncode, p.communicate()[0], found


code, out, found = run("steps", 30)
one = found[0] if found else None
report("a training of 30 steps of 42 records is recorded, in its own process", code == 0 and len(found) == 1
       and len(one.records) == 30 * 42 and one.header()["dropped"] == 0, (code, out, found and one.header()))
names = [one.name(r[2]) for r in one.records if r[6] == 0]
report("names, kinds, sizes and devices are those of the records",
       sum(n == "_ZN2at6native25multi_tensor_apply_kernelINS" for n in names) == 30 and sum("nvjet" in n for n in names) == 600
       and {r[3] for r in one.records if r[6] == 1} == {1024} and {r[3] for r in one.records if r[6] == 0} == {64}
       and {r[4] for r in one.records if r[6] == 0} == {7}, one.records[:3])
h = one.header()
real = time.time_ns() - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
report("CUPTI's clock is paired with ours", abs(h["cupti_ns"] - h["clock_ns"] - real) < 2_000_000_000, h)
report("it notes when it exited", 0 < h["ended_ns"] - h["clock_ns"] < 30_000_000_000 and h["ended_ns"] <= time.monotonic_ns(), h)
report("it prints nothing", out == "enabled 1\n", out)

code, out, found = run("steps", 5, want=0)
report("as long as nobody wants records, CUPTI is not touched", code == 0 and out == "enabled 0\n" and not found[0].records
       and found[0].state() == "waiting", out)
code, out, found = run("steps", 300, "off", stop_after=2000)
one = found[0]
report("when they are not wanted any more, it turns them off, detaches CUPTI, and the program goes on", code == 0
       and out == "detached 1\nenabled 0\n"
       and one.state() == "waiting" and 2000 <= len(one.records) < 300 * 42, (code, out, one.header(), len(one.records)))

os.environ["TRACED_GRAPHS"] = "1"
code, out, found = run("steps", 300, "off", stop_after=2000)
del os.environ["TRACED_GRAPHS"]
report("a program that launches CUDA graphs keeps CUPTI", code == 0 and out == "detached 0\nenabled 0\n", out)
code, out, found = run("steps", 300, "off", want=2000)
report("it takes as many records as are wanted, and turns itself off", code == 0 and out == "detached 1\nenabled 0\n"
       and found[0].state() == "enough" and 2000 <= len(found[0].records) < 300 * 42, (out, found[0].header()))

code, out, found = run("flood", 300_000, drain=False)
h = found[0].header()
report("where nobody reads, the rest is dropped and counted", code == 0 and h["head"] == RECORDS
       and h["head"] + h["dropped"] == 300_000, h)
code, out, found = run("flood", 1_000_000)
h = found[0].header()
report("a million records: each is there or counted", code == 0 and h["head"] + h["dropped"] == 1_000_000
       and len(found[0].records) == h["head"], h)

code, out, found = run("names")
one = found[0]
names = [one.name(r[2]) for r in one.records]
report("no name, an empty one, bytes that are no text, a long one", code == 0 and names[:2] == ["", ""]
       and names[2].startswith("\x1b[31m") and names[3] == "x" * 480, names[:4])
report("more names than the table holds become none; a changed name is another",
       names[4:4000] == [f"kernel_{i}" for i in range(3996)] and names[-2] == "" and names[-1] != "kernel_0", names[-3:])

code, out, found = run("fork", 20)
report("a forked child writes nothing into its parent's ring", code == 0 and len(found) == 1
       and len(found[0].records) == 40 * 42, (code, found and found[0].header()))

code, out, found = run("killed", 30)
report("killed in the middle: full buffers are there", code == -9 and len(found[0].records) == 30 * 42
       and found[0].header()["ended_ns"] == 0, (code, out, found[0].header()))

code, out, found = run("profiled", 30, stop_after=30 * 42)  # as soon as the first half is there
report("a profiler that registered its own callbacks meanwhile keeps its records on", code == 0
       and out == "1 on\nenabled 1\n" and len(found[0].records) == 30 * 42, out)

code, out, found = run("steps", 300, fake="subscribed")  # long enough to be asked on a busy machine
report("another profiler was first: it stays off", code == 0 and out == "enabled 0\n" and found[0].state() == "other profiler", out)
code, out, found = run("steps", 300, fake="refuses")
report("CUPTI refuses: nothing stays on", code == 0 and out == "enabled 0\n" and found[0].state() == "failed", out)
code, out, found = run("flood", 20_000, fake="reversed")
records = found[0].records
report("records out of order are all there", code == 0 and len(records) == 20_000
       and any(a[0] > b[0] for a, b in zip(records, records[1:])), len(records))
code, out, found = run("flood", 100_000, fake="keeps")
report("buffers that never come back: the program is not held up", code == 0 and not found[0].records, out)
code, out, found = run("bad")
report("records that end before they start or have no time are left out; a long one is cut", code == 0
       and [(found[0].name(r[2]), r[1]) for r in found[0].records] == [("long", 2**32 - 1)], found[0].records)

code, out, found = run("steps", 5, cupti=HERE)
report("no CUPTI, or one without a GPU: the program, which needs the stand-in, starts", code == 3
       and found[0].state() in ("no CUPTI", "failed", "waiting"), (code, out))
code, out, found = run("steps", 5, folder=HERE / "nowhere")
report("no folder: nothing happens", code == 0 and out == "enabled 0\n" and not found, out)
full = Path(tempfile.mkdtemp(dir=HERE))
for i in range(32):
    (full / f"{i}.ring").touch()
code, out, found = run("steps", 5, folder=full, drain=False)
report("more processes than rings: the others are not traced", code == 0 and out == "enabled 0\n", out)

symbols = subprocess.run(["objdump", "-T", LIBRARY], capture_output=True, text=True).stdout
newest = max((tuple(map(int, word[7:-1].split("."))) for word in symbols.split() if word.startswith("(GLIBC_")), default=())
report("it needs no newer glibc than 2.17", () < newest <= (2, 17) or "__asan" in symbols, newest)
exported = [line.split()[-1] for line in symbols.splitlines() if " g " in line and "UND" not in line]
report("it exports one function", [e for e in exported if not e.startswith("__")] == ["InitializeInjection"], exported)
done()
