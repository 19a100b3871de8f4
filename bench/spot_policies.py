#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The table of docs/spot.md: fall-back policies on ticks that they have not seen, in per cent of an on-demand machine alone.
Learns from the first half of each trace of FARE_DATA, or from the other one. Takes a minute and a half."""
import os
import re
import subprocess
from pathlib import Path

build = Path(os.environ.get("BUILD", Path(__file__).resolve().parent.parent / "build"))
traces = sorted((Path(os.environ["FARE_DATA"]) / "prices/spot-availability").glob("*.txt"))
JOB = "2880 12 12 300000"  # 48 hours, 12 minutes before a machine works, spot at 30 %
for trace in traces:
    for past in [trace] + [t for t in traces if t != trace]:
        half = sum(1 for _ in open(trace)) // 2
        for hours in (52, 60, 70, 80):
            ask = f"trace {trace}\npast {past}\nrelative {half if past == trace else -1} {6 * hours} {JOB} 100\n"
            p = subprocess.run([build / "tests/advise/spot/replays"], input=ask, capture_output=True, text=True, check=True)
            figures = [f"{100 * float(x):.1f}" for x in re.findall(r" (\d\.\d+)", p.stdout)]
            late = p.stdout.split("late ")[1].strip()
            print(f"{trace.stem} | {'its first half' if past == trace else past.stem} | {hours} h | {' | '.join(figures)} | late {late}", flush=True)
