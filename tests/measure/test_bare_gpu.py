#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Bare fare on a machine with a GPU, which tests/train/engine/fake_gpu.c stands in for: it samples every workload there."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
from tap import done, report  # noqa: E402

FAKE = os.path.join(os.environ["BUILD"], "tests", "train", "engine", "fake_gpu.so")
p = subprocess.run([os.environ["FARE"], "--json", "--no-cloud", "--no-ledger", "--max-time", "100ms"], capture_output=True,
                   text=True, timeout=300, env={**os.environ, "FARE_CUDA": FAKE})
runs = {r["workload"]: r for r in json.loads(p.stdout)["runs"]} if p.stdout else {}
report("all nine are tried on it, inception and gpt2 too", p.returncode == 0 and len(runs) == 9
       and all(r["engine"] == "cuda" for r in runs.values()), p.stderr or list(runs))
LARGE = ("inception", "gpt2")
for name in LARGE:
    report(f"the GPU has too little memory for {name}: its row says so", runs.get(name, {}).get("ended") == "failed"
           and "not enough memory" in runs[name]["problem"], runs.get(name))
report("and the others are not lost with it", all(r["ended"] == "sampled" for n, r in runs.items() if n not in LARGE), p.stderr)
done()
