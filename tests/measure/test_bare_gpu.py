#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Bare fare on a machine with a GPU, which tests/engine/fake_gpu.c stands in for: it samples every workload there."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
from tap import done, report  # noqa: E402

FAKE = os.path.join(os.environ["BUILD"], "tests", "engine", "fake_gpu.so")
p = subprocess.run([os.environ["FARE"], "--json", "--no-cloud", "--no-ledger", "--max-time", "1s"], capture_output=True,
                   text=True, timeout=300, env={**os.environ, "FARE_CUDA": FAKE})
runs = {r["workload"]: r for r in json.loads(p.stdout)["runs"]} if p.stdout else {}
report("all eight are sampled on it, inception too", p.returncode == 0 and len(runs) == 8
       and all(r["engine"] == "cuda" for r in runs.values()), p.stderr or list(runs))
report("the GPU has too little memory for inception: its row says so", runs.get("inception", {}).get("ended") == "failed"
       and "not enough memory" in runs["inception"]["problem"], runs.get("inception"))
report("and the others are not lost with it", all(r["ended"] == "sampled" for n, r in runs.items() if n != "inception"), p.stderr)
done()
