#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The dispatcher with 300 hosts that a stand-in plays, some of which refuse; bench/bench_fleet.py has 10,000. And with hosts that send what
they like."""
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import hostile  # noqa: E402
from simulate import simulate  # noqa: E402
from tap import done, report  # noqa: E402

HOSTS, BAD = 300, 5
sanitized = "sanitize" in os.environ["BUILD"]
pool, top = ThreadPoolExecutor(len(hostile.KINDS)), tempfile.TemporaryDirectory()
attacks = {kind: pool.submit(hostile.attack, os.environ["FARE"], f"{top.name}/{kind}", kind, 35, 2000 if sanitized else hostile.MEMORY_MB)
           for kind in hostile.KINDS}
r = simulate(os.environ["FARE"], HOSTS, 150, 1, 2, bad=BAD, more=("--patience", "20s"))
report("each host that answers gives one record", r["done"] == r["records"] == r["different"] == HOSTS - BAD, r["log"])
report("those that refuse fail with the reason", len(r["failed"]) == BAD and all("Connection refused" in f for f in r["failed"]), r["log"])
report("the exit code says that some failed", r["code"] == 1, r["log"])
report(f"{r['peak_mib']:.1f} MiB", sanitized or r["peak_mib"] < 50, r["log"])
report(f"{r['cpu_s']:.2f} s of CPU", sanitized or r["cpu_s"] < 3, r["log"])
for kind, attacked in attacks.items():
    report(f"a hostile host puts one record into the ledger at most: {kind}", not attacked.result(), attacked.result())
done()
