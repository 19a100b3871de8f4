#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""gpt2 on this machine's CPU beside PyTorch: alternately, the same definition, start, tokens and threads.

    FARE_PYTHON=…/bin/python bench/gpt2_cpu.py [--size 124m] [--context 256] [--batch 1] [--threads 2] [--rounds 3]
FARE_PYTHON: a Python with PyTorch. Each round is a process each; of each the fastest step counts, since others may use the
machine too, and the ratio is that of the fastest rounds.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
p.add_argument("--size", default="124m")
p.add_argument("--context", default="256")
p.add_argument("--batch", default="1")
p.add_argument("--threads", default="2")
p.add_argument("--precision", default="f32")
p.add_argument("--steps", default="8")
p.add_argument("--rounds", type=int, default=3)
p.add_argument("--with", dest="other", default="pytorch")
o = p.parse_args()


def run(*more):
    """The time of a step in ms, and the memory in MiB."""
    with tempfile.TemporaryDirectory() as home:
        env = {**os.environ, "FARE_LEDGER": f"{home}/ledger.db"}
        ran = subprocess.run([ROOT / "build/fare", "run", "gpt2", "--size", o.size, "--context", o.context, "--batch", o.batch,
                              "--threads", o.threads, "--precision", o.precision, "--steps", o.steps, "--json", *more],
                             capture_output=True, text=True, env=env)
    if ran.returncode:
        sys.exit(ran.stderr)
    record = json.loads(ran.stdout)["runs"][0]
    best = min(s for s in record["step_plot_ms"] if s)
    memory = record.get("peak_memory_bytes") or record.get("use", {}).get("memory_peak_bytes") or 0
    return best, memory / 2**20, record.get("last_loss")


best = {}
for number in range(o.rounds):
    for name, more in (("fare", ()), (o.other, ("--with", o.other))):
        ms, memory, loss = run(*more)
        print(f"{name:16} {ms:9.1f} ms a step, {memory:7.0f} MiB, loss {loss:.5f}", flush=True)
        best[name] = min(best.get(name, (1e9,)), (ms, memory))
mine, theirs = best["fare"][0], best[o.other][0]
print(f"gpt2 {o.size}, {o.batch} x {o.context}, {o.threads} threads, {o.precision}: fare {mine:.0f} ms, {o.other} {theirs:.0f} ms, "
      f"ratio {mine / theirs:.3f}")
