#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The dispatcher of `fare run --on` with 10,000 hosts: its own memory and CPU time.

Target: under 100 MiB and 5 % of a core, every record in the ledger once. ssh and the hosts are a stand-in (tests/fleet/standin.sh) whose
measurement lasts a minute, the default of a sample, in three looks of 20 s; 2,000 hosts are in use at a time. The stand-ins' own CPU time
is not the dispatcher's. BENCH_HOSTS=10000, BENCH_JOBS=2000 and BENCH_SECONDS=20 (of a look) are the defaults.
"""
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "fleet"))
from simulate import simulate  # noqa: E402

FARE = os.environ.get("FARE", str(ROOT / "build" / "fare"))
HOSTS, JOBS = int(os.environ.get("BENCH_HOSTS", "10000")), int(os.environ.get("BENCH_JOBS", "2000"))
SECONDS = int(os.environ.get("BENCH_SECONDS", "20"))

r = simulate(FARE, HOSTS, JOBS, SECONDS, 3)
share = r["cpu_s"] / r["wall_s"]
print(f"{HOSTS} hosts, {JOBS} at a time, {3 * SECONDS} s each: {r['wall_s']:.0f} s; the dispatcher took {r['peak_mib']:.1f} MiB and {r['cpu_s']:.1f} s of CPU, "
      f"{100 * share:.1f} % of a core; {r['done']} done, {len(r['failed'])} failed, {r['different']} records")
good = r["peak_mib"] < 100 and share < 0.05 and r["done"] == r["records"] == r["different"] == HOSTS
if not good:
    print(r["log"])
sys.exit(not good)
