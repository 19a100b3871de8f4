#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How long 10,000 replays of a 100-hour training take, over two years of prices that change every 40 minutes and of samples
every 10 minutes, with some 20 interruptions each. Asked for: under a second on two cores."""
import os
import subprocess
from pathlib import Path

build = Path(os.environ.get("BUILD", Path(__file__).resolve().parent.parent / "build"))
times = []
for _ in range(5):
    p = subprocess.run([build / "tests/spot/replays"], input="bench 10000\n", capture_output=True, text=True, check=True)
    seconds, finished, interruptions = p.stdout.split()
    times.append(float(seconds))
print(f"10,000 replays ({finished} ended, {interruptions} interruptions each): {min(times):.3f} s at best, "
      f"{sorted(times)[2]:.3f} s in the middle, on one core")
