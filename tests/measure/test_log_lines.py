#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""fare's own workloads where stderr is a log: lines with time, share, loss and time left, after 10 s and so on. Of
several runs the times count together."""
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.environ["TESTS"])
from tap import done, report  # noqa: E402

LINE = r"fare: mlp(, run \d,)? after ([\d.]+) s: step (\d+) of (\d+) \((\d+) %\), loss ([\d.]+)" \
       r"(?:, the whole training takes .+ \(.+\))?, at most ([\d.]+) s left of the sample\n"


def start(*options):
    return subprocess.Popen([os.environ["FARE"], "run", "mlp", "--no-cloud", "--no-ledger", "--threads", "1", "--within", "0.1%",
                             *options],
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def first_line(p):
    """The first line and when it came: it is flushed, not kept for the end."""
    began = time.monotonic()
    return p.stderr.readline(), time.monotonic() - began


p = start("--max-time", "16s")
line, took = first_line(p)
told = re.fullmatch(LINE, line)
report("a workload tells after 10 s, while it trains", told and 9 < took < 14 and p.poll() is None and not told[1], (line, took))
if told:
    after, step, steps, share, loss, left = float(told[2]), int(told[3]), int(told[4]), int(told[5]), float(told[6]), float(told[7])
    report("time, share, loss and time left", 10 <= after < 12 and share == 100 * step // steps and 0 < loss < 2.4
           and abs(after + left - 16) < 0.2, told.groups())
p.communicate()

p = start("--max-time", "7s", "--repeat", "2")
line, took = first_line(p)
told = re.fullmatch(LINE, line)
report("--repeat: the second run tells, after 10 s in all", told and 9 < took < 14 and told[1] == ", run 2,"
       and 1 < float(told[2]) < 5, (line, took))
p.communicate()
done()
