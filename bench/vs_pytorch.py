#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares fare with PyTorch on the same machine and threads, in one run: step time and peak memory.

    bench/vs_pytorch.py [--threads N] [--python PYTHON] [--only mlp,cnn] [--seconds 5] [-o FILE]

PYTHON must have PyTorch (default: $FARE_PYTORCH, else python3); otherwise this skips and says so. fare's
time is an epoch's time divided by its steps, including batching, augmentation and deferred optimizer work.
PyTorch's is the step alone, on samples in memory, in f32, eager mode. For inception it is the stage that
trains all layers. Each side is measured twice, alternating, and the faster counts. Target: no net slower
than PyTorch, 0.75 of its time in the geometric mean, no more memory; l1 ten times as fast as
torch.cdist(p=1) and at 85 % of a loop that uses only registers.
"""
import argparse
import json
import math
import os
import subprocess
import sys
from datetime import date
from pathlib import Path

HERE = Path(__file__).resolve().parent
FARE = os.environ.get("FARE", str(HERE.parent / "build" / "fare"))
STEPS = {"mlp": 938, "cnn": 80, "cifar": 300, "imdb": 300, "textgen": 300, "tweets": 400, "inception": 6}

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--threads", type=int, default=os.cpu_count())
parser.add_argument("--python", default=os.environ.get("FARE_PYTORCH", "python3"))
parser.add_argument("--only", default="")
parser.add_argument("--seconds", type=float, default=5)
parser.add_argument("--rounds", type=int, default=2)
parser.add_argument("-o", "--output")
args = parser.parse_args()

probe = subprocess.run([args.python, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True)
if probe.returncode:
    print(f"skipped: {args.python} has no PyTorch (name another with --python or FARE_PYTORCH)")
    sys.exit(0)


def fare(name):
    command = [FARE, "run", name, "--threads", str(args.threads), "--json", "--no-cloud", "--no-ledger"]
    p = subprocess.run(command + (["--steps", str(STEPS[name])] if name in STEPS else []), capture_output=True,
                       text=True)
    if p.returncode:
        sys.exit(f"fare run {name}: {p.stderr}")
    run = json.loads(p.stdout)["runs"][0]
    if "stages" in run:
        run["step_ms"] = run["stages"][-1]["step_ms"]
    return run


def torch(name, data):
    command = [args.python, str(HERE / "pytorch_reference.py"), name, "--threads", str(args.threads),
               "--seconds", str(args.seconds)]
    if "vocabulary" in data:
        command += ["--vocabulary", str(data["vocabulary"]), "--time", str(data["time"])]
    p = subprocess.run(command, capture_output=True, text=True)
    if p.returncode:
        sys.exit(f"PyTorch, {name}: {p.stderr}")
    return json.loads(p.stdout)


print(f"PyTorch {probe.stdout.strip()}, {args.threads} threads, f32; ms per step, the faster of {args.rounds}")
print(f"{'':10}{'fare':>10}{'PyTorch':>10}{'ratio':>8}{'fare MiB':>10}{'PyTorch MiB':>13}")
rows, logs = [], []
for name in STEPS:
    if args.only and name not in args.only.split(","):
        continue
    ours, theirs = [], []
    for _ in range(args.rounds):  # in turn, so that a slow spell of the machine affects both
        ours.append(fare(name))
        theirs.append(torch(name, ours[-1]["data"]))
    a, b = min(r["step_ms"] for r in ours), min(r["step_ms"] for r in theirs)
    memory = [min(r["peak_memory_bytes"] for r in side) / 2**20 for side in (ours, theirs)]
    rows.append({"workload": name, "fare_ms": a, "pytorch_ms": b, "ratio": a / b, "fare_mib": memory[0],
                 "pytorch_mib": memory[1], "data": ours[0]["data"]})
    logs.append(math.log(a / b))
    print(f"{name:10}{a:10.2f}{b:10.2f}{a / b:8.2f}{memory[0]:10.0f}{memory[1]:13.0f}", flush=True)
l1 = None
if not args.only or "l1" in args.only.split(","):
    ours = [fare("l1") for _ in range(args.rounds)]
    other = torch("l1", {})
    n, m, dim = other["shape"]
    rate = n * m * dim / (other["step_ms"] / 1e3)
    best = max(ours, key=lambda r: r["l1_pairs_per_s"])
    l1 = {"fare_pairs_per_s": best["l1_pairs_per_s"], "cdist_pairs_per_s": rate,
          "times_cdist": best["l1_pairs_per_s"] / rate, "share_of_peak": best["l1_share_of_peak"]}
    print(f"l1: {l1['fare_pairs_per_s'] / 1e9:.1f} Gpair/s, {l1['times_cdist']:.1f} times torch.cdist(p=1), "
          f"{l1['share_of_peak'] * 100:.0f} % of the peak")
if not rows:
    sys.exit()
mean = math.exp(sum(logs) / len(logs))
print(f"geometric mean of the ratios: {mean:.2f}; slowest {max(r['ratio'] for r in rows):.2f}")
if args.output:
    Path(args.output).write_text(json.dumps({"date": str(date.today()), "torch": probe.stdout.strip(),
                                             "threads": args.threads, "geometric_mean": mean, "rows": rows,
                                             "l1": l1}, indent=1))
