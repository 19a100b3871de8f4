#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Does memory stay flat? `fare run -- COMMAND` over 10 million lines of output, and `fare serve` over a million requests of all kinds.

Prints the resident size in MB after each tenth. Asked of lines: under a byte for each after the first
tenth, and nothing after the first half; in the first seconds not all parts of fare have run yet. Of requests: see bench_serve.py. BENCH_LINES=10000000,
BENCH_REQUESTS=1000000 (see bench_serve.py); BENCH_ONLY=lines or requests leaves the other out.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("BENCH_REQUESTS", "1000000")
os.environ.setdefault("BENCH_RUNS", "5000")
import bench_serve  # noqa: E402

LINES = int(os.environ.get("BENCH_LINES", "10000000"))
# Steps of a training, a line of no format in each ten; it notes how far it is.
COMMAND = """BEGIN { for (i = 1; i <= n; i++) {
    if (i % 10 == 0) print "loaded shard " i " of the corpus"; else print "step " i "/" n " loss " 1 + 1 / i " lr 0.001"
    if (i % 10000 == 0) { print i > at; close(at) } } }"""


def resident_mb(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text()).group(1)) / 1024


def lines(folder):
    at, began, looks = folder / "at", time.monotonic(), []
    p = subprocess.Popen([bench_serve.FARE, "run", "--no-cloud", "--no-trace", "--name", "lines", "--", "awk", "-v", f"n={LINES}", "-v", f"at={at}", COMMAND],
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while p.poll() is None:
        time.sleep(0.02)
        text = at.read_text() if at.exists() else ""
        done = int(text) if text.strip().isdigit() else 0
        try:
            if done >= LINES / 10 * (len(looks) + 1) and p.poll() is None:
                looks.append(resident_mb(p.pid))
        except (OSError, AttributeError):  # it has just ended
            break
    p.wait()
    flat = p.returncode == 0 and len(looks) >= 9 and (looks[-1] - looks[0]) * 2**20 < 0.9 * LINES and looks[-1] <= 1.01 * looks[4]
    print(f"{LINES:,} lines in {time.monotonic() - began:.0f} s: {', '.join(f'{mb:.1f}' for mb in looks)} MB{'' if flat else '   NOT AS ASKED'}", flush=True)
    return flat


def requests(folder):
    server = bench_serve.Server(bench_serve.fill(folder))
    try:
        return bench_serve.memory(server, folder)
    finally:
        server.stop()


def main():
    folder, good = Path(tempfile.mkdtemp(prefix="fare-bench-")), True
    os.environ.update(XDG_DATA_HOME=str(folder), XDG_CONFIG_HOME=str(folder / "config"), FARE_METADATA="off")
    try:
        for part in (lines, requests):
            if bench_serve.ONLY in ("", part.__name__):
                good &= part(folder)
    finally:
        shutil.rmtree(folder)
    sys.exit(not good)


main()
