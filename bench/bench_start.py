#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Time to start fare and to check a machine, compared with /bin/true in the same run.

Target: fare --version under 5 ms, fare check --no-cloud under 300 ms. Machines are noisy, so this
prints medians and their spread and never fails.
"""
import os
import statistics
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FARE = os.environ.get("FARE", str(ROOT / "build" / "fare"))
CASES = [("true", ["/bin/true"], 200, None), ("fare --version", [FARE, "--version"], 200, 5.0),
         ("fare check --no-cloud", [FARE, "check", "--no-cloud"], 40, 300.0)]


def once_ms(command):
    start = time.monotonic_ns()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return (time.monotonic_ns() - start) / 1e6


times = {name: [] for name, *_ in CASES}
for _, command, _, _ in CASES:  # the first run reads from disk
    once_ms(command)
for i in range(max(n for *_, n, _ in CASES)):  # in turn, so that a slow spell affects all alike
    for name, command, n, _ in CASES:
        if i < n:
            times[name].append(once_ms(command))

base = statistics.median(times["true"])
print(f"{'':24}{'median':>10}{'spread':>10}{'over true':>11}   asked")
for name, _, n, limit in CASES:
    median = statistics.median(times[name])
    mad = statistics.median(abs(t - median) for t in times[name])
    asked = "" if limit is None else f"   < {limit:g} ms: {'yes' if median < limit else 'NO'}"
    print(f"{name:24}{median:7.2f} ms{mad:7.2f} ms{median / base:9.1f} x{asked}")
