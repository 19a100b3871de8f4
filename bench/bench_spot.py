#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How long 10,000 replays of a 100-hour training take, over two years of prices that change every 40 minutes and of samples
every 10 minutes, with some 20 interruptions each. Asked for: under a second on two cores."""
import os
import resource
import subprocess
from pathlib import Path

build = Path(os.environ.get("BUILD", Path(__file__).resolve().parent.parent / "build"))


def bench(replays):
    """What it says, and the seconds of CPU it took with the making of the history."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    p = subprocess.run([build / "tests/advise/spot/replays"], input=f"bench {replays}\n", capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return p.stdout.split(), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


times, cpu = [], []
for _ in range(5):
    making = bench(10)[1]
    (seconds, finished, interruptions), used = bench(10000)
    times.append(float(seconds))
    cpu.append(used - making)
print(f"10,000 replays ({finished} ended, {interruptions} interruptions each): {min(times):.3f} s at best, "
      f"{sorted(times)[2]:.3f} s in the middle, on one core; {sorted(cpu)[2]:.3f} s of CPU in the middle")
